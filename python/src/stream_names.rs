//! What the faces that count events share with the command line: how a stream is called, and how the length of a bucket is written.
//!
//! Private to the package. With these, whatever counts the same columns over the same time under one key makes the same noise.

use evertally_stream::BucketLength;
use pyo3::prelude::*;

use crate::errors::{BadParameter, refused};

/// The name of a counted stream: the columns that are read, and the first moment and the length of the buckets in microseconds, or None for
/// both where a row is a step.
///
/// >>> from evertally._native import _stream_name
/// >>> _stream_name("when", None, "page", None, None, 0, 60_000_000)
/// '[Some("when"), None, Some("page"), None, None] Some((0, 60000000))'
#[pyfunction]
pub(crate) fn _stream_name(
    time: Option<&str>,
    value: Option<&str>,
    key: Option<&str>,
    person: Option<&str>,
    id: Option<&str>,
    start_micros: Option<i64>,
    every_micros: Option<i64>,
) -> PyResult<String> {
    let range = match (start_micros, every_micros) {
        (Some(start), Some(every)) => Some((start, BucketLength::from_micros(every).map_err(refused)?)),
        (None, None) => None,
        _ => {
            return Err(BadParameter::new_err(
                "start_micros and every_micros are given together or not at all",
            ));
        }
    };
    Ok(evertally_stream::stream_name([time, value, key, person, id], range))
}

/// The length of a bucket in microseconds, of a text such as "30s", "15m", "1h", "1d" or "1w".
///
/// >>> from evertally._native import _bucket_micros
/// >>> _bucket_micros("1m")
/// 60000000
#[pyfunction]
pub(crate) fn _bucket_micros(text: &str) -> PyResult<i64> {
    text.parse::<BucketLength>().map(BucketLength::micros).map_err(refused)
}
