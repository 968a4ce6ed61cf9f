//! The exact path: the decisions that make releases from integers.
//!
//! **Definition.** Everything is counted in units of 2^e. White draws are integers: discrete Gaussian
//! with standard deviation ⌈s·L\[t,t\]⌉, or discrete Laplace with scale ⌈s/√2⌉. s is between 2^30
//! and 2^49 units.
//!
//! **Guarantee.** docs/exact.md proves that a plan meets its budget with s = σ′·(Δ′ + B). Δ′ is the
//! sensitivity in units, including the rounding of inputs. B bounds the effect of all roundings of
//! noise and decayed totals. σ′ is the noise multiplier for δ − (1 + e^ε)·κ, where κ is the total
//! variation between all draws of the lanes in which neighbours differ and rounded Gaussian draws.

use crate::factorization::{Factorization, IntegerDecoder};
use crate::noise::integer::{
    FEWER_BITS, Filter, FilterCorrelator, IntegerCorrelator, IntegerField, IntegerLanes, IntegerLaw,
    IntegerNoise, MAX_DRAW_SCALES, ReversibleLane, RowsCorrelator, StepReader, SumCorrelator,
    WindowCorrelator, WindowDecays, filter_rounding,
};
use crate::noise::{NoiseKey, Progress, Recipe};
use crate::noise_name::{Layout, Purpose};
use crate::plan::Plan;
use crate::privacy::{Budget, NoiseKind, round_up};
use crate::resolution::Resolution;
use crate::spec::{PlanSpec, Shape};
use crate::workload::Workload;
use crate::{Error, Result};

/// Bits of s: for the filter, also for one whose grades fall to zero, for a graded filter (where some
/// draws are much larger), for a window (which holds larger sums), and for draws that are added up as
/// doubles.
const FILTER_BITS: i32 = 46;
const GRADED_BITS: i32 = 42;
const WINDOW_BITS: i32 = 44;
const SUM_BITS: i32 = 37;
/// Sums of Laplace draws are larger, and their precision is not charged for.
const LAPLACE_BITS: i32 = 30;

/// A contribution has at least this many bits in units, even if the noise is large.
const MIN_CONTRIBUTION_BITS: i32 = 20;

/// The relative amount by which Δ is enlarged, because L is stored in doubles and its product with
/// R is the workload only up to rounding.
const NUMBERS: f64 = 1.0 / (1_u64 << 36) as f64;

/// The maximum scale of a draw.
const MAX_SCALE: f64 = (1_u64 << 49) as f64;

/// The maximum number of bits of a lane's number, in units. Forty more are fractional bits, and one
/// is the sign.
const MAX_STATE_BITS: f64 = 86.0;

/// The refusal of numbers with more bits.
const OUTGROWN: &str = "over this horizon its numbers would outgrow 128 bits";

/// The refusal of norms that the filter cannot hold.
const UNEVEN: &str = "its norms are not integers in the units of the filter";

/// Standard deviations that a sum of draws exceeds with probability below exp(−512).
const MAX_SUM_DEVIATIONS: f64 = 32.0;

/// Norms that are exact integers in the units of the filter, and those that are if they fall slowly:
/// then the units follow them.
const NORMS: std::ops::Range<f64> = 0.015_625..8.0;
const FALLING_NORMS: std::ops::Range<f64> = 1.0 / (1_u64 << 18) as f64..8.0;

/// What a plan decides for the exact path.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Exact {
    /// The unit of noise, totals and releases.
    pub(crate) unit: Resolution,
    /// σ′.
    pub(crate) noise_multiplier: f64,
    /// κ.
    pub(crate) total_variation: f64,
    /// s, in units.
    pub(crate) scale: f64,
    /// The grid to which releases are rounded, in the units of the data.
    pub(crate) grid: f64,
}

/// The choices that decide the exact path of a plan.
pub(super) struct ExactRequest<'a> {
    pub(super) factorization: &'a dyn Factorization,
    pub(super) spec: &'a PlanSpec,
    pub(super) budget: Budget,
    /// Δ for contributions of magnitude one, times the factor for replacement and the charge for
    /// the units of totals, rounded up.
    pub(super) sensitivity: f64,
}

