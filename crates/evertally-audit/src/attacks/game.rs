//! The distinguishing game: many runs on a stream, equally many on its neighbour, and the best
//! linear test between them.
//!
//! **Definition.** The statistic is the matched filter for the neighbour that is easiest to
//! distinguish from the watched releases: the whitened residual, weighted by the whitened shift, in
//! units of its declared standard deviation.
//!
//! **Error rates.** At each of several thresholds, fixed in advance, and in both directions, exact
//! intervals for the two probabilities of an event give ε ≥ ln((p − δ)/q). This assumes nothing
//! about the noise. For Gaussian noise at a small δ the bound is far below the truth, because the
//! worst events are too rare to be observed.
//!
//! **Separation.** The shift between the streams is that of A(x − x'). Replay under one key checks
//! it without noise, and the means of the runs check it within their noise. The standard deviation
//! is that of all runs. Their ratio μ̂ has an exact interval by the chi-square distribution. For
//! Gaussian noise μ must not exceed 1/σ, and the lower end of the interval gives an ε at the
//! promised δ. For Laplace noise the ratio is compared with the declared one. The runs on both
//! streams enter. With 700 of each, noise that is 15 % short is found with probability 0.9999. The
//! module `power` computes from this rule what a number of runs finds.
//!
//! **Source.** Clopper and Pearson (1934); for Gaussian noise audited by its separation: Nasr,
//! Hayes, Steinke, Balle, Tramèr, Jagielski, Carlini and Terzis, *Tight Auditing of Differentially
//! Private Machine Learning* (2023).

use evertally::privacy::NoiseKind;

use super::{Target, epsilon_of_event};
use crate::calibration::epsilon_of_separation;
use crate::report::{Attack, Bound, Finding, Game, verdict};
use crate::sampling::{Sample, WatchedReleases};
use crate::statistics::{binomial, chi_square, mean_and_variance, normal};
use crate::stream::Change;
use crate::whitening::Whitening;

/// The number of thresholds for the error rates, and their range on either side of the middle, in
/// standard deviations.
const THRESHOLDS: usize = 21;
const THRESHOLD_RANGE: f64 = 3.0;

/// The relative error of arithmetic in the dense factors.
pub(crate) const ROUNDING: f64 = 1e-9;

/// The part of the share of false alarms for either end of the interval for the separation. The
/// means have the rest.
pub(crate) const PART_OF_INTERVAL: f64 = 0.25;

/// The matched filter for one change.
pub(crate) struct Filter {
    /// Weights on the residuals, lane by lane. The filter has declared standard deviation one.
    weights: Vec<Vec<f64>>,
    /// The declared shift of the statistic by the change.
    pub(crate) separation: f64,
}

impl Filter {
    pub(crate) fn new(whitening: &Whitening, lanes: usize, change: &Change) -> Self {
        let shift = |lane: usize| {
            let entries = change.entries().iter().filter(|entry| entry.1 == lane);
            let amounts: Vec<_> = entries.map(|&(step, _, amount)| (step, amount)).collect();
            let mut shift = whitening.image(&amounts);
            whitening.whiten(&mut shift);
            shift
        };
        let mut shifts: Vec<Vec<f64>> = (0..lanes).map(shift).collect();
        let separation = shifts.iter().flatten().map(|x| x * x).sum::<f64>().sqrt();
        if separation > 0.0 {
            shifts.iter_mut().flatten().for_each(|x| *x /= separation);
        }
        Self { weights: shifts.iter().map(|shift| whitening.weights(shift)).collect(), separation }
    }

    /// The part of the statistic's declared variance that comes from rounding to a grid.
    pub(crate) fn rounding(&self, grid: f64) -> f64 {
        grid * grid / 12.0 * self.weights.iter().flatten().map(|weight| weight * weight).sum::<f64>()
    }

    /// The statistic of a residual.
    pub(crate) fn apply(&self, residual: &WatchedReleases) -> f64 {
        let lanes = self.weights.iter().zip(residual.lanes());
        lanes.map(|(weights, lane)| weights.iter().zip(lane).map(|(w, r)| w * r).sum::<f64>()).sum()
    }
}

