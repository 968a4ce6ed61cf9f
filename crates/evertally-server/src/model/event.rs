//! Events on their way in.
//!
//! **Definition.** A JSON body is one event or an array of them; of NDJSON, every line is one.
//! **Guarantee.** All events of a JSON body are ready for the ledger, or none is taken and the
//! index of the first bad one is said. What an event holds is not repeated in any message.
//! **Cost.** Strings are borrowed from the body unless they have escapes, and every event is made
//! ready as soon as it is read: besides the body, only what the ledger takes is held.

use crate::error::{Problem, Result};
use evertally_ledger::{Intake, PreparedEvent};
use evertally_stream::time;
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::borrow::Cow;
use utoipa::ToSchema;

/// One event.
// No `Debug`: everything in it is private.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Event<'a> {
    /// Made by the client, 1 to 256 bytes: a retry with the same id changes nothing.
    #[serde(borrow)]
    #[schema(value_type = String, min_length = 1, max_length = 256)]
    id: Text<'a>,
    /// When it happened; at its arrival where absent.
    #[serde(borrow, default)]
    #[schema(value_type = Option<String>, format = DateTime)]
    time: Option<Text<'a>>,
    /// What it belongs to, where the counter has keys.
    #[serde(borrow, default)]
    #[schema(value_type = Option<String>)]
    key: Option<Text<'a>>,
    /// Whose it is, at most 256 bytes, where the counter bounds persons. An event without a person,
    /// or with blanks for one, does not count there.
    #[serde(borrow, default)]
    #[schema(value_type = Option<String>, max_length = 256)]
    person: Option<Text<'a>>,
    /// Its value, where the counter sums values.
    #[serde(default)]
    value: Option<f64>,
}

/// One event, or many.
// Bodies are read event by event: this is for the document.
#[derive(ToSchema)]
#[schema(as = Events)]
#[serde(untagged)]
#[allow(dead_code, reason = "only its schema is used")]
pub(crate) enum Events {
    One(Event<'static>),
    Many(Vec<Event<'static>>),
}

/// What became of the events.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Receipt {
    /// How many there were: the sum of the others.
    pub(crate) received: u64,
    /// They count, and are durable.
    pub(crate) counted: u64,
    /// Events with their ids have counted before.
    pub(crate) duplicate: u64,
    /// Their steps are closed.
    pub(crate) late: u64,
    /// Their steps have not begun.
    pub(crate) early: u64,
    /// Their persons have taken part in as many steps as they may.
    pub(crate) over_bound: u64,
    /// The counter has no step left, or was retired.
    pub(crate) ended: u64,
    /// They name no person, and the counter bounds persons.
    pub(crate) unnamed: u64,
}

impl Receipt {
    /// The same with the outcome of a further part.
    pub(crate) fn and(self, part: &evertally_ledger::Receipt) -> Self {
        Self {
            received: self.received + part.received(),
            counted: self.counted + part.counted,
            duplicate: self.duplicate + part.duplicate,
            late: self.late + part.late,
            early: self.early + part.early,
            over_bound: self.over_bound + part.over_bound,
            ended: self.ended + part.ended,
            unnamed: self.unnamed + part.unnamed,
        }
    }
}

/// Everything of a JSON body, ready for the ledger.
pub(crate) fn batch(body: &[u8], intake: &Intake) -> Result<Vec<PreparedEvent>> {
    let text = text_of(body)?;
    let mut reader = serde_json::Deserializer::from_str(text);
    let mut batch = Batch { intake, arrivals: Vec::new(), refusal: None };
    let read = if text.trim_ascii_start().starts_with('[') {
        batch.arrivals.reserve(body.len() / TYPICAL_EVENT);
        Many(&mut batch).deserialize(&mut reader)
    } else {
        One(&mut batch).deserialize(&mut reader)
    };
    match read.and_then(|()| reader.end()) {
        Ok(()) => Ok(batch.arrivals),
        Err(error) => {
            let index = batch.arrivals.len();
            let problem = batch.refusal.unwrap_or_else(|| Problem::from_json(&error));
            Err(problem.prefixed(&format!("event {index}: ")).followed_by("; nothing was recorded"))
        }
    }
}

/// The event of one line of NDJSON.
pub(crate) fn line(line: &[u8], intake: &Intake) -> Result<PreparedEvent> {
    let mut batch = Batch { intake, arrivals: Vec::new(), refusal: None };
    let mut reader = serde_json::Deserializer::from_str(text_of(line)?);
    let read = One(&mut batch).deserialize(&mut reader).and_then(|()| reader.end());
    match (read, batch.arrivals.pop()) {
        (Ok(()), Some(arrival)) => Ok(arrival),
        (Err(error), _) => Err(batch.refusal.unwrap_or_else(|| Problem::from_json_line(&error))),
        (Ok(()), None) => Err(Problem::bad("there is no event")),
    }
}

/// Some bytes less than an event usually has, so that one reservation is enough.
const TYPICAL_EVENT: usize = 32;

fn text_of(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(|_| Problem::bad("the body is not UTF-8"))
}

impl Event<'_> {
    fn ready(&self, intake: &Intake) -> Result<PreparedEvent> {
        let time = match &self.time {
            None => None,
            Some(text) => {
                let time = time::parse_timestamp(&text.0);
                Some(time.ok_or_else(|| Problem::bad(format!("time must be {}", time::EXPECTED_TIMESTAMP)))?)
            }
        };
        let event = evertally_ledger::Event {
            id: &self.id.0,
            time,
            key: self.key.as_ref().map(|text| &*text.0),
            person: self.person.as_ref().map(|text| &*text.0),
            value: self.value,
        };
        Ok(intake.prepare(&event)?)
    }
}

/// A string that is borrowed where it can be. `Option<Cow<str>>` never is.
struct Text<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct AnyText;
        impl<'de> Visitor<'de> for AnyText {
            type Value = Text<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> std::result::Result<Text<'de>, E> {
                Ok(Text(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> std::result::Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(AnyText)
    }
}

/// Events that were read, and why the next one was refused.
struct Batch<'b> {
    intake: &'b Intake,
    arrivals: Vec<PreparedEvent>,
    refusal: Option<Problem>,
}

impl Batch<'_> {
    fn take<E: serde::de::Error>(&mut self, event: &Event<'_>) -> std::result::Result<(), E> {
        match event.ready(self.intake) {
            Ok(arrival) => {
                self.arrivals.push(arrival);
                Ok(())
            }
            Err(problem) => {
                self.refusal = Some(problem);
                Err(E::custom("refused"))
            }
        }
    }
}

struct One<'a, 'b>(&'a mut Batch<'b>);

impl<'de> DeserializeSeed<'de> for One<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> std::result::Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for One<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an event, which is an object")
    }

    /// Only objects are events: left to itself, serde would take an array of the fields as well.
    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> std::result::Result<(), A::Error> {
        let event = Event::deserialize(MapAccessDeserializer::new(fields))?;
        self.0.take(&event)
    }
}

struct Many<'a, 'b>(&'a mut Batch<'b>);

impl<'de> DeserializeSeed<'de> for Many<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> std::result::Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Many<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an array of events")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut events: A) -> std::result::Result<(), A::Error> {
        while events.next_element_seed(One(self.0))?.is_some() {}
        Ok(())
    }
}
