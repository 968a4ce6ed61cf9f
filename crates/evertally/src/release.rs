//! A release: a private value and its error.
//!
//! **Definition.** A release is the true value, plus noise Y with a known law, rounded to a public
//! grid. Its standard error covers both. Its margin at a level p is q·s + g/2 for the quantile q of
//! |Y|/s, the standard deviation s of Y, and the grid g.
//!
//! **Guarantee.** The interval holds the true value with probability p or more. Rounding moves the
//! sum by at most g/2, so the release is within q·s + g/2 of the true value whenever |Y| ≤ q·s. No
//! less would do for true values on the grid: a release is then wrong by k grid steps exactly if
//! |Y|/g is between k − ½ and k + ½, so the interval ends where it must. The sum over an interval of
//! steps is the difference of two releases, and is rounded twice.
//!
//! **Sums over lanes.** Let Y_1, Y_2, … be the noise of one release in several lanes: independent, with
//! one law. Σ a_j Y_j is Gaussian with standard deviation s·‖a‖₂ if they are. If they are sums of
//! Laplace variables, their density is symmetric and log-concave, and then a weighted average is more
//! peaked than one of them (Proschan, 1965): |Σ a_j Y_j| ≤ q·s·‖a‖₁ with probability p or more. The
//! roundings move the sum by at most ‖a‖₁·g/2 ([`Spread::margin_of_sum`]).

use std::f64::consts::{FRAC_2_SQRT_PI, SQRT_2};

/// One private answer, with the error that the noise gives it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Release {
    /// The step, counted from zero.
    pub step: u64,
    /// The private value.
    pub value: f64,
    /// The standard deviation of the noise in it.
    pub standard_error: f64,
    /// The shape of the noise.
    pub tail: Tail,
    /// How the value was rounded.
    pub rounding: Rounding,
}

/// The error that all answers of one step have in common.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Spread {
    /// The step, counted from zero.
    pub step: u64,
    /// The standard deviation of the noise in each answer.
    pub standard_error: f64,
    /// The shape of the noise.
    pub tail: Tail,
    /// How each answer was rounded.
    pub rounding: Rounding,
}

/// How an answer was rounded after the noise was added.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rounding {
    grid: f64,
    times: u32,
}

impl Rounding {
    /// Not at all.
    pub const NONE: Self = Self { grid: 0.0, times: 0 };

    /// Once, to the nearest multiple of a number.
    #[must_use]
    pub fn to_grid(grid: f64) -> Self {
        Self { grid, times: 1 }
    }

    /// As often as two answers on one grid together, for their difference or sum.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self { grid: self.grid.max(other.grid), times: self.times + other.times }
    }

    /// The largest distance by which it can move an answer.
    fn reach(self) -> f64 {
        0.5 * self.grid * f64::from(self.times)
    }

    /// The standard deviation that it adds. The noise is wide enough to count as smooth.
    pub(crate) fn deviation(self) -> f64 {
        self.grid * (f64::from(self.times) / 12.0).sqrt()
    }
}

/// What margins are enlarged by: integer noise is a smooth law rounded to about 2⁻⁴⁰ of its standard
/// deviation.
const DISCRETE: f64 = 1.0 + 1.0 / (1_u64 << 30) as f64;

impl Spread {
    /// The release of one of the answers.
    #[must_use]
    pub fn around(&self, value: f64) -> Release {
        let Self { step, standard_error, tail, rounding } = *self;
        Release { step, value, standard_error, tail, rounding }
    }

    /// Half the width of the interval around an answer that holds the true value with probability
    /// `level` or more.
    ///
    /// # Panics
    /// If `level` is not strictly between 0 and 1.
    #[must_use]
    pub fn margin(&self, level: f64) -> f64 {
        self.margin_at(self.tail.quantile(level))
    }

    /// The margin at a level whose [`Tail::quantile`] is known.
    #[must_use]
    pub fn margin_at(&self, quantile: f64) -> f64 {
        quantile * self.noise_deviation() * DISCRETE + self.rounding.reach()
    }

    /// The margin of a sum of independent answers with this spread, each times one of these factors, at
    /// a level whose [`Tail::quantile`] is known.
    #[must_use]
    pub fn margin_of_sum(&self, factors: &[f64], quantile: f64) -> f64 {
        let sum: f64 = factors.iter().map(|factor| factor.abs()).sum();
        let euclidean = factors.iter().map(|factor| factor * factor).sum::<f64>().sqrt();
        self.margin_of_norms(euclidean, sum, quantile)
    }

