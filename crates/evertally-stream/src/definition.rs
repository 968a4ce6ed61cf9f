//! What is counted, as a part of the noise's name.
//!
//! **Definition.** Everything outside the plan that decides which events count, in which step and
//! for how much: the columns and their roles, the buckets of time, how times are read, the clamp, the
//! bound on persons, how ids are compared, and how steps are closed. [`Definition::encode`] writes it
//! as fields ([`evertally::internals::noise_name::Fields`]), and
//! [`evertally::PlanBuilder::definition`] puts it into the name of the noise.
//!
//! **Guarantee.** Two definitions under which the same rows could count differently have different
//! encodings, so that their noise under one key is independent. Faces that count the same thing in
//! the same way make the same noise. The encoding is frozen: another one would be other noise.
//! `docs/noise-name.md` has its table.
//!
//! What happens to a row that is refused or left out with an error is not in it: `--outside drop`
//! and `--outside error` count the same events whenever both count at all. Declared keys stand in
//! the name of the plan.

use evertally::internals::noise_name::{Fields, Value};

use crate::amount::Clamp;
use crate::buckets::BucketLength;
use crate::calendar::Calendar;
use crate::presence::Presence;
use crate::share::Share;

const MAGIC: [u8; 4] = *b"EVND";
const VERSION: u8 = 2;

/// The field of the two totals of a mean. The numbers before it are left for how events are bounded.
const MEAN: u8 = 12;

/// The field of a share that is one in each of the first keys of a person, in all steps together.
const ONCE_PER_KEY: u8 = 13;

/// The field of persons who come and go.
const STAYS: u8 = 14;

/// The field of the edges of bins.
const BINS: u8 = 15;

/// The field of ranges of bins.
const RANGES: u8 = 16;

/// The field of the filter. Smaller numbers are left for how events are bounded.
const FILTER: u8 = 24;

/// The columns that are read, by their roles.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Columns<'a> {
    /// When an event happened.
    pub time: Option<&'a str>,
    /// What it counts for.
    pub value: Option<&'a str>,
    /// What it belongs to.
    pub key: Option<&'a str>,
    /// Whose it is.
    pub person: Option<&'a str>,
    /// Its identity.
    pub id: Option<&'a str>,
}

/// When a step is closed, and what happens to events that come after.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Closing {
    /// All rows are read before any step is closed: no event is late.
    #[default]
    AtTheEnd,
    /// An event of a later step closes the steps before it.
    ByLaterEvents,
    /// The clock closes a step, this many microseconds after its end.
    ByTheClock {
        /// How long after its end a step stays open.
        lag_micros: i64,
    },
    /// The latest event closes a step, once it is this far past the end of the step.
    ByWatermark {
        /// By how much events may be late.
        delay_micros: i64,
        /// How far ahead of the clock an event may be; `None` if all times are trusted.
        ahead_micros: Option<i64>,
    },
    /// The end of a run of a saved state: a public time, or for rows their public number. An event that
    /// a later run reads is late.
    ByRuns,
}

/// Which of several competing events counts, and for how long an id is known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Precedence {
    /// The first by time, then by content. An id is known forever
    /// ([`admission`](crate::admission)).
    #[default]
    Time,
    /// The same, but ids are compared within a step only, and without a bound on persons an event
    /// without an id does not count: streams in Spark.
    TimeWithinStep,
}

/// How the times of events are read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reading<'a> {
    /// The zone of times without an offset; `None` for UTC.
    pub zone: Option<&'a str>,
    /// The format of times; `None` for the usual forms.
    pub format: Option<&'a str>,
}

/// Persons who come and go are counted: how they do, and how often they may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stays<'a> {
    /// What makes a person present.
    pub presence: Presence,
    /// The most stays of a person, over all keys.
    pub max_stays: u64,
    /// The column that says whether an event is an insertion or a deletion.
    pub operation: Option<&'a str>,
}

