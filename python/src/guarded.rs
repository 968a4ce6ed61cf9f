//! State whose inputs are compared with the record of its key before anything is released.
//!
//! **Guarantee.** A step whose input is recorded gives the recorded release again; a step with
//! another input is refused, takes no step and leaves the state as it was. What is new is recorded
//! before it is handed out, and where the step itself is refused nothing is recorded. If a step was
//! taken and could not be recorded, its release is withheld and the state is not used any more: it
//! stands one step ahead of what is known.
//!
//! **Cost.** A keyed hash of the numbers that are not zero; for a key that has a file, one
//! synchronised write per call.

use evertally::NoiseName;
use evertally_keys::{Digest, Guard, InputChain, Uses};
use pyo3::prelude::*;

use crate::errors::Failure;
use crate::shared::Shared;

/// A value and the guard of its inputs, behind a lock.
pub(crate) struct Guarded<T>(Shared<Held<T>>);

/// What the lock is held for.
pub(crate) struct Held<T> {
    pub(crate) value: T,
    /// None where the key was drawn for this object alone, or nothing under it is private.
    guard: Option<Guard>,
    /// Whether a step was taken that is not recorded.
    is_ahead: bool,
}

impl<T: Send> Guarded<T> {
    /// A value that has taken no step, or one that goes on from a saved state after so many.
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
        Ok(Self(Shared::new(Held { value, guard: guard.transpose()?, is_ahead: false })))
    }

    /// Does work that releases nothing new.
    pub(crate) fn with<R: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut T) -> evertally::Result<R> + Send,
    ) -> PyResult<R> {
        self.with_held(py, |held| {
            held.check()?;
            Ok(work(&mut held.value)?)
        })
    }

    /// Does work that may take steps, by [`Held::admit`].
    pub(crate) fn with_held<R: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Held<T>) -> Result<R, Failure> + Send,
    ) -> PyResult<R> {
        self.0.with_guarded(py, work)
    }

    /// What may be known whether or not all steps are recorded.
    pub(crate) fn look<R: Send>(&self, py: Python<'_>, look: impl FnOnce(&T) -> R + Send) -> PyResult<R> {
        self.with_held(py, |held| Ok(look(&held.value)))
    }
}

impl<T> Held<T> {
    /// Takes steps if the record of the key allows them. What `work` makes may be handed out when
    /// this returns it.
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
            // Nobody may see what was made: its input is not on record.
            self.is_ahead = was_taken;
            match failure {
                Failure::Key(error @ evertally_keys::Error::File { .. }) if was_taken => {
                    Failure::Unrecorded(format!(
                        "nothing is released, because its input cannot be recorded: {error}. \
                         A key file must stand where its record can be written"
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

    /// Goes back to the value before the steps that were not recorded.
    pub(crate) fn go_back_to(&mut self, value: T) {
        self.value = value;
        self.is_ahead = false;
    }

    fn check(&self) -> Result<(), Failure> {
        if self.is_ahead {
            let message =
                "an earlier step could not be recorded, and its release is withheld: resume a saved state";
            return Err(Failure::Unrecorded(message.to_owned()));
        }
        Ok(())
    }
}
