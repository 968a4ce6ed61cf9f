//! Times as they stand in files, requests and answers: the only place that parses and prints them.
//!
//! **Definition.** Inside, a time is an integer number of microseconds since
//! 1970-01-01T00:00:00Z, rounded down. [`parse_timestamp`] takes RFC 3339, as requests have it.
//! [`parse`] also takes the looser forms that files have (`forms` lists them), and [`TimeReader`]
//! reads them in a time zone or in a given format.
//!
//! **Guarantee.** RFC 3339 and ISO 8601 give what `jiff` gives for the same text. A time with a zone's
//! name but without an offset is refused, because it would otherwise be taken for UTC.
//!
//! **Cost.** The usual form, `2026-01-05T08:30:00.123Z`, is read in some ten nanoseconds: every
//! event may carry one. All other forms are left to `jiff`.
//!
//! **Source.** Days of a date by H. Hinnant, "chrono-compatible low-level date algorithms" (2013).

mod forms;
mod reader;

pub use reader::TimeReader;

use jiff::Timestamp;

/// What [`parse_timestamp`] takes, for messages.
pub const EXPECTED_TIMESTAMP: &str = "a time like 2026-01-05T08:30:00Z";

const MICROS_PER_SECOND: i64 = 1_000_000;

/// The time in any form that files have; `None` for anything else. A time without an offset is
/// taken as UTC.
#[must_use]
pub fn parse(text: &str) -> Option<i64> {
    TimeReader::default().parse(text)
}

/// The time of a full RFC 3339 timestamp; `None` for anything else.
#[must_use]
pub fn parse_timestamp(text: &str) -> Option<i64> {
    usual(text.as_bytes()).or_else(|| any_timestamp(text))
}

/// The time of an integer number of Unix seconds, if it can be represented.
#[must_use]
pub fn from_unix_seconds(seconds: i64) -> Option<i64> {
    seconds.checked_mul(MICROS_PER_SECOND)
}

/// A time as RFC 3339 in UTC; `None` beyond the year 9999.
#[must_use]
pub fn format(micros: i64) -> Option<String> {
    Timestamp::from_microsecond(micros).ok().map(|time| time.to_string())
}

/// A time as RFC 3339 in UTC. A time beyond the year 9999 is printed as its end.
#[must_use]
pub fn format_capped(micros: i64) -> String {
    let last = if micros < 0 { Timestamp::MIN } else { Timestamp::MAX };
    Timestamp::from_microsecond(micros).unwrap_or(last).to_string()
}

/// The present time by the system's clock.
#[must_use]
pub fn now_micros() -> i64 {
    Timestamp::now().as_microsecond()
}

/// The present time as RFC 3339 in UTC, to the second.
#[must_use]
pub fn now() -> String {
    from_unix_seconds(Timestamp::now().as_second()).and_then(format).unwrap_or_default()
}

/// The last time that can be printed: the end of the year 9999.
#[must_use]
pub fn last() -> i64 {
    Timestamp::MAX.as_microsecond()
}

fn any_timestamp(text: &str) -> Option<i64> {
    // Shorter forms would be guessed, and a zone's name believed or skipped.
    let is_full = text.len() >= 20 && text.is_ascii() && !text.contains('[');
    let is_dated = is_full && text.as_bytes()[4] == b'-' && matches!(text.as_bytes()[10], b'T' | b't' | b' ');
    micros_of(text.parse::<Timestamp>().ok().filter(|_| is_dated)?)
}

/// Rounds down, so that a time before 1970 falls into the microsecond that holds it.
pub(crate) fn micros_of(time: Timestamp) -> Option<i64> {
    i64::try_from(time.as_nanosecond().div_euclid(1_000)).ok()
}