    /// The same for factors whose ℓ2 norm and ℓ1 norm are known.
    pub(crate) fn margin_of_norms(&self, euclidean: f64, sum: f64, quantile: f64) -> f64 {
        let norm = match self.tail {
            Tail::Gaussian => euclidean,
            Tail::LaplaceSum { .. } => sum,
        };
        quantile * self.noise_deviation() * norm * DISCRETE + self.rounding.reach() * sum
    }

    /// The standard deviation of the noise before rounding: what is left of the standard error. The
    /// few last bits make up for those that the difference lost.
    fn noise_deviation(&self) -> f64 {
        let rounding = self.rounding.deviation();
        if rounding == 0.0 {
            return self.standard_error;
        }
        let share = rounding / self.standard_error;
        self.standard_error * ((1.0 - share * share).max(0.0) + 8.0 * f64::EPSILON).sqrt()
    }
}

/// The distribution of the noise in one answer, once divided by its standard deviation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Tail {
    /// Normal.
    Gaussian,
    /// A sum of independent Laplace variables of equal scale.
    LaplaceSum {
        /// How many.
        terms: u64,
    },
}

impl Release {
    /// Half the width of the interval that holds the true value with probability `level` or more.
    ///
    /// # Panics
    /// If `level` is not strictly between 0 and 1.
    #[must_use]
    pub fn margin(&self, level: f64) -> f64 {
        self.spread().margin(level)
    }

    /// The difference to the release of another key in the same step, with its exact error: noise of
    /// different keys is independent. `None` unless both are of one step and have normal noise.
    ///
    /// ```
    /// use evertally::{Budget, KeyedCounter, NoiseKey, Plan};
    /// let budget = Budget::new(1.0, 1e-6)?;
    /// let plan = Plan::prefix_sum(10).budget(budget).keys(["a", "b"]).build()?;
    /// let releases = KeyedCounter::new(&plan, NoiseKey::insecure_from_seed(1))?.step(&[9.0, 4.0])?;
    /// let difference = releases[0].less(&releases[1]).expect("Gaussian noise");
    /// assert_eq!(difference.value, releases[0].value - releases[1].value);
    /// assert!((difference.standard_error / releases[0].standard_error - 2.0_f64.sqrt()).abs() < 1e-12);
    /// # Ok::<(), evertally::Error>(())
    /// ```
    #[must_use]
    pub fn less(&self, other: &Self) -> Option<Self> {
        let are_normal = self.tail == Tail::Gaussian && other.tail == Tail::Gaussian;
        (are_normal && self.step == other.step).then(|| Self {
            step: self.step,
            value: self.value - other.value,
            standard_error: libm::hypot(self.standard_error, other.standard_error),
            tail: Tail::Gaussian,
            rounding: self.rounding.and(other.rounding),
        })
    }

    /// The release without its value.
    #[must_use]
    pub fn spread(&self) -> Spread {
        let Self { step, standard_error, tail, rounding, .. } = *self;
        Spread { step, standard_error, tail, rounding }
    }

    /// The interval around the value that holds the true one with probability `level` or more.
    ///
    /// ```
    /// use evertally::{Release, Rounding, Tail};
    /// let (tail, rounding) = (Tail::Gaussian, Rounding::NONE);
    /// let release = Release { step: 0, value: 100.0, standard_error: 10.0, tail, rounding };
    /// let (low, high) = release.interval(0.95);
    /// assert!((low - 80.4).abs() < 0.01 && (high - 119.6).abs() < 0.01);
    /// ```
    ///
    /// # Panics
    /// If `level` is not strictly between 0 and 1.
    #[must_use]
    pub fn interval(&self, level: f64) -> (f64, f64) {
        let margin = self.margin(level);
        (self.value - margin, self.value + margin)
    }
}

impl Tail {
    /// The number of standard deviations within which the noise lies with probability `level`.
    ///
    /// Exact to the last bits of the tail function: a relative 10⁻¹³ or better for levels from 0.01
    /// on. A normal takes about fifteen evaluations of the complementary error function, and a sum of
    /// m terms about fifteen passes over m numbers, so callers need not keep quantiles.
    ///
    /// # Panics
    /// If `level` is not strictly between 0 and 1.
    #[must_use]
    pub fn quantile(self, level: f64) -> f64 {
        assert!(level > 0.0 && level < 1.0, "a level lies strictly between 0 and 1");
        self.quantile_outside(1.0 - level)
    }

