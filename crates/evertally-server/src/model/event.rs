//! Events in requests.
//!
//! **Definition.** A JSON body is one event or an array of events. In NDJSON, every line is an event.
//! **Guarantee.** A JSON body is accepted as a whole, or refused with the index of the first bad
//! event. No message repeats the content of an event.
//! **Cost.** Strings are borrowed from the body unless they have escapes. Every event is prepared as
//! soon as it is read, so memory holds the body and the prepared events.

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
    /// An id from the client: 1 to 256 bytes that are not all whitespace. A retry with the same id
    /// changes nothing.
    #[serde(borrow)]
    #[schema(value_type = String, min_length = 1, max_length = 256, pattern = "\\S")]
    id: Text<'a>,
    /// When it happened. Defaults to the time of its arrival.
    #[serde(borrow, default)]
    #[schema(value_type = Option<String>, format = DateTime)]
    time: Option<Text<'a>>,
    /// Its key, if the counter has keys. Whitespace around it is ignored. Where keys are found, an event
    /// does not count without a key, with a blank one, or with one of more than 256 bytes.
    #[serde(borrow, default)]
    #[schema(value_type = Option<String>)]
    key: Option<Text<'a>>,
    /// Its person, if the counter bounds persons, without whitespace around it. There, an event
    /// does not count without a person, with a blank one, or with one of more than 256 bytes.
    #[serde(borrow, default)]
    #[schema(value_type = Option<String>)]
    person: Option<Text<'a>>,
    /// Its value, if the counter sums values.
    #[serde(default)]
    value: Option<f64>,
}

/// One event, or several.
// Only the OpenAPI document uses this type. Bodies are read event by event.
#[derive(ToSchema)]
#[schema(as = Events)]
#[serde(untagged)]
#[allow(dead_code, reason = "only its schema is used")]
pub(crate) enum Events {
    One(Event<'static>),
    Many(Vec<Event<'static>>),
}

/// How many events had each outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Receipt {
    /// All events: the sum of the other numbers.
    pub(crate) received: u64,
    /// Events that count, and are durable.
    pub(crate) counted: u64,
    /// Events whose id has counted before.
    pub(crate) duplicate: u64,
    /// Events whose step is closed.
    pub(crate) late: u64,
    /// Events whose step has not begun.
    pub(crate) early: u64,
    /// Events of persons who have reached the bound.
    pub(crate) over_bound: u64,
    /// Events for a counter that has no step left, or was retired.
    pub(crate) ended: u64,
    /// Events that name no person, if the counter bounds persons, or no key, if it finds keys.
    pub(crate) unnamed: u64,
}

impl Receipt {
    /// Adds the outcomes of another part.
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

/// Prepares all events of a JSON body.
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

/// Prepares the event of one line of NDJSON.
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

/// A little less than the usual size of an event in bytes, so that one allocation is enough.
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

/// A string that is borrowed if possible. Serde never borrows an `Option<Cow<str>>`.
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

/// The events that were read, and why the next one was refused.
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

    /// Only objects are events. By default, serde would also accept an array of the fields.
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
