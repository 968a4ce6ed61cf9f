//! The price of not knowing the horizon, with bounds.
//!
//! **Definition.** Let opt_t = γ_F(A_t)²/t be the best mean error factor of prefix sums whose
//! horizon t is known. A mechanism A = L R with ‖R‖₁→₂ = 1 that does not know whether t is the last
//! step has the error ‖L\[t;\]‖² there. The price is the least worst ratio of the two,
//!
//! > min over A = L R of max_{t ≤ T} ‖L\[t;\]‖²/opt_t = γ_2(diag(1/√opt) A_T)²,
//!
//! because diag(1/√opt) A = (diag(1/√opt) L) R.
//!
//! **opt_t is nondecreasing.** Deleting row i and column i of A_{t+1} leaves A_t, for every i. So for
//! any factorization of A_{t+1} with ‖R‖₁→₂ = 1, γ_F(A_t)² ≤ ‖L‖_F² − ‖L\[i;\]‖². The mean of this over
//! all i is γ_F(A_t)² ≤ (1 − 1/(t+1)) ‖L‖_F². With the best factorization, opt_t ≤ opt_{t+1}.
//!
//! **Guarantee.** opt_t is certified at some horizons. Between two of them it is at least the lower
//! bound of the shorter and at most the upper bound of the longer. The price falls when any opt_t
//! grows, so the upper bounds give a lower bound on the price and the lower bounds an upper one. Both
//! are proved by [`super::verify`], with every rounding accounted for.
//!
//! **Cost.** The price moves by Σ_t u_t·δ ln opt_t, where u are the row weights of its certificate.
//! So a first solution shows where opt_t must be known, and the horizons that are certified are
//! placed to reach the requested gap for the least work. Short horizons are cheap and dense, long ones
//! few. Two cores take seconds to T = 2^16 and minutes to 2^20 for a gap of 10⁻³.

use rayon::prelude::*;

use super::certificate::{Certificate, Subject, Weights};
use super::fixed_point::{Point, Problem, check_gap, iterate};
use super::structured::{Mean, diagonal, normalised};
use super::verify::sweep::Scaled;
use super::verify::{prove_scaled_gamma_2, state};
use crate::noise::Progress;
use crate::research::bounds::Interval;
use crate::workload::Workload;
use crate::{Error, Result};

/// The longest horizon, 2^20.
const MAX_STEPS: usize = 1 << 20;

/// Up to this horizon, opt_t is certified at every t.
const DENSE_UP_TO: usize = 32;

/// The ratio of consecutive horizons of the first grid.
const FIRST_RATIO: f64 = 1.3;

/// The parts of the gap that are left to the iteration of each opt_t, and of the price.
const OPTIMUM_SHARE: f64 = 0.03;
const PRICE_SHARE: f64 = 0.1;

/// The part of the gap that placing the horizons aims at.
const GRID_SHARE: f64 = 0.6;

/// How often horizons are added, because the first prediction may be off.
const MAX_PASSES: usize = 3;

/// Horizons up to this length start from equal weights.
const MIN_COARSE_LEN: usize = 256;

/// The least worst ratio between the error of a mechanism that does not know when it ends and the
/// best mean error for each end.
#[derive(Debug, Clone, PartialEq)]
pub struct UnknownEnd {
    /// The longest horizon T.
    pub steps: usize,
    /// A lower bound on the price. No mechanism has a smaller worst ratio.
    pub lower: f64,
    /// An upper bound on the price. Some mechanism has at most this ratio at every step.
    pub upper: f64,
    optima: Vec<Known>,
}

/// opt_t at one horizon, proved.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Known {
    steps: usize,
    lower: f64,
    upper: f64,
}

impl UnknownEnd {
    /// upper/lower − 1.
    #[must_use]
    pub fn gap(&self) -> f64 {
        self.upper / self.lower - 1.0
    }

    /// The number of horizons at which the optimum was certified.
    #[must_use]
    pub fn certified_horizons(&self) -> usize {
        self.optima.len()
    }

    /// Proven bounds on opt_t = γ_F²/t, the best mean error factor for the known horizon t, or
    /// `None` unless 1 ≤ t ≤ T.
    #[must_use]
    pub fn optimum(&self, steps: usize) -> Option<Interval> {
        ((1..=self.steps).contains(&steps)).then(|| {
            let (lower, upper) = bracket(&self.optima, steps);
            Interval { lower, upper }
        })
    }
}