    /// The same for the probability outside, which can be far smaller than the difference of one and
    /// a double.
    ///
    /// # Panics
    /// If `outside` is not strictly between 0 and 1.
    #[must_use]
    pub fn quantile_outside(self, outside: f64) -> f64 {
        assert!(outside > 0.0 && outside < 1.0, "a probability lies strictly between 0 and 1");
        match self {
            Self::Gaussian => solve(outside, normal_outside),
            Self::LaplaceSum { terms } if terms <= MAX_SUMMED => {
                let sum = LaplaceSum::new(terms as usize);
                solve(outside, |x| sum.outside(x))
            }
            // Nearly normal: the Cornish–Fisher expansion, with cumulants 3/m and 30/m². At 1000
            // terms it is within 10⁻⁸ at level 0.999.
            Self::LaplaceSum { terms } => {
                let (x, m) = (Self::Gaussian.quantile_outside(outside), terms as f64);
                let (cube, fifth) = (x.powi(3), x.powi(5));
                let second = (fifth - 10.0 * cube + 15.0 * x) / 24.0
                    - (3.0 * fifth - 24.0 * cube + 29.0 * x) * 3.0 / 128.0;
                x + (cube - 3.0 * x) / (8.0 * m) + second / (m * m)
            }
        }
    }
}

/// The longest sum of Laplace variables whose tail is added up; beyond, its terms underflow.
const MAX_SUMMED: u64 = 1000;

/// The x ≥ 0 at which a tail falls to `outside`. `tail` gives P(|X| > x) and its density.
///
/// Newton's method on the logarithm of the tail, which is concave: after at most one step too far
/// it approaches the root from the right. Bisection then finds the last bits.
fn solve(outside: f64, tail: impl Fn(f64) -> (f64, f64)) -> f64 {
    let mut x = 1.0;
    for _ in 0..64 {
        let (above, density) = tail(x);
        let step = libm::log(above / outside) * above / density;
        // The limit keeps the tail from underflow.
        x = (x + step).clamp(0.0, 2.0 * x + 1.0);
        if step.abs() <= 1e-9 * x {
            break;
        }
    }
    let is_enough = |x: f64| tail(x).0 <= outside;
    let mut width = 4.0 * f64::EPSILON * x;
    while width < x && (!is_enough(x + width) || is_enough(x - width)) {
        width *= 16.0;
    }
    let (mut low, mut high) = ((x - width).max(0.0), x + width);
    loop {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            return high;
        }
        if is_enough(middle) { high = middle } else { low = middle }
    }
}

/// P(|X| > x) of a standard normal, and its density.
fn normal_outside(x: f64) -> (f64, f64) {
    (libm::erfc(x / SQRT_2), FRAC_2_SQRT_PI / SQRT_2 * libm::exp(-0.5 * x * x))
}

/// The sum S of m independent Laplace variables of scale one.
///
/// S is the difference of two Gamma(m) waiting times, the m-th arrivals of two Poisson processes of
/// rate one. S > x if the first process has k < m arrivals by time x and then the second reaches m
/// before the first reaches its missing m − k.
struct LaplaceSum {
    /// P(the second has m arrivals before the first has j more) = Σ_{i<j} C(m+i−1, i) 2^{−(m+i)}.
    ahead: Vec<f64>,
    deviation: f64,
}

impl LaplaceSum {
    fn new(terms: usize) -> Self {
        let mut ahead = vec![0.0; terms + 1];
        let mut term = 0.5_f64.powi(terms as i32);
        for j in 1..=terms {
            ahead[j] = ahead[j - 1] + term;
            term *= 0.5 * (terms + j - 1) as f64 / j as f64;
        }
        Self { ahead, deviation: (2.0 * terms as f64).sqrt() }
    }

