//! The last digits of releases: outputs that are possible on one stream and impossible on its
//! neighbour.
//!
//! **The attack.** Floats are denser near zero. The magnitude of a noise draw determines the
//! fineness of its digits, and adding it to a total keeps them. If the total is zero, a release
//! near zero can have digits that are impossible for a stream with another total, because there the
//! noise was larger and its digits coarser. A single such release reveals the stream, regardless of
//! ε.
//!
//! **What is checked.** All releases lie on the claimed grid. On this grid the noise leaves no
//! trace: its remainders modulo a power of two, well below its standard deviation, are uniform.
//! Releases near zero end in digits of the same fineness whether the total is zero or about a
//! standard deviation away: for every j, the exact intervals for the shares finer than 2^-j must
//! overlap.
//!
//! **What it cannot find.** Missing outputs that are unrelated to fineness, such as those of a
//! particular sampler. Noise with an integer inverse has none
//! ([`Subject::noise_distance`](crate::Subject::noise_distance)).
//!
//! **Source.** Mironov, *On Significance of the Least Significant Bits for Differential Privacy*
//! (2012); Haney, Desfontaines, Hartman, Shrestha and Hay, *Precision-based attacks and interval
//! refining* (2022); Jin, McMurtry, Rubinstein and Ohrimenko, *Are We There Yet? Timing and
//! Floating-Point Attacks on Differential Privacy Systems* (2022).

use crate::report::{Attack, Finding, verdict};
use crate::sampling::{Sample, WatchedReleases};
use crate::statistics::{binomial, chi_square};
use crate::stream::{Change, Stream};
use crate::whitening::Whitening;

/// Fineness is compared at every power of two down to this exponent, relative to the shift.
const MAX_FINENESS: i32 = 64;

/// Smaller differences of shares are not a fault: releases near zero are distributed slightly
/// differently on the two streams.
const SHARE_TOLERANCE: f64 = 0.02;

/// The maximum number of distinct remainders.
const MAX_REMAINDERS: f64 = 64.0;

/// The settings' runs are divided by this for either stream.
pub(crate) const PART_OF_RUNS: usize = 4;

/// The shift: a power of two, about a standard deviation of the noise, in the first step.
pub(crate) struct Shift {
    amount: f64,
    /// The indices of the watched steps whose totals contain at least half of it.
    reached: Vec<usize>,
}

impl Shift {
    pub(crate) fn new(whitening: &Whitening) -> Self {
        let deviations = (0..whitening.steps().len()).map(|index| whitening.deviation(index));
        let amount = deviations.fold(f64::INFINITY, f64::min).log2().floor().exp2();
        let image = whitening.image(&[(0, 1.0)]);
        let reached = image.iter().enumerate().filter(|(_, share)| **share >= 0.5).map(|(index, _)| index);
        Self { amount, reached: reached.collect() }
    }

    pub(crate) fn stream(&self, length: usize, lanes: usize) -> Stream {
        Stream::zeros(length, lanes).with(&Change::of([(0, 0, self.amount)]))
    }
}

/// The fault that was found.
#[derive(Debug, Clone, PartialEq)]
enum Trace {
    OffGrid { share: f64 },
    Remainders { chance: f64 },
    Fineness { exponent: i32, quiet: f64, shifted: f64 },
}