/// The values of the statistic on both streams. The residual is always relative to the first
/// stream, because the attacker does not know which stream it is.
pub(crate) fn play(filter: &Filter, without: &Sample, with: &Sample) -> Game {
    let values =
        |sample: &Sample| sample.runs.iter().map(|run| filter.apply(&run.less(&without.answers))).collect();
    Game { without: values(without), with: values(with), separation: filter.separation }
}

/// Counts errors at every threshold.
pub(crate) fn error_rates(game: &Game, target: &Target, share: f64) -> Finding {
    // Two events per threshold, each with an interval on either stream.
    let error = share / (4 * THRESHOLDS) as f64;
    let (without, with) = (game.without.len(), game.with.len());
    let mut best = 0.0_f64;
    for index in 0..THRESHOLDS {
        let place = 2.0 * index as f64 / (THRESHOLDS - 1) as f64 - 1.0;
        let threshold = 0.5 * game.separation + THRESHOLD_RANGE * place;
        let above = |values: &[f64]| values.iter().filter(|value| **value > threshold).count();
        let (false_alarms, hits) = (above(&game.without), above(&game.with));
        let bound = |ours: usize, of_ours: usize, theirs: usize, of_theirs: usize| {
            let at_least = binomial::share_at_least(ours, of_ours, error);
            epsilon_of_event(at_least, binomial::share_at_most(theirs, of_theirs, error), target.delta)
        };
        best = best.max(bound(hits, with, false_alarms, without));
        best = best.max(bound(without - false_alarms, without, with - hits, with));
    }
    Finding {
        attack: Attack::ErrorRates,
        tried: format!("{without} + {with} runs on neighbours, {THRESHOLDS} thresholds"),
        measured: format!("ε ≥ {best:.3} by counting"),
        allowed: format!("ε ≤ {}", target.epsilon),
        bound: Some(Bound { epsilon: best, confidence: 1.0 - share }),
        verdict: verdict(best <= target.epsilon),
    }
}

