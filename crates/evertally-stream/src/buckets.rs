//! Buckets of time: which step a moment belongs to.
//!
//! Times are microseconds since 1970-01-01T00:00:00Z. A bucket has a fixed length, or follows the
//! calendar of a time zone ([`Calendar`]). With a fixed length, a day is 24 hours and a week seven of
//! them: no time zone and no leap second enters, and the step of an event is plain integer division.

use crate::calendar::Calendar;
use crate::error::{Error, Result, Side};
use crate::length::StepLength;
use std::fmt;
use std::str::FromStr;

const MICROS_PER_SECOND: i64 = 1_000_000;

/// The length of a bucket: an integer number of seconds, minutes, hours, days or weeks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BucketLength {
    micros: i64,
}

impl BucketLength {
    /// A length in microseconds; it must be positive.
    pub fn from_micros(micros: i64) -> Result<Self> {
        if micros <= 0 {
            return Err(Error::bad("the length of a bucket", "positive", format!("{micros} µs")));
        }
        Ok(Self { micros })
    }

    /// The length in microseconds.
    #[must_use]
    pub fn micros(self) -> i64 {
        self.micros
    }
}

/// Seconds in the units that a length may be written in, longest first so that printing picks the
/// longest that fits.
const UNITS: [(char, i64); 5] = [('w', 604_800), ('d', 86_400), ('h', 3_600), ('m', 60), ('s', 1)];

impl FromStr for BucketLength {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let refuse =
            || Error::bad("the length of a bucket", "like 30s, 15m, 1h, 1d or 1w", format!("{text:?}"));
        let unit = text.chars().last().ok_or_else(refuse)?;
        let (_, seconds) = UNITS.into_iter().find(|&(letter, _)| letter == unit).ok_or_else(refuse)?;
        let digits = &text[..text.len() - unit.len_utf8()];
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(refuse());
        }
        let too_long =
            || Error::bad("the length of a bucket", "less than 292,000 years", format!("{text:?}"));
        let count: i64 = digits.parse().map_err(|_| too_long())?;
        let micros = seconds.checked_mul(MICROS_PER_SECOND).and_then(|unit| unit.checked_mul(count));
        match micros.ok_or_else(too_long)? {
            0 => Err(refuse()),
            micros => Ok(Self { micros }),
        }
    }
}

impl fmt::Display for BucketLength {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (letter, seconds) in UNITS {
            let unit = seconds * MICROS_PER_SECOND;
            if self.micros % unit == 0 {
                return write!(f, "{}{letter}", self.micros / unit);
            }
        }
        write!(f, "{}µs", self.micros)
    }
}

/// The declared, public range of time: consecutive buckets from a first moment on.
///
/// The range is declared and never read off the events, because the first and the last event are
/// private.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Buckets {
    steps: u64,
    ends: Ends,
}

/// Where buckets end.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Ends {
    Fixed { from: i64, every: BucketLength },
    Calendar(Calendar),
}

impl Buckets {
    /// `steps` buckets of length `every`, the first starting at `from`. The end must be a
    /// representable time.
    pub fn new(from: i64, every: BucketLength, steps: u64) -> Result<Self> {
        if steps == 0 {
            return Err(Error::bad("the number of steps", "at least 1", steps));
        }
        let end = i128::from(from) + i128::from(every.micros) * i128::from(steps);
        if end > i128::from(i64::MAX) {
            return Err(Error::bad(
                "the number of steps",
                "small enough to end before the year 294,000",
                steps,
            ));
        }
        Ok(Self { steps, ends: Ends::Fixed { from, every } })
    }

    /// The first `steps` steps of a calendar.
    pub fn of_calendar(calendar: Calendar, steps: u64) -> Result<Self> {
        if steps == 0 {
            return Err(Error::bad("the number of steps", "at least 1", steps));
        }
        if steps > calendar.steps() {
            return Err(Error::bad(
                "the number of steps",
                "small enough to end before the year 10000",
                steps,
            ));
        }
        Ok(Self { steps, ends: Ends::Calendar(calendar) })
    }

    /// The number of buckets.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// The length of each bucket.
    #[must_use]
    pub fn every(&self) -> StepLength {
        match &self.ends {
            Ends::Fixed { every, .. } => StepLength::Fixed(*every),
            Ends::Calendar(calendar) => StepLength::Calendar(calendar.every()),
        }
    }