/// Examines the digits of all releases. `others` are only compared with the grid.
pub(crate) fn attack(
    whitening: &Whitening,
    grid: f64,
    shift: &Shift,
    (quiet, shifted): (&Sample, &Sample),
    others: &[&Sample],
    share: f64,
) -> Finding {
    let samples = || [quiet, shifted].into_iter().chain(others.iter().copied());
    let releases =
        samples().map(|sample| sample.runs.iter().flat_map(WatchedReleases::values).count()).sum::<usize>();
    let trace = off_grid(samples(), grid)
        .or_else(|| remainders(whitening, quiet, grid, 0.5 * share))
        .or_else(|| fineness(shift, quiet, shifted, 0.5 * share));
    let on_grid = if grid > 0.0 { format!("all on the grid of {grid}, ") } else { "no grid, ".to_owned() };
    let measured = match &trace {
        None => format!("{on_grid}equal digits"),
        Some(Trace::OffGrid { share }) => format!("{:.1} % off the grid of {grid}", 100.0 * share),
        Some(Trace::Remainders { chance }) => format!("remainders uneven, p = {chance:.1e}"),
        Some(Trace::Fineness { exponent, quiet, shifted }) => {
            format!(
                "finer than 2^{exponent}: {:.0} % at 0, {:.0} % at {}",
                100.0 * quiet,
                100.0 * shifted,
                shift.amount
            )
        }
    };
    Finding {
        attack: Attack::LowBits,
        tried: format!("digits of {releases} releases"),
        measured,
        allowed: "the same on any data".to_owned(),
        bound: None,
        verdict: verdict(trace.is_none()),
    }
}

fn off_grid<'a>(samples: impl Iterator<Item = &'a Sample>, grid: f64) -> Option<Trace> {
    if grid == 0.0 {
        return None;
    }
    let (mut off, mut all) = (0, 0);
    for value in samples.flat_map(|sample| sample.runs.iter().flat_map(WatchedReleases::values)) {
        all += 1;
        off += usize::from((value / grid).fract() != 0.0);
    }
    (off > 0).then(|| Trace::OffGrid { share: off as f64 / f64::from(all) })
}

/// Remainders of noise on the grid modulo a power of two. The power is at most the standard
/// deviation of a release given all others. The remainders are then uniform to within 10⁻⁸, and
/// independent.
fn remainders(whitening: &Whitening, quiet: &Sample, grid: f64, share: f64) -> Option<Trace> {
    let most = (whitening.least_innovation() / grid).min(MAX_REMAINDERS);
    // This also returns without a grid, or with a grid as wide as the noise.
    if !(most >= 2.0 && grid > 0.0) {
        return None;
    }
    let modulus = most.log2().floor().exp2();
    let mut counts = vec![0_u32; modulus as usize];
    for value in quiet.runs.iter().flat_map(WatchedReleases::values) {
        counts[(value / grid).rem_euclid(modulus) as usize] += 1;
    }
    let expected = counts.iter().copied().map(f64::from).sum::<f64>() / modulus;
    let statistic: f64 = counts.iter().map(|&count| (f64::from(count) - expected).powi(2) / expected).sum();
    let chance = chi_square::above(statistic, modulus - 1.0);
    (chance < share).then_some(Trace::Remainders { chance })
}

/// The exponent of the last nonzero binary digit.
fn last_digit(value: f64) -> Option<i32> {
    if value == 0.0 || !value.is_finite() {
        return None;
    }
    let bits = value.to_bits();
    let exponent = (bits >> 52 & 0x7FF) as i32;
    let mantissa = (bits & ((1 << 52) - 1)) | if exponent == 0 { 0 } else { 1 << 52 };
    Some(exponent.max(1) - 1075 + mantissa.trailing_zeros() as i32)
}

/// Last digits of the shifted lane's releases within an eighth of the shift around zero.
fn digits_near_zero(shift: &Shift, sample: &Sample) -> Vec<i32> {
    let near = |run: &WatchedReleases| {
        let values: Vec<f64> = shift.reached.iter().map(|&index| run.lane(0)[index]).collect();
        values.into_iter().filter(|value| value.abs() <= 0.125 * shift.amount).filter_map(last_digit)
    };
    sample.runs.iter().flat_map(near).collect()
}

