//! Compares the noise with its declaration: variances, and correlations in time, between runs and
//! between lanes.
//!
//! **Definition.** Residuals of all runs are whitened by the covariance that the plan declares. If
//! the declaration is true, the entries have mean zero and variance one. They are uncorrelated with
//! entries at other steps of the same run, with the same step of the next run, and with the same
//! step of another lane. Sums of squares are compared with the chi-square distribution (with fewer
//! degrees of freedom for Laplace noise, because of its kurtosis). Means and products are compared
//! with the normal distribution, in units of their own spread. Gaussian noise must be normal in its
//! third and fourth moments too: u³ − 3u and u⁴ − 6u² + 3 have mean zero.
//!
//! **Guarantee.** The attack's share of false alarms is divided equally among the comparisons. The
//! smallest p-value decides.
//!
//! **What it finds.** Noise that is too small or too large at any step, fresh noise at every step,
//! a key used twice, lanes that share their noise, and noise of the wrong distribution.

use evertally::privacy::NoiseKind;

use super::Target;
use crate::report::{Attack, Finding, verdict};
use crate::sampling::Sample;
use crate::statistics::{chi_square, normal, self_normalised};
use crate::whitening::Whitening;

/// The maximum number of lags for correlations.
const MAX_LAGS: usize = 64;

/// One comparison: its description, and its p-value.
struct Comparison {
    what: String,
    chance: f64,
}

/// Whitened noise: the entries in time, per run and lane.
type Whitened = Vec<Vec<Vec<f64>>>;

/// Compares the noise of all runs with the declaration.
pub(crate) fn attack(whitening: &Whitening, samples: &[&Sample], target: &Target, share: f64) -> Finding {
    let whitened = whitened(whitening, samples);
    let comparisons = comparisons(&whitened, target);
    let count = comparisons.len();
    let worst = comparisons.into_iter().min_by(|a, b| a.chance.total_cmp(&b.chance));
    let worst = worst.unwrap_or(Comparison { what: "nothing".to_owned(), chance: 1.0 });
    Finding {
        attack: Attack::Covariance,
        tried: format!("{count} moments of {} runs, whitened", whitened.len()),
        measured: format!("{}, p = {:.1e}", worst.what, worst.chance),
        allowed: format!("p ≥ {:.1e}", share / count.max(1) as f64),
        bound: None,
        verdict: verdict(worst.chance * count as f64 >= share),
    }
}

fn whitened(whitening: &Whitening, samples: &[&Sample]) -> Whitened {
    let of_sample = |sample: &&Sample| {
        let noise = sample.runs.iter().map(|run| run.less(&sample.answers)).collect::<Vec<_>>();
        noise.into_iter().map(|run| {
            let whiten = |lane: &Vec<f64>| {
                let mut lane = lane.clone();
                whitening.whiten(&mut lane);
                lane
            };
            run.lanes().iter().map(whiten).collect()
        })
    };
    samples.iter().flat_map(of_sample).collect()
}

