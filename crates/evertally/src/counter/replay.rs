//! Measures what the exact path hides, by replaying the same releases from another stream.
//!
//! **Definition.** A stream x under a key makes draws z and releases a. A neighbour x′ gives the same
//! releases with other draws z′. Draws of step t have the standard deviation s_t, and the distance
//! of x and x′ under this key is ‖(z′ − z)/s‖, or Σ|z′ − z|/s for Laplace noise.
//!
//! **Guarantee.** The distance is computed from the numbers that are really added, with every
//! rounding. A plan promises that it is at most 1/σ for neighbours, or ε for Laplace noise, under
//! every key.

use super::integer::IntegerRelease;
use super::totals::Totals;
use crate::noise::NoiseKey;
use crate::plan::{Exact, Plan};
use crate::privacy::NoiseKind;
use crate::resolution::Doubles;
use crate::spec::Shape;
use crate::{Error, Result};

/// One lane, run forwards and backwards.
#[doc(hidden)]
pub struct ReplayedLane {
    /// The distance of the two streams. Lanes have independent draws, so over several lanes the
    /// squares of the distances add up, or the distances for Laplace noise.
    pub distance: f64,
    /// The releases of the first stream, made from the draws z. `None` if draws are only added up.
    pub releases: Option<Vec<f64>>,
}

/// Replays one lane of a plan for numbers or keys, declared or open. The lane of a single total has
/// no name. For auditors: it needs both streams and the key.
///
/// # Errors
/// [`Error::BadParameter`] unless the plan is exact and for numbers or keys, and the streams are of
/// equal length and within the horizon. [`Error::BadInput`] for numbers that cannot be counted.
#[doc(hidden)]
pub fn replay_lane(
    plan: &Plan,
    key: &NoiseKey,
    name: &str,
    stream: &[f64],
    other: &[f64],
) -> Result<ReplayedLane> {
    let exact = plan.exact().ok_or_else(|| Error::bad("plan", "one with an exact path", "one without"))?;
    if *plan.shape() != Shape::Scalar && !plan.shape().is_keyed() {
        return Err(Error::bad("plan", "for numbers or keys", plan.shape().kind()));
    }
    if stream.len() != other.len() || stream.len() as u64 > plan.horizon() {
        return Err(Error::bad("other", format!("of {} steps", stream.len()), other.len()));
    }
    let (totals, others) = (true_totals(plan, stream)?, true_totals(plan, other)?);
    let (Some(mut forward), Some(mut backward)) = (plan.reversible_lane(exact), plan.reversible_lane(exact))
    else {
        return Ok(ReplayedLane { distance: sums_distance(plan, exact, stream, other)?, releases: None });
    };
    let release = IntegerRelease::new(exact, plan.total_unit());
    let draws = plan.integer_draws(key);
    let tag = draws.tag(name.as_bytes());
    let (mut squares, mut releases) = (0.0, Vec::with_capacity(stream.len()));
    for (total, other) in totals.iter().zip(&others) {
        let mut z = 0;
        let noise = forward.noise(|scale, step| {
            z = i128::from(draws.draw(tag, step, scale));
            z
        });
        let (needed, scale) =
            backward.draw(release.in_noise_units(*total) + noise - release.in_noise_units(*other));
        squares += ((needed - z) as f64 / scale as f64).powi(2);
        releases.push(release.of(*total, noise));
    }
    Ok(ReplayedLane { distance: squares.sqrt(), releases: Some(releases) })
}

/// The true answers in the units of totals.
fn true_totals(plan: &Plan, stream: &[f64]) -> Result<Vec<i128>> {
    let mut totals = Totals::new(plan.workload(), plan.total_unit(), 1);
    let mut answers = Vec::with_capacity(stream.len());
    for (x, step) in stream.iter().zip(0..) {
        totals.check(step, &[*x], Doubles)?;
        totals.step(step, &[*x], Doubles, &mut [0.0], |_, _, _| 0.0);
        answers.push(totals.first());
    }
    Ok(answers)
}

/// The distance if draws are only added up: R has integer entries, and z′ − z = R(x − x′) in units.
fn sums_distance(plan: &Plan, exact: &Exact, stream: &[f64], other: &[f64]) -> Result<f64> {
    let encoder = plan.dense()?.encoder;
    let unit = plan.total_unit();
    let mut change = Vec::new();
    for ((a, b), step) in stream.iter().zip(other).zip(0..) {
        change.push((unit.input(step, *a)? - unit.input(step, *b)?) as f64);
    }
    let image = (0..encoder.rows()).map(|i| {
        encoder.row(i).iter().zip(&change).map(|(r, x)| r * x).sum::<f64>() / plan.integer_scale(exact) as f64
    });
    Ok(match plan.budget().noise() {
        NoiseKind::Gaussian => image.map(|v| v * v).sum::<f64>().sqrt(),
        NoiseKind::Laplace => image.map(f64::abs).sum(),
    })
}