fn fineness(shift: &Shift, quiet: &Sample, shifted: &Sample, share: f64) -> Option<Trace> {
    let digits = [quiet, shifted].map(|sample| digits_near_zero(shift, sample));
    if digits.iter().any(Vec::is_empty) {
        return None;
    }
    let unit = last_digit(shift.amount).unwrap_or_default();
    // Two intervals per fineness, each of which may fail at both ends.
    let error = share / f64::from(4 * MAX_FINENESS);
    (1..=MAX_FINENESS).map(|below| unit - below).find_map(|exponent| {
        let share = digits.each_ref().map(|digits| {
            let finer = digits.iter().filter(|&&digit| digit < exponent).count();
            let at_least = binomial::share_at_least(finer, digits.len(), error);
            (
                at_least,
                finer as f64 / digits.len() as f64,
                binomial::share_at_most(finer, digits.len(), error),
            )
        });
        let [quiet, shifted] = share;
        let apart = (quiet.0 - shifted.2).max(shifted.0 - quiet.2);
        (apart > SHARE_TOLERANCE).then_some(Trace::Fineness { exponent, quiet: quiet.1, shifted: shifted.1 })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::Coins;
    use crate::report::Verdict;
    use evertally::{Budget, Mechanism, Plan};

    const STEPS: usize = 4;

    fn whitening() -> Whitening {
        let budget = Budget::new(1.0, 1e-6).unwrap();
        let plan = Plan::prefix_sum(STEPS as u64).mechanism(Mechanism::OutputPerturbation).budget(budget);
        Whitening::new(&plan.build().unwrap(), None, 0.0, STEPS)
    }

    /// Releases of streams with the constant total `total`, and noise that `noise` computes from
    /// two uniform numbers.
    fn sample(whitening: &Whitening, seed: u64, total: f64, noise: impl Fn(f64, f64) -> f64) -> Sample {
        let mut coins = Coins::seeded(seed);
        let mut uniform = || ((coins.next() >> 11) as f64 + 1.0) / (1_u64 << 53) as f64;
        let mut run = || (0..STEPS).map(|_| total + noise(uniform(), uniform())).collect::<Vec<_>>();
        let runs = (0..500).map(|_| WatchedReleases::of(whitening, &run(), 1)).collect();
        Sample { runs, answers: WatchedReleases::of(whitening, &[total; STEPS], 1) }
    }

    fn found(grid: f64, noise: impl Fn(f64, f64) -> f64 + Copy) -> Finding {
        let whitening = whitening();
        let shift = Shift::new(&whitening);
        let (quiet, shifted) =
            (sample(&whitening, 1, 0.0, noise), sample(&whitening, 2, shift.amount, noise));
        attack(&whitening, grid, &shift, (&quiet, &shifted), &[], 1e-5)
    }

    fn normal(u: f64, v: f64) -> f64 {
        8.0 * (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }

    #[test]
    fn noise_on_a_grid_leaves_no_trace_and_other_noise_does() {
        let rounded = |grid: f64| move |u, v| (normal(u, v) / grid).round() * grid;
        let fine = (-30.0_f64).exp2();
        for (grid, claimed) in [(1.0, 1.0), (fine, fine), (fine, 0.0)] {
            let honest = found(claimed, rounded(grid));
            assert_eq!(honest.verdict, Verdict::Passed, "{honest:?}");
        }
        for (claimed, noise, trace) in [
            (0.0, &normal as &dyn Fn(f64, f64) -> f64, "finer than"),
            (1.0, &rounded(0.5), "off the grid"),
            (1.0, &rounded(2.0), "remainders uneven"),
        ] {
            let caught = found(claimed, noise);
            assert!(caught.verdict == Verdict::Failed && caught.measured.contains(trace), "{caught:?}");
        }
    }

    #[test]
    fn last_digits() {
        for (value, expected) in [
            (1.0, 0),
            (-6.0, 1),
            (0.1, -55),
            (f64::MIN_POSITIVE, -1022),
            (5e-324, -1074),
            (1.5e300 + 0.0, 945),
        ] {
            assert_eq!(last_digit(value), Some(expected), "{value}");
            let unit = f64::from(expected).exp2();
            assert!(unit == 0.0 || (value / unit).fract() == 0.0);
        }
        assert_eq!(last_digit(0.0), None);
        assert_eq!(last_digit(f64::NAN), None);
    }
}