/// Bounds the least price of not knowing the horizon of prefix sums, over all horizons up to
/// `steps`, to a relative gap.
///
/// The bounds hold at any gap. A smaller one takes longer: the time is about inversely proportional
/// to it.
///
/// # Errors
/// [`Error::BadParameter`] unless 1 ≤ `steps` ≤ 2^20, or for a gap that is not above zero.
///
/// ```
/// use evertally::research::gamma::price_of_unknown_end;
///
/// let price = price_of_unknown_end(64, 1e-3, &())?;
/// assert!(1.510 < price.lower && price.upper < 1.513);
/// # Ok::<(), evertally::Error>(())
/// ```
pub fn price_of_unknown_end(steps: usize, relative_gap: f64, progress: &dyn Progress) -> Result<UnknownEnd> {
    check_gap(relative_gap)?;
    if !(1..=MAX_STEPS).contains(&steps) {
        return Err(Error::bad("steps", format!("from 1 to {MAX_STEPS}"), steps));
    }
    let within = |from: f64, to: f64| move |fraction: f64| progress.report(from + (to - from) * fraction);
    let mut optima = certified(&first_grid(steps), OPTIMUM_SHARE * relative_gap, &within(0.0, 0.1))?;
    let mut logs = start(steps, &optima)?;
    let mut best: Option<Proven> = None;
    for pass in 0..MAX_PASSES {
        let middle: Vec<f64> =
            (1..=steps).map(|t| bracket(&optima, t)).map(|(a, b)| (a * b).sqrt()).collect();
        let rough = iterate(&Price { optima: &middle }, logs, PRICE_SHARE * relative_gap, &|_| ())?;
        let target = GRID_SHARE * 0.7_f64.powi(pass as i32) * relative_gap;
        let added = refinement(&optima, &normalised(&rough.logs[..steps]), target);
        // The passes after the first are short, if there are any.
        let [from, to] = if pass == 0 { [0.1, 0.8] } else { [0.8, 0.9] };
        optima.extend(certified(&added, OPTIMUM_SHARE * relative_gap, &within(from, to))?);
        optima.sort_unstable_by_key(|known| known.steps);
        let ends: Vec<(f64, f64)> = (1..=steps).map(|t| bracket(&optima, t)).collect();
        let found = proven(&ends, rough.logs, PRICE_SHARE * relative_gap)?;
        logs = found.logs.clone();
        best = Some(match best {
            Some(best) => {
                Proven { lower: found.lower.max(best.lower), upper: found.upper.min(best.upper), ..found }
            }
            None => found,
        });
        let reached = best.as_ref().is_some_and(|best| best.upper / best.lower - 1.0 <= relative_gap);
        if reached || added.is_empty() {
            break;
        }
    }
    progress.report(1.0);
    let best = best.ok_or_else(super::linear::failed)?;
    Ok(UnknownEnd { steps, lower: best.lower, upper: best.upper, optima })
}

/// Bounds on opt_t from the certified horizons around t. The last of them is T.
fn bracket(optima: &[Known], steps: usize) -> (f64, f64) {
    let next = optima.partition_point(|known| known.steps < steps);
    let above = optima[next.min(optima.len() - 1)];
    let below = if above.steps == steps { above } else { optima[next.saturating_sub(1)] };
    (below.lower, above.upper)
}

fn first_grid(steps: usize) -> Vec<usize> {
    let mut grid: Vec<usize> = (1..=steps.min(DENSE_UP_TO)).collect();
    while let Some(last) = grid.last().copied().filter(|last| *last < steps) {
        grid.push(((last as f64 * FIRST_RATIO) as usize).min(steps));
    }
    grid
}

/// Horizons to add, so that the price is known to a relative gap of about `target`.
///
/// A cell between two horizons t₁ < t₂ contributes e = Σu·ln(opt_{t₂}/opt_{t₁}) over its inside, and
/// e/k after being cut into k parts, which costs about (k − 1)·t₂. Σe/k is least for a given cost if
/// k is proportional to √(e/t₂).
fn refinement(optima: &[Known], weights: &[f64], target: f64) -> Vec<usize> {
    let mass: f64 = weights.iter().sum();
    let cells: Vec<(usize, usize, f64)> = optima
        .windows(2)
        .filter(|ends| ends[1].steps - ends[0].steps > 1)
        .map(|ends| {
            let (from, to) = (ends[0].steps, ends[1].steps);
            let inside: f64 = weights[from..to - 1].iter().sum();
            (from, to, inside / mass * (ends[1].upper / ends[0].lower).ln())
        })
        .collect();
    let parts = |density: f64| -> Vec<usize> {
        let wanted = |(from, to, error): &(usize, usize, f64)| {
            ((density * (error / *to as f64).sqrt()).ceil().max(1.0) as usize).min(to - from)
        };
        cells.iter().map(wanted).collect()
    };
    let error = |parts: &[usize]| -> f64 {
        let left = |((from, to, error), parts): (&(usize, usize, f64), &usize)| {
            if *parts == to - from { 0.0 } else { error / *parts as f64 }
        };
        cells.iter().zip(parts).map(left).sum()
    };
    let mut density = 1.0;
    while error(&parts(density)) > target && density < 1e12 {
        density *= 1.1;
    }
    let inside = |((from, to, _), parts): (&(usize, usize, f64), usize)| {
        let (from, ratio) = (*from as f64, *to as f64 / *from as f64);
        (1..parts).map(move |k| (from * ratio.powf(k as f64 / parts as f64)).round() as usize)
    };
    let mut added: Vec<usize> = cells.iter().zip(parts(density)).flat_map(inside).collect();
    added.retain(|steps| optima.binary_search_by_key(steps, |known| known.steps).is_err());
    added.dedup();
    added
}

