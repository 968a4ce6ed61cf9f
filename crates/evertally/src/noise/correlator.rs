//! From white noise to the noise that is released.

use std::sync::Arc;

use zeroize::Zeroizing;

use super::field::WhiteField;
use super::progress::Progress;
use crate::{Error, Result};

/// Produces the rows of L g in order, for every coordinate of its field.
///
/// A correlator is a pure function of its field and of the number of calls of `next`. It never sees
/// data.
pub trait Correlator: Send {
    /// Writes row t of L g, where t is the number of earlier calls.
    ///
    /// Must not be called more often than the horizon has steps. Counters ensure that.
    fn next(&mut self, out: &mut [f64]);

    /// The numbers that, together with the step, make up the state. Raw noise can be computed from
    /// them.
    fn save(&self) -> Vec<f64>;

    /// Continues after `step` calls of `next` from the numbers that `save` returned at that point.
    ///
    /// # Errors
    /// [`Error::BadState`] if the numbers cannot be such a state.
    fn restore(&mut self, step: u64, saved: &[f64]) -> Result<()>;
}

/// The error of every `restore` whose numbers do not fit.
pub(crate) fn misfit() -> Error {
    Error::BadState { reason: "it does not fit this mechanism" }
}

/// Copies saved numbers into the state of a correlator.
pub(crate) fn restore_numbers<T: Copy>(state: &mut [T], saved: &[T]) -> Result<()> {
    if saved.len() != state.len() {
        return Err(misfit());
    }
    state.copy_from_slice(saved);
    Ok(())
}

/// Refuses a saved state of a correlator whose state is only the step.
pub(crate) fn expect_no_numbers(saved: &[f64]) -> Result<()> {
    if saved.is_empty() { Ok(()) } else { Err(misfit()) }
}

/// Noise that is computed in advance for the whole horizon, because the mechanism has no cheaper
/// way.
///
/// Its state is only the step. On resumption the noise is computed again from the key.
pub(crate) struct Prepared {
    /// One column of `horizon` values for each coordinate.
    columns: Vec<Zeroizing<Vec<f64>>>,
    step: usize,
}

impl Prepared {
    /// Computes `horizon` values for each coordinate with `make(coordinate, out, progress)`.
    pub(crate) fn new(
        field: &Arc<dyn WhiteField>,
        horizon: u64,
        progress: &dyn Progress,
        make: impl Fn(usize, &mut Vec<f64>, &dyn Progress),
    ) -> Self {
        let width = field.width();
        let columns = (0..width)
            .map(|coordinate| {
                let mut column = Zeroizing::new(vec![0.0; horizon as usize]);
                let part = |fraction: f64| progress.report((coordinate as f64 + fraction) / width as f64);
                make(coordinate, &mut column, &part);
                column
            })
            .collect();
        Self { columns, step: 0 }
    }
}

impl Correlator for Prepared {
    fn next(&mut self, out: &mut [f64]) {
        for (value, column) in out.iter_mut().zip(&self.columns) {
            *value = column[self.step];
        }
        self.step += 1;
    }

    fn save(&self) -> Vec<f64> {
        Vec::new()
    }

    fn restore(&mut self, step: u64, saved: &[f64]) -> Result<()> {
        expect_no_numbers(saved)?;
        self.step = step as usize;
        Ok(())
    }
}
