//! True totals, in exact fixed point.
//!
//! **Why not floats.** Sums of floats round, and how they round depends on the data: two streams that differ by one in one
//! step can end up hundreds apart, far beyond the sensitivity that the noise covers (Casacuberta, Shoemate, Vadhan and Wagaman,
//! 2022). Here an input is rounded once, to a multiple of a unit that depends on the plan alone; totals are integers, and noise
//! is added to them as integers too. Only the finished release becomes a float again, which is post-processing.
//!
//! **What it costs.** With M the largest magnitude of a contribution, the unit is at most 2⁻⁶⁰·M (2⁻⁸⁰·M for decays). Inputs that differ by v differ
//! by at most v plus one unit after rounding, so one changed step moves the total by at most M·(1 + 2⁻⁶⁰). A decayed total is cut
//! to whole units at every step; two totals can be cut differently in each step after they first differ, by one unit, as if
//! that step's input had changed by a unit. [`rounding_charge`] covers both, for vectors coordinate by coordinate.

use std::collections::VecDeque;

use crate::workload::Workload;
use crate::{Error, Result};

/// Units in the largest contribution, as a power of two, at least. A decayed total is cut at every step, of which there may be 2^60, so
/// that its unit is finer; totals may then be 2^40 times the largest contribution instead of 2^60 times.
fn unit_bits(workload: Workload) -> i32 {
    match workload {
        Workload::Decay { .. } => 80,
        _ => 60,
    }
}

/// The largest magnitude of a total in units; sums of two still fit.
pub(crate) const MOST_UNITS: i128 = 1 << 120;

/// The factor by which rounding to units can enlarge what one contribution moves.
pub(crate) fn rounding_charge(workload: Workload, horizon: u64, width: usize) -> f64 {
    let steps = match workload {
        Workload::Decay { .. } => horizon as f64 + 1.0,
        _ => 1.0,
    };
    // Twice what is needed, which covers the rounding of this very product.
    1.0 + steps * (width as f64).sqrt() * (1.0 - f64::from(unit_bits(workload))).exp2()
}

/// The unit of a plan: a power of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unit {
    exponent: i32,
}

impl Unit {
    /// The unit for contributions of this magnitude.
    pub(crate) fn new(workload: Workload, magnitude: f64) -> Self {
        Self { exponent: libm::ilogb(magnitude) - unit_bits(workload) }
    }

    /// The nearest whole number of units; `None` beyond [`MOST_UNITS`] or where x is not a number.
    pub(crate) fn count(self, x: f64) -> Option<i128> {
        // Scaling by a power of two is exact, or far too small to matter after rounding.
        let units = libm::scalbn(x, -self.exponent).round();
        (units.abs() <= MOST_UNITS as f64).then_some(units as i128)
    }

    /// The float nearest to this many units.
    pub(crate) fn value(self, units: i128) -> f64 {
        libm::scalbn(units as f64, self.exponent)
    }
}

/// The true answers so far, one lane a coordinate or key. No `Debug`: they are what must not be shown.
pub(super) struct Totals {
    workload: Workload,
    unit: Unit,
    sums: Vec<i128>,
    /// The inputs still inside the window, step by step; empty for the other workloads.
    recent: VecDeque<i128>,
}

impl Totals {
    pub(super) fn new(workload: Workload, unit: Unit, lanes: usize) -> Self {
        Self { workload, unit, sums: vec![0; lanes], recent: VecDeque::new() }
    }

    /// The answers after a step with these inputs, in units. A refusal changes nothing, so that the caller may mend the
    /// input and try the same step again.
    pub(super) fn step(&mut self, step: u64, inputs: &[f64]) -> Result<&[i128]> {
        let too_large = || Error::BadInput { step, reason: "too large to be counted exactly" };
        let window_is_full = self.window_is_full();
        let mut units = Vec::with_capacity(inputs.len());
        let mut next = Vec::with_capacity(inputs.len());
        for (lane, &x) in inputs.iter().enumerate() {
            if !x.is_finite() {
                return Err(Error::BadInput { step, reason: "not a finite number" });
            }
            let x = self.unit.count(x).ok_or_else(too_large)?;
            let before = match self.workload {
                Workload::PrefixSum => self.sums[lane],
                Workload::Decay { factor } => cut_product(self.sums[lane], factor),
                Workload::SlidingWindow { .. } if window_is_full => self.sums[lane] - self.recent[lane],
                Workload::SlidingWindow { .. } => self.sums[lane],
            };
            let sum = before + x;
            if sum.abs() > MOST_UNITS {
                return Err(too_large());
            }
            units.push(x);
            next.push(sum);
        }
        self.sums = next;
        if let Workload::SlidingWindow { .. } = self.workload {
            if window_is_full {
                self.recent.drain(..inputs.len());
            }
            self.recent.extend(units);
        }
        Ok(&self.sums)
    }

    fn window_is_full(&self) -> bool {
        matches!(self.workload, Workload::SlidingWindow { width }
            if (self.recent.len() / self.sums.len().max(1)) as u64 == width)
    }

    pub(super) fn save(&self) -> Vec<i128> {
        self.sums.iter().chain(&self.recent).copied().collect()
    }

