//! The exact path: all that is decided so that releases are made of whole numbers.
//!
//! **Definition.** Everything is counted in units of 2^e. White draws are whole, discrete Gaussian
//! of standard deviation ⌈s·L\[t,t\]⌉ or discrete Laplace of scale ⌈s/√2⌉; s is some 2^30 to 2^49
//! units.
//!
//! **Guarantee.** docs/exact.md proves that a plan meets its budget with s = σ′·(Δ′ + B): Δ′ the
//! sensitivity in units, with what rounding inputs to units adds to it; B what all roundings of
//! noise and decayed totals together can do; σ′ the noise multiplier for δ less the charge (1 +
//! e^ε)·κ, κ the total variation between all draws of the lanes in which neighbours differ and
//! Gaussian ones, rounded.

use crate::factorization::{Factorization, IntegerDecoder};
use crate::noise::integer::{
    Filter, FilterCorrelator, IntegerCorrelator, IntegerField, IntegerLanes, IntegerLaw, IntegerNoise,
    MAX_DRAW_SCALES, ReversibleLane, StepReader, SumCorrelator, WindowCorrelator, WindowDecays,
    filter_rounding,
};
use crate::noise::{NoiseKey, Progress};
use crate::noise_name::{Layout, Purpose};
use crate::plan::Plan;
use crate::privacy::{Budget, NoiseKind, round_up};
use crate::resolution::Resolution;
use crate::spec::Shape;
use crate::workload::Workload;
use crate::{Error, Result};

/// Bits of s: where the filter runs, where it is graded and some draws are much larger, where a
/// window holds larger sums, and where draws are added up as doubles.
const FILTER_BITS: i32 = 46;
const GRADED_BITS: i32 = 42;
const WINDOW_BITS: i32 = 44;
const SUM_BITS: i32 = 37;
/// Laplace draws are added up in larger numbers, and no number of bits is charged for.
const LAPLACE_BITS: i32 = 30;

/// A contribution has at least this many bits of units, however large the noise.
const MIN_CONTRIBUTION_BITS: i32 = 20;

/// By how much, relatively, Δ is enlarged for the doubles of L, whose product with R is the
/// workload up to their rounding.
const NUMBERS: f64 = 1.0 / (1_u64 << 36) as f64;

/// No draw may have a larger scale.
const MAX_SCALE: f64 = (1_u64 << 49) as f64;

/// No number of a lane may have more bits, in units: forty are behind the point, and a sign is before them.
const MAX_STATE_BITS: f64 = 86.0;

/// Standard deviations that no sum of draws reaches: the probability is below exp(−512).
const MAX_SUM_DEVIATIONS: f64 = 32.0;

/// Norms that are whole numbers of parts exactly.
const NORMS: std::ops::Range<f64> = 0.015_625..8.0;

/// What a plan decides for the exact path.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Exact {
    /// Units of releases: whole noise and whole totals.
    pub(crate) unit: Resolution,
    /// σ′.
    pub(crate) noise_multiplier: f64,
    /// κ.
    pub(crate) total_variation: f64,
    /// s, in units.
    pub(crate) scale: f64,
    /// Where releases are rounded to; in the units of the data.
    pub(crate) grid: f64,
}

/// What the exact path of a plan follows from.
pub(super) struct Needs<'a> {
    pub(super) factorization: &'a dyn Factorization,
    pub(super) budget: Budget,
    pub(super) workload: Workload,
    pub(super) shape: &'a Shape,
    /// M.
    pub(super) magnitude: f64,
    /// In how many steps a person may take part.
    pub(super) participations: u64,
    /// Δ for contributions of magnitude one, times the factor for replacement and the charge for
    /// the units of totals; rounded up.
    pub(super) sensitivity: f64,
    pub(super) grid: Option<f64>,
}

