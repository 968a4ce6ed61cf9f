//! Times, lengths, names and amounts, read by Spark as by the command line. Private to the package.
//!
//! **Definition.** Times and lengths have the forms of `evertally-stream`. Lengths may also be
//! written in Spark's words, such as "15 minutes". Spark's own expressions trim names and clamp
//! values; the characters and the ends that they need come from here.

use evertally_stream::{Amount, BucketLength, Clamp, time};
use pyo3::prelude::*;

use crate::errors::{bad, refused};

/// The units of an interval in Spark's words, in microseconds.
const UNITS: [(&str, i64); 7] = [
    ("microsecond", 1),
    ("millisecond", 1_000),
    ("second", 1_000_000),
    ("minute", 60_000_000),
    ("hour", 3_600_000_000),
    ("day", 86_400_000_000),
    ("week", 604_800_000_000),
];

/// The shortest unit in which a step may be given.
const MIN_STEP_UNIT: i64 = 1_000_000;

/// The number of steps of the grid in one.
pub(crate) const GRID: i64 = 1 << -Amount::GRID_EXPONENT;

/// A time in microseconds since 1970, in any form that files have. In UTC unless it has an offset.
///
/// >>> from evertally._native import _time_micros
/// >>> _time_micros("1970-01-01T01:00:01+01:00"), _time_micros("1970-01-02"), _time_micros("soon")
/// (1000000, 86400000000, None)
#[pyfunction]
pub(crate) fn _time_micros(text: &str) -> Option<i64> {
    time::parse(text)
}

/// The length of a step in microseconds, from a text such as "30s", "15m", "1h", "1d" or "1w", or
/// from a number and a unit, such as "15 minutes".
///
/// >>> from evertally._native import _bucket_micros
/// >>> _bucket_micros("1m"), _bucket_micros("2 minutes")
/// (60000000, 120000000)
#[pyfunction]
pub(crate) fn _bucket_micros(text: &str) -> PyResult<i64> {
    let mut words = text.split_whitespace();
    let in_short = match (words.next(), words.next(), words.next()) {
        (Some(count), Some(word), None) if unit(word).is_some_and(|micros| micros >= MIN_STEP_UNIT) => {
            Some(format!("{count}{}", &word[..1]))
        }
        _ => None,
    };
    let length = in_short.as_deref().unwrap_or(text).parse::<BucketLength>();
    length.map(BucketLength::micros).map_err(refused)
}

/// An interval in microseconds, from a text such as "10m", or from numbers and units, such as
/// "1 hour 30 minutes". None for anything else.
///
/// >>> from evertally._native import _interval_micros
/// >>> _interval_micros("10m"), _interval_micros("1 second 5 milliseconds"), _interval_micros("soon")
/// (600000000, 1005000, None)
#[pyfunction]
pub(crate) fn _interval_micros(text: &str) -> Option<i64> {
    if let Ok(length) = text.parse::<BucketLength>() {
        return Some(length.micros());
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    let pairs = words.chunks(2).map(|pair| match pair {
        [count, word] if count.bytes().all(|byte| byte.is_ascii_digit()) => {
            count.parse::<i64>().ok()?.checked_mul(unit(word)?)
        }
        _ => None,
    });
    let sum = pairs.reduce(|sum, length| sum?.checked_add(length?));
    sum.flatten()
}

fn unit(word: &str) -> Option<i64> {
    let singular = word.strip_suffix('s').unwrap_or(word);
    UNITS.into_iter().find(|(name, _)| *name == singular).map(|(_, micros)| micros)
}

/// The least and the largest amount inside a clamp, in steps of the grid.
///
/// >>> from evertally._native import _GRID, _ends_on_grid
/// >>> _ends_on_grid(-0.5, 2.0) == (-_GRID // 2, 2 * _GRID)
/// True
#[pyfunction]
pub(crate) fn _ends_on_grid(lo: f64, hi: f64) -> PyResult<(i64, i64)> {
    let clamp = Clamp::new(lo, hi).map_err(refused)?;
    let end = |infinity| clamp.apply(infinity).map(Amount::grid_steps).map_err(refused);
    let in_64_bits = |steps: i128| {
        i64::try_from(steps).map_err(|_| bad("the clamp", "within 64 bits on the grid", format!("{lo},{hi}")))
    };
    Ok((in_64_bits(end(f64::NEG_INFINITY)?)?, in_64_bits(end(f64::INFINITY)?)?))
}

/// All characters that are trimmed from names.
///
/// >>> from evertally._native import _whitespace
/// >>> len(_whitespace()), " " in _whitespace()
/// (25, True)
#[pyfunction]
pub(crate) fn _whitespace() -> String {
    (char::MIN..=char::MAX).filter(|character| character.is_whitespace()).collect()
}
