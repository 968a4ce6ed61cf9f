//! Steps that are over.

use crate::amount::Amount;
use std::iter::Peekable;
use std::ops::Range;
use std::vec;

/// The totals of one step, closed for good: the plain value that a mechanism is fed.
///
/// There is deliberately no `Debug`: true totals must not reach a log by accident.
#[derive(Clone, PartialEq)]
pub struct ClosedStep {
    /// The step, counted from zero.
    pub step: u64,
    /// One total per key, in the order of the [`KeySet`](crate::KeySet); one total without keys.
    pub totals: Vec<Amount>,
}

/// Steps that were just closed, in order. Those without an event are made on demand.
#[must_use = "closed steps come out once; dropping them loses their releases"]
pub struct ClosedSteps {
    steps: Range<u64>,
    held: Peekable<vec::IntoIter<ClosedStep>>,
    width: usize,
}

impl ClosedSteps {
    /// The steps of a range. Those that hold events are given, in order; all others are zero.
    pub(crate) fn new(steps: Range<u64>, held: Vec<ClosedStep>, width: usize) -> Self {
        Self { steps, held: held.into_iter().peekable(), width }
    }

    pub(crate) fn none() -> Self {
        Self::new(0..0, Vec::new(), 0)
    }
}

impl Iterator for ClosedSteps {
    type Item = ClosedStep;

    fn next(&mut self) -> Option<ClosedStep> {
        let step = self.steps.next()?;
        let held = self.held.next_if(|held| held.step == step);
        Some(held.unwrap_or_else(|| ClosedStep { step, totals: vec![Amount::default(); self.width] }))
    }
}