/// Everything outside the plan that decides what is counted.
///
/// ```
/// use evertally_stream::{Closing, Columns, Definition};
/// let visits = Definition {
///     columns: Columns { time: Some("when"), key: Some("page"), ..Columns::default() },
///     buckets: Some((1_700_000_000_000_000, "1h".parse()?)),
///     ..Definition::default()
/// };
/// let followed = Definition { closing: Closing::ByLaterEvents, ..visits };
/// assert_ne!(visits.encode(), followed.encode());
/// # Ok::<(), evertally_stream::Error>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Definition<'a> {
    /// The columns.
    pub columns: Columns<'a>,
    /// The start of the first bucket, in microseconds since 1970, and the length of every bucket.
    /// `None` if a row is a step, and if buckets follow a calendar.
    pub buckets: Option<(i64, BucketLength)>,
    /// The calendar that buckets follow. An unbounded stream has its steps until the year 9999 here,
    /// whichever of them are released.
    pub calendar: Option<&'a Calendar>,
    /// How times are read.
    pub reading: Reading<'a>,
    /// How steps are closed.
    pub closing: Closing,
    /// The range that values are clamped to.
    pub clamp: Option<Clamp>,
    /// Whether events count for their distances from the two ends of the clamp
    /// ([`Rules::is_mean`](crate::Rules::is_mean)).
    pub is_mean: bool,
    /// The maximum number of steps per person and the minimum gap between them, if they are enforced.
    pub bound: Option<(u64, u64)>,
    /// What a person may add to one step. It is encoded only if it is not the default.
    pub share: Share,
    /// Which events win. It is encoded only if persons are bounded or ids are compared.
    pub precedence: Precedence,
    /// How persons come and go, if the number of those who are present is counted.
    pub stays: Option<Stays<'a>>,
    /// The edges of the bins that are the keys, if the key of an event is a number.
    pub bins: Option<&'a [f64]>,
    /// The branching of ranges of bins and the weights of their levels, if an event counts in a range of
    /// every level (`evertally::ranges`).
    pub ranges: Option<(u64, &'a [u64])>,
    /// Which rows count, in a form that says the same in one way only; `None` if all do.
    pub filter: Option<&'a str>,
}

impl Definition<'_> {
    /// The encoding.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut fields = Fields::new(MAGIC, VERSION);
        let Columns { time, value, key, person, id } = self.columns;
        let columns =
            [time, value, key, person, id].into_iter().fold(Value::new(), |fields, column| match column {
                Some(name) => fields.code(1).text(name),
                None => fields.code(0),
            });
        fields.put(1, columns);
        if let Some((start, every)) = self.buckets {
            fields.put(2, Value::new().signed(start).signed(every.micros()));
        }
        fields.put(3, closing(self.closing));
        if let Some(clamp) = self.clamp {
            fields.put(4, Value::new().real(clamp.lo()).real(clamp.hi()));
        }
        if let Some((max_steps, min_gap)) = self.bound {
            fields.put(5, Value::new().integer(max_steps).integer(min_gap));
        }
        if id.is_some() || self.bound.is_some() {
            fields.put(
                6,
                Value::new().code(match self.precedence {
                    // 0 was the order of reading, the former rule of `count`.
                    // Without ids there is no difference.
                    Precedence::Time if id.is_some() => 2,
                    Precedence::Time | Precedence::TimeWithinStep => 1,
                }),
            );
        }
        if let Some(calendar) = self.calendar {
            let (is_months, count) = calendar.every().in_basic_units();
            let start = calendar.start_of(0).unwrap_or_default();
            let unit = Value::new().signed(start).code(u8::from(is_months)).integer(count);
            // The zone's rules may change: its name does not say where the boundaries are.
            fields.put(7, unit.text(calendar.zone().name()).raw(&calendar.digest()));
        }
        if self.reading != Reading::default() {
            let Reading { zone, format } = self.reading;
            let texts = [zone, format].into_iter().fold(Value::new(), |value, text| match text {
                Some(text) => value.code(1).text(text),
                None => value.code(0),
            });
            fields.put(8, texts);
        }
        if self.share != Share::default() {
            fields.put(9, share(self.share));
        }
        if self.is_mean {
            // The first total has the distance from the low end, and the second that from the high end.
            fields.put(MEAN, Value::new().code(1));
        }
        if self.share.is_once_per_key() {
            fields.put(ONCE_PER_KEY, Value::new().integer(self.share.max_keys()));
        }
        if let Some(Stays { presence, max_stays, operation }) = self.stays {
            let value = match presence {
                Presence::Window { steps } => Value::new().code(0).integer(steps),
                Presence::Operations => Value::new().code(1),
            };
            let value = value.integer(max_stays);
            fields.put(
                STAYS,
                match operation {
                    Some(column) => value.code(1).text(column),
                    None => value.code(0),
                },
            );
        }
        if let Some(edges) = self.bins {
            fields.put(BINS, edges.iter().fold(Value::new(), |value, edge| value.real(*edge)));
        }
        if let Some((branching, weights)) = self.ranges {
            let value = Value::new().integer(branching);
            fields.put(RANGES, weights.iter().fold(value, |value, weight| value.integer(*weight)));
        }
        if let Some(filter) = self.filter {
            fields.put(FILTER, Value::new().text(filter));
        }
        fields.into_bytes()
    }
}

