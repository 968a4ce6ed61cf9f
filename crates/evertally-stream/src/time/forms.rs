//! The forms of times in files, each with one meaning.
//!
//! | form | meaning |
//! |---|---|
//! | `2026-01-05T08:30:00Z`, `2026-01-05 08:30:00+01:00` | an instant |
//! | `20260105T083000Z`, with `Z` or an offset | an instant |
//! | `1767601800`, `1767601800.25`, `1767601800250` | Unix time |
//! | `2026-01-05 08:30`, `2026/01/05 08:30:00.25`, `05.01.2026 08:30` | a local time |
//! | `2026-01-05`, `2026/01/05`, `05.01.2026` | the start of a day |
//!
//! With dots the day comes first, everywhere that dots are used. With slashes, the year must come
//! first: `01/02/2026` is the second of January or the first of February, depending on the country.
//!
//! **Unix time.** The number of digits before the point gives the unit: up to 11 are seconds, 12 to 14
//! milliseconds, 15 to 17 microseconds, 18 and 19 nanoseconds. All of these reach from 1973 to
//! the year 5138, nanoseconds to 2286. Leading zeros are not counted.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};

use super::micros_of;

/// A time as it is written, before a zone gives it its place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Written {
    /// An instant in microseconds.
    Instant(i64),
    /// What the clocks of a zone show.
    Local(DateTime),
    /// The start of a date.
    Day(Date),
}

/// The time in any of the forms, except the usual one; `None` for anything else. There are no spaces
/// around it.
pub(crate) fn written(text: &str) -> Option<Written> {
    let bytes = text.as_bytes();
    if bytes.first().is_some_and(|byte| byte.is_ascii_digit() || *byte == b'-')
        && bytes[1..].iter().all(|byte| byte.is_ascii_digit() || *byte == b'.')
        && let Some(time) = unix(text)
    {
        return Some(Written::Instant(time));
    }
    let (date, rest) = bytes.split_at_checked(10)?;
    match (date[2], date[4], date[5], date[7]) {
        (_, b'-', _, b'-') => dashed(text),
        (_, b'/', _, b'/') => {
            let mut text = text.to_owned();
            text.replace_range(4..5, "-");
            text.replace_range(7..8, "-");
            dashed(&text)
        }
        (b'.', _, b'.', _) if date.is_ascii() => {
            dashed(&format!("{}-{}-{}{}", &text[6..10], &text[3..5], &text[..2], &text[10..]))
        }
        // Compact: without an offset it could be a number, and a local time is written with dashes.
        _ if matches!(date[8], b'T' | b't') && date[..8].iter().all(u8::is_ascii_digit) => {
            let is_plain = !rest.contains(&b'[');
            text.parse().ok().filter(|_| is_plain).and_then(micros_of).map(Written::Instant)
        }
        _ => None,
    }
}

/// A text that starts with a full date, as `jiff` reads it. Without the date, shorter ISO forms would
/// be guessed.
fn dashed(text: &str) -> Option<Written> {
    if let Ok(time) = text.parse::<Timestamp>() {
        return micros_of(time).map(Written::Instant);
    }
    // A zone's name in brackets would be skipped, and the time taken as local although it is not.
    if text.contains('[') {
        return None;
    }
    let local = text.parse::<DateTime>().ok()?;
    Some(if text.len() == 10 { Written::Day(local.date()) } else { Written::Local(local) })
}

/// Whether a text is a date with slashes that does not say which number is the day.
pub(super) fn is_ambiguous(text: &str) -> bool {
    let date = text.trim().split([' ', 'T', 't']).next().unwrap_or_default();
    let numbers: Vec<&str> = date.split('/').collect();
    numbers.len() == 3
        && numbers[0].len() <= 2
        && numbers.iter().all(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The time of a Unix time in digits, with or without a fraction, rounded down to microseconds.
pub(super) fn unix(text: &str) -> Option<i64> {
    let (is_negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    let are_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if !are_digits(whole) || !are_digits(fraction) {
        return None;
    }
    let whole = whole.trim_start_matches('0');
    // The value in picoseconds, which hold every unit with three more digits. Further digits matter
    // only for times before 1970, which are rounded down.
    let places: usize = match whole.len() {
        0..=11 => 12,
        12..=14 => 9,
        15..=17 => 6,
        18..=19 => 3,
        _ => return None,
    };
    let digit = |byte: u8| i128::from(byte - b'0');
    let shown = whole.bytes().chain(fraction.bytes().chain(std::iter::repeat(b'0')).take(places));
    let picos = shown.fold(0_i128, |sum, byte| sum * 10 + digit(byte));
    let has_more = fraction.bytes().skip(places).any(|byte| byte != b'0');
    let picos = if is_negative { -picos - i128::from(has_more) } else { picos };
    i64::try_from(picos.div_euclid(1_000_000)).ok()
}

/// The time of a Unix time as an integer, in the unit that its digits give.
pub(super) fn unix_integer(number: i64) -> Option<i64> {
    match number.unsigned_abs() {
        0..100_000_000_000 => number.checked_mul(1_000_000),
        100_000_000_000..100_000_000_000_000 => number.checked_mul(1_000),
        100_000_000_000_000..100_000_000_000_000_000 => Some(number),
        _ => Some(number.div_euclid(1_000)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn digits_give_the_unit_of_a_unix_time() {
        let moment = 1_767_601_800_250_001;
        for text in ["1767601800.250001", "1767601800250.001", "1767601800250001", "1767601800250001000"] {
            assert_eq!(unix(text), Some(moment), "{text}");
        }
        let cases = [
            ("0", 0),
            ("99999999999", 99_999_999_999_000_000),
            ("100000000000", 100_000_000_000_000),
            ("99999999999999", 99_999_999_999_999_000),
            ("100000000000000", 100_000_000_000_000),
            ("99999999999999999", 99_999_999_999_999_999),
            ("100000000000000000", 100_000_000_000_000),
            ("9999999999999999999", 9_999_999_999_999_999),
            ("000000000000000001", 1_000_000),
            ("1.5", 1_500_000),
            ("-1", -1_000_000),
            ("-0.0000001", -1),
            ("-0.0000000000001", -1),
            ("0.0000009", 0),
        ];
        for (text, micros) in cases {
            assert_eq!(unix(text), Some(micros), "{text}");
        }
        for text in ["", "-", ".5", "5.", "1.2.3", "1e9", "+1", "--1", "10000000000000000000", "1_000"] {
            assert_eq!(unix(text), None, "{text:?} was taken");
        }
    }

    proptest! {
        #[test]
        fn integers_are_read_as_their_digits(number in any::<i64>(), digits in 0_u32..19) {
            for number in [number, number / 10_i64.pow(digits)] {
                prop_assert_eq!(unix_integer(number), unix(&number.to_string()));
            }
        }
    }

    #[test]
    fn ambiguous_dates_are_known() {
        for text in ["01/02/2015", "1/2/15", " 01/02/2015 10:00", "31/12/2015"] {
            assert!(is_ambiguous(text), "{text}");
        }
        for text in ["2015/01/02", "01/2015", "a/b/c", "1//2", ""] {
            assert!(!is_ambiguous(text), "{text}");
        }
    }
}
