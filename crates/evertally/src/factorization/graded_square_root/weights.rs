//! The two diagonals: the grades e as a short sum of exponentials, and the column norms d in closed
//! form.
//!
//! **Definition.** With t from 0 and rates ρ_m = 1.2·4^m/n up to 2,
//!
//! > e_t² = c − Σ_m a_m exp(−ρ_m(t+1)) − Σ_m b_m exp(−ρ_m(n−t)),  a, b ≥ 0.
//!
//! d_t² = Σ_{i≥t} e_i² f̂(i−t)². As f̂² = Σ_l W_l exp(−Λ_l k), over all pairs of decays of f̂, each
//! product is a geometric series, and with N = n − t
//!
//! > d_t² = C − Σ_m A_m exp(−ρ_m(t+1)) − Σ_m B_m exp(−ρ_m N) − Σ_l P_l exp(−Λ_l N)
//!
//! exactly. It needs no array over the horizon and no interpolation. The last 64 values are added up
//! from the definition instead, because the series would cancel there.
//!
//! **Guarantee.** −e² is a sum of convex functions, so e² is concave. It is positive everywhere if it
//! is positive at both ends, which is checked. The series for d² cancels towards the end of the
//! horizon. [`Weights::rounding`] bounds the effect of rounding on d, and is added to the
//! sensitivity.
//!
//! **Cost.** O(J²·M) for preparation. A block of 512 steps takes J²/2 + 2M exponentials, and one
//! multiplication per step for each term that is not negligible there.

use super::super::diagonals::term::{CHUNK, NEGLIGIBLE, Term, pairs};
use super::super::diagonals::{Diagonals, Strides};
use super::shape::{Amplitude, Shape};
use crate::mixture::Mixture;
use crate::noise::{GRADED_BLOCK as BLOCK, GradeBlock, GradeBounds, Grading, MIN_GRADE, vectorised};

/// e and d of one horizon.
#[derive(Debug, Clone)]
pub(super) struct Weights {
    horizon: u64,
    /// c.
    base: f64,
    /// C.
    constant: f64,
    /// In t + 1.
    from_start: Vec<Term>,
    /// In n − t.
    from_end: Vec<Term>,
    /// d of the last steps, added up from the definition, because the closed form cancels most there.
    last_norms: Vec<f64>,
    rounding: f64,
    /// Σ_k f̂_k² over the horizon.
    energy: f64,
    /// The smallest grade, which is at one of the ends.
    least_grade: f64,
}

impl Weights {
    /// `None` if the shape gives a grade that is not safely positive.
    pub(super) fn new(horizon: u64, shape: &Shape, mixture: &Mixture) -> Option<Self> {
        let n = horizon as f64;
        let pairs = pairs(mixture);
        let over = |ratio: &dyn Fn(f64) -> f64| {
            pairs.iter().map(|(rate, weight)| weight * ratio(*rate)).sum::<f64>()
        };
        let (series, base) = series(horizon, shape, &pairs);
        let constant = base * over(&|pair| -1.0 / libm::expm1(-pair));
        let mut ends: Vec<f64> = pairs.iter().map(|(pair, _)| -base / libm::expm1(-pair)).collect();
        let mut magnitude = constant;
        let (mut from_start, mut from_end) = (Vec::new(), Vec::new());
        for Series { start_rate, start, end_rate, end } in series {
            let norm = start * over(&|pair| -1.0 / libm::expm1(-pair - start_rate));
            from_start.push(Term::new(start_rate, -start, -norm));
            magnitude += norm;
            let norm = end * over(&|pair| -1.0 / libm::expm1(end_rate - pair));
            from_end.push(Term::new(end_rate, -end, -norm));
            magnitude += end * over(&|pair| 1.0 / libm::expm1(end_rate - pair).abs());
            let cut = start * libm::exp(-start_rate * (n + 1.0));
            for (own, (pair, _)) in ends.iter_mut().zip(&pairs) {
                *own += cut / libm::expm1(-pair - start_rate) + end / libm::expm1(end_rate - pair);
            }
        }
        for ((rate, weight), end) in pairs.iter().zip(&ends) {
            magnitude += (weight * end).abs();
            from_end.push(Term::new(*rate, 0.0, -(weight * end)));
        }
        let mut weights = Self {
            horizon,
            base,
            constant,
            from_start,
            from_end,
            last_norms: Vec::new(),
            rounding: 0.0,
            energy: mixture.energy(horizon),
            least_grade: 0.0,
        };
        let least = [0, horizon - 1].map(|end| weights.at(end).0);
        weights.least_grade = least[0].min(least[1]);
        // e² is concave, so it is smallest at an end. It is below its constant everywhere.
        let needed = MIN_ALLOWED_GRADE.max(MIN_GRADE * weights.base.sqrt());
        if !least.iter().all(|grade| *grade > needed) {
            return None;
        }
        weights.add_up_last_norms(mixture);
        // The closed form of d² is off by at most a few units in the last place of each term,
        // including 64 multiplications. d² falls towards both ends, so it is smallest at the first
        // or the last step for which the closed form is used.
        let smallest = match horizon.checked_sub(LAST + 1) {
            Some(step) => weights.at(step).1.min(weights.at(0).1).powi(2),
            None => f64::INFINITY,
        };
        weights.rounding = 128.0 * f64::EPSILON * (1.0 + magnitude / smallest);
        Some(weights)
    }