/// opt_t at these horizons, in increasing order. Each starts from the weights of the one before.
fn certified(horizons: &[usize], gap: f64, progress: &dyn Progress) -> Result<Vec<Known>> {
    let total: f64 = horizons.iter().map(|steps| *steps as f64).sum();
    let (mut done, mut logs) = (0.0, vec![0.0]);
    let mut found = Vec::with_capacity(horizons.len());
    for &steps in horizons {
        let problem = Mean { decay: 1.0, ones: vec![1.0; steps] };
        logs = iterate(&problem, lengthened(&logs, steps), gap, &|_| ())?.logs;
        let subject = Subject::workload(Workload::PrefixSum, steps);
        let weights = problem.weights(&logs);
        let proof = state(&subject, &weights)?;
        let certificate =
            Certificate { subject, weights, lower: proof.lower, upper: proof.upper, iterations: 0 };
        let (lower, upper) = certificate.error_factor();
        found.push(Known { steps, lower, upper });
        done += steps as f64;
        progress.report(done / total);
    }
    Ok(found)
}

/// Weights of a longer horizon. Near both ends they depend on the distance to the end, and they are
/// nearly flat in the middle, so the middle is stretched.
fn lengthened(logs: &[f64], steps: usize) -> Vec<f64> {
    let (half, added) = (logs.len() / 2, steps - logs.len());
    let middle = std::iter::repeat_n(logs[half], added);
    logs[..half].iter().copied().chain(middle).chain(logs[half..].iter().copied()).collect()
}

/// γ_2 of diag(1/√opt) A: row weights first.
struct Price<'a> {
    optima: &'a [f64],
}

impl Problem for Price<'_> {
    fn count(&self) -> usize {
        2 * self.optima.len()
    }

    fn evaluate(&self, logs: &[f64], tolerance: f64) -> Result<Point> {
        let (of_rows, of_columns) = logs.split_at(self.optima.len());
        let u: Vec<f64> = of_rows.par_iter().map(|log| log.exp()).collect();
        let r: Vec<f64> = u.iter().zip(self.optima).map(|(u, optimum)| u / optimum).collect();
        let v: Vec<f64> = of_columns.par_iter().map(|log| log.exp()).collect();
        let reversed = |weights: &[f64]| weights.iter().rev().copied().collect::<Vec<f64>>();
        let (column_ratios, sum) = diagonal(Scaled { rows: &r, columns: &v, decay: 1.0 }, tolerance);
        // A in reverse order is its own transpose.
        let (rows, columns) = (reversed(&v), reversed(&r));
        let (row_ratios, _) = diagonal(Scaled { rows: &rows, columns: &columns, decay: 1.0 }, tolerance);
        let mut ratios = reversed(&row_ratios);
        ratios.iter_mut().zip(self.optima).for_each(|(ratio, optimum)| *ratio /= optimum);
        let largest = |ratios: &[f64]| ratios.iter().copied().fold(0.0, f64::max);
        let upper = (largest(&ratios) * largest(&column_ratios)).sqrt();
        let (row_mean, column_mean) = (sum / u.iter().sum::<f64>(), sum / v.iter().sum::<f64>());
        ratios.iter_mut().for_each(|ratio| *ratio /= row_mean);
        ratios.extend(column_ratios.iter().map(|ratio| ratio / column_mean));
        Ok(Point { lower: (row_mean * column_mean).sqrt(), upper, ratios })
    }

    fn weights_may_vanish(&self) -> bool {
        false
    }

    fn weights(&self, logs: &[f64]) -> Weights {
        let (rows, columns) = logs.split_at(self.optima.len());
        Weights::Gamma2 { rows: normalised(rows), columns: normalised(columns) }
    }
}

/// The first weights for T steps, from a rough solution for a shorter T.
fn start(steps: usize, optima: &[Known]) -> Result<Vec<f64>> {
    if steps <= MIN_COARSE_LEN {
        // Every octave of steps has the same weight.
        let falling = (0..steps).map(|t| -(t as f64 + 1.0).ln());
        return Ok(falling.clone().chain(falling).collect());
    }
    let coarse = steps.div_ceil(4);
    let from = start(coarse, optima)?;
    let middle: Vec<f64> = (1..=coarse).map(|t| bracket(optima, t)).map(|(a, b)| (a * b).sqrt()).collect();
    let found = iterate(&Price { optima: &middle }, from, 1e-3, &|_| ())?;
    let (rows, columns) = found.logs.split_at(coarse);
    Ok([rows, columns].into_iter().flat_map(|logs| super::structured::stretch(logs, steps)).collect())
}