    /// Takes what `save` gave after this many steps; `None` if it does not fit.
    pub(super) fn restore(&mut self, step: u64, saved: &[i128]) -> Option<()> {
        let lanes = self.sums.len();
        let kept = match self.workload {
            Workload::SlidingWindow { width } => usize::try_from(step.min(width)).ok()?.checked_mul(lanes)?,
            _ => 0,
        };
        if saved.len() != lanes.checked_add(kept)?
            || saved.iter().any(|units| units.unsigned_abs() > MOST_UNITS as u128)
        {
            return None;
        }
        let (sums, recent) = saved.split_at(lanes);
        self.sums.copy_from_slice(sums);
        self.recent = recent.iter().copied().collect();
        Some(())
    }
}

/// total·factor for 0 < factor < 1, cut towards zero to a whole number; exact up to the cut.
fn cut_product(total: i128, factor: f64) -> i128 {
    // factor = mantissa·2^{−shift} with 53 bits of mantissa.
    let shift = (52 - libm::ilogb(factor)) as u32;
    let mantissa = libm::scalbn(factor, shift as i32) as u128;
    let magnitude = total.unsigned_abs();
    let low = (magnitude & u128::from(u64::MAX)) * mantissa;
    let high = (magnitude >> 64) * mantissa + (low >> 64);
    // The product is high·2^64 + the low half of `low`; it loses at least 53 bits.
    let product = if shift < 64 {
        (high << (64 - shift)) | ((low & u128::from(u64::MAX)) >> shift)
    } else {
        high.checked_shr(shift - 64).unwrap_or(0)
    };
    if total < 0 { -(product as i128) } else { product as i128 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn totals(workload: Workload) -> Totals {
        Totals::new(workload, Unit::new(workload, 1.0), 1)
    }

    fn value(totals: &mut Totals, step: u64, x: f64) -> f64 {
        let unit = totals.unit;
        unit.value(totals.step(step, &[x]).unwrap()[0])
    }

    #[test]
    fn totals_follow_the_matrix() {
        for workload in
            [Workload::PrefixSum, Workload::SlidingWindow { width: 4 }, Workload::Decay { factor: 0.75 }]
        {
            let n = 20;
            let a = workload.matrix(n);
            let x: Vec<f64> = (0..n).map(|i| ((i * 7) % 5) as f64).collect();
            let mut totals = totals(workload);
            for t in 0..n {
                let expected: f64 = a.row(t).iter().zip(&x).map(|(a, x)| a * x).sum();
                assert!((value(&mut totals, t as u64, x[t]) - expected).abs() < 1e-12, "{workload} at {t}");
            }
        }
    }

    #[test]
    fn a_refused_input_leaves_the_total_alone() {
        let mut totals = totals(Workload::PrefixSum);
        totals.step(0, &[3.0]).unwrap();
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300, 2e18] {
            assert!(totals.step(1, &[bad]).is_err());
        }
        assert_eq!(value(&mut totals, 1, 1.0), 4.0);
    }

    /// Rounding in floats once moved two totals apart by 220 where one contribution of magnitude one had changed: totals
    /// near 2^52, and inputs of a half that round to even.
    #[test]
    fn neighbouring_streams_stay_within_one_contribution() {
        let stream = |extra: f64| {
            let mut totals = totals(Workload::PrefixSum);
            value(&mut totals, 0, 4_503_599_627_370_496.0 + extra);
            (1..400).map(|t| if t % 2 == 0 { 0.5 } else { -0.5 }).enumerate().for_each(|(t, x)| {
                value(&mut totals, t as u64 + 1, x);
            });
            totals.save()[0]
        };
        assert_eq!(Unit::new(Workload::PrefixSum, 1.0).value(stream(1.0) - stream(0.0)), 1.0);
    }

    proptest! {
        #[test]
        fn products_are_cut_exactly(total in -(1_i128 << 120)..(1_i128 << 120), factor in 1e-30..0.999_999_f64) {
            let product = cut_product(total, factor);
            prop_assert!(product.unsigned_abs() <= total.unsigned_abs());
            let expected = total as f64 * factor;
            prop_assert!((product as f64 - expected).abs() <= expected.abs() * 1e-15 + 1.0);
        }

        /// The charge for decay: two streams that differ by one contribution differ, at every later step, by at most the
        /// decayed contribution and one unit for each step.
        #[test]
        fn decayed_neighbours_stay_within_the_charge(
            inputs in prop::collection::vec(-3.0..3.0_f64, 1..60),
            changed in 0_usize..60,
            factor in 0.01..0.999_f64,
        ) {
            let (mut a, mut b) = (totals(Workload::Decay { factor }), totals(Workload::Decay { factor }));
            let mut allowed = 0.0;
            for (t, &x) in inputs.iter().enumerate() {
                let extra = f64::from(u8::from(t == changed % inputs.len()));
                let a = a.step(t as u64, &[x]).unwrap()[0];
                let b = b.step(t as u64, &[x + extra]).unwrap()[0];
                let unit = Unit::new(Workload::Decay { factor }, 1.0).value(1);
                allowed = factor * allowed + extra + 2.0 * unit;
                prop_assert!((b - a).unsigned_abs() as f64 * unit <= allowed * (1.0 + 1e-12), "{t}");
            }
        }
    }

    #[test]
    fn units_of_extreme_magnitudes() {
        for magnitude in [1e-300, 1e-5, 1.0, 3.0, 1e300] {
            let unit = Unit::new(Workload::PrefixSum, magnitude);
            assert!(unit.value(1) <= magnitude * 2.0_f64.powi(-60));
            assert!(unit.value(1) > magnitude * 2.0_f64.powi(-62));
            let units = unit.count(magnitude).unwrap();
            assert!((unit.value(units) / magnitude - 1.0).abs() < 1e-15);
        }
    }
}
