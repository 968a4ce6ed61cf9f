//! The mean of values in a range, from two private totals.
//!
//! **Definition.** Values lie in [lo, hi], and w = hi − lo. An event of value x adds x − lo to the total
//! A and hi − x to the total B. Then, for N events,
//! - the count is N = (A + B)/w,
//! - the sum is (hi·A + lo·B)/w,
//! - the mean is lo + w·p with p = A/(A + B).
//!
//! **Privacy.** What an event adds is the value w, split between two lanes. This needs the noise of one
//! total with values in [0, w], and no more ([`Contribution::split_between`]). A and B are two lanes of
//! one plan, so their noise is independent, with one law and with the standard deviation s.
//!
//! **Why not the sum and the count?** With the centre c and h = w/2, A − B is twice the sum of x − c, and
//! A + B is 2h times the count. So this is the pair (Σ(x − c), h·N), turned by 45° and stretched by √2,
//! and white noise does not change when it is turned. The same pair without centring would need noise
//! for √(max(lo², hi²) + h²) instead of √2·h. The turned pair has an advantage over the centred one: its
//! parts are integers wherever x, lo and hi are, and add up to w exactly, in ℓ1 as in ℓ2. No root is
//! rounded, and Laplace noise serves as well.
//!
//! **The interval** is that of Fieller. For the true p, D(p) = (1 − p)·A − p·B is zero. For the released
//! Â and B̂, it is a sum over two lanes with the factors 1 − p and −p. So |D̂(p)| is at most
//! m(p) = q·s·√((1 − p)² + p²) + g/2, the margin of this sum ([`Spread::margin_of_sum`]), with
//! probability 95 % or more. The interval holds every p in [0, 1] with |D̂(p)| ≤ m(p), so it holds the
//! true mean with that probability, for any N ≥ 1, any ε and any grid. There is no expansion in 1/N.
//!
//! **Its ends.** If the interval of the count reaches down to zero, the count cannot be told from zero:
//! the interval is all of [lo, hi], and there is no estimate. Otherwise T̂ = Â + B̂ is more than its
//! margin √2·q·s + g. D̂ has the slope −T̂, and the slope of m is between −q·s and q·s. So D̂ − m and
//! D̂ + m fall, the accepted p are an interval, and bisection finds its ends, which are rounded outwards.
//! If no p is accepted, the interval is all of [lo, hi].
//!
//! **The error** of the mean is about (s/(w·N))·w·√((1 − p)² + p²), which is
//! (√2·σ·h/N)·√(1 + ((mean − c)/h)²) for a total with noise σ·w.
//!
//! **Cost.** Two bisections of 60 square roots.
//!
//! [`Contribution::split_between`]: crate::privacy::Contribution::split_between

use crate::release::{Release, Spread};
use crate::{Error, Result};

/// Halvings of a unit interval until its ends agree to the last bits.
const HALVINGS: u32 = 60;

/// The range of the values whose mean is released.
///
/// ```
/// use evertally::post::BoundedMean;
/// use evertally::{Budget, Contribution, KeyedCounter, NoiseKey, Plan};
///
/// let split = Contribution::range(0.0, 40.0)?.split_between(2)?;
/// let plan = Plan::prefix_sum(24).budget(Budget::new(1.0, 1e-6)?);
/// let plan = plan.contribution(split).keys(["above 0", "below 40"]).build()?;
/// let mut counter = KeyedCounter::new(&plan, NoiseKey::from_os()?)?;
/// // A thousand events of value 30.
/// let totals = counter.step(&[30_000.0, 10_000.0])?;
/// let quantile = totals[0].tail.quantile(0.95);
/// let mean = BoundedMean::new(0.0, 40.0)?.mean([&totals[0], &totals[1]], quantile);
/// assert!(mean.lower < 30.5 && mean.upper > 29.5);
/// # Ok::<(), evertally::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BoundedMean {
    lo: f64,
    hi: f64,
}

/// A mean and its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mean {
    /// The estimate; `None` if the count cannot be told from zero.
    pub value: Option<f64>,
    /// The lower end of the interval.
    pub lower: f64,
    /// The upper end of the interval.
    pub upper: f64,
}

/// A weighted sum of the two totals.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Combined {
    /// The estimate.
    pub value: f64,
    /// Its standard error.
    pub standard_error: f64,
    /// Half the width of its interval.
    pub margin: f64,
}

impl BoundedMean {
    /// For values from `lo` to `hi`.
    ///
    /// # Errors
    /// `BadParameter` unless both are finite and lo < hi.
    pub fn new(lo: f64, hi: f64) -> Result<Self> {
        if lo < hi && (hi - lo).is_finite() {
            Ok(Self { lo, hi })
        } else {
            Err(Error::bad(
                "range of a mean",
                "finite, the low end below the high end",
                format!("[{lo}, {hi}]"),
            ))
        }
    }