/// Measures the separation in standard deviations.
pub(crate) fn separation(game: &Game, target: &Target, share: f64) -> Finding {
    let shift = game.separation;
    let ((mean, variance), (shifted_mean, shifted_variance)) =
        (mean_and_variance(&game.without), mean_and_variance(&game.with));
    let counts = (game.without.len() as f64, game.with.len() as f64);
    let pooled = (counts.0 - 1.0) * variance + (counts.1 - 1.0) * shifted_variance;
    let freedom = counts.0 + counts.1 - 2.0;
    let deviation = (pooled / freedom).sqrt();
    let effective = target.freedom() * freedom;
    let at_quantile = |quantile: f64| deviation * (effective / quantile).sqrt();
    let largest = at_quantile(chi_square::quantile_below(PART_OF_INTERVAL * share, effective));
    let smallest = at_quantile(chi_square::quantile_above(PART_OF_INTERVAL * share, effective));
    // A statistic that varies only by floating-point rounding has no noise.
    let per = |deviation: f64| if deviation > ROUNDING { shift / deviation } else { f64::INFINITY };
    let (low, high) = (per(largest), per(smallest));
    let limit = target.separation_limit(game.separation);
    let slip = (shifted_mean - mean - shift).abs();
    let most = normal::quantile_above(0.25 * share) * deviation * (1.0 / counts.0 + 1.0 / counts.1).sqrt();
    let means_agree = slip <= most * (1.0 + ROUNDING) + ROUNDING;
    let bound = match target.noise {
        NoiseKind::Gaussian => {
            Some(Bound { epsilon: epsilon_of_separation(low, target.delta), confidence: 1.0 - 0.5 * share })
        }
        NoiseKind::Laplace => None,
    };
    let measured = if !means_agree {
        format!("the means are {slip:.3} further apart than the data")
    } else if low.is_finite() {
        format!("μ = {:.4}, in [{low:.4}, {high:.4}]", per(deviation))
    } else {
        "no noise at all".to_owned()
    };
    Finding {
        attack: Attack::Separation,
        tried: "standard deviations between the neighbours".to_owned(),
        measured,
        allowed: format!("μ ≤ {limit:.4}"),
        bound,
        verdict: verdict(low <= limit * (1.0 + ROUNDING) && means_agree),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::Coins;
    use crate::report::Verdict;
    use evertally::Budget;

    /// Normal numbers by the inverse of their distribution function: slow and obvious.
    fn normals(seed: u64, count: usize, mean: f64, deviation: f64) -> Vec<f64> {
        let mut coins = Coins::seeded(seed);
        let mut draw = || {
            let half = (coins.next() >> 12) as f64 + 0.5;
            let share = half / (1_u64 << 52) as f64;
            let magnitude = normal::quantile_above(0.5 * share);
            if coins.toss() { magnitude } else { -magnitude }
        };
        (0..count).map(|_| mean + deviation * draw()).collect()
    }

    fn target(epsilon: f64, delta: f64) -> Target {
        let budget = Budget::new(epsilon, delta).unwrap();
        Target { epsilon, delta, mu: 1.0 / budget.noise_multiplier(), noise: NoiseKind::Gaussian }
    }

    fn game(seed: u64, runs: usize, separation: f64, deviation: f64) -> Game {
        Game {
            without: normals(seed, runs, 0.0, deviation),
            with: normals(seed + 1, runs, separation, deviation),
            separation,
        }
    }

    #[test]
    fn noise_that_is_short_by_fifteen_percent_is_separated_too_far() {
        let target = target(1.0, 1e-6);
        let shift = target.mu;
        for seed in 0..20 {
            let honest = separation(&game(2 * seed, 750, shift, 1.0), &target, 1e-5);
            assert_eq!(honest.verdict, Verdict::Passed, "{honest:?}");
            let epsilon = honest.bound.unwrap().epsilon;
            assert!((0.8..1.0).contains(&epsilon), "{honest:?}");
            let short = separation(&game(2 * seed, 750, shift, 0.85), &target, 1e-5);
            assert_eq!(short.verdict, Verdict::Failed, "{short:?}");
            assert!(short.bound.unwrap().epsilon > 1.0);
        }
    }

    #[test]
    fn a_shift_that_depends_on_more_than_the_change_is_seen() {
        let target = target(1.0, 1e-6);
        let shift = target.mu;
        let game = Game { separation: shift, ..game(1, 2000, shift + 0.5, 1.0) };
        let found = separation(&game, &target, 1e-5);
        assert_eq!(found.verdict, Verdict::Failed);
        assert!(found.measured.contains("further apart"));
    }

    #[test]
    fn counting_proves_what_is_there_and_no_more() {
        // At a large δ the bound from counting is close to the truth, and never above it.
        let target = target(1.0, 0.05);
        let shift = target.mu;
        let honest = error_rates(&game(5, 20_000, shift, 1.0), &target, 1e-5);
        let epsilon = honest.bound.unwrap().epsilon;
        assert!(honest.verdict == Verdict::Passed && (0.6..1.0).contains(&epsilon), "{honest:?}");
        let broken = error_rates(&game(5, 20_000, 2.0 * shift, 1.0), &target, 1e-5);
        assert!(broken.verdict == Verdict::Failed && broken.bound.unwrap().epsilon > 1.5, "{broken:?}");
    }

    #[test]
    fn no_noise_at_all_is_infinitely_far() {
        let target = target(1.0, 1e-6);
        let still = Game { without: vec![0.0; 200], with: vec![0.2; 200], separation: 0.2 };
        let found = separation(&still, &target, 1e-5);
        assert_eq!(found.verdict, Verdict::Failed);
        assert!(found.bound.unwrap().epsilon > 1e11);
        let distant = Game { without: vec![-5.0; 2000], with: vec![5.0; 2000], separation: 10.0 };
        assert_eq!(error_rates(&distant, &target, 1e-5).verdict, Verdict::Failed);
    }
}
