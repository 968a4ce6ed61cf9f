//! Each [`ErrorClass`] is a Python class; all of them are subclasses of `evertally.Error`.
//!
//! The classes are written in Python (`evertally/_errors.py`), because an extension module cannot
//! make a class that is also a `ValueError`. Files that cannot be read or written raise `OSError`,
//! as Python's own functions do.

use evertally::ErrorClass;
use pyo3::PyErr;
use pyo3::exceptions::PyOSError;

pyo3::import_exception!(evertally._errors, Error);
pyo3::import_exception!(evertally._errors, BadParameter);
pyo3::import_exception!(evertally._errors, Unsupported);
pyo3::import_exception!(evertally._errors, HorizonSpent);
pyo3::import_exception!(evertally._errors, BudgetSpent);
pyo3::import_exception!(evertally._errors, BadState);
pyo3::import_exception!(evertally._errors, KeyReused);
pyo3::import_exception!(evertally._errors, SystemFailure);

/// The Python exception of an error, with its class and message.
fn exception(class: ErrorClass, message: String) -> PyErr {
    match class {
        ErrorClass::BadParameter => BadParameter::new_err(message),
        ErrorClass::Unsupported => Unsupported::new_err(message),
        ErrorClass::HorizonSpent => HorizonSpent::new_err(message),
        ErrorClass::BudgetSpent => BudgetSpent::new_err(message),
        ErrorClass::BadState => BadState::new_err(message),
        ErrorClass::System => SystemFailure::new_err(message),
        // A class that was added after this list is still a class of the library.
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

/// Why a call on guarded state ended without a value.
pub(crate) enum Failure {
    /// The library refused.
    Library(evertally::Error),
    /// The record of the key refused, or could not be read.
    Key(evertally_keys::Error),
    /// A step was taken and could not be recorded, now or in an earlier call.
    Unrecorded(String),
}

impl From<evertally::Error> for Failure {
    fn from(error: evertally::Error) -> Self {
        Self::Library(error)
    }
}

impl From<evertally_keys::Error> for Failure {
    fn from(error: evertally_keys::Error) -> Self {
        Self::Key(error)
    }
}

impl Failure {
    /// The exception of the error's class.
    pub(crate) fn raise(self) -> PyErr {
        match self {
            Self::Library(error) => exception(error.class(), error.to_string()),
            Self::Key(error) => key_refused(error),
            Self::Unrecorded(message) => SystemFailure::new_err(message),
        }
    }
}

/// The exception of an error in a key or its record.
pub(crate) fn key_refused(error: evertally_keys::Error) -> PyErr {
    use evertally_keys::Error as Refusal;
    match error {
        Refusal::OtherInput { .. } | Refusal::StartsLater { .. } | Refusal::EndsEarlier { .. } => {
            KeyReused::new_err(error.to_string())
        }
        Refusal::Damaged { .. } => BadState::new_err(error.to_string()),
        Refusal::File { path, error, .. } => {
            // From the number Python derives the class, such as FileNotFoundError.
            let words = error.to_string();
            let words = words.split(" (os error").next().unwrap_or_default().to_owned();
            match error.raw_os_error() {
                Some(number) => PyOSError::new_err((number, words, path.into_os_string())),
                None => PyOSError::new_err(format!("{}: {words}", path.display())),
            }
        }
        other => BadParameter::new_err(other.to_string()),
    }
}

/// The exception of an error in events. It is a function, because with a second `OrRaise` the types
/// of parsed values could not be inferred.
#[expect(clippy::needless_pass_by_value, reason = "`map_err` passes the error by value")]
pub(crate) fn refused(error: evertally_stream::Error) -> PyErr {
    exception(error.class(), error.to_string())
}

/// `BadParameter`, with the wording of the library.
pub(crate) fn bad(name: &str, expected: &str, got: impl std::fmt::Display) -> PyErr {
    BadParameter::new_err(format!("{name} must be {expected}, got {got}"))
}
