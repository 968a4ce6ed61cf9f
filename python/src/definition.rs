//! How the definition of a count is encoded, by Spark as by the command line.
//!
//! Private to the package. Counts with the same definition have the same noise under one key.

use evertally_stream::{
    BucketLength, Clamp, Closing, Columns, Definition, Precedence, Presence, Share, Stays,
};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::refused;

/// The definition of a count of events, as it is encoded in the name of the noise.
///
/// columns: those of time, value, key, person and id, in this order; None for a role without a column.
/// buckets: the start of the first and the length of all, in microseconds; None if a row is a step.
/// closing: by how much events may be late and how far ahead of the clock they may be, in
///     microseconds, if a watermark closes steps; None if all rows are read first.
/// clamp, bound: the range of a value; the maximum number of steps per person, and the minimum gap.
/// keys_per_person: in how many keys a person counts, once in each.
/// stays: for persons who come and go, the steps of the window, the most stays of a person, and the column
///     of operations.
/// within_step: whether ids are compared within a step only, as in streams of Spark.
///
/// >>> from evertally._native import _definition
/// >>> hourly = _definition(("when", None, "page", None, None), (0, 3_600_000_000))
/// >>> daily = _definition(("when", None, "page", None, None), (0, 86_400_000_000))
/// >>> hourly[:4], hourly != daily
/// (b'EVND', True)
#[pyfunction]
#[pyo3(signature = (columns, buckets=None, closing=None, clamp=None, bound=None, within_step=false, keys_per_person=1, stays=None))]
#[expect(clippy::type_complexity, clippy::too_many_arguments, reason = "pairs and keywords of Python")]
pub(crate) fn _definition<'py>(
    py: Python<'py>,
    columns: (Option<String>, Option<String>, Option<String>, Option<String>, Option<String>),
    buckets: Option<(i64, i64)>,
    closing: Option<(i64, Option<i64>)>,
    clamp: Option<(f64, f64)>,
    bound: Option<(u64, u64)>,
    within_step: bool,
    keys_per_person: u64,
    stays: Option<(Option<u64>, u64, Option<String>)>,
) -> PyResult<Bound<'py, PyBytes>> {
    let (time, value, key, person, id) = &columns;
    let length = |(start, every)| BucketLength::from_micros(every).map(|every| (start, every));
    let definition = Definition {
        columns: Columns {
            time: time.as_deref(),
            value: value.as_deref(),
            key: key.as_deref(),
            person: person.as_deref(),
            id: id.as_deref(),
        },
        buckets: buckets.map(length).transpose().map_err(refused)?,
        closing: closing.map_or(Closing::AtTheEnd, |(delay_micros, ahead_micros)| Closing::ByWatermark {
            delay_micros,
            ahead_micros,
        }),
        clamp: clamp.map(|(lo, hi)| Clamp::new(lo, hi)).transpose().map_err(refused)?,
        bound,
        precedence: if within_step { Precedence::TimeWithinStep } else { Precedence::Time },
        share: Share::once_per_key(keys_per_person).map_err(refused)?,
        stays: stays.as_ref().map(|(window, max_stays, operation)| Stays {
            presence: window.map_or(Presence::Operations, |steps| Presence::Window { steps }),
            max_stays: *max_stays,
            operation: operation.as_deref(),
        }),
        ..Definition::default()
    };
    Ok(PyBytes::new(py, &definition.encode()))
}