/// `YYYY-MM-DDTHH:MM:SS[.digits]Z` and nothing else.
fn usual(text: &[u8]) -> Option<i64> {
    const DATE: Form = Form::new(*b"0000-00-");
    const CLOCK: Form = Form::new(*b"00T00:00");
    let (date, rest) = text.split_first_chunk()?;
    let (clock, rest) = rest.split_first_chunk()?;
    let &[b':', tens, ones, ref tail @ ..] = rest else { return None };
    let (date, clock) = (DATE.pairs(*date)?, CLOCK.pairs(*clock)?);
    let pair = |pairs: u64, at: u32| i64::from((pairs >> (8 * at)) as u8);
    let [year, month, day] = [pair(date, 0) * 100 + pair(date, 2), pair(date, 5), pair(clock, 0)];
    let [hour, minute] = [pair(clock, 3), pair(clock, 6)];
    let second = i64::from(tens) * 10 + i64::from(ones) - i64::from(b'0') * 11;
    let are_digits = tens.is_ascii_digit() && ones.is_ascii_digit();
    // The last year ends a few hours early, as far as the library is concerned.
    let is_time = year < 9999 && (1..=12).contains(&month) && hour < 24 && minute < 60 && second < 60;
    if !are_digits || !is_time || day < 1 || day > days_in(year, month) {
        return None;
    }
    let seconds = days_before(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second;
    Some(seconds * MICROS_PER_SECOND + fraction(tail)?)
}

/// Where digits (0) and marks are in eight bytes. All eight are looked at together, because every event of
/// a file may have a time.
struct Form {
    marks: u64,
    /// What brings a byte to 128 or more if it is too large: more than 9 for a digit, and 0 for a mark.
    limits: u64,
}

impl Form {
    const fn new(form: [u8; 8]) -> Self {
        let (mut limits, mut at) = ([0x7f; 8], 0);
        while at < form.len() {
            if form[at] == b'0' {
                limits[at] = 0x7f - 9;
            }
            at += 1;
        }
        Self { marks: u64::from_le_bytes(form), limits: u64::from_le_bytes(limits) }
    }

    /// The numbers of two digits, each in the byte of its first digit. `None` for any other text.
    #[inline]
    fn pairs(&self, text: [u8; 8]) -> Option<u64> {
        const HIGH: u64 = u64::from_ne_bytes([0x80; 8]);
        // Digits become 0 to 9, and marks become 0.
        let digits = u64::from_le_bytes(text) ^ self.marks;
        let is_none = (digits | ((digits & !HIGH) + self.limits)) & HIGH != 0;
        // No byte grows past 99, so none spills into its neighbour.
        (!is_none).then(|| digits * 10 + (digits >> 8))
    }
}

/// Microseconds of `Z` or `.digitsZ`, of which there are at most nine.
fn fraction(tail: &[u8]) -> Option<i64> {
    let digits = match tail {
        b"Z" => return Some(0),
        [b'.', digits @ .., b'Z'] if (1..=9).contains(&digits.len()) => digits,
        _ => return None,
    };
    if !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let first_six = digits.iter().copied().chain(std::iter::repeat(b'0')).take(6);
    Some(first_six.fold(0, |sum, byte| sum * 10 + i64::from(byte - b'0')))
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970-01-01 to a date. Years start in March here, so that a leap day is the last day of
/// one.
pub(crate) fn days_before(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_one_moment_is_the_same_moment() {
        let forms = [
            "2026-01-05T08:30:00Z",
            "2026-01-05t08:30:00z",
            "2026-01-05T10:30:00+02:00",
            "2026-01-05T09:30:00+01:00[Europe/Paris]",
            "2026-01-05T08:30",
            "2026-01-05 08:30",
            "2026-01-05 08:30:00",
            " 2026-01-05 08:30:00.000 ",
            "2026/01/05 08:30",
            "2026/01/05 08:30:00.000",
            "05.01.2026 08:30",
            "05.01.2026 08:30:00",
            "20260105T083000Z",
            "20260105T103000+02:00",
            "1767601800",
            "1767601800.000",
            "1767601800000",
            "1767601800000000",
            "1767601800000000000",
        ];
        for form in forms {
            assert_eq!(parse(form), Some(1_767_601_800_000_000), "{form}");
        }
        assert_eq!(parse("2026-01-05 08:30:00.25"), Some(1_767_601_800_250_000));
        for day in ["2026-01-05", "2026/01/05", "05.01.2026"] {
            assert_eq!(parse(day), Some(1_767_571_200_000_000), "{day}");
        }
        assert_eq!(parse("1969-12-31T23:59:59.9999999Z"), Some(-1));
        assert_eq!(parse("-1"), Some(-1_000_000));
    }

    #[test]
    fn what_is_not_a_time_is_refused() {
        let refused = [
            "",
            "-",
            "yesterday",
            "08:30",
            "2026-13-01",
            "2026-02-30",
            "2026-01",
            "05/01/2026",
            "1e9",
            "2026-01-05T08:30[Europe/Paris]",
            "20260105T083000",
            "20260105T083000Z[Europe/Paris]",
            "2026/13/01",
            "2026/01-05",
            "05.13.2026",
            "5.1.2026",
            "05.01.26",
            "05.01.2026[UTC]",
            "0é.01.2026",
        ];
        for text in refused.into_iter().chain(["99999999999999999999", "2026-01-05T25:00Z"]) {
            assert_eq!(parse(text), None, "{text:?} was taken");
        }
    }

    #[test]
    fn printed_times_parse_back() {
        for micros in [0, -1, 1_767_601_800_000_000, 1_767_601_800_000_001] {
            assert_eq!(format(micros).as_deref().and_then(parse), Some(micros));
        }
        assert_eq!(format(i64::MAX), None);
    }

    #[test]
    fn the_quick_way_agrees_with_the_library() {
        let mut tried = 0;
        for year in [1, 4, 100, 400, 1582, 1899, 1900, 1969, 1970, 1972, 2000, 2026, 2100, 9999] {
            for month in 0..=13 {
                for day in 0..=32 {
                    for rest in ["00:00:00Z", "23:59:59.999999999Z", "12:30:05.25Z", "24:00:00Z", "12:60:00Z"]
                    {
                        let text = format!("{year:04}-{month:02}-{day:02}T{rest}");
                        let expected = any_timestamp(&text).filter(|_| year < 9999);
                        assert_eq!(usual(text.as_bytes()), expected, "{text}");
                        tried += 1;
                    }
                }
            }
        }
        assert!(tried > 30_000);
    }

    #[test]
    fn other_timestamps_of_one_moment_are_the_same_moment() {
        for text in [
            "2026-01-05T10:30:00+02:00",
            "2026-01-05t08:30:00z",
            "2026-01-05 08:30:00Z",
            "2026-01-05T08:30:00.000Z",
        ] {
            assert_eq!(parse_timestamp(text), Some(1_767_601_800_000_000), "{text}");
        }
        assert_eq!(parse_timestamp("1969-12-31T23:59:59.9999999Z"), Some(-1));
    }

    #[test]
    fn what_is_no_timestamp_is_refused() {
        for text in [
            "",
            "now",
            "2026-01-05",
            "2026-01-05T08:30:00",
            "1767601800",
            "2026-01-05T08:30:00.Z",
            "2026-01-05T08:30:00.1234567891Z",
            "2026-01-05T08:30:00+01:00[Europe/Paris]",
            "20260105T083000Z     ",
            "2026-02-30T00:00:00Z",
            "é026-01-05T08:30:00Z",
        ] {
            assert_eq!(parse_timestamp(text), None, "{text:?} was taken");
        }
    }

    #[test]
    fn printed_timestamps_parse_back() {
        for micros in [0, -1, 1_767_601_800_000_000, 1_767_601_800_000_001] {
            assert_eq!(parse_timestamp(&format_capped(micros)), Some(micros));
        }
        assert!(format_capped(i64::MAX).starts_with("9999-"));
    }
}