impl Exact {
    /// # Errors
    /// [`Error::Unsupported`] if the mechanism, the shape or the size of the noise allows no exact
    /// path.
    pub(super) fn new(request: &ExactRequest<'_>) -> Result<Self> {
        let (mechanism, spec) = (request.factorization.mechanism(), request.spec);
        let refuse = |reason: &str| Error::unsupported(mechanism, reason);
        if let Shape::Vector { .. } = spec.shape {
            return Err(refuse("vectors are released in floating point"));
        }
        let decoder = request
            .factorization
            .integer()
            .ok_or_else(|| refuse("its noise is not made of integers; markov's can be"))?;
        if request.factorization.draws() > IntegerNoise::DRAWS {
            return Err(refuse("it has too many draws for the exact path"));
        }
        let bits = match &decoder {
            IntegerDecoder::Sums { .. } if request.budget.noise() == NoiseKind::Laplace => LAPLACE_BITS,
            IntegerDecoder::Sums { .. } => SUM_BITS,
            IntegerDecoder::Filter { recipe, .. } if recipe.grading.is_some() => {
                let is_falling = recipe.grading.as_ref().is_some_and(|grading| grading.bounds().is_falling);
                if is_falling { FILTER_BITS } else { GRADED_BITS }
            }
            IntegerDecoder::Rows { .. } => GRADED_BITS,
            IntegerDecoder::Filter { .. } => FILTER_BITS,
            IntegerDecoder::Window { .. } => WINDOW_BITS,
        };
        let magnitude = spec.contribution.magnitude();
        let reach = request.budget.noise_multiplier() * request.sensitivity * magnitude;
        if !reach.is_normal() {
            return Err(refuse("the noise that it needs is outside the range of floating-point numbers"));
        }
        let exponent = (libm::ilogb(reach) - bits).min(libm::ilogb(magnitude) - MIN_CONTRIBUTION_BITS);
        // Releases, and their units, must be ordinary doubles.
        if !(-1000..=900).contains(&exponent) {
            return Err(refuse("its units are outside the range of floating-point numbers"));
        }
        let unit = Resolution::of_exponent(exponent);
        if let Some(grid) = spec.grid
            && !(unit.value(unit.max_units()) / grid).is_finite()
        {
            let expected = "so large that the steps to the largest total can be counted";
            return Err(Error::bad("grid", expected, format!("{grid:e}")));
        }
        // Rounding the inputs lets a contribution move each of its lanes by one unit more than
        // declared. Decayed totals are finer.
        let moved = spec.shape.moved(spec.lanes_per_step()) as f64;
        let rounded_inputs = match spec.workload {
            Workload::Decay { .. } => 1.0,
            // In magnitudes, the units of all lanes add up.
            _ if request.budget.noise() == NoiseKind::Laplace => {
                1.0 + moved.max(2.0 * moved.sqrt()) * unit.value(1) / magnitude
            }
            _ => 1.0 + 2.0 * moved.sqrt() * unit.value(1) / magnitude,
        };
        let sensitivity =
            libm::scalbn(request.sensitivity * magnitude, -exponent) * rounded_inputs * (1.0 + NUMBERS);
        let least_scale = request.budget.noise_multiplier() * sensitivity;
        let (rounding, largest) = request.roundings(&decoder, least_scale)?;
        let draws = request.factorization.draws() as f64 * request.touched();
        let total_variation = match request.budget.noise() {
            NoiseKind::Gaussian => round_up(draws.sqrt() / (20.0 * least_scale * least_scale), 1e-12),
            NoiseKind::Laplace => 0.0,
        };
        let noise_multiplier = request.budget.integer_noise_multiplier(total_variation)?;
        let scale = round_up(noise_multiplier * (sensitivity + rounding), 16.0 * f64::EPSILON);
        if scale * largest > MAX_SCALE {
            return Err(refuse("the budget asks for more noise than integer draws reach"));
        }
        if scale > 1.01 * noise_multiplier * sensitivity {
            return Err(refuse(
                "over this horizon its roundings would cost more than a hundredth of the noise",
            ));
        }
        // Whole numbers, until the plan knows how large its noise is.
        let grid = spec.grid.unwrap_or(1.0);
        Ok(Self { unit, noise_multiplier, total_variation, scale, grid })
    }

    /// The same with releases on this grid.
    pub(super) fn on_grid(self, grid: f64) -> Self {
        Self { grid, ..self }
    }
}