fn share(share: Share) -> Value {
    // No number of events is zero, so zero stands for all.
    let value = Value::new().integer(share.max_events().unwrap_or(0)).integer(share.max_keys());
    match share.sum() {
        Some(clamp) => value.code(1).real(clamp.lo()).real(clamp.hi()),
        None => value.code(0),
    }
}

fn closing(closing: Closing) -> Value {
    match closing {
        Closing::AtTheEnd => Value::new().code(0),
        Closing::ByLaterEvents => Value::new().code(1),
        Closing::ByTheClock { lag_micros } => Value::new().code(2).signed(lag_micros),
        Closing::ByWatermark { delay_micros, ahead_micros } => {
            let value = Value::new().code(3).signed(delay_micros);
            match ahead_micros {
                Some(ahead) => value.code(1).signed(ahead),
                None => value.code(0),
            }
        }
        Closing::ByRuns => Value::new().code(4),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::length::StepLength;
    use crate::zone::Zone;
    use std::sync::LazyLock;

    fn calendar(zone: &str, length: &str, from: &str, steps: u64) -> Calendar {
        let StepLength::Calendar(length) = StepLength::parse(length, true).unwrap() else {
            panic!("{length} is fixed")
        };
        let from = crate::time::parse(from).unwrap();
        Calendar::new(&Zone::named(zone).unwrap(), length, from, Some(steps)).unwrap()
    }

    /// Calendars that count differently.
    static CALENDARS: LazyLock<Vec<Calendar>> = LazyLock::new(|| {
        let winter = "2026-01-01T00:00:00+01:00";
        vec![
            calendar("UTC", "1d", "1970-01-01", 3),
            calendar("UTC", "1mo", "1970-01-01", 3),
            calendar("UTC", "2mo", "1970-01-01", 3),
            calendar("UTC", "1mo", "1970-02-01", 3),
            calendar("UTC", "1mo", "1970-01-01", 4),
            calendar("Europe/Zurich", "1mo", winter, 3),
            calendar("Europe/Paris", "1mo", winter, 3),
        ]
    });

    fn every(text: &str) -> BucketLength {
        text.parse().unwrap()
    }

    fn timed() -> Definition<'static> {
        Definition {
            columns: Columns { time: Some("t"), ..Columns::default() },
            buckets: Some((0, every("1h"))),
            ..Definition::default()
        }
    }

    /// Definitions under which the same rows can count differently.
    fn definitions() -> Vec<Definition<'static>> {
        let timed = timed();
        let columns = |columns| Definition { columns, ..timed };
        let named = Columns { time: Some("t"), ..Columns::default() };
        let clamp = |lo, hi| Some(Clamp::new(lo, hi).unwrap());
        let closing = |closing| Definition { closing, ..timed };
        let watermark =
            |delay_micros, ahead_micros| closing(Closing::ByWatermark { delay_micros, ahead_micros });
        let person = Columns { person: Some("p"), ..named };
        let bounded = |bound, precedence| Definition { columns: person, bound, precedence, ..timed };
        let ids = Columns { id: Some("i"), ..person };
        let identified = |bound, precedence| Definition { columns: ids, bound, precedence, ..timed };
        let sharing = |max_events, max_keys, sum| Definition {
            share: Share::new(max_events, max_keys, sum).unwrap(),
            ..bounded(Some((1, 1)), Precedence::Time)
        };
        let staying = |presence, max_stays, operation| {
            let stays = Some(Stays { presence, max_stays, operation });
            Definition { stays, ..bounded(Some((2, 1)), Precedence::Time) }
        };
        let reading = |zone, format| Definition { reading: Reading { zone, format }, ..timed };
        vec![
            Definition::default(),
            timed,
            columns(Columns { time: Some("u"), ..named }),
            columns(Columns { value: Some("v"), ..named }),
            columns(Columns { key: Some("v"), ..named }),
            columns(Columns { person: Some("v"), ..named }),
            columns(Columns { id: Some("v"), ..named }),
            columns(Columns { value: Some("v\u{1}"), ..named }),
            Definition { buckets: Some((1, every("1h"))), ..timed },
            Definition { buckets: Some((-1, every("1h"))), ..timed },
            Definition { buckets: Some((0, every("2h"))), ..timed },
            Definition { buckets: None, ..timed },
            Definition { clamp: clamp(0.0, 1.0), ..timed },
            Definition { clamp: clamp(-1.0, 3.0), ..timed },
            Definition { clamp: clamp(-3.0, 1.0), ..timed },
            Definition { clamp: clamp(0.0, 1.0), is_mean: true, ..timed },
            closing(Closing::ByLaterEvents),
            closing(Closing::ByRuns),
            closing(Closing::ByTheClock { lag_micros: 1 }),
            closing(Closing::ByTheClock { lag_micros: 2 }),
            watermark(1, None),
            watermark(2, None),
            watermark(1, Some(0)),
            watermark(1, Some(2)),
            bounded(Some((1, 1)), Precedence::Time),
            bounded(Some((2, 1)), Precedence::Time),
            bounded(Some((1, 2)), Precedence::Time),
            identified(None, Precedence::Time),
            identified(None, Precedence::TimeWithinStep),
            identified(Some((1, 1)), Precedence::TimeWithinStep),
            identified(Some((1, 1)), Precedence::Time),
            reading(Some("Europe/Zurich"), None),
            reading(Some("Europe/Paris"), None),
            reading(None, Some("Europe/Paris")),
            reading(None, Some("%F")),
            reading(Some("Europe/Paris"), Some("%F")),
            sharing(Some(2), 1, None),
            sharing(Some(1), 2, None),
            sharing(Some(2), 1, clamp(0.0, 1.0)),
            sharing(None, 1, clamp(0.0, 1.0)),
            sharing(None, 1, clamp(-1.0, 1.0)),
            sharing(None, 2, clamp(0.0, 1.0)),
            Definition { share: Share::once_per_key(2).unwrap(), ..bounded(Some((1, 1)), Precedence::Time) },
            Definition { share: Share::once_per_key(3).unwrap(), ..bounded(Some((1, 1)), Precedence::Time) },
            sharing(Some(2), 2, clamp(0.0, 1.0)),
            staying(Presence::Window { steps: 2 }, 1, None),
            staying(Presence::Window { steps: 3 }, 1, None),
            staying(Presence::Window { steps: 2 }, 2, None),
            staying(Presence::Operations, 2, Some("o")),
            staying(Presence::Operations, 2, Some("p")),
            staying(Presence::Operations, 3, Some("o")),
            Definition { bins: Some(&[]), ..timed },
            Definition { bins: Some(&[1.0]), ..timed },
            Definition { bins: Some(&[1.0, 2.0]), ..timed },
            Definition { bins: Some(&[1.0]), ranges: Some((2, &[1, 1])), ..timed },
            Definition { bins: Some(&[1.0]), ranges: Some((2, &[2, 1])), ..timed },
            Definition { bins: Some(&[1.0]), ranges: Some((3, &[1, 1])), ..timed },
            Definition { filter: Some(""), ..timed },
            Definition { filter: Some("\"n\" > 1"), ..timed },
            Definition { filter: Some("\"n\" > 2"), ..timed },
        ]
        .into_iter()
        .chain(CALENDARS.iter().map(move |calendar| Definition {
            buckets: None,
            calendar: Some(calendar),
            ..timed
        }))
        .collect()
    }

    /// A quarter is three months, and the noise of a count is the same in any words.
    #[test]
    fn equal_calendars_have_equal_encodings() {
        for (one, other) in [("1q", "3mo"), ("1y", "12mo"), ("1w", "7d")] {
            let [one, other] =
                [one, other].map(|length| calendar("Europe/Zurich", length, "2026-01-01T00:00:00+01:00", 3));
            let encoded =
                |calendar| Definition { buckets: None, calendar: Some(calendar), ..timed() }.encode();
            assert_eq!(encoded(&one), encoded(&other));
        }
    }

    #[test]
    fn every_choice_is_in_the_encoding() {
        let mut seen = std::collections::HashMap::new();
        for (number, definition) in definitions().iter().enumerate() {
            let before = seen.insert(definition.encode(), number);
            assert_eq!(before, None, "{number}: {definition:?}");
        }
    }

    /// Without ids it does not matter for how long an id is known, so the noise is the same.
    #[test]
    fn precedence_matters_only_with_ids() {
        for bound in [None, Some((1, 1))] {
            let time = Definition { bound, precedence: Precedence::Time, ..timed() };
            let within_step = Definition { precedence: Precedence::TimeWithinStep, ..time };
            assert_eq!(time.encode(), within_step.encode());
        }
    }

    /// Noise is derived from these bytes, so they must never change.
    #[test]
    fn the_encoding_is_frozen() {
        let definition = Definition {
            columns: Columns {
                time: Some("t"),
                value: None,
                key: Some("größe"),
                person: Some("p"),
                id: Some(""),
            },
            buckets: Some((-1, every("1w"))),
            closing: Closing::ByWatermark { delay_micros: 5, ahead_micros: Some(7) },
            clamp: Some(Clamp::new(-1.0, 2.5).unwrap()),
            bound: Some((4, 7)),
            precedence: Precedence::TimeWithinStep,
            ..Definition::default()
        };
        let digest = blake3::hash(&definition.encode());
        assert_eq!((definition.encode().len(), &digest.to_hex()[..16]), FROZEN[0]);
        let digest = blake3::hash(&Definition::default().encode());
        assert_eq!((Definition::default().encode().len(), &digest.to_hex()[..16]), FROZEN[1]);
        let months = calendar("Europe/Zurich", "1mo", "2026-01-01T00:00:00+01:00", 12);
        let definition = Definition {
            buckets: None,
            calendar: Some(&months),
            reading: Reading { zone: Some("Europe/Zurich"), format: Some("%d/%m/%Y") },
            ..timed()
        };
        let digest = blake3::hash(&definition.encode());
        assert_eq!((definition.encode().len(), &digest.to_hex()[..16]), FROZEN[2]);
        let clamp = Some(Clamp::new(-1.0, 2.5).unwrap());
        let definition = Definition { clamp, is_mean: true, ..timed() };
        let digest = blake3::hash(&definition.encode());
        assert_eq!((definition.encode().len(), &digest.to_hex()[..16]), FROZEN[4]);
        let definition = Definition { closing: Closing::ByRuns, ..timed() };
        let digest = blake3::hash(&definition.encode());
        assert_eq!((definition.encode().len(), &digest.to_hex()[..16]), FROZEN[3]);
    }

    const FROZEN: [(usize, &str); 5] = [
        (172, "7c9ee2d14704cccd"),
        (29, "4b8bdf83165be980"),
        (165, "adc0976bb4c339fd"),
        (63, "26935161cee67220"),
        (98, "39b9bc5a2eb94d32"),
    ];
}
