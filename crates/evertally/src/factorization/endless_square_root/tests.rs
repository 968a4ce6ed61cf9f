//! The diagonals beside their definitions, and the error beside rows added up.

use super::super::diagonals::profile::{Profile, TOLERANCE};
use super::super::diagonals::term::pairs;
use super::super::diagonals::{Diagonals, Strides};
use super::*;
use crate::matrix::Matrix;
use crate::noise::{GradeBlock, GradeBounds, StreamingCorrelator, VectorField, WhiteNoise};
use crate::privacy::CompensatedSum;
use crate::workload::Workload;
use crate::{Budget, NoiseKey, Plan};

const OBJECTIVES: [Objective; 2] = [Objective::Worst, Objective::Anytime];

fn made(horizon: u64, objective: Objective) -> EndlessSquareRoot {
    let (workload, participation) = (Workload::PrefixSum, Participation::single());
    let request = Request { horizon, workload, participation, objective, report: None, progress: &() };
    EndlessSquareRoot::new(&request).unwrap()
}

/// Steps of every size up to the horizon.
fn steps(horizon: u64, per_doubling: u32) -> Vec<u64> {
    let last = libm::log2(horizon as f64) * f64::from(per_doubling);
    let mut steps: Vec<u64> =
        (0..=last as u32).map(|i| libm::exp2(f64::from(i) / f64::from(per_doubling)) as u64 - 1).collect();
    steps.dedup();
    steps
}

/// Adds up e² f̂² far enough, and the rest by its geometric series.
#[test]
fn norms_are_those_of_columns_that_never_end() {
    const FAR: u64 = 1 << 15;
    for objective in OBJECTIVES {
        let weights = &made(1 << 40, objective).parts.weights;
        let series = made(1 << 40, objective).slope;
        let mixture = Pair::tilted(LOW, 1.0, DECAYS, 0.0, 0.0).unwrap();
        let encoder = mixture.encoder();
        let coefficients = encoder.coefficients(FAR as usize);
        // The scale of e² follows from e_0 = 4.
        let power = |rate: f64| libm::pow(rate, series.power) * libm::exp(-series.shift * rate);
        let mut terms: Vec<(f64, f64)> =
            (0..22).map(|m| 4.0 / libm::exp2(2.0 * f64::from(m))).map(|rate| (rate, power(rate))).collect();
        terms.push((0.0, terms[21].1));
        let total: f64 = terms.iter().map(|term| term.1).sum();
        let square =
            |t: f64| 16.0 / total * terms.iter().map(|(rate, a)| a * libm::exp(-rate * t)).sum::<f64>();
        for t in [0, 1, 2, 17, 513, 1000, 1 << 20, 1 << 39, (1 << 40) - 1] {
            let (grade, norm) = weights.at(t);
            assert!((grade / square(t as f64).sqrt() - 1.0).abs() < ROUNDING, "{t}: {grade}");
            let mut sum = CompensatedSum::default();
            for (k, f) in coefficients.iter().enumerate() {
                sum.add(square((t + k as u64) as f64) * f * f);
            }
            for (rate, a) in &terms {
                let rest = |(pair, weight): &(f64, f64)| {
                    weight * libm::exp(-(pair + rate) * FAR as f64) / -libm::expm1(-pair - rate)
                };
                let rest: f64 = pairs(encoder).iter().map(rest).sum();
                sum.add(16.0 / total * a * libm::exp(-rate * t as f64) * rest);
            }
            let off = norm / sum.value().sqrt() - 1.0;
            assert!(off.abs() < ROUNDING, "{objective} {t}: {off:e}");
        }
    }
}