/// Proven bounds on the price, and the weights that the next pass starts from.
struct Proven {
    lower: f64,
    upper: f64,
    logs: Vec<f64>,
}

/// The lower bound from the upper ends of opt_t, and the upper bound from the lower ends.
fn proven(ends: &[(f64, f64)], logs: Vec<f64>, gap: f64) -> Result<Proven> {
    let solve = |optima: Vec<f64>, logs: Vec<f64>| -> Result<_> {
        let logs = iterate(&Price { optima: &optima }, logs, gap, &|_| ())?.logs;
        let (of_rows, of_columns) = logs.split_at(ends.len());
        let rows: Vec<f64> =
            normalised(of_rows).iter().zip(&optima).map(|(u, optimum)| u / optimum).collect();
        let proof = prove_scaled_gamma_2(ends, &rows, &normalised(of_columns))?;
        Ok((proof, logs))
    };
    let (below, logs) = solve(ends.iter().map(|ends| ends.1).collect(), logs)?;
    let (above, logs) = solve(ends.iter().map(|ends| ends.0).collect(), logs)?;
    // The squares are one rounding each.
    let lower = (below.lower * below.lower).next_down();
    Ok(Proven { lower, upper: (above.upper * above.upper).next_up(), logs })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Matrix;
    use crate::research::gamma::{gamma_2, gamma_f};

    /// opt_t by a solution for each t, and γ_2 of the matrix written out.
    fn oracle(steps: usize) -> (f64, f64) {
        let optimum = |t: usize| {
            let (lower, upper) = gamma_f(Workload::PrefixSum.matrix(t), 1e-9, &()).unwrap().error_factor();
            0.5 * (lower + upper)
        };
        let optima: Vec<f64> = (1..=steps).map(optimum).collect();
        let entry = |t: usize, j: usize| if j <= t { 1.0 / optima[t].sqrt() } else { 0.0 };
        gamma_2(Matrix::from_fn(steps, steps, entry), 1e-8, &()).unwrap().error_factor()
    }

    #[test]
    fn the_price_is_that_of_the_matrix_written_out() {
        for steps in (1..=12).chain([31, 32, 33, 40, 64]) {
            let (lower, upper) = oracle(steps);
            for gap in [1e-2, 1e-5] {
                let price = price_of_unknown_end(steps, gap, &()).unwrap();
                assert!(price.gap() <= gap, "{steps}: {}", price.gap());
                // The oracle's opt_t are off by a relative 10⁻⁹.
                let holds = price.lower <= upper * (1.0 + 1e-8) && lower * (1.0 - 1e-8) <= price.upper;
                assert!(holds, "{steps}: {price:?} {lower} {upper}");
            }
        }
    }

    #[test]
    fn the_gap_is_reached_where_few_optima_are_certified() {
        for (steps, gap) in [(300, 1e-3), (1000, 3e-3), (5000, 3e-3)] {
            let price = price_of_unknown_end(steps, gap, &()).unwrap();
            assert!(price.gap() <= gap, "{steps}: {}", price.gap());
            assert!(price.certified_horizons() < 2 * steps / 3, "{steps}: {}", price.certified_horizons());
            // Every opt_t is within its bracket, also where it was not certified.
            for t in [1, 2, 33, 50, 77, 200, 299] {
                let (lower, upper) =
                    gamma_f(Subject::workload(Workload::PrefixSum, t), 1e-9, &()).unwrap().error_factor();
                let bracket = price.optimum(t).unwrap();
                assert!(bracket.lower <= upper && lower <= bracket.upper, "{t}: {bracket:?}");
            }
            assert!(price.optimum(0).is_none() && price.optimum(steps + 1).is_none());
        }
    }

    #[test]
    fn the_optimum_does_not_fall() {
        let mut before = 0.0;
        for t in 1..=200 {
            let subject = Subject::workload(Workload::PrefixSum, t);
            let (lower, upper) = gamma_f(subject, 1e-9, &()).unwrap().error_factor();
            assert!(upper >= before, "{t}");
            before = lower;
        }
    }

    #[test]
    fn bad_parameters_are_refused() {
        for (steps, gap) in [(0, 1e-3), (MAX_STEPS + 1, 1e-3), (8, 0.0), (8, f64::NAN), (8, -1.0)] {
            assert!(price_of_unknown_end(steps, gap, &()).is_err(), "{steps} {gap}");
        }
    }
}