    /// The calendar that the buckets follow, if they do. It may have more steps.
    #[must_use]
    pub fn calendar(&self) -> Option<&Calendar> {
        match &self.ends {
            Ends::Fixed { .. } => None,
            Ends::Calendar(calendar) => Some(calendar),
        }
    }

    /// The length of the shortest bucket, in microseconds.
    pub(crate) fn shortest_micros(&self) -> i64 {
        match &self.ends {
            Ends::Fixed { every, .. } => every.micros,
            Ends::Calendar(calendar) => calendar.shortest_micros(self.steps),
        }
    }

    /// The step that a time belongs to. A bucket holds its start and not its end.
    pub fn step_of(&self, time: i64) -> Result<u64> {
        let step = match &self.ends {
            Ends::Fixed { from, every } => {
                if time < *from {
                    return Err(Error::OutsideRange { side: Side::Before });
                }
                // The distance of two times is below 2^64, even where it is no time itself.
                time.abs_diff(*from) / every.micros.unsigned_abs()
            }
            Ends::Calendar(calendar) => match calendar.started_by(time) {
                0 => return Err(Error::OutsideRange { side: Side::Before }),
                started => started - 1,
            },
        };
        if step >= self.steps { Err(Error::OutsideRange { side: Side::After }) } else { Ok(step) }
    }

    /// The step that a time belongs to, and how far it is behind the start of the step, in
    /// microseconds.
    #[inline]
    pub(crate) fn moment_of(&self, time: i64) -> Result<(u64, u64)> {
        let step = self.step_of(time)?;
        Ok((step, time.abs_diff(self.start_of(step))))
    }

    /// The step that a time would belong to if the range went on for ever; 0 for a time before it.
    pub(crate) fn step_in_any_range(&self, time: i64) -> u64 {
        match &self.ends {
            Ends::Fixed { from, every } => {
                let since = (i128::from(time) - i128::from(*from)).max(0);
                u64::try_from(since / i128::from(every.micros)).unwrap_or(u64::MAX)
            }
            Ends::Calendar(calendar) => calendar.step_in_any_range(time),
        }
    }

    /// The moment at which a step's bucket starts. For `step == steps` this is the end of the
    /// range.
    #[must_use]
    pub fn start_of(&self, step: u64) -> i64 {
        debug_assert!(step <= self.steps, "a step outside the declared range has no start");
        let step = step.min(self.steps);
        match &self.ends {
            // `new` has checked that the end of the range fits; the minimum keeps that true for any
            // argument.
            Ends::Fixed { from, every } => {
                (i128::from(*from) + i128::from(every.micros) * i128::from(step)) as i64
            }
            // `of_calendar` has checked the same.
            Ends::Calendar(calendar) => calendar.start_of(step).unwrap_or(i64::MAX),
        }
    }