    /// d² = Σ e_i² f̂(i−t)² with the same e that the noise uses.
    fn add_up_last_norms(&mut self, mixture: &Mixture) {
        let first = self.horizon.saturating_sub(LAST);
        let (mut grades, mut stretch) = (Vec::new(), GradeBlock::default());
        for step in first..self.horizon {
            if step == first || step % BLOCK == 0 {
                self.block(step, &mut stretch);
            }
            grades.push(stretch.grades[(step % BLOCK) as usize]);
        }
        let coefficients = mixture.coefficients(grades.len());
        self.last_norms = (0..grades.len())
            .map(|t| {
                let products = grades[t..].iter().zip(&coefficients).map(|(grade, f)| (grade * f).powi(2));
                products.sum::<f64>().sqrt()
            })
            .collect();
    }

    /// A bound on the relative amount by which rounding makes a column of R longer than one.
    pub(super) fn rounding(&self) -> f64 {
        self.rounding
    }

    /// The bytes held.
    pub(super) fn bytes(&self) -> u64 {
        (size_of::<Term>() * (self.from_start.len() + self.from_end.len()) + 8 * self.last_norms.len()) as u64
    }

    /// Exponentials evaluated for a block.
    pub(super) fn terms(&self) -> usize {
        self.from_start.len() + self.from_end.len()
    }

    fn add_all(terms: &[Term], from: u64, out: &mut GradeBlock) {
        let from = from as f64;
        for term in terms.iter().filter(|term| term.rate * from < NEGLIGIBLE) {
            vectorised(
                #[inline(always)]
                || term.add(from, &mut out.grades, &mut out.norms),
            );
        }
    }

    fn fill(&self, first: u64, end: u64, out: &mut GradeBlock) {
        let len = (end - first) as usize;
        let padded = len.next_multiple_of(CHUNK);
        for (values, constant) in [(&mut out.grades, self.base), (&mut out.norms, self.constant)] {
            values.clear();
            values.resize(padded, constant);
        }
        // Powers are always taken towards smaller values, so none overflows. Terms from the end run
        // backwards.
        Self::add_all(&self.from_end, self.horizon - end + 1, out);
        for values in [&mut out.grades, &mut out.norms] {
            values.truncate(len);
            values.reverse();
            values.resize(padded, 0.0);
        }
        Self::add_all(&self.from_start, first + 1, out);
        for values in [&mut out.grades, &mut out.norms] {
            values.truncate(len);
            vectorised(
                #[inline(always)]
                || values.iter_mut().for_each(|square| *square = square.sqrt()),
            );
        }
        let from_last = (self.horizon - first) as usize;
        for (i, norm) in out.norms.iter_mut().enumerate() {
            if let Some(last) = (self.last_norms.len() + i).checked_sub(from_last) {
                *norm = self.last_norms[last];
            }
        }
    }
}

impl Diagonals for Weights {
    fn at(&self, step: u64) -> (f64, f64) {
        let mut stretch = GradeBlock::default();
        self.fill(step, step + 1, &mut stretch);
        (stretch.grades[0], stretch.norms[0])
    }

    fn strides(&self) -> Strides {
        Strides { fineness: 96, end: Some(self.horizon) }
    }
}

impl Grading for Weights {
    fn block(&self, step: u64, out: &mut GradeBlock) {
        let first = step - step % BLOCK;
        self.fill(first, (first + BLOCK).min(self.horizon), out);
    }

    /// e² is concave up to the horizon and zero beyond, so its total variation is at most twice its
    /// largest value. d² is a sum of such curves with the weights f̂_k². Also d_t ≥ e_t f̂_0 = e_t. All
    /// bounds are widened by far more than rounding needs. Norms vary by no more than their squares
    /// divided by twice the least.
    fn bounds(&self) -> GradeBounds {
        const WIDER: f64 = 1.0 + 1e-9;
        let largest_square = WIDER * self.base;
        let least = self.least_grade / WIDER;
        let largest_norm = (WIDER * largest_square * self.energy).sqrt();
        GradeBounds {
            largest_grade: largest_square.sqrt(),
            least_grade: least,
            largest_norm,
            least_norm: least,
            largest_ratio: largest_norm / least,
            norm_variation: 2.0 * WIDER * largest_square * self.energy / (2.0 * least),
            is_falling: false,
        }
    }
}

/// The minimum e at both ends. It limits the cancellation in the series and does not affect the
/// accuracy.
const MIN_ALLOWED_GRADE: f64 = 0.02;

/// The number of norms at the end that are added up from the definition.
const LAST: u64 = 64;

