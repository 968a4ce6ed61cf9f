//! Errors keep their class: each [`ErrorClass`] is a Python class, all of them below `evertally.Error`.
//!
//! The classes are written in Python (`evertally/_errors.py`), because an extension module cannot make one that is a `ValueError` besides.

use evertally::ErrorClass;
use pyo3::PyErr;

pyo3::import_exception!(evertally._errors, Error);
pyo3::import_exception!(evertally._errors, BadParameter);
pyo3::import_exception!(evertally._errors, Unsupported);
pyo3::import_exception!(evertally._errors, HorizonSpent);
pyo3::import_exception!(evertally._errors, BudgetSpent);
pyo3::import_exception!(evertally._errors, BadState);
pyo3::import_exception!(evertally._errors, SystemFailure);

/// The Python exception of an error: its class, and its own words.
fn exception(class: ErrorClass, message: String) -> PyErr {
    match class {
        ErrorClass::BadParameter => BadParameter::new_err(message),
        ErrorClass::Unsupported => Unsupported::new_err(message),
        ErrorClass::HorizonSpent => HorizonSpent::new_err(message),
        ErrorClass::BudgetSpent => BudgetSpent::new_err(message),
        ErrorClass::BadState => BadState::new_err(message),
        ErrorClass::System => SystemFailure::new_err(message),
        // A class that is younger than this list is still one of the library's.
        _ => Error::new_err(message),
    }
}

/// Results of the library as results of PyO3.
pub(crate) trait OrRaise<T> {
    /// The value, or the exception of the error's class.
    fn or_raise(self) -> pyo3::PyResult<T>;
}

impl<T> OrRaise<T> for evertally::Result<T> {
    fn or_raise(self) -> pyo3::PyResult<T> {
        self.map_err(|error| exception(error.class(), error.to_string()))
    }
}

/// The exception of an error in events; a function, because a second `OrRaise` would leave parsed values without a type.
#[expect(clippy::needless_pass_by_value, reason = "it is what `map_err` hands over")]
pub(crate) fn refused(error: evertally_stream::Error) -> PyErr {
    exception(error.class(), error.to_string())
}

/// `BadParameter`, in the words that the library uses.
pub(crate) fn bad(name: &str, expected: &str, got: impl std::fmt::Display) -> PyErr {
    BadParameter::new_err(format!("{name} must be {expected}, got {got}"))
}