/// What the bounds of the integer filter and of single precision rest on.
#[test]
fn grades_and_norms_fall_and_their_ratio_rises() {
    for objective in OBJECTIVES {
        let horizon = 1 << 40;
        let weights = &made(horizon, objective).parts.weights;
        let bounds = weights.bounds();
        let (mut last, mut block) = ((f64::INFINITY, f64::INFINITY), GradeBlock::default());
        for step in steps(horizon, 20) {
            let (grade, norm) = weights.at(step);
            let wider = 1.0 + 2.0 * ROUNDING;
            assert!(grade <= last.0 * wider && norm <= last.1 * wider, "{step}");
            assert!(last.0.is_infinite() || norm / grade * wider >= last.1 / last.0, "{step}");
            assert!(bounds.least_grade <= grade && grade <= bounds.largest_grade);
            assert!(bounds.least_norm <= norm && norm <= bounds.largest_norm);
            assert!(norm / grade <= bounds.largest_ratio && grade <= norm);
            last = (grade, norm);
            weights.block(step, &mut block);
            let i = (step % BLOCK) as usize;
            assert!((block.grades[i] / grade - 1.0).abs() < ROUNDING, "{step}");
            assert!((block.norms[i] / norm - 1.0).abs() < ROUNDING, "{step}");
            assert!(block.norms.windows(2).all(|d| d[1] > 0.5 * d[0] && d[1] <= d[0] * wider), "{step}");
        }
        assert!(bounds.largest_norm < 8.0 && bounds.least_norm > libm::exp2(-15.0));
    }
}

/// L R = A, Δ is the longest column of R, and row norms are those of L.
#[test]
fn factors_are_those_of_the_definition() {
    for objective in OBJECTIVES {
        for n in (1..=40).chain([130, 700]) {
            let made = made(n, objective);
            let Dense { decoder, encoder } = made.dense().unwrap();
            let (product, a) = (decoder.times(&encoder), Workload::PrefixSum.matrix(n as usize));
            let entries = |m: &Matrix| (0..n as usize).flat_map(|i| m.row(i).to_vec()).collect::<Vec<_>>();
            assert!(entries(&product).iter().zip(entries(&a)).all(|(x, y)| (x - y).abs() < 1e-12));
            let delta = made.sensitivity(Participation::single());
            let longest = encoder.largest_column_norm();
            assert!(delta >= longest && delta < longest * (1.0 + 1e-11), "{n}: {delta} {longest}");
            for t in 0..n {
                let off = made.row_norm_squared(t) / decoder.row_norm_squared(t as usize) - 1.0;
                assert!(off.abs() < 1e-11, "n = {n}, {t}: {off:e}");
            }
        }
    }
}

/// The recursion of covariances, in strides, beside whole rows of L made backwards.
#[test]
fn errors_are_those_of_rows_added_up() {
    for objective in OBJECTIVES {
        let short = made(20_000, objective);
        let long = made(1 << 40, objective);
        for step in [0, 1, 2, 9, 63, 64, 500, 511, 512, 4097, 19_999] {
            let mut sum = CompensatedSum::default();
            short.parts.walk_row(0, step, |_, entry| sum.add(entry * entry));
            let off = short.row_norm_squared(step) / sum.value() - 1.0;
            assert!(off.abs() < 1.5 * TOLERANCE, "{step}: {off:e}");
            let off = long.row_norm_squared(step) / sum.value() - 1.0;
            assert!((0.0..1.5 * TOLERANCE).contains(&off), "{step} of many: {off:e}");
        }
        for step in [70_001, 300_000, 1 << 20] {
            let mut sum = CompensatedSum::default();
            long.parts.walk_row(0, step, |_, entry| sum.add(entry * entry));
            let off = long.row_norm_squared(step) / sum.value() - 1.0;
            assert!((0.0..1.5 * TOLERANCE).contains(&off), "{step} of many: {off:e}");
        }
        for (earlier, later) in [(0, 70_000), (69_000, 70_000), (1000, 200_000), (1 << 17, (1 << 17) + 3)] {
            let mut sum = CompensatedSum::default();
            long.parts.walk_row(earlier + 1, later, |_, entry| sum.add(entry * entry));
            let off = long.difference_norm_squared(earlier, later) / sum.value() - 1.0;
            assert!(off.abs() < 2.0 * TOLERANCE, "{earlier} to {later}: {off:e}");
        }
    }
}

/// The same diagonals, with other strides.
struct Finer<'a>(&'a Weights, u64);

impl Grading for Finer<'static> {
    fn block(&self, step: u64, out: &mut GradeBlock) {
        self.0.block(step, out);
    }

    fn bounds(&self) -> GradeBounds {
        self.0.bounds()
    }
}