fn comparisons(runs: &Whitened, target: &Target) -> Vec<Comparison> {
    let lanes = runs.first().map_or(0, Vec::len);
    let steps = runs.first().and_then(|run| run.first()).map_or(0, Vec::len);
    let mut all = Vec::new();
    let mut variance = |what: String, squares: &mut dyn Iterator<Item = f64>| {
        let (mut sum, mut count) = (0.0, 0.0);
        squares.for_each(|square| {
            sum += square;
            count += 1.0;
        });
        let freedom = target.freedom();
        let chance = chi_square::two_sided(freedom * sum, freedom * count);
        all.push(Comparison { what: format!("{what} × {:.3}", sum / count), chance });
    };
    variance("variance".to_owned(), &mut runs.iter().flatten().flatten().map(|u| u * u));
    for step in 0..steps {
        let squares = &mut runs.iter().flatten().map(|lane| lane[step] * lane[step]);
        variance(format!("variance of step {step}"), squares);
    }
    let mut vanishing = |what: String, values: &mut dyn Iterator<Item = f64>| {
        let z = self_normalised(values);
        let chance = (2.0 * normal::above(z.abs())).min(1.0);
        all.push(Comparison { what: format!("{what}, z = {z:.1}"), chance });
    };
    for step in 0..steps {
        // One value per run: lanes that share their noise must not count twice.
        let means = &mut runs.iter().map(|run| run.iter().map(|lane| lane[step]).sum());
        vanishing(format!("mean of step {step}"), means);
    }
    for lag in 1..=MAX_LAGS.min(steps.saturating_sub(1)) {
        let products = |lane: &Vec<f64>| lane[lag..].iter().zip(lane).map(|(a, b)| a * b).sum::<f64>();
        vanishing(format!("lag {lag}"), &mut runs.iter().map(|run| run.iter().map(products).sum()));
    }
    if target.noise == NoiseKind::Gaussian {
        let sum = |moment: fn(f64) -> f64| {
            runs.iter().map(move |run| run.iter().flatten().map(|&u| moment(u)).sum())
        };
        vanishing("third moment".to_owned(), &mut sum(|u| u * (u * u - 3.0)));
        vanishing("fourth moment".to_owned(), &mut sum(|u| (u * u - 6.0) * u * u + 3.0));
    }
    let dot = |(a, b): (&Vec<f64>, &Vec<f64>)| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    if runs.len() > 1 {
        let products = runs.windows(2).map(|pair| pair[0].iter().zip(&pair[1]).map(dot).sum());
        vanishing("run with next run".to_owned(), &mut { products });
    }
    for lane in 1..lanes {
        let products = runs.iter().map(|run| dot((&run[lane - 1], &run[lane])));
        vanishing(format!("lanes {} and {lane}", lane - 1), &mut { products });
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::Coins;
    use std::cell::RefCell;
    use std::f64::consts::TAU;

    const TARGET: Target = Target { epsilon: 1.0, delta: 1e-6, mu: 0.2367, noise: NoiseKind::Gaussian };

    fn uniform(coins: &mut Coins) -> f64 {
        ((coins.next() >> 11) as f64 + 1.0) / (1_u64 << 53) as f64
    }

    /// Normal numbers, after Box and Muller.
    fn white(seed: u64, runs: usize, lanes: usize, steps: usize) -> Whitened {
        let mut coins = Coins::seeded(seed);
        let mut draw = || (-2.0 * uniform(&mut coins).ln()).sqrt() * (TAU * uniform(&mut coins)).cos();
        (0..runs).map(|_| (0..lanes).map(|_| (0..steps).map(|_| draw()).collect()).collect()).collect()
    }

    /// The smallest p-value, including the Bonferroni factor.
    fn smallest(runs: &Whitened) -> (f64, String) {
        let all = comparisons(runs, &TARGET);
        let count = all.len() as f64;
        let worst = all.into_iter().min_by(|a, b| a.chance.total_cmp(&b.chance)).unwrap();
        (worst.chance * count, worst.what)
    }

    /// A correct sample is refused once in 10⁴ times here. Seeds are fixed, so a passing test keeps
    /// passing.
    #[test]
    fn every_departure_is_named() {
        let honest = white(1, 1500, 2, 16);
        assert!(smallest(&honest).0 > 1e-4, "{:?}", smallest(&honest));
        let changed = |change: &dyn Fn(usize, usize, usize, f64) -> f64| -> Whitened {
            let lane = |r: usize, l: usize| {
                honest[r][l].iter().enumerate().map(|(t, u)| change(r, l, t, *u)).collect()
            };
            (0..honest.len()).map(|r| (0..2).map(|l| lane(r, l)).collect()).collect()
        };
        let flat = RefCell::new(Coins::seeded(2));
        let cases: [(&str, Whitened); 9] = [
            ("variance", changed(&|_, _, _, u| 0.85 * u)),
            ("variance", changed(&|_, _, _, u| 1.15 * u)),
            ("variance of step 3", changed(&|_, _, t, u| if t == 3 { 0.85 * u } else { u })),
            ("mean of step 0", changed(&|_, _, t, u| if t == 0 { u + 0.3 } else { u })),
            ("lag 1", changed(&|r, l, t, u| if t > 0 { 0.9 * u + 0.436 * honest[r][l][t - 1] } else { u })),
            ("run with next run", changed(&|r, l, t, _| honest[r / 2 * 2][l][t])),
            ("third moment", changed(&|_, _, _, u| (u + 0.3 * (u * u - 1.0)) / 1.18_f64.sqrt())),
            (
                "fourth moment",
                changed(&|_, _, _, _| (uniform(&mut flat.borrow_mut()) - 0.5) * 12.0_f64.sqrt()),
            ),
            ("lanes 0 and 1", changed(&|r, _, t, _| honest[r][0][t])),
        ];
        for (expected, runs) in &cases {
            let (chance, what) = smallest(runs);
            assert!(chance < 1e-5 && what.starts_with(expected), "{expected}: {what} {chance}");
        }
    }
}
