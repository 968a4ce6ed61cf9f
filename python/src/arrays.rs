//! Arrays in and out, without copies.
//!
//! **Guarantee.** Only an array of exactly the requested type, shape and layout is accepted, and it
//! is used in place. Everything else is refused with a message that names its type, never its
//! contents.
//!
//! **The caller's responsibility.** Work runs without the interpreter's lock. Meanwhile rust-numpy
//! refuses other calls of this kind on the same array, but not Python code that writes into it from
//! another thread, as with numpy's own functions.

use evertally::Matrix;
use numpy::{
    Element, PyArray, PyArray2, PyArrayDescr, PyArrayDescrMethods, PyArrayMethods, PyReadonlyArray,
    PyReadwriteArray, PyUntypedArray, PyUntypedArrayMethods, dtype, ndarray,
};
use pyo3::prelude::*;

use crate::errors::bad;

/// The precision of noise.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Precision {
    Single,
    Double,
}

impl Precision {
    /// Reads anything that numpy accepts as a type: `"float32"`, `numpy.float32`,
    /// `numpy.dtype("float32")`.
    pub(crate) fn read(py: Python<'_>, given: &Bound<'_, PyAny>) -> PyResult<Self> {
        let expected = "float32 or float64";
        let found = PyArrayDescr::new(py, given.clone()).map_err(|_| bad("dtype", expected, kind(given)))?;
        if found.is_equiv_to(&dtype::<f32>(py)) {
            Ok(Self::Single)
        } else if found.is_equiv_to(&dtype::<f64>(py)) {
            Ok(Self::Double)
        } else {
            Err(bad("dtype", expected, found))
        }
    }
}

/// The type of a value that may not be shown.
pub(crate) fn kind(value: &Bound<'_, PyAny>) -> String {
    value.get_type().name().map_or_else(|_| "something else".to_owned(), |name| name.to_string())
}

/// An array to read in place.
pub(crate) fn readable<'py, T: Element, D: ndarray::Dimension>(
    name: &str,
    given: &Bound<'py, PyAny>,
) -> PyResult<PyReadonlyArray<'py, T, D>> {
    let array = in_place::<T, D>(name, given, "")?;
    array.try_readonly().map_err(|_| bad(name, "free to read", "an array that another call is writing"))
}

/// An array to write in place.
pub(crate) fn writable<'py, T: Element, D: ndarray::Dimension>(
    name: &str,
    given: &Bound<'py, PyAny>,
) -> PyResult<PyReadwriteArray<'py, T, D>> {
    let array = in_place::<T, D>(name, given, "writable ")?;
    array.try_readwrite().map_err(|error| match error {
        numpy::BorrowError::NotWriteable => bad(name, "writable", "a read-only array"),
        _ => bad(name, "free to write", "an array that another call is using"),
    })
}

fn in_place<'py, T: Element, D: ndarray::Dimension>(
    name: &str,
    given: &Bound<'py, PyAny>,
    quality: &str,
) -> PyResult<Bound<'py, PyArray<T, D>>> {
    let py = given.py();
    let wanted = || {
        let dimensions = D::NDIM.map_or_else(String::new, |n| format!("{n}-dimensional "));
        format!("a {quality}{dimensions}contiguous array of {}", dtype::<T>(py))
    };
    let Ok(untyped) = given.cast::<PyUntypedArray>() else {
        return Err(bad(name, &wanted(), kind(given)));
    };
    match given.cast::<PyArray<T, D>>() {
        Ok(_) if !untyped.is_c_contiguous() => Err(bad(name, &wanted(), "one that is not contiguous")),
        Ok(array) if !array.data().is_aligned() => Err(bad(name, &wanted(), "one that is not aligned")),
        Ok(array) => Ok(array.clone()),
        Err(_) => {
            let got = format!("{} dimensions of {}", untyped.ndim(), untyped.dtype());
            Err(bad(name, &wanted(), got))
        }
    }
}

/// A matrix of the library as an array.
pub(crate) fn matrix<'py>(py: Python<'py>, matrix: &Matrix) -> Bound<'py, PyArray2<f64>> {
    let shape = (matrix.rows(), matrix.columns());
    PyArray2::from_owned_array(py, ndarray::Array2::from_shape_fn(shape, |(i, j)| matrix.row(i)[j]))
}
