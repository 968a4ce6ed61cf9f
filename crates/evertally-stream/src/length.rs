//! The length of a step: fixed, or a number of units of the calendar.
//!
//! Seconds, minutes and hours always have a fixed length. Months, quarters and years always follow
//! the calendar. Days and weeks have 24 and 168 hours, unless a time zone is named: then they are
//! days of that zone, of which some have 23 or 25 hours.

use std::fmt;

use jiff::Span;
use jiff::civil::Date;

use crate::buckets::BucketLength;
use crate::error::{Error, Result};

/// A unit of the calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CalendarUnit {
    /// From the start of a date to the start of the next.
    Day,
    /// Seven days.
    Week,
    /// From a first of the month to the next.
    Month,
    /// From a first of January, April, July or October to the next.
    Quarter,
    /// From a first of January to the next.
    Year,
}

impl CalendarUnit {
    const ALL: [Self; 5] = [Self::Day, Self::Week, Self::Month, Self::Quarter, Self::Year];

    /// How it is written after a number.
    fn suffix(self) -> &'static str {
        match self {
            Self::Day => "d",
            Self::Week => "w",
            Self::Month => "mo",
            Self::Quarter => "q",
            Self::Year => "y",
        }
    }

    /// Whether its length is fixed where no time zone is named.
    fn needs_zone(self) -> bool {
        matches!(self, Self::Day | Self::Week)
    }

    /// The start of the unit that holds a date. A week may start on any day.
    pub(crate) fn start_before(self, date: Date) -> Date {
        match self {
            Self::Day | Self::Week => date,
            Self::Month => date.first_of_month(),
            Self::Quarter => {
                let month = (date.month() - 1) / 3 * 3 + 1;
                Date::new(date.year(), month, 1).unwrap_or(date)
            }
            Self::Year => date.first_of_year(),
        }
    }
}

impl fmt::Display for CalendarUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
            Self::Quarter => "quarter",
            Self::Year => "year",
        })
    }
}

/// A positive number of units of the calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CalendarLength {
    count: u32,
    unit: CalendarUnit,
}

impl CalendarLength {
    /// The most units of a step. Times end with the year 9999.
    const MAX_COUNT: u32 = 10_000_000;

    /// So many units; at least one.
    pub fn new(count: u32, unit: CalendarUnit) -> Result<Self> {
        if !(1..=Self::MAX_COUNT).contains(&count) {
            return Err(Error::bad("the length of a step", "from 1 to 10,000,000 units", count));
        }
        Ok(Self { count, unit })
    }

    /// The number of units.
    #[must_use]
    pub fn count(self) -> u32 {
        self.count
    }

    /// The unit.
    #[must_use]
    pub fn unit(self) -> CalendarUnit {
        self.unit
    }

    /// The same length in days or in months: whether it is in months, and how many.
    pub(crate) fn in_basic_units(self) -> (bool, u64) {
        let count = u64::from(self.count);
        match self.unit {
            CalendarUnit::Day => (false, count),
            CalendarUnit::Week => (false, 7 * count),
            CalendarUnit::Month => (true, count),
            CalendarUnit::Quarter => (true, 3 * count),
            CalendarUnit::Year => (true, 12 * count),
        }
    }

    /// The date that is `number` steps after a first one; `None` beyond the year 9999. The first date
    /// of a step in months is the first of a month, so every month has that day.
    pub(crate) fn date_after(self, first: Date, number: u64) -> Option<Date> {
        let (is_months, count) = self.in_basic_units();
        let count = i64::try_from(number.checked_mul(count)?).ok()?;
        if !is_months {
            return first.checked_add(Span::new().try_days(count).ok()?).ok();
        }
        let month = (i64::from(first.year()) * 12 + i64::from(first.month()) - 1).checked_add(count)?;
        let year = i16::try_from(month.div_euclid(12)).ok()?;
        Date::new(year, i8::try_from(month.rem_euclid(12)).ok()? + 1, first.day()).ok()
    }
}

impl fmt::Display for CalendarLength {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.count, self.unit.suffix())
    }
}

/// The length of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepLength {
    /// Always the same.
    Fixed(BucketLength),
    /// As the calendar has it.
    Calendar(CalendarLength),
}

impl StepLength {
    /// Reads a length such as `1h` or `3mo`. Days and weeks follow the calendar if a zone is named.
    pub fn parse(text: &str, has_zone: bool) -> Result<Self> {
        let refuse = || {
            Error::bad(
                "the length of a step",
                "a positive integer with s, m (minutes), h, d, w, mo (months), q or y, such as 1h or 3mo",
                format!("{text:?}"),
            )
        };
        let (digits, suffix) = text.split_at(text.bytes().take_while(u8::is_ascii_digit).count());
        if digits.bytes().all(|digit| digit == b'0') {
            return Err(refuse());
        }
        let unit = CalendarUnit::ALL.into_iter().find(|unit| unit.suffix() == suffix);
        match unit.filter(|unit| has_zone || !unit.needs_zone()) {
            Some(unit) => CalendarLength::new(digits.parse().unwrap_or(u32::MAX), unit).map(Self::Calendar),
            // Only an error about the number is worth repeating: the other names fewer units.
            None if matches!(suffix, "s" | "m" | "h" | "d" | "w") => text.parse().map(Self::Fixed),
            None => Err(refuse()),
        }
    }
}

impl fmt::Display for StepLength {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(length) => length.fmt(f),
            Self::Calendar(length) => length.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;

    #[test]
    fn months_are_units_of_the_calendar_and_days_only_in_a_zone() {
        for text in ["1mo", "3mo", "12mo", "1q", "1y", "100y"] {
            for has_zone in [false, true] {
                let length = StepLength::parse(text, has_zone).unwrap();
                assert!(matches!(length, StepLength::Calendar(_)), "{text}");
                assert_eq!(length.to_string(), text);
            }
        }
        for text in ["1d", "7d", "2w"] {
            assert_eq!(StepLength::parse(text, false), text.parse().map(StepLength::Fixed));
            let length = StepLength::parse(text, true).unwrap();
            assert!(matches!(length, StepLength::Calendar(_)) && length.to_string() == text);
        }
        for text in ["30s", "15m", "24h"] {
            assert_eq!(StepLength::parse(text, true), text.parse().map(StepLength::Fixed));
        }
    }

    #[test]
    fn lengths_that_make_no_sense_are_refused() {
        let refused =
            ["", "mo", "0mo", "-1mo", "1.5mo", "1 mo", "1MO", "1mon", "1month", "0y", "1y2q", "١mo"];
        for text in refused.into_iter().chain(["99999999999mo", "10000001d", "0d", "1µ", "1ms"]) {
            assert!(StepLength::parse(text, true).is_err(), "{text:?} was taken");
        }
    }

    #[test]
    fn dates_agree_with_the_library() {
        for unit in CalendarUnit::ALL {
            for count in [1, 2, 5] {
                let length = CalendarLength::new(count, unit).unwrap();
                let first = date(2023, 10, 1);
                for number in 0..60 {
                    let span = Span::new();
                    let units = i64::from(count) * number;
                    let span = match unit {
                        CalendarUnit::Day => span.days(units),
                        CalendarUnit::Week => span.weeks(units),
                        CalendarUnit::Month => span.months(units),
                        CalendarUnit::Quarter => span.months(3 * units),
                        CalendarUnit::Year => span.years(units),
                    };
                    assert_eq!(length.date_after(first, number as u64), first.checked_add(span).ok());
                }
                assert_eq!(length.date_after(first, u64::MAX), None);
            }
        }
    }
}