impl ExactRequest<'_> {
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
            IntegerDecoder::Filter { recipe: Recipe { chains: Some(source), .. }, .. }
                if !source.bounds().norms_are_within(NORMS) =>
            {
                return Err(Error::unsupported(mechanism, UNEVEN));
            }
            IntegerDecoder::Filter {
                recipe: recipe @ Recipe { chains: Some(source), .. },
                amplification,
            } => {
                let bounds = source.bounds();
                check_states(
                    scale * bounds.largest_drive * bounds.norm_variation.max(1.0),
                    MAX_STATE_BITS,
                    horizon,
                    mechanism,
                )?;
                (filter_rounding(recipe, horizon), *amplification, bounds.largest_diagonal)
            }
            IntegerDecoder::Filter { recipe, amplification } => {
                let bounds = recipe.grading.as_ref().map(|grading| grading.bounds());
                let (largest, least) =
                    bounds.map_or((1.0, 1.0), |bounds| (bounds.largest_ratio, bounds.least_grade));
                let is_falling = bounds.is_some_and(|bounds| bounds.is_falling);
                let norms = if is_falling { FALLING_NORMS } else { NORMS };
                let bits = MAX_STATE_BITS + if is_falling { f64::from(FEWER_BITS) } else { 0.0 };
                if bounds.is_some_and(|b| !(norms.contains(&b.least_norm) && norms.contains(&b.largest_norm)))
                {
                    return Err(Error::unsupported(mechanism, UNEVEN));
                }
                check_states(scale * largest / least, bits, horizon, mechanism)?;
                (filter_rounding(recipe, horizon), *amplification, largest)
            }
            IntegerDecoder::Rows { rows, amplification } => {
                if !rows.are_within_reach() {
                    return Err(Error::unsupported(mechanism, OUTGROWN));
                }
                (rows.rounding(), *amplification, rows.largest())
            }
            IntegerDecoder::Window { recipe, decays, amplification, .. } => {
                // A window decay sums what it keeps of the running sum, which is the largest number
                // of the filter.
                let kept = decays.iter().map(|decay| 1.0 / decay.loss).fold(1.0, f64::max);
                let weight = recipe.decays.first().map_or(1.0, |first| first.weight);
                check_states(scale * (weight * kept).max(1.0), MAX_STATE_BITS, horizon, mechanism)?;
                (WindowCorrelator::rounding(recipe, horizon, decays.len()), *amplification, 1.0)
            }
        };
        // Two streams of noise, and two totals if those are rounded at every step.
        let totals = if let Workload::Decay { .. } = self.spec.workload { 1.0 + 1e-6 } else { 0.0 };
        Ok((round_up((2.0 * rounding + totals) * amplification * self.touched().sqrt(), 1e-9), largest))
    }

    /// The number of lanes in which two neighbours may differ: each step of either may count for
    /// other keys.
    fn touched(&self) -> f64 {
        let steps = self.spec.participation.bounded(self.factorization.horizon()) as f64;
        let are_integers = self.spec.participation.squares().is_some();
        match &self.spec.shape {
            Shape::Scalar => 1.0,
            Shape::Keyed { keys } if are_integers => keys.len() as f64,
            _ => 2.0 * self.spec.lanes_per_step() as f64 * steps,
        }
    }
}

/// Refuses lanes whose numbers could outgrow 128 bits. A number is a sum of one draw per step, each
/// with at most this standard deviation.
fn check_states(deviation: f64, bits: f64, horizon: u64, mechanism: crate::Mechanism) -> Result<()> {
    if libm::log2(MAX_SUM_DEVIATIONS * deviation * (horizon as f64).sqrt()) > bits {
        return Err(Error::unsupported(mechanism, OUTGROWN));
    }
    Ok(())
}

impl Plan {
    /// The noise of a counter of declared lanes.
    ///
    /// # Errors
    /// [`Error::BadParameter`] if two declared keys would share their noise.
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
        let steps = |recipe: &Recipe| StepReader::new(recipe, horizon, exact.scale);
        let missing = || Error::unsupported(self.mechanism(), "its noise is not made of integers");
        Ok(match self.factorization().integer().ok_or_else(missing)? {
            IntegerDecoder::Filter { recipe, .. } => {
                let filter = Filter::new(&recipe);
                Box::new(FilterCorrelator::new(filter, steps(&recipe), field))
            }
            IntegerDecoder::Window { recipe, decays, width, .. } => {
                let filter = Filter::new(&recipe);
                let steps = steps(&recipe);
                Box::new(WindowCorrelator::new(filter, WindowDecays::new(&decays), width, steps, field))
            }
            IntegerDecoder::Rows { rows, .. } => Box::new(RowsCorrelator::new(rows, exact.scale, field)),
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
        let steps = StepReader::new(&recipe, self.horizon(), exact.scale);
        Some(IntegerLanes::new(filter, steps, self.integer_draws(key)))
    }

    /// The lane of a single total, in both directions. `None` if draws are only added up.
    pub(crate) fn reversible_lane(&self, exact: &Exact) -> Option<ReversibleLane> {
        let (recipe, window_decays) = match self.factorization().integer()? {
            IntegerDecoder::Filter { recipe, .. } => (recipe, None),
            IntegerDecoder::Window { recipe, decays, width, .. } => {
                (recipe, Some((WindowDecays::new(&decays), width)))
            }
            IntegerDecoder::Rows { rows, .. } => return Some(ReversibleLane::of_rows(rows, exact.scale)),
            IntegerDecoder::Sums { .. } => return None,
        };
        let filter = Filter::new(&recipe);
        Some(ReversibleLane::new(
            filter,
            StepReader::new(&recipe, self.horizon(), exact.scale),
            window_decays,
        ))
    }

    pub(crate) fn integer_draws(&self, key: &NoiseKey) -> IntegerNoise {
        let law = match self.budget().noise() {
            NoiseKind::Gaussian => IntegerLaw::Gaussian,
            NoiseKind::Laplace => IntegerLaw::Laplace,
        };
        // A single total is not a key. It differs even from a key with an empty name.
        let layout = if self.shape().is_keyed() { Layout::Keys } else { Layout::Scalar };
        IntegerNoise::new(self.stream(key, Purpose::Integer, layout), law)
    }
}