impl Exact {
    /// # Errors
    /// [`Error::Unsupported`] where the mechanism, the lanes or the size of the noise allow no exact path.
    pub(super) fn new(needs: &Needs<'_>) -> Result<Self> {
        let mechanism = needs.factorization.mechanism();
        let refuse = |reason: &str| Error::unsupported(mechanism, reason);
        if let Shape::Vector { .. } = needs.shape {
            return Err(refuse("vectors are released in floating point"));
        }
        let decoder = needs
            .factorization
            .integer()
            .ok_or_else(|| refuse("its noise is not made of whole numbers; graded-square-root's can be"))?;
        if needs.factorization.draws() > IntegerNoise::DRAWS {
            return Err(refuse("it has too many draws for the exact path"));
        }
        let bits = match &decoder {
            IntegerDecoder::Sums { .. } if needs.budget.noise() == NoiseKind::Laplace => LAPLACE_BITS,
            IntegerDecoder::Sums { .. } => SUM_BITS,
            IntegerDecoder::Filter { recipe, .. } if recipe.grading.is_some() => GRADED_BITS,
            IntegerDecoder::Filter { .. } => FILTER_BITS,
            IntegerDecoder::Window { .. } => WINDOW_BITS,
        };
        let reach = needs.budget.noise_multiplier() * needs.sensitivity * needs.magnitude;
        if !reach.is_normal() {
            return Err(refuse("the noise that it needs is outside the range of floating-point numbers"));
        }
        let exponent = (libm::ilogb(reach) - bits).min(libm::ilogb(needs.magnitude) - MIN_CONTRIBUTION_BITS);
        // Releases, and their units, must be ordinary doubles.
        if !(-1000..=900).contains(&exponent) {
            return Err(refuse("its units are outside the range of floating-point numbers"));
        }
        let unit = Resolution::of_exponent(exponent);
        if let Some(grid) = needs.grid
            && !(unit.value(unit.max_units()) / grid).is_finite()
        {
            let expected = "so large that the steps to the largest total can be counted";
            return Err(Error::bad("grid", expected, format!("{grid:e}")));
        }
        // A contribution moves each of its lanes by a unit more than declared once inputs are
        // rounded. Decayed totals are finer.
        let rounded_inputs = match needs.workload {
            Workload::Decay { .. } => 1.0,
            _ => 1.0 + 2.0 * (needs.shape.moved() as f64).sqrt() * unit.value(1) / needs.magnitude,
        };
        let sensitivity =
            libm::scalbn(needs.sensitivity * needs.magnitude, -exponent) * rounded_inputs * (1.0 + NUMBERS);
        let least_scale = needs.budget.noise_multiplier() * sensitivity;
        let (rounding, largest) = needs.roundings(&decoder, least_scale)?;
        let draws = needs.factorization.draws() as f64 * needs.touched();
        let total_variation = match needs.budget.noise() {
            NoiseKind::Gaussian => round_up(draws.sqrt() / (20.0 * least_scale * least_scale), 1e-12),
            NoiseKind::Laplace => 0.0,
        };
        let noise_multiplier = needs.budget.integer_noise_multiplier(total_variation)?;
        let scale = round_up(noise_multiplier * (sensitivity + rounding), 16.0 * f64::EPSILON);
        if scale * largest > MAX_SCALE {
            return Err(refuse("the budget asks for more noise than whole draws reach"));
        }
        if scale > 1.01 * noise_multiplier * sensitivity {
            return Err(refuse(
                "over this horizon its roundings would cost more than a hundredth of the noise",
            ));
        }
        let grid = match needs.grid {
            Some(grid) => grid,
            None => default_grid(needs.magnitude),
        };
        Ok(Self { unit, noise_multiplier, total_variation, scale, grid })
    }
}

impl Needs<'_> {
    /// B, and the largest L\[t,t\].
    fn roundings(&self, decoder: &IntegerDecoder, scale: f64) -> Result<(f64, f64)> {
        let mechanism = self.factorization.mechanism();
        let horizon = self.factorization.horizon();
        let (rounding, amplification, largest) = match decoder {
            IntegerDecoder::Sums { max_draws } => {
                if scale * MAX_DRAW_SCALES * max_draws > libm::exp2(53.0) {
                    return Err(Error::unsupported(mechanism, "its sums of draws would not be exact"));
                }
                return Ok((0.0, 1.0));
            }
            IntegerDecoder::Filter { recipe, amplification } => {
                let bounds = recipe.grading.as_ref().map(|grading| grading.bounds());
                let (largest, least) =
                    bounds.map_or((1.0, 1.0), |bounds| (bounds.largest_norm / bounds.least, bounds.least));
                if bounds.is_some_and(|b| !(NORMS.contains(&b.least) && NORMS.contains(&b.largest_norm))) {
                    return Err(Error::unsupported(mechanism, "its norms are not whole numbers of parts"));
                }
                check_states(scale * largest / least, horizon, mechanism)?;
                (filter_rounding(recipe, horizon), *amplification, largest)
            }
            IntegerDecoder::Window { recipe, decays, amplification, .. } => {
                // The sums of a window decay add up what it keeps of the running sum, the largest
                // number of the filter.
                let kept = decays.iter().map(|decay| 1.0 / decay.loss).fold(1.0, f64::max);
                let weight = recipe.decays.first().map_or(1.0, |first| first.weight);
                check_states(scale * (weight * kept).max(1.0), horizon, mechanism)?;
                (WindowCorrelator::rounding(recipe, horizon, decays.len()), *amplification, 1.0)
            }
        };
        // Two streams of noise, and two totals where these are rounded at every step.
        let totals = if let Workload::Decay { .. } = self.workload { 1.0 + 1e-6 } else { 0.0 };
        Ok((round_up((2.0 * rounding + totals) * amplification * self.touched().sqrt(), 1e-9), largest))
    }

    /// In how many lanes two neighbours may differ: each step of either may count for another key.
    fn touched(&self) -> f64 {
        if let Shape::Scalar = self.shape { 1.0 } else { 2.0 * self.participations as f64 }
    }
}

