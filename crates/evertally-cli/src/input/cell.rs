//! One cell, and the types that it can be read as.

use evertally_stream::given_name;
use evertally_stream::time::{self, TimeReader};
use std::borrow::Cow;

/// A cell as its format gave it. No `Debug`: cells are private.
#[derive(Clone, Default)]
#[cfg_attr(not(feature = "columnar"), expect(dead_code, reason = "text has no such values"))]
pub(crate) enum Cell {
    /// Absent, null or blank.
    #[default]
    Missing,
    Text(String),
    Integer(i64),
    Decimal(f64),
    /// A float of 32 bits. It is no time: today, two of them in a row are 128 seconds apart.
    Single(f32),
    /// A boolean, or a literal of JSON that is neither a string nor an integer: a decimal, an array or
    /// an object.
    Literal(String),
    /// Microseconds since 1970 in UTC, from a format that has times of its own.
    Time(i64),
    /// Microseconds since 1970 in local time: a date, or a time without a zone.
    LocalTime(i64),
}

/// What a value may look like, for messages.
pub(crate) const EXPECTED_VALUE: &str = "an integer from -2^63 to 2^63-1 or a finite decimal";

impl Cell {
    /// Sets the cell to a text and reuses its memory. A blank text is a missing cell.
    pub(crate) fn set_text(&mut self, text: &str) {
        if given_name(Some(text)).is_none() {
            *self = Self::Missing;
        } else if let Self::Text(held) = self {
            held.clear();
            held.push_str(text);
        } else {
            *self = Self::Text(text.to_owned());
        }
    }

    /// The cell as a name (a key, a person, an id), if there is one. A decimal or a time is no name:
    /// it may be rounded, and then two people would be one. Nor is any other literal of JSON: `{}` is
    /// everybody's.
    pub(crate) fn as_name(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Text(text) => given_name(Some(text)).map(Cow::Borrowed),
            Self::Integer(number) => Some(Cow::Owned(number.to_string())),
            Self::Missing
            | Self::Decimal(_)
            | Self::Single(_)
            | Self::Literal(_)
            | Self::Time(_)
            | Self::LocalTime(_) => None,
        }
    }

    /// Converts the cell to a name in place.
    pub(crate) fn make_name(&mut self) -> Option<&str> {
        if let Self::Integer(number) = self {
            *self = Self::Text(number.to_string());
        }
        match self {
            Self::Text(text) => given_name(Some(text)),
            _ => None,
        }
    }

    /// The cell as an error shows it, if there is anything in it.
    pub(crate) fn as_shown(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Missing => None,
            Self::Text(text) | Self::Literal(text) => Some(Cow::Borrowed(text.trim())),
            Self::Integer(number) => Some(Cow::Owned(number.to_string())),
            Self::Decimal(number) => Some(Cow::Owned(number.to_string())),
            Self::Single(number) => Some(Cow::Owned(number.to_string())),
            Self::Time(micros) => {
                Some(Cow::Owned(time::format(*micros).unwrap_or_else(|| micros.to_string())))
            }
            Self::LocalTime(micros) => {
                let text = time::format(*micros).unwrap_or_else(|| micros.to_string());
                Some(Cow::Owned(text.trim_end_matches('Z').to_owned()))
            }
        }
    }

    /// The cell as a time in microseconds. A number is Unix time, unless the reader has a format.
    pub(crate) fn as_time(&self, reader: &TimeReader) -> Option<i64> {
        match self {
            Self::Text(text) | Self::Literal(text) => reader.parse(text),
            Self::Integer(number) => reader.parse_integer(*number),
            Self::Decimal(number) => reader.parse_decimal(*number),
            Self::Time(micros) => Some(*micros),
            Self::LocalTime(micros) => reader.local(*micros),
            Self::Missing | Self::Single(_) => None,
        }
    }

    /// The cell as a value: an integer that fits 64 bits, or a finite decimal.
    pub(crate) fn as_value(&self) -> Option<f64> {
        match self {
            Self::Text(text) | Self::Literal(text) => parse_value(text.trim()),
            Self::Integer(number) => Some(integer_to_f64(*number)),
            Self::Decimal(number) => Some(*number).filter(|number| number.is_finite()),
            Self::Single(number) => Some(f64::from(*number)).filter(|number| number.is_finite()),
            Self::Missing | Self::Time(_) | Self::LocalTime(_) => None,
        }
    }
}

/// A number in a text file.
pub(crate) fn parse_value(text: &str) -> Option<f64> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.parse().ok().map(integer_to_f64);
    }
    // "inf" and "nan" parse as floating-point numbers. They are refused here.
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

/// The nearest double, except that a number above 2^53 never becomes 2^53, so that it is recognised
/// as too large.
fn integer_to_f64(number: i64) -> f64 {
    const MAX_EXACT: u64 = 1 << 53;
    let nearest = number as f64;
    if number.unsigned_abs() > MAX_EXACT && nearest.abs() == MAX_EXACT as f64 {
        return (MAX_EXACT + 2) as f64 * nearest.signum();
    }
    nearest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_integers_or_finite_decimals() {
        let taken = [("0", 0.0), ("-17", -17.0), ("+3", 3.0), ("2.5", 2.5), ("1e3", 1000.0), (".5", 0.5)];
        for (text, value) in taken {
            assert_eq!(parse_value(text), Some(value), "{text}");
        }
        assert_eq!(parse_value("9223372036854775807"), Some(9_223_372_036_854_775_807.0));
        let refused = [
            "",
            "-",
            "9223372036854775808",
            "-9223372036854775809",
            "nan",
            "inf",
            "-infinity",
            "1e999",
            "0x10",
        ];
        for text in refused.into_iter().chain(["1,5", "1_000", "five", "1 2"]) {
            assert_eq!(parse_value(text), None, "{text:?} was taken");
        }
    }

    #[test]
    fn just_above_the_largest_exact_number_stays_above_it() {
        assert!(parse_value("9007199254740993").is_some_and(|value| value > 9_007_199_254_740_992.0));
        assert_eq!(parse_value("9007199254740992"), Some(9_007_199_254_740_992.0));
    }
}
