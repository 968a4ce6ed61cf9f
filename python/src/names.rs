//! Columns of names: persons, keys and ids, from lists and arrays.
//!
//! **Definition.** A name is a text or an integer. None, NaN and the missing values of pandas are no name.
//! Which texts are blank is decided by `evertally-stream`.

use numpy::Ix1;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyFloat, PyInt, PyString};

use crate::arrays::{kind, readable};
use crate::errors::bad;

/// A column of names: a list, a tuple, or anything with `tolist`, as arrays and series have.
pub(crate) fn read_names(name: &str, given: &Bound<'_, PyAny>) -> PyResult<Vec<Option<String>>> {
    let expected = "a list or an array of names";
    if given.is_instance_of::<PyString>() || given.is_instance_of::<PyBytes>() {
        return Err(bad(name, expected, kind(given)));
    }
    let listed = if given.hasattr("tolist")? { given.call_method0("tolist")? } else { given.clone() };
    let items = listed.try_iter().map_err(|_| bad(name, expected, kind(given)))?;
    items.map(|item| read_name(name, &item?)).collect()
}

fn read_name(name: &str, given: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    if let Ok(text) = given.cast::<PyString>() {
        let text =
            text.to_str().map_err(|_| bad(name, "names in Unicode", "a text with a lone surrogate"))?;
        return Ok(Some(text.to_owned()));
    }
    if given.is_none() || matches!(kind(given).as_str(), "NAType" | "NaTType") {
        return Ok(None);
    }
    if given.is_instance_of::<PyInt>() && !given.is_instance_of::<PyBool>() {
        return Ok(Some(given.str()?.to_str()?.to_owned()));
    }
    match given.cast::<PyFloat>() {
        Ok(number) if number.value().is_nan() => Ok(None),
        _ => Err(bad(name, "names: texts or integers", kind(given))),
    }
}

/// A column of names that has as many rows as another column.
pub(crate) fn read_names_beside(
    name: &str,
    given: Option<&Bound<'_, PyAny>>,
    rows: usize,
) -> PyResult<Option<Vec<Option<String>>>> {
    let Some(given) = given.filter(|given| !given.is_none()) else { return Ok(None) };
    let names = read_names(name, given)?;
    if names.len() == rows { Ok(Some(names)) } else { Err(other_length(name, rows, names.len())) }
}

/// The steps of some rows: one for all of them, or an array of int64.
pub(crate) fn read_steps(given: &Bound<'_, PyAny>, rows: usize) -> PyResult<Vec<u64>> {
    let from_zero = |step: i64| {
        u64::try_from(step).map_err(|_| bad("steps", "counted from zero", "one that is negative"))
    };
    if given.is_instance_of::<PyInt>() {
        return Ok(vec![from_zero(given.extract()?)?; rows]);
    }
    let steps = readable::<i64, Ix1>("steps", given)?;
    let steps = steps.as_slice()?;
    if steps.len() != rows {
        return Err(other_length("steps", rows, steps.len()));
    }
    steps.iter().map(|step| from_zero(*step)).collect()
}

/// The refusal of a column of another length.
pub(crate) fn other_length(name: &str, rows: usize, got: usize) -> PyErr {
    bad(name, &format!("one for each of {rows} events"), got)
}