    /// P(|S| > x) for x in standard deviations, and its density.
    fn outside(&self, x: f64) -> (f64, f64) {
        let x = x * self.deviation;
        let mut arrivals = (-x).exp();
        let (mut above, mut density) = (0.0, 0.0);
        for (k, pair) in self.ahead.windows(2).rev().enumerate() {
            above += arrivals * pair[1];
            density += arrivals * (pair[1] - pair[0]);
            arrivals *= x / (k + 1) as f64;
        }
        (2.0 * above, 2.0 * density * self.deviation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_margin_of_one_answer_is_its_own() {
        for tail in [Tail::Gaussian, Tail::LaplaceSum { terms: 3 }] {
            let spread = Spread { step: 0, standard_error: 3.0, tail, rounding: Rounding::to_grid(1.0) };
            let quantile = tail.quantile(0.95);
            let margin = spread.margin_of_sum(&[-2.0, 0.0], quantile);
            assert!((margin / (2.0 * spread.margin_at(quantile)) - 1.0).abs() < 1e-12);
        }
    }

    /// Proschan's theorem for two Laplace variables, by their exact law: with weights a and b = 1 - a,
    /// P(|aX + bY| > x) = (a² e^{-x/a} - b² e^{-x/b}) / (a² - b²).
    #[test]
    fn averages_of_laplace_noise_are_more_peaked() {
        for level in [0.5, 0.8, 0.95, 0.999] {
            let x = Tail::LaplaceSum { terms: 1 }.quantile(level) * SQRT_2;
            for a in [0.51, 0.6, 0.75, 0.9, 0.99] {
                let b = 1.0 - a;
                let outside = (a * a * (-x / a).exp() - b * b * (-x / b).exp()) / (a * a - b * b);
                assert!(outside <= 1.0 - level + 1e-12, "{level} {a}: {outside}");
            }
        }
    }

    #[test]
    fn gaussian_quantiles() {
        for (level, expected) in
            [(0.95, 1.959963984540054), (0.5, 0.6744897501960817), (0.999_999, 4.891638475699399)]
        {
            assert!((Tail::Gaussian.quantile(level) / expected - 1.0).abs() < 1e-9, "{level}");
        }
    }

    #[test]
    fn laplace_quantiles() {
        // One term: P(|X| > x) = e^{−x}, standard deviation √2.
        let one = Tail::LaplaceSum { terms: 1 };
        assert!((one.quantile(0.95) - 20.0_f64.ln() / SQRT_2).abs() < 1e-9);
        // Two terms: P(S > x) = e^{−x}(2 + x)/4, standard deviation 2.
        let x = 1.7_f64;
        let (outside, density) = LaplaceSum::new(2).outside(0.5 * x);
        assert!((outside - (-x).exp() * (2.0 + x) / 2.0).abs() < 1e-14);
        assert!((density - (-x).exp() * (1.0 + x)).abs() < 1e-14);
        // Many terms: normal in the limit, from above at this level.
        let many = Tail::LaplaceSum { terms: 300 };
        assert!((many.quantile(0.95) / 1.95996 - 1.0).abs() < 2e-3);
    }

    /// Each quantile is where the tail, and nothing before it, is within the level.
    #[test]
    fn quantiles_end_where_the_level_is_reached() {
        for level in [1e-9, 0.01, 0.5, 0.8, 0.95, 0.99, 0.999_999, 1.0 - 1e-15] {
            let outside = 1.0 - level;
            let x = Tail::Gaussian.quantile(level);
            assert!(normal_outside(x).0 <= outside, "{level}: {x}");
            assert!(normal_outside(x * (1.0 - 1e-12)).0 >= outside, "{level}: {x}");
            for terms in [1, 2, 3, 10, 70, 300, MAX_SUMMED] {
                let sum = LaplaceSum::new(terms as usize);
                let x = Tail::LaplaceSum { terms }.quantile(level);
                assert!(sum.outside(x).0 <= outside, "{terms} {level}: {x}");
                assert!(sum.outside(x * (1.0 - 1e-12)).0 >= outside * (1.0 - 1e-12), "{terms} {level}: {x}");
            }
        }
    }

    #[test]
    fn the_expansion_of_long_sums_continues_the_exact_tail() {
        for level in [0.5, 0.9, 0.95, 0.999] {
            let summed = Tail::LaplaceSum { terms: MAX_SUMMED }.quantile(level);
            let expanded = Tail::LaplaceSum { terms: MAX_SUMMED + 1 }.quantile(level);
            assert!((expanded / summed - 1.0).abs() < 1e-5, "{level}: {summed} {expanded}");
        }
        assert!((Tail::LaplaceSum { terms: 1 << 40 }.quantile(0.95) / 1.959963984540054 - 1.0).abs() < 1e-9);
    }
}
