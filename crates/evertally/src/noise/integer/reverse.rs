//! One lane of integer noise, run in either direction: from draws to noise, and from noise to the
//! draws that made it.
//!
//! Privacy rests on the second direction, but no release needs it. It is here for checks.

use super::filter::Filter;
use super::rows::Rows;
use super::steps::StepReader;
use super::window::{WindowDecays, step_lane};

/// A lane before its first step.
pub(crate) struct ReversibleLane {
    step: u64,
    decoder: Decoder,
}

/// What a lane holds, and how it is run.
enum Decoder {
    Filter {
        filter: Filter,
        steps: Box<StepReader>,
        lane: Vec<i128>,
        /// The decays of a window, and the sums of its last steps.
        window: Option<(WindowDecays, Vec<i128>)>,
    },
    Rows {
        rows: Rows,
        scale: f64,
        drawn: Vec<i64>,
    },
}

impl ReversibleLane {
    /// `window` is the decays and the length of a window.
    pub(crate) fn new(filter: Filter, steps: StepReader, window: Option<(WindowDecays, u64)>) -> Self {
        let window = window.map(|(decays, width)| {
            let sums = vec![0; width as usize * decays.len()];
            (decays, sums)
        });
        let lane = vec![0; filter.rows()];
        Self { step: 0, decoder: Decoder::Filter { filter, steps: Box::new(steps), lane, window } }
    }

    /// The lane of a decoder that is written out.
    pub(crate) fn of_rows(rows: Rows, scale: f64) -> Self {
        Self { step: 0, decoder: Decoder::Rows { rows, scale, drawn: Vec::new() } }
    }

    /// The noise of the next step, from its draw.
    pub(crate) fn noise(&mut self, draw: impl FnOnce(u64, u64) -> i128) -> i128 {
        let step = self.step;
        self.advance(|scale, _| draw(scale, step))
    }

    /// The draw of the next step, computed from its noise, and the standard deviation of such
    /// draws.
    pub(crate) fn draw(&mut self, noise: i128) -> (i128, u64) {
        let mut found = (0, 0);
        self.advance(|scale, expected| {
            found = (noise - expected, scale);
            found.0
        });
        found
    }

    /// `white` receives the standard deviation of the draw and the part of the noise that comes from
    /// earlier draws, and returns the draw.
    fn advance(&mut self, white: impl FnOnce(u64, i128) -> i128) -> i128 {
        let step = self.step;
        self.step += 1;
        match &mut self.decoder {
            Decoder::Rows { rows, scale, drawn } => {
                let expected = rows.expected(drawn.iter().copied());
                let z = white(rows.scale(step, *scale), expected);
                // Draws are below 2^57.
                drawn.push(z as i64);
                z + expected
            }
            Decoder::Filter { filter, steps, lane, window } => {
                let numbers = steps.at(step);
                let white = |expected| white(numbers.scale, expected);
                match window {
                    None => filter.step(lane, &numbers, white),
                    Some((decays, sums)) => {
                        let window = (sums.len() / decays.len()) as u64;
                        let position = (step % window) as usize * decays.len();
                        let ring = &mut sums[position..position + decays.len()];
                        step_lane(filter, decays, lane, ring, white)
                    }
                }
            }
        }
    }
}
