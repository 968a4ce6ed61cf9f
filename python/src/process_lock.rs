//! State that several Python threads may reach, but only one may use at a time.
//!
//! **Guarantee.** Calls on one object take turns, from any thread: no two calls get the same step.
//! A thread detaches from the interpreter before it waits for the lock, so waiting blocks no other
//! thread.
//!
//! A forked process holds a copy of every object. A copy would add the same noise to other data, and
//! the difference of the two releases would hold no noise. State from another process is therefore
//! refused; a saved state can be resumed instead. (The threads that share the work of wide vectors
//! do not survive a fork either.)

use std::sync::Mutex;

use pyo3::prelude::*;

use crate::errors::{BadState, Failure, SystemFailure};

/// A value behind a lock, usable only in the process that created it.
pub(crate) struct ProcessLock<T> {
    value: Mutex<T>,
    process: u32,
}

impl<T: Send> ProcessLock<T> {
    pub(crate) fn new(value: T) -> Self {
        Self { value: Mutex::new(value), process: std::process::id() }
    }

    /// Does work on the value, detached from the interpreter.
    pub(crate) fn with<R: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut T) -> evertally::Result<R> + Send,
    ) -> PyResult<R> {
        self.with_failure(py, |value| work(value).map_err(Failure::from))
    }

    /// Like `with`, for work that the record of a key may refuse too.
    pub(crate) fn with_failure<R: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut T) -> Result<R, Failure> + Send,
    ) -> PyResult<R> {
        if std::process::id() != self.process {
            return Err(BadState::new_err(
                "this object was made by the process that this one was forked from, which would use the same \
                 noise; save its state there, and resume from that in one process only",
            ));
        }
        let done = py.detach(|| self.value.lock().map(|mut value| work(&mut value)).ok());
        // Work that panicked may have left half a step behind; another call could use a step twice.
        let done =
            done.ok_or_else(|| SystemFailure::new_err("an earlier call failed in the middle of its work"))?;
        done.map_err(Failure::raise)
    }
}