/// Refuses lanes whose numbers could outgrow 128 bits: sums of as many draws as there are steps, of
/// which each counts for at most this standard deviation.
fn check_states(deviation: f64, horizon: u64, mechanism: crate::Mechanism) -> Result<()> {
    if libm::log2(MAX_SUM_DEVIATIONS * deviation * (horizon as f64).sqrt()) > MAX_STATE_BITS {
        return Err(Error::unsupported(mechanism, "over this horizon its numbers would outgrow 128 bits"));
    }
    Ok(())
}

/// Whole numbers, or the power of ten below the largest contribution where that is less than one.
fn default_grid(magnitude: f64) -> f64 {
    if magnitude >= 1.0 {
        return 1.0;
    }
    // Read from its digits, which no product of tenths would give.
    let power = format!("1e{}", libm::floor(libm::log10(magnitude)));
    power.parse().unwrap_or(magnitude)
}

impl Plan {
    /// The noise of a counter of declared lanes.
    ///
    /// # Errors
    /// [`Error::BadParameter`] where two declared keys would share their noise.
    pub(crate) fn integer_noise(
        &self,
        exact: &Exact,
        key: &NoiseKey,
        progress: &dyn Progress,
    ) -> Result<Box<dyn IntegerCorrelator>> {
        let noise = self.integer_draws(key);
        let field = match self.shape() {
            Shape::Keyed { keys } => IntegerField::new(noise, keys.iter().map(String::as_str))?,
            _ => IntegerField::new(noise, std::iter::once(""))?,
        };
        let horizon = self.horizon();
        let steps = |grading| StepReader::new(grading, horizon, exact.scale);
        let missing = || Error::unsupported(self.mechanism(), "its noise is not made of whole numbers");
        Ok(match self.factorization().integer().ok_or_else(missing)? {
            IntegerDecoder::Filter { recipe, .. } => {
                let filter = Filter::new(&recipe);
                Box::new(FilterCorrelator::new(filter, steps(recipe.grading), field))
            }
            IntegerDecoder::Window { recipe, decays, width, .. } => {
                let filter = Filter::new(&recipe);
                Box::new(WindowCorrelator::new(filter, WindowDecays::new(&decays), width, steps(None), field))
            }
            IntegerDecoder::Sums { .. } => {
                let sums = |field| self.factorization().correlator(field, progress);
                Box::new(SumCorrelator::new(field, self.integer_scale(exact), sums))
            }
        })
    }

    /// The scale of draws that are only added up: the standard deviation of a Gaussian, or the
    /// scale of Laplace's law.
    pub(crate) fn integer_scale(&self, exact: &Exact) -> u64 {
        let scale = match self.budget().noise() {
            NoiseKind::Gaussian => exact.scale,
            NoiseKind::Laplace => exact.scale / std::f64::consts::SQRT_2,
        };
        round_up(scale, 4.0 * f64::EPSILON).ceil() as u64
    }

    /// The noise of a counter of open keys.
    pub(crate) fn integer_lanes(&self, exact: &Exact, key: &NoiseKey) -> Option<IntegerLanes> {
        let IntegerDecoder::Filter { recipe, .. } = self.factorization().integer()? else { return None };
        let filter = Filter::new(&recipe);
        let steps = StepReader::new(recipe.grading, self.horizon(), exact.scale);
        Some(IntegerLanes::new(filter, steps, self.integer_draws(key)))
    }

    /// The lane of a single total, in either direction; none where draws are only added up.
    pub(crate) fn reversible_lane(&self, exact: &Exact) -> Option<ReversibleLane> {
        let (recipe, comb) = match self.factorization().integer()? {
            IntegerDecoder::Filter { recipe, .. } => (recipe, None),
            IntegerDecoder::Window { recipe, decays, width, .. } => {
                (recipe, Some((WindowDecays::new(&decays), width)))
            }
            IntegerDecoder::Sums { .. } => return None,
        };
        let filter = Filter::new(&recipe);
        Some(ReversibleLane::new(filter, StepReader::new(recipe.grading, self.horizon(), exact.scale), comb))
    }

    pub(crate) fn integer_draws(&self, key: &NoiseKey) -> IntegerNoise {
        let law = match self.budget().noise() {
            NoiseKind::Gaussian => IntegerLaw::Gaussian,
            NoiseKind::Laplace => IntegerLaw::Laplace,
        };
        // A single total is not a key, not even one without a name.
        let layout = if self.shape().is_keyed() { Layout::Keys } else { Layout::Scalar };
        IntegerNoise::new(self.stream(key, Purpose::Integer, layout), law)
    }
}
