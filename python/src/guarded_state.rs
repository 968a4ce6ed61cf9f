//! State whose inputs are compared with the record of its key before anything is released.
//!
//! **Guarantee.** A step whose input is recorded gives the recorded release again. A step with
//! another input is refused and leaves the state as it was. A new input is recorded before its
//! release is handed out; nothing is recorded for a step that the library refuses. If a step was
//! taken but could not be recorded, its release is withheld and the state refuses further use,
//! because it is one step ahead of its record.
//!
//! **Cost.** A keyed hash of the numbers that are not zero. For a key that has a file, also one
//! synchronised write per call.

use evertally::NoiseName;
use evertally_keys::{Digest, Guard, InputChain, Uses};
use pyo3::prelude::*;

use crate::errors::Failure;
use crate::process_lock::ProcessLock;

/// A [`GuardedState`] behind a lock.
pub(crate) struct GuardedLock<T>(ProcessLock<GuardedState<T>>);

/// A value and the guard of its inputs.
pub(crate) struct GuardedState<T> {
    pub(crate) value: T,
    /// None for a key that was drawn for this object alone, or under which nothing is private.
    guard: Option<Guard>,
    /// Whether a step was taken that is not recorded.
    is_ahead: bool,
}

impl<T: Send> GuardedLock<T> {
    /// A value that has taken no step, or a value that was resumed after this number of steps from
    /// this saved state.
    pub(crate) fn new(
        value: T,
        uses: Option<&Uses>,
        name: &NoiseName,
        resumed: Option<(u64, &[u8])>,
    ) -> Result<Self, Failure> {
        let guard = uses.map(|uses| match resumed {
            None => uses.guard(name),
            Some((steps, state)) => uses.guard_resumed(name, steps, state),
        });
        Ok(Self(ProcessLock::new(GuardedState { value, guard: guard.transpose()?, is_ahead: false })))
    }

    /// Does work that releases nothing new.
    pub(crate) fn with<R: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut T) -> evertally::Result<R> + Send,
    ) -> PyResult<R> {
        self.with_state(py, |state| {
            state.check()?;
            Ok(work(&mut state.value)?)
        })
    }

    /// Does work that may take steps, through [`GuardedState::admit`].
    pub(crate) fn with_state<R: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut GuardedState<T>) -> Result<R, Failure> + Send,
    ) -> PyResult<R> {
        self.0.with_failure(py, work)
    }

    /// Reads what may be known even if a step is not recorded.
    pub(crate) fn read<R: Send>(&self, py: Python<'_>, read: impl FnOnce(&T) -> R + Send) -> PyResult<R> {
        self.with_state(py, |state| Ok(read(&state.value)))
    }
}

impl<T> GuardedState<T> {
    /// Takes steps if the record of the key allows them. The result of `work` may be handed out
    /// once this function returns it.
    pub(crate) fn admit<R, D: FnOnce(&mut InputChain) -> Vec<Digest>>(
        &mut self,
        digests: impl FnOnce(&T) -> D,
        work: impl FnOnce(&mut T) -> evertally::Result<R>,
    ) -> Result<R, Failure> {
        self.check()?;
        let Some(guard) = &mut self.guard else { return Ok(work(&mut self.value)?) };
        let (digests, value) = (digests(&self.value), &mut self.value);
        let mut was_taken = false;
        let done = guard.admit(digests, |_| {
            let done = work(value).map_err(Failure::from)?;
            was_taken = true;
            Ok(done)
        });
        done.map_err(|failure| {
            // Nobody may see the result: its input is not on record.
            self.is_ahead = was_taken;
            match failure {
                Failure::Key(error @ evertally_keys::Error::File { .. }) if was_taken => {
                    Failure::Unrecorded(format!(
                        "nothing is released, because its input cannot be recorded: {error}. \
                         The directory of a key file must be writable"
                    ))
                }
                other => other,
            }
        })
    }

    /// Whether the value has taken a step that is not recorded.
    pub(crate) fn is_ahead(&self) -> bool {
        self.is_ahead
    }

    /// Restores the value before the steps that were not recorded.
    pub(crate) fn restore(&mut self, value: T) {
        self.value = value;
        self.is_ahead = false;
    }

    /// Refuses further use of a value that is ahead of its record.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        if self.is_ahead {
            let message =
                "an earlier step could not be recorded, and its release is withheld: resume a saved state";
            return Err(Failure::Unrecorded(message.to_owned()));
        }
        Ok(())
    }
}