    /// How many buckets have ended at or before a time.
    #[must_use]
    pub fn ended_by(&self, time: i64) -> u64 {
        match &self.ends {
            Ends::Fixed { from, every } => {
                let since = i128::from(time) - i128::from(*from);
                (since / i128::from(every.micros)).clamp(0, i128::from(self.steps)) as u64
            }
            Ends::Calendar(calendar) => calendar.started_by(time).saturating_sub(1).min(self.steps),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_parse_in_every_unit() {
        for (text, seconds) in [("30s", 30), ("15m", 900), ("1h", 3_600), ("1d", 86_400), ("2w", 1_209_600)] {
            let length: BucketLength = text.parse().unwrap();
            assert_eq!(length.micros(), seconds * MICROS_PER_SECOND);
            assert_eq!(length.to_string(), text);
        }
        assert_eq!("60m".parse::<BucketLength>().unwrap().to_string(), "1h");
    }

    #[test]
    fn lengths_that_make_no_sense_are_refused() {
        // The service, the ledger and Spark read lengths here, and their steps follow no calendar.
        let calendar = ["1mo", "1q", "1y"];
        let others = ["", "h", "0h", "-1h", "1.5h", "1h30m", " 1h", "1 h", "99999999999999w", "١h", "1µ"];
        for text in calendar.into_iter().chain(others) {
            assert!(text.parse::<BucketLength>().is_err(), "{text:?} was taken");
        }
    }

    #[test]
    fn a_bucket_holds_its_start_and_not_its_end() {
        let buckets = Buckets::new(1_000, BucketLength::from_micros(10).unwrap(), 3).unwrap();
        assert_eq!(buckets.step_of(1_000), Ok(0));
        assert_eq!(buckets.step_of(1_009), Ok(0));
        assert_eq!(buckets.step_of(1_010), Ok(1));
        assert_eq!(buckets.step_of(1_029), Ok(2));
        assert_eq!(buckets.step_of(999), Err(Error::OutsideRange { side: Side::Before }));
        assert_eq!(buckets.step_of(1_030), Err(Error::OutsideRange { side: Side::After }));
        assert_eq!(buckets.step_of(i64::MIN), Err(Error::OutsideRange { side: Side::Before }));
        assert_eq!(buckets.step_of(i64::MAX), Err(Error::OutsideRange { side: Side::After }));
        assert_eq!([0, 1, 3].map(|step| buckets.start_of(step)), [1_000, 1_010, 1_030]);
        assert_eq!([0, 1_009, 1_010, 5_000].map(|time| buckets.ended_by(time)), [0, 0, 1, 3]);
    }

    fn days_in_zurich(steps: u64) -> Calendar {
        let zone = crate::Zone::named("Europe/Zurich").unwrap();
        let from = crate::time::parse("2026-03-28T00:00:00+01:00").unwrap();
        let StepLength::Calendar(day) = StepLength::parse("1d", true).unwrap() else { unreachable!() };
        Calendar::new(&zone, day, from, Some(steps)).unwrap()
    }

    #[test]
    fn a_bucket_of_the_calendar_does_as_well() {
        let buckets = Buckets::of_calendar(days_in_zurich(9), 3).unwrap();
        let hour = 3_600 * MICROS_PER_SECOND;
        let start = buckets.start_of(0);
        assert_eq!([0, 1, 2, 3].map(|step| (buckets.start_of(step) - start) / hour), [0, 24, 47, 71]);
        for (hours, step) in [(0, 0), (23, 0), (24, 1), (46, 1), (47, 2), (70, 2)] {
            assert_eq!(buckets.step_of(start + hours * hour), Ok(step), "{hours}");
            assert_eq!(buckets.ended_by(start + hours * hour), step);
        }
        assert_eq!(buckets.step_of(start - 1), Err(Error::OutsideRange { side: Side::Before }));
        // The calendar has more steps than the range.
        assert_eq!(buckets.step_of(start + 71 * hour), Err(Error::OutsideRange { side: Side::After }));
        assert_eq!([start - 1, start + 71 * hour, i64::MAX].map(|time| buckets.ended_by(time)), [0, 3, 3]);
        assert_eq!(buckets.shortest_micros(), 23 * hour);
        assert!(Buckets::of_calendar(days_in_zurich(9), 10).is_err());
        assert!(Buckets::of_calendar(days_in_zurich(9), 0).is_err());
    }

    proptest::proptest! {
        /// An event lies between the start of its step and the start of the next, in any kind of
        /// bucket.
        #[test]
        fn an_event_lies_in_its_step(offset in -2_000_000_000_000_i64..4_000_000_000_000, steps in 1_u64..40) {
            let calendar = Buckets::of_calendar(days_in_zurich(steps), steps).unwrap();
            let fixed = Buckets::new(calendar.start_of(0), "1d".parse().unwrap(), steps).unwrap();
            for buckets in [calendar, fixed] {
                let time = buckets.start_of(0) + offset;
                match buckets.step_of(time) {
                    Ok(step) => {
                        assert!(buckets.start_of(step) <= time && time < buckets.start_of(step + 1));
                        assert_eq!(buckets.step_in_any_range(time), step);
                    }
                    Err(Error::OutsideRange { side: Side::Before }) => assert!(offset < 0),
                    Err(_) => assert!(time >= buckets.start_of(steps)),
                }
            }
        }
    }

    #[test]
    fn a_range_past_the_end_of_time_is_refused() {
        let week: BucketLength = "1w".parse().unwrap();
        assert!(Buckets::new(0, week, 1 << 60).is_err());
        assert!(Buckets::new(0, week, u64::MAX).is_err());
        assert!(Buckets::new(0, week, 0).is_err());
        assert!(Buckets::new(i64::MIN, week, 1).is_ok());
    }
}