    /// The mean from true totals, or totals without noise. `None` without events.
    #[must_use]
    pub fn of_totals(&self, above: f64, below: f64) -> Option<f64> {
        let total = above + below;
        (total > 0.0).then(|| self.at((above / total).clamp(0.0, 1.0)))
    }

    /// What the standard error of a total is multiplied by to give that of the count.
    #[must_use]
    pub fn count_error(&self) -> f64 {
        std::f64::consts::SQRT_2 / (self.hi - self.lo)
    }

    /// The number of events, from the totals above and below, with the margin at a level whose
    /// [`quantile`](crate::Tail::quantile) is known.
    #[must_use]
    pub fn count(&self, totals: [&Release; 2], quantile: f64) -> Combined {
        self.combined(totals, [1.0, 1.0], quantile)
    }

    /// The sum of the values, in the same way.
    #[must_use]
    pub fn sum(&self, totals: [&Release; 2], quantile: f64) -> Combined {
        self.combined(totals, [self.hi, self.lo], quantile)
    }

    /// The mean of the values, in the same way.
    #[must_use]
    pub fn mean(&self, totals: [&Release; 2], quantile: f64) -> Mean {
        let [above, below] = totals.map(|total| total.value);
        let (spread, total) = (totals[0].spread(), above + below);
        let all = Mean { value: None, lower: self.lo, upper: self.hi };
        let is_told_from_zero = total > spread.margin_of_sum(&[1.0, 1.0], quantile);
        if !is_told_from_zero {
            return all;
        }
        let value = Some(self.at((above / total).clamp(0.0, 1.0)));
        let Some((lower, upper)) = accepted(above, below, &spread, quantile) else {
            return Mean { value, ..all };
        };
        let slack = 4.0 * f64::EPSILON * (self.lo.abs() + self.hi.abs());
        let (lower, upper) = (self.at(lower) - slack, self.at(upper) + slack);
        Mean { value, lower: lower.max(self.lo), upper: upper.min(self.hi) }
    }

    /// The totals, each times its factor, over the width of the range.
    fn combined(&self, [above, below]: [&Release; 2], factors: [f64; 2], quantile: f64) -> Combined {
        let width = self.hi - self.lo;
        Combined {
            value: (factors[0] * above.value + factors[1] * below.value) / width,
            standard_error: factors[0].hypot(factors[1]) * above.standard_error / width,
            margin: above.spread().margin_of_sum(&factors, quantile) / width,
        }
    }

    /// The mean at a share p of the range.
    fn at(&self, share: f64) -> f64 {
        (self.lo + (self.hi - self.lo) * share).clamp(self.lo, self.hi)
    }
}

/// The least and the largest accepted p, if the total is large enough for the accepted ones to be an
/// interval. `None` if there is none.
fn accepted(above: f64, below: f64, spread: &Spread, quantile: f64) -> Option<(f64, f64)> {
    let difference = |p: f64| (1.0 - p) * above - p * below;
    // The rounding of the difference itself is added.
    let rounding = 4.0 * f64::EPSILON * (above.abs() + below.abs());
    let margin = |p: f64| spread.margin_of_sum(&[1.0 - p, p], quantile) + rounding;
    let is_too_low = |p: f64| difference(p) > margin(p);
    let is_too_high = |p: f64| -difference(p) > margin(p);
    if is_too_low(1.0) || is_too_high(0.0) {
        return None;
    }
    let lower = if is_too_low(0.0) { last_refused(0.0, 1.0, is_too_low) } else { 0.0 };
    let upper = if is_too_high(1.0) { last_refused(1.0, 0.0, is_too_high) } else { 1.0 };
    Some((lower, upper))
}

