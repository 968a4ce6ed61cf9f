//! One lane of integer noise, run in either direction: from draws to noise, and from noise to the
//! draws that made it.
//!
//! Privacy rests on the second direction, but no release needs it. It is here for checks.

use super::filter::Filter;
use super::steps::{StepNumbers, StepReader};
use super::window::{WindowDecays, step_lane};

/// A lane before its first step.
pub(crate) struct ReversibleLane {
    filter: Filter,
    steps: StepReader,
    step: u64,
    lane: Vec<i128>,
    /// The decays of a window, and the sums of its last steps.
    window: Option<(WindowDecays, Vec<i128>)>,
}

impl ReversibleLane {
    /// `window` is the decays and the length of a window.
    pub(crate) fn new(filter: Filter, steps: StepReader, window: Option<(WindowDecays, u64)>) -> Self {
        let window = window.map(|(decays, width)| {
            let sums = vec![0; width as usize * decays.len()];
            (decays, sums)
        });
        Self { lane: vec![0; filter.rows()], filter, steps, step: 0, window }
    }

    /// The noise of the next step, from its draw.
    pub(crate) fn noise(&mut self, draw: impl FnOnce(&StepNumbers, u64) -> i128) -> i128 {
        let step = self.step;
        self.advance(|numbers, _| draw(numbers, step))
    }

    /// The draw of the next step, computed from its noise, and the standard deviation of such
    /// draws.
    pub(crate) fn draw(&mut self, noise: i128) -> (i128, u64) {
        let mut found = (0, 0);
        self.advance(|numbers, expected| {
            found = (noise - expected, numbers.scale);
            found.0
        });
        found
    }

    fn advance(&mut self, white: impl FnOnce(&StepNumbers, i128) -> i128) -> i128 {
        let numbers = self.steps.at(self.step);
        let white = |expected| white(&numbers, expected);
        let noise = match &mut self.window {
            None => self.filter.step(&mut self.lane, &numbers, white),
            Some((decays, sums)) => {
                let window = (sums.len() / decays.len()) as u64;
                let position = (self.step % window) as usize * decays.len();
                let ring = &mut sums[position..position + decays.len()];
                step_lane(&self.filter, decays, &mut self.lane, ring, white)
            }
        };
        self.step += 1;
        noise
    }
}
