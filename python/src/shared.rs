//! State that several Python threads may reach, and that only one may use at a time.
//!
//! **Guarantee.** Calls on one object take turns, whatever threads they come from: no two of them
//! are handed the same step. Nobody waits for the lock while attached to the interpreter, so that
//! waiting stops nobody else.
//!
//! A process that was forked holds a copy of every object, and a copy would add the same noise to
//! other data: the difference of the two releases would be bare. State that was made in another
//! process is therefore refused; a saved state can be resumed there instead. (Threads that share
//! the work of wide vectors do not survive a fork either.)

use std::sync::Mutex;

use pyo3::prelude::*;

use crate::errors::{BadState, Failure, SystemFailure};

/// A value behind a lock, in the process that made it.
pub(crate) struct Shared<T> {
    value: Mutex<T>,
    process: u32,
}

impl<T: Send> Shared<T> {
    pub(crate) fn new(value: T) -> Self {
        Self { value: Mutex::new(value), process: std::process::id() }
    }

    /// Does work on the value, detached from the interpreter.
    pub(crate) fn with<R: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut T) -> evertally::Result<R> + Send,
    ) -> PyResult<R> {
        self.with_guarded(py, |value| work(value).map_err(Failure::from))
    }

    /// Like `with`, for work that a record of the key may refuse as well.
    pub(crate) fn with_guarded<R: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut T) -> Result<R, Failure> + Send,
    ) -> PyResult<R> {
        if std::process::id() != self.process {
            return Err(BadState::new_err(
                "this object was made by the process that this one was forked from, which would use the same noise; \
                 save its state there, and resume from that in one process only",
            ));
        }
        let done = py.detach(|| self.value.lock().map(|mut value| work(&mut value)).ok());
        // Work that panicked may have left half a step behind; going on could use a step twice.
        let done =
            done.ok_or_else(|| SystemFailure::new_err("an earlier call failed in the middle of its work"))?;
        done.map_err(Failure::raise)
    }
}