/// The last point on the way to an accepted one that is refused.
fn last_refused(mut refused: f64, mut accepted: f64, is_refused: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(refused, accepted);
        if is_refused(middle) { refused = middle } else { accepted = middle }
    }
    refused
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::release::{Rounding, Tail};
    use proptest::prelude::*;

    const Q: f64 = 1.959_963_984_540_054;

    fn release(value: f64, standard_error: f64, grid: f64) -> Release {
        let rounding = if grid > 0.0 { Rounding::to_grid(grid) } else { Rounding::NONE };
        Release { step: 0, value, standard_error, tail: Tail::Gaussian, rounding }
    }

    /// Fieller's interval by the quadratic formula, without rounding.
    fn by_formula(above: f64, below: f64, s: f64) -> (f64, f64) {
        // (A − p·T)² = q²s²(1 − 2p + 2p²)
        let (total, square) = (above + below, Q * Q * s * s);
        let (a, b, c) =
            (total * total - 2.0 * square, -2.0 * above * total + 2.0 * square, above * above - square);
        let root = (b * b - 4.0 * a * c).sqrt();
        ((-b - root) / (2.0 * a), (-b + root) / (2.0 * a))
    }

    proptest! {
        #[test]
        fn without_rounding_it_is_the_interval_of_fieller(
            p in 0.0..1.0_f64, total in 20.0..1e6_f64, s in 0.1..10.0_f64, lo in -50.0..50.0_f64, width in 0.1..100.0_f64,
        ) {
            let totals = [release(p * total, s, 0.0), release((1.0 - p) * total, s, 0.0)];
            prop_assume!(total > 2.0 * Q * s);
            let mean = BoundedMean::new(lo, lo + width).unwrap().mean([&totals[0], &totals[1]], Q);
            let (lower, upper) = by_formula(p * total, (1.0 - p) * total, s);
            let at = |p: f64| -> f64 { lo + width * p.clamp(0.0, 1.0) };
            prop_assert!((mean.lower - at(lower)).abs() < 1e-6 * width);
            prop_assert!((mean.upper - at(upper)).abs() < 1e-6 * width);
            prop_assert!(mean.lower <= at(lower + 1e-9) && mean.upper >= at(upper - 1e-9));
        }

        /// Every accepted mean is in the interval, and its ends are refused or ends of the range:
        /// compared with the definition on a fine grid of means.
        #[test]
        fn the_interval_is_what_the_definition_accepts(
            above in -40.0..200.0_f64, below in -40.0..200.0_f64, s in 0.3..30.0,
        ) {
            let totals = [release(above.round(), s, 1.0), release(below.round(), s, 1.0)];
            let spread = totals[0].spread();
            let mean = BoundedMean::new(0.0, 1.0).unwrap().mean([&totals[0], &totals[1]], Q);
            let accepts = |p: f64| {
                let difference = (1.0 - p) * totals[0].value - p * totals[1].value;
                difference.abs() <= spread.margin_of_sum(&[1.0 - p, -p], Q)
            };
            let grid = (0..=2000).map(|p| f64::from(p) / 2000.0);
            let found: Vec<f64> = grid.filter(|p| accepts(*p)).collect();
            for p in &found {
                prop_assert!(mean.lower <= *p && *p <= mean.upper);
            }
            if mean.value.is_some() && !found.is_empty() {
                prop_assert!(found[0] - mean.lower <= 1.0 / 1999.0);
                prop_assert!(mean.upper - found[found.len() - 1] <= 1.0 / 1999.0);
            }
        }
    }

    #[test]
    fn a_count_that_may_be_zero_gives_no_mean() {
        let mean = BoundedMean::new(-5.0, 15.0).unwrap();
        for (above, below) in [(1.0, -1.0), (-30.0, 10.0), (5.0, 5.0), (0.0, 0.0)] {
            let [above, below] = [above, below].map(|value| release(value, 10.0, 1.0));
            let none = Mean { value: None, lower: -5.0, upper: 15.0 };
            assert_eq!(mean.mean([&above, &below], Q), none);
        }
        // Far below zero on one side: no mean fits, so every mean is possible.
        let [above, below] = [-500.0, 2000.0].map(|value| release(value, 10.0, 1.0));
        let clipped = Mean { value: Some(-5.0), lower: -5.0, upper: 15.0 };
        assert_eq!(mean.mean([&above, &below], Q), clipped);
        assert_eq!(mean.of_totals(0.0, 0.0), None);
        assert_eq!(mean.of_totals(15.0, 5.0), Some(10.0));
    }

    #[test]
    fn count_and_sum_are_those_of_the_values() {
        // Three events of 1, 2 and 6 in [−2, 8].
        let [above, below] = [15.0, 15.0].map(|value| release(value, 4.0, 0.0));
        let mean = BoundedMean::new(-2.0, 8.0).unwrap();
        let (count, sum) = (mean.count([&above, &below], Q), mean.sum([&above, &below], Q));
        assert_eq!((count.value, sum.value), (3.0, 9.0));
        assert!((count.standard_error - 4.0 * 2.0_f64.sqrt() / 10.0).abs() < 1e-12);
        assert!((sum.standard_error - 4.0 * 68.0_f64.sqrt() / 10.0).abs() < 1e-12);
        assert!((count.margin / count.standard_error - Q).abs() < 1e-6);
        assert!((mean.count_error() - 2.0_f64.sqrt() / 10.0).abs() < 1e-15);
        assert!(BoundedMean::new(1.0, 1.0).is_err() && BoundedMean::new(0.0, f64::INFINITY).is_err());
    }
}