impl Diagonals for Finer<'static> {
    fn at(&self, step: u64) -> (f64, f64) {
        self.0.at(step)
    }

    fn strides(&self) -> Strides {
        Strides { fineness: self.1, end: None }
    }
}

/// The error of strides falls with the square of their length: with strides four times as short, the
/// difference is 15/16 of the error.
#[test]
fn strides_are_fine_enough_up_to_the_last_step() {
    for objective in OBJECTIVES {
        let long = made(1 << 40, objective);
        let weights: &'static Weights = Box::leak(Box::new(Weights::clone(&long.parts.weights)));
        let finer = Profile::strided(1 << 40, &long.parts.pair, &Finer(weights, 4 * 192));
        for step in steps(1 << 40, 3) {
            let off = (long.profile.row(step) / finer.row(step) - 1.0) / TOLERANCE;
            assert!(off.abs() < 0.5, "{objective} {step}: {off}");
        }
        assert!((long.profile.mean() / finer.mean() - 1.0).abs() < 0.5 * TOLERANCE);
    }
}

/// Single precision beside doubles, with the same draws: the deviation stays far below the noise.
///
/// Both noises are scaled to their standard error, and the root of the mean squared difference over
/// the second half of 2^15 steps of 16 lanes is compared with what was measured, 4.0·10⁻⁶, twice over.
/// There is no false alarm: draws are fixed.
#[test]
fn single_precision_follows_doubles() {
    let horizon = 1 << 15;
    for objective in OBJECTIVES {
        let made = made(horizon, objective);
        let recipe = made.parts.recipe();
        let field = || {
            let white = WhiteNoise::gaussian(NoiseKey::insecure_from_seed(5).stream(b"endless"));
            Arc::new(VectorField::new(white, 16)) as Arc<dyn WhiteField>
        };
        let mut doubles = StreamingCorrelator::<f64>::new(&recipe, horizon, field(), 1.0);
        let mut singles = StreamingCorrelator::<f32>::new(&recipe, horizon, field(), 1.0);
        let (mut wide, mut narrow) = ([0.0; 16], [0.0_f32; 16]);
        let mut squares = 0.0;
        for step in 0..horizon {
            doubles.next_into(&mut wide);
            singles.next_into(&mut narrow);
            if step >= horizon / 2 {
                let difference = |(a, b): (&f64, &f32)| (f64::from(*b) - a).powi(2);
                squares +=
                    wide.iter().zip(&narrow).map(difference).sum::<f64>() / made.row_norm_squared(step);
            }
        }
        let deviation = (squares / (8.0 * horizon as f64)).sqrt();
        assert!(deviation < 8e-6 && deviation > 0.0, "{objective}: {deviation:e}");
    }
}

/// A stream that is resumed far out goes on as it would have, to the last step.
#[test]
fn the_last_steps_are_reached() {
    let plan = |objective| {
        let plan = Plan::unbounded(Workload::PrefixSum).budget(Budget::zcdp(0.5).unwrap());
        plan.objective(objective).mechanism(Mechanism::EndlessSquareRoot).build().unwrap()
    };
    for objective in OBJECTIVES {
        let plan = plan(objective);
        let factorization = plan.factorization();
        let white = WhiteNoise::gaussian(NoiseKey::insecure_from_seed(6).stream(b"far"));
        let field: Arc<VectorField> = Arc::new(VectorField::new(white, 2));
        let far = (1 << 40) - 1000;
        let mut whole = factorization.correlator(Arc::clone(&field) as _, &());
        whole.restore(far, &vec![1.0; 34]).unwrap();
        let (mut row, mut again) = ([0.0; 2], [0.0; 2]);
        for step in far..1 << 40 {
            let mut resumed = factorization.correlator(Arc::clone(&field) as _, &());
            if step % 97 == 0 {
                resumed.restore(step, &whole.save()).unwrap();
                resumed.next(&mut again);
            }
            whole.next(&mut row);
            assert!(row[0].is_finite() && row[1] != 0.0 && (step % 97 != 0 || row == again), "{step}");
        }
        assert!(plan.standard_error((1 << 40) - 1).is_ok() && plan.standard_error(1 << 40).is_err());
    }
}