/// a·exp(−rate·(t+1)) and b·exp(−rate·(n−t)), each rate at either end.
struct Series {
    start_rate: f64,
    start: f64,
    end_rate: f64,
    end: f64,
}

/// The exponentials of e² and its constant c.
///
/// With A(t) the sum of those from the start, e² = 1 − x·(A(t) − A(n−1))/(A(0) − A(n−1)) − …, and
/// the same from the end: so e² is 1 − x at the first step and 1 − y at the last, for any x and y
/// below one, and concave in between.
fn series(horizon: u64, shape: &Shape, pairs: &[(f64, f64)]) -> (Vec<Series>, f64) {
    let n = horizon as f64;
    let excess = 2.0 * shape.decline / n;
    let mut series: Vec<Series> = shape
        .amplitudes(horizon)
        .into_iter()
        .map(|Amplitude { rate, start, end }| {
            // Equal rates would need another formula, and a rate near those of the pairs is just as
            // good. Distances are those of a root without decline, so that e depends smoothly on
            // the shape.
            Series { start_rate: rate, start, end_rate: away_from(rate, pairs, excess) + excess, end }
        })
        .collect();
    let near_and_far = |rate: &dyn Fn(&Series) -> (f64, f64)| {
        let at = |k: f64| {
            series.iter().map(rate).map(|(rate, amplitude)| amplitude * libm::exp(-rate * k)).sum::<f64>()
        };
        (at(1.0), at(n))
    };
    let (start, end) = (near_and_far(&|s| (s.start_rate, s.start)), near_and_far(&|s| (s.end_rate, s.end)));
    let (first, last) = shape.ends();
    let factor =
        |grade: f64, (near, far): (f64, f64)| if horizon > 1 { (1.0 - grade) / (near - far) } else { 0.0 };
    let (x, y) = (factor(first, start), factor(last, end));
    for s in &mut series {
        s.start *= x;
        s.end *= y;
    }
    (series, 1.0 + x * start.1 + y * end.1)
}

/// The rate within a fiftieth of `rate` that is farthest, relatively, from every rate of the pairs
/// less `excess`.
fn away_from(rate: f64, pairs: &[(f64, f64)], excess: f64) -> f64 {
    let distance = |candidate: f64| {
        let distances = pairs.iter().map(|(pair, _)| (candidate / (pair - excess) - 1.0).abs());
        distances.fold(f64::INFINITY, f64::min)
    };
    let candidates = (0..=40).map(|i| rate * (0.98 + 0.001 * f64::from(i)));
    candidates
        .fold(rate, |best, candidate| if distance(candidate) > distance(best) { candidate } else { best })
}

#[cfg(test)]
mod tests {
    use super::super::{pair, terms};
    use super::*;
    use crate::objective::Objective;
    use crate::privacy::CompensatedSum;

    /// Σ_{i≥t} e_i² f̂(i−t)² added up.
    fn direct(grades: &[f64], coefficients: &[f64], t: usize) -> f64 {
        let mut sum = CompensatedSum::default();
        for (grade, f) in grades[t..].iter().zip(coefficients) {
            sum.add((grade * f).powi(2));
        }
        sum.value().sqrt()
    }

    #[test]
    fn the_closed_form_is_the_column_norm_within_its_bound() {
        for objective in [Objective::Mean, Objective::Worst] {
            for n in (1..=70).chain([100, 127, 128, 129, 1000, 4096, 20_000]) {
                let shape = Shape::for_horizon(n, objective);
                let pair = pair(n, &shape, terms(n)).expect("decays");
                let weights = Weights::new(n, &shape, pair.encoder()).expect("positive");
                let all: Vec<(f64, f64)> = (0..n).map(|t| weights.at(t)).collect();
                let grades: Vec<f64> = all.iter().map(|w| w.0).collect();
                let coefficients = pair.encoder().coefficients(n as usize);
                let mut worst = 0.0_f64;
                for t in (0..n as usize).step_by((n as usize / 500).max(1)).chain([n as usize - 1]) {
                    let ratio = direct(&grades, &coefficients, t) / all[t].1;
                    worst = worst.max((ratio - 1.0).abs());
                }
                assert!(worst < weights.rounding(), "n = {n}: {worst} {}", weights.rounding());
                assert!(weights.rounding() < 5e-11, "n = {n}: {}", weights.rounding());
            }
        }
    }

    #[test]
    fn blocks_agree_with_single_steps() {
        let n = 1000;
        let shape = Shape::for_horizon(n, Objective::Mean);
        let pair = pair(n, &shape, terms(n)).expect("decays");
        let weights = Weights::new(n, &shape, pair.encoder()).expect("positive");
        let mut stretch = GradeBlock::default();
        for t in 0..n {
            weights.block(t, &mut stretch);
            let (grade, norm) = weights.at(t);
            let i = (t % BLOCK) as usize;
            assert!((stretch.grades[i] / grade - 1.0).abs() < weights.rounding());
            assert!((stretch.norms[i] / norm - 1.0).abs() < weights.rounding());
        }
    }
}
