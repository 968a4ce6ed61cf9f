//! The reversible filter of a sliding window: decays in x, then in X = x^w.
//!
//! **Definition.** As `factorization/window_root` runs it: y = s(x)z by the filter, then
//! (1−X)φ(X)y = Σ_j w_j (y − p_j X/(1−(1−p_j)X)·y), the last w values of one sum a tooth. What is
//! made of earlier draws is rounded to a whole number and the draw added, as in [`super::filter`].
//!
//! **Guarantee.** The weights are whole numbers of parts 2⁻⁶⁰ that add up to one exactly, and p_j
//! and 1 − p_j are exact complements: every tooth vanishes at X = 1, so that R stays bounded for
//! ever. |u − L̃z| ≤ [`CombMachine::rounding`].
//!
//! **Cost.** 16 bytes a decay, and 16·w a tooth and lane.

use zeroize::Zeroize;

use super::correlator::WholeCorrelator;
use super::field::WholeField;
use super::filter::{FRACTION, Filter, past_error, rounded};
use super::fixed::Factor;
use super::steps::StepReader;
use crate::Result;
use crate::noise::{Recipe, misfit};

/// A decay of φ: w_j, p_j and 1 − p_j, exact complements.
#[derive(Debug, Clone, Copy)]
#[doc(hidden)]
pub struct Tooth {
    pub(crate) weight: f64,
    pub(crate) loss: f64,
    pub(crate) decay: f64,
}

/// Weights are whole numbers of parts 2⁻⁶⁰.
const WEIGHT_BITS: u32 = 60;

#[derive(Debug, Clone, Copy)]
struct WholeTooth {
    weight: Factor,
    loss: Factor,
    decay: Factor,
}

/// The teeth of a window in whole numbers.
#[derive(Debug, Clone)]
pub(crate) struct Teeth(Vec<WholeTooth>);

impl Teeth {
    /// Weights become parts that add up to one: the heaviest takes what rounding leaves.
    pub(crate) fn new(teeth: &[Tooth]) -> Self {
        let one = 1_i64 << WEIGHT_BITS;
        let mut parts: Vec<i64> =
            teeth.iter().map(|tooth| libm::scalbn(tooth.weight, WEIGHT_BITS as i32).round() as i64).collect();
        let left = one - parts.iter().sum::<i64>();
        if let Some(heaviest) = parts.iter_mut().max() {
            *heaviest += left;
        }
        let whole = |(tooth, parts): (&Tooth, i64)| WholeTooth {
            weight: Factor::parts(parts, WEIGHT_BITS),
            loss: Factor::new(tooth.loss),
            decay: Factor::new(tooth.decay),
        };
        Self(teeth.iter().zip(parts).map(whole).collect())
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

/// Runs a window's root over the lanes of a field.
pub(crate) struct CombMachine {
    filter: Filter,
    teeth: Teeth,
    steps: StepReader,
    field: WholeField,
    step: u64,
    lanes: Vec<i128>,
    /// Σ_i (1−p_j)^i y_{t−iw} for the last w steps: for each step of the window, lane by lane,
    /// tooth by tooth.
    rings: Vec<i128>,
    draws: Vec<i64>,
}

impl CombMachine {
    pub(crate) fn new(
        filter: Filter,
        teeth: Teeth,
        width: u64,
        steps: StepReader,
        field: WholeField,
    ) -> Self {
        let lanes = field.width();
        Self {
            lanes: vec![0; filter.rows() * lanes],
            rings: vec![0; width as usize * lanes * teeth.len()],
            draws: vec![0; lanes],
            teeth,
            filter,
            steps,
            field,
            step: 0,
        }
    }

    /// The bound on |u − L̃z|, in whole units: what is off in c counts once in y and once in the
    /// sums, whose decays take off as much as they keep.
    pub(crate) fn rounding(recipe: &Recipe, horizon: u64, teeth: usize) -> f64 {
        let parts = 2.0 * past_error(recipe, horizon) + 3.0 + teeth as f64;
        0.5 + 1.01 * parts * libm::exp2(-f64::from(FRACTION))
    }
}

/// Takes a lane through a step; `ring` holds the sums of its teeth, as they were a window ago.
pub(super) fn step_lane(
    filter: &Filter,
    teeth: &Teeth,
    lane: &mut [i128],
    ring: &mut [i128],
    white: impl FnOnce(i128) -> i128,
) -> i128 {
    let past = filter.past(lane);
    let kept = |(tooth, sum): (&WholeTooth, &i128)| tooth.weight.times(past - tooth.loss.times(*sum));
    let expected = rounded(teeth.0.iter().zip(ring.iter()).map(kept).sum());
    let z = white(expected);
    let drive = z << FRACTION;
    filter.drive(lane, drive);
    for (sum, tooth) in ring.iter_mut().zip(&teeth.0) {
        *sum = past + drive + tooth.decay.times(*sum);
    }
    z + expected
}

impl WholeCorrelator for CombMachine {
    fn next(&mut self, out: &mut [i128]) {
        let numbers = self.steps.at(self.step);
        let (rows, teeth, width) = (self.filter.rows(), self.teeth.len(), out.len());
        self.field.draw(self.step, numbers.scale, 0..width, &mut self.draws);
        let window = self.rings.len() / (width * teeth);
        let position = (self.step % window as u64) as usize * width * teeth;
        let rings = self.rings[position..].chunks_mut(teeth);
        let lanes = self.lanes.chunks_mut(rows).zip(rings);
        for ((noise, draw), (lane, ring)) in out.iter_mut().zip(&mut self.draws).zip(lanes) {
            let z = i128::from(*draw);
            *noise = step_lane(&self.filter, &self.teeth, lane, ring, |_| z);
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

impl Drop for CombMachine {
    fn drop(&mut self) {
        self.lanes.zeroize();
        self.rings.zeroize();
    }
}
