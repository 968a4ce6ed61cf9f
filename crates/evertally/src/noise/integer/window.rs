//! The reversible filter of a sliding window: decays in x, then in X = x^w.
//!
//! **Definition.** The same as `factorization/window_root`: y = s(x)z by the filter, then
//! (1−X)φ(X)y = Σ_j w_j (y − p_j X/(1−(1−p_j)X)·y). Each decay in X keeps the last w values of one
//! sum. The part that comes from earlier draws is rounded to an integer before the draw is added,
//! as in [`super::filter`].
//!
//! **Guarantee.** The weights are integer multiples of 2⁻⁶⁰ that add up to exactly one, and p_j and
//! 1 − p_j are exact complements. Every decay in X therefore vanishes at X = 1, so R stays bounded
//! forever. |u − L̃z| ≤ [`WindowCorrelator::rounding`].
//!
//! **Cost.** Per lane, 16 bytes per decay in x and 16·w bytes per decay in X.

use zeroize::{Zeroize, Zeroizing};

use super::correlator::IntegerCorrelator;
use super::factor::Factor;
use super::field::IntegerField;
use super::filter::{FRACTION, Filter, past_error, rounded};
use super::steps::StepReader;
use crate::Result;
use crate::noise::{Recipe, misfit};

/// A decay of φ in X = x^w: w_j, p_j and 1 − p_j, exact complements.
#[derive(Debug, Clone, Copy)]
#[doc(hidden)]
pub struct WindowDecay {
    pub(crate) weight: f64,
    pub(crate) loss: f64,
    pub(crate) decay: f64,
}

/// Weights are integer multiples of 2⁻⁶⁰.
const WEIGHT_BITS: u32 = 60;

#[derive(Debug, Clone, Copy)]
struct IntegerDecay {
    weight: Factor,
    loss: Factor,
    decay: Factor,
}

/// The decays of a window, in integers.
#[derive(Debug, Clone)]
pub(crate) struct WindowDecays(Vec<IntegerDecay>);

impl WindowDecays {
    /// Rounds the weights to parts that add up to one. The largest weight absorbs the rounding
    /// errors.
    pub(crate) fn new(decays: &[WindowDecay]) -> Self {
        let one = 1_i64 << WEIGHT_BITS;
        let mut parts: Vec<i64> = decays
            .iter()
            .map(|decay| libm::scalbn(decay.weight, WEIGHT_BITS as i32).round() as i64)
            .collect();
        let left = one - parts.iter().sum::<i64>();
        if let Some(heaviest) = parts.iter_mut().max() {
            *heaviest += left;
        }
        let integer = |(decay, parts): (&WindowDecay, i64)| IntegerDecay {
            weight: Factor::parts(parts, WEIGHT_BITS),
            loss: Factor::new(decay.loss),
            decay: Factor::new(decay.decay),
        };
        Self(decays.iter().zip(parts).map(integer).collect())
    }

    /// The number of decays.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

/// Runs the root of a window over the lanes of a field.
pub(crate) struct WindowCorrelator {
    filter: Filter,
    decays: WindowDecays,
    steps: StepReader,
    field: IntegerField,
    step: u64,
    lanes: Zeroizing<Vec<i128>>,
    /// Σ_i (1−p_j)^i y_{t−iw} for the last w steps: for each step of the window, lane by lane,
    /// decay by decay.
    rings: Zeroizing<Vec<i128>>,
    draws: Vec<i64>,
}

impl WindowCorrelator {
    pub(crate) fn new(
        filter: Filter,
        decays: WindowDecays,
        width: u64,
        steps: StepReader,
        field: IntegerField,
    ) -> Self {
        let lanes = field.width();
        Self {
            lanes: Zeroizing::new(vec![0; filter.rows() * lanes]),
            rings: Zeroizing::new(vec![0; width as usize * lanes * decays.len()]),
            draws: vec![0; lanes],
            decays,
            filter,
            steps,
            field,
            step: 0,
        }
    }

    /// The bound on |u − L̃z|, in integer units. The error of c counts once in y and once in the
    /// sums, whose decays remove as much as they keep.
    pub(crate) fn rounding(recipe: &Recipe, horizon: u64, decays: usize) -> f64 {
        let parts = 2.0 * past_error(recipe, horizon) + 3.0 + decays as f64;
        0.5 + 1.01 * parts * libm::exp2(-f64::from(FRACTION))
    }
}

/// Advances a lane by one step. `ring` holds the sums of its decays, as they were one window ago.
pub(super) fn step_lane(
    filter: &Filter,
    decays: &WindowDecays,
    lane: &mut [i128],
    ring: &mut [i128],
    white: impl FnOnce(i128) -> i128,
) -> i128 {
    let past = filter.past(lane);
    let kept = |(decay, sum): (&IntegerDecay, &i128)| decay.weight.times(past - decay.loss.times(*sum));
    let expected = rounded(decays.0.iter().zip(ring.iter()).map(kept).sum());
    let z = white(expected);
    let drive = z << FRACTION;
    filter.drive(lane, drive);
    for (sum, decay) in ring.iter_mut().zip(&decays.0) {
        *sum = past + drive + decay.decay.times(*sum);
    }
    z + expected
}

impl IntegerCorrelator for WindowCorrelator {
    fn next(&mut self, out: &mut [i128]) {
        let numbers = self.steps.at(self.step);
        let (rows, decays, width) = (self.filter.rows(), self.decays.len(), out.len());
        self.field.draw(self.step, numbers.scale, 0..width, &mut self.draws);
        let window = self.rings.len() / (width * decays);
        let position = (self.step % window as u64) as usize * width * decays;
        let rings = self.rings[position..].chunks_mut(decays);
        let lanes = self.lanes.chunks_mut(rows).zip(rings);
        for ((noise, draw), (lane, ring)) in out.iter_mut().zip(&mut self.draws).zip(lanes) {
            let z = i128::from(*draw);
            *noise = step_lane(&self.filter, &self.decays, lane, ring, |_| z);
            draw.zeroize();
        }
        self.step += 1;
    }

    fn save(&self) -> Vec<i128> {
        [&self.lanes[..], &self.rings].concat()
    }

    fn restore(&mut self, step: u64, saved: &[i128]) -> Result<()> {
        if saved.len() != self.lanes.len() + self.rings.len() {
            return Err(misfit());
        }
        let (lanes, rings) = saved.split_at(self.lanes.len());
        self.lanes.copy_from_slice(lanes);
        self.rings.copy_from_slice(rings);
        self.step = step;
        Ok(())
    }
}
