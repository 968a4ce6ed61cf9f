//! The gradients of one step, clipped one by one and added exactly.
//!
//! **Definition.** clip(g; κ) = g · min(1, κ/‖g‖). (The paper prints the square of the norm. Long
//! gradients would then vanish, and short ones would not be bounded.) A batch is the sum of clipped
//! gradients.
//!
//! **Guarantee.** Every example adds one fixed vector of norm at most κ that does not depend on the
//! other examples. This holds for the floating-point numbers that are added, not only for real
//! numbers:
//!
//! - a computed norm of d numbers is within a relative (d + 4)·2⁻⁵³ of the norm, so gradients are
//!   clipped at κ(1 − (d + 16)·2⁻⁵²);
//! - clipped coordinates are truncated toward zero, which cannot increase the norm, to integer
//!   multiples of a unit of 2⁻³⁷κ to 2⁻³⁶κ;
//! - integers add exactly, in any order, for up to [`MAX_BATCH`] examples.
//!
//! Floating-point sums lack this property: their rounding depends on every other example in the
//! batch.

use evertally::{Error, Result};
use zeroize::Zeroize;

use crate::set::shorten;

/// The maximum number of examples in one step. Sums of this many terms are still exact doubles.
pub const MAX_BATCH: usize = 1 << 16;

/// Bits of a clipped coordinate below κ.
const UNIT_BITS: i32 = 36;

/// Outside this range of clipping norms, the unit would not be a normal number.
const CLIP_RANGE: std::ops::RangeInclusive<f64> = 1e-100..=1e100;

/// The sum of the clipped gradients of one step. `Debug` does not show the sum, because it is
/// sensitive.
///
/// ```
/// use evertally_learn::Batch;
/// let mut batch = Batch::new(2, 1.0)?;
/// batch.add(&[30.0, -40.0])?; // clipped to norm one
/// batch.add(&[0.25, 0.5])?; // short enough as it is
/// assert_eq!(batch.examples(), 2);
/// assert!(batch.add(&[f64::NAN, 0.0]).is_err() && batch.examples() == 2);
/// # Ok::<(), evertally::Error>(())
/// ```
pub struct Batch {
    clip: f64,
    unit: f64,
    examples: usize,
    sums: Vec<i64>,
    /// The computed norm above which a gradient is clipped.
    gradient: Vec<f64>,
}

impl Batch {
    /// An empty batch for gradients of this dimension, clipped at this norm.
    ///
    /// # Errors
    /// [`Error::BadParameter`] for a dimension of zero, or a norm outside 10⁻¹⁰⁰ to 10¹⁰⁰.
    pub fn new(dimension: usize, clip: f64) -> Result<Self> {
        if dimension == 0 {
            return Err(Error::bad("dimension", "at least 1", dimension));
        }
        check_clip(clip)?;
        let unit = 2.0_f64.powi(clip.log2().floor() as i32 - UNIT_BITS);
        Ok(Self { clip, unit, examples: 0, sums: vec![0; dimension], gradient: vec![0.0; dimension] })
    }

    /// The dimension of the gradients.
    #[must_use]
    pub fn dimension(&self) -> usize {
        self.sums.len()
    }

    /// κ.
    #[must_use]
    pub fn clip(&self) -> f64 {
        self.clip
    }

    /// The number of gradients added.
    #[must_use]
    pub fn examples(&self) -> usize {
        self.examples
    }

    /// Clips the gradient of one example and adds it.
    ///
    /// # Errors
    /// [`Error::BadParameter`] if the gradient has another dimension or is not finite, or if the
    /// batch is full. The batch is then unchanged.
    pub fn add(&mut self, gradient: &[f64]) -> Result<()> {
        if gradient.len() != self.sums.len() {
            let expected = format!("{} numbers, one per parameter", self.sums.len());
            return Err(Error::bad("gradient", expected, gradient.len()));
        }
        if let Some(place) = gradient.iter().position(|value| !value.is_finite()) {
            // The index of a parameter is public. The value is not shown.
            return Err(Error::bad(
                "gradient",
                "finite",
                format!("a number that is not finite, at coordinate {place}"),
            ));
        }
        if self.examples == MAX_BATCH {
            return Err(Error::bad("batch", format!("at most {MAX_BATCH} examples"), "one more"));
        }
        self.gradient.copy_from_slice(gradient);
        shorten(&mut self.gradient, safe_bound(self.clip, gradient.len()));
        for (sum, value) in self.sums.iter_mut().zip(&self.gradient) {
            // The unit is a power of two, so the quotient is exact. The conversion truncates toward
            // zero.
            *sum += (value / self.unit) as i64;
        }
        self.examples += 1;
        Ok(())
    }

    /// Empties the batch.
    pub fn clear(&mut self) {
        self.sums.as_mut_slice().zeroize();
        self.gradient.as_mut_slice().zeroize();
        self.examples = 0;
    }

    /// Writes the exact sum.
    pub(crate) fn write_sum(&self, out: &mut [f64]) {
        for (out, sum) in out.iter_mut().zip(&self.sums) {
            *out = *sum as f64 * self.unit;
        }
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        self.sums.as_mut_slice().zeroize();
        self.gradient.as_mut_slice().zeroize();
    }
}

impl std::fmt::Debug for Batch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Batch")
            .field("dimension", &self.dimension())
            .field("clip", &self.clip)
            .finish_non_exhaustive()
    }
}

pub(crate) fn check_clip(clip: f64) -> Result<()> {
    if CLIP_RANGE.contains(&clip) {
        Ok(())
    } else {
        Err(Error::bad("clip", "a norm from 1e-100 to 1e100", clip))
    }
}

/// The largest computed norm for which the true norm is at most `clip`.
fn safe_bound(clip: f64, dimension: usize) -> f64 {
    (clip * (1.0 - (dimension as f64 + 16.0) * f64::EPSILON)).next_down()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sum(batch: &Batch) -> Vec<f64> {
        let mut out = vec![0.0; batch.dimension()];
        batch.write_sum(&mut out);
        out
    }

    /// The oracle of the guarantee: ‖v‖² ≤ κ² in integer units, without rounding. κ has few bits
    /// here, so its square is an integer as well.
    fn is_within(batch: &Batch) -> bool {
        let clip = (batch.clip / batch.unit) as i128;
        assert_eq!(clip as f64 * batch.unit, batch.clip);
        batch.sums.iter().map(|sum| i128::from(*sum).pow(2)).sum::<i128>() <= clip.pow(2)
    }

    proptest! {
        #[test]
        fn no_example_is_longer_than_the_bound(
            gradient in prop::collection::vec(prop::num::f64::NORMAL | prop::num::f64::ZERO, 1..60),
            eighths in 1_u32..64,
        ) {
            let mut batch = Batch::new(gradient.len(), f64::from(eighths) / 8.0).unwrap();
            batch.add(&gradient).unwrap();
            prop_assert!(is_within(&batch));
        }

        /// Gradients very close to the bound, where a plain comparison of computed norms fails.
        #[test]
        fn no_example_near_the_bound_is_longer(
            gradient in prop::collection::vec(-1.0_f64..1.0, 2..400),
            ulps in -40_i32..40,
        ) {
            let length = crate::norm(&gradient) * (1.0 + f64::from(ulps) * f64::EPSILON);
            let gradient: Vec<f64> = gradient.iter().map(|value| value / length).collect();
            let mut batch = Batch::new(gradient.len(), 1.0).unwrap();
            batch.add(&gradient).unwrap();
            prop_assert!(is_within(&batch));
            let (error, _) = sum(&batch).iter().zip(&gradient).fold((0.0_f64, 0), |(worst, n), (a, b)| (worst.max((a - b).abs()), n + 1));
            prop_assert!(error < 3e-11, "a gradient of norm one is kept: {error}");
        }

        /// The contribution of an example does not depend on the others or on their order.
        #[test]
        fn sums_are_exact(rows in prop::collection::vec(prop::collection::vec(-3.0_f64..3.0, 3), 1..20)) {
            let alone: Vec<Vec<f64>> = rows.iter().map(|row| {
                let mut batch = Batch::new(3, 1.5).unwrap();
                batch.add(row).unwrap();
                sum(&batch)
            }).collect();
            let mut together = Batch::new(3, 1.5).unwrap();
            rows.iter().rev().for_each(|row| together.add(row).unwrap());
            for (place, total) in sum(&together).into_iter().enumerate() {
                prop_assert_eq!(total, alone.iter().map(|row| row[place]).sum::<f64>());
            }
        }
    }

    #[test]
    fn a_clipped_gradient_keeps_its_direction() {
        let mut batch = Batch::new(2, 1.0).unwrap();
        batch.add(&[30.0, -40.0]).unwrap();
        let sum = sum(&batch);
        assert!((sum[0] - 0.6).abs() < 3e-11 && (sum[1] + 0.8).abs() < 3e-11, "{sum:?}");
        batch.clear();
        assert_eq!(batch.examples(), 0);
    }

    #[test]
    fn bad_input_is_refused_and_changes_nothing() {
        let mut batch = Batch::new(2, 1.0).unwrap();
        batch.add(&[0.5, 0.25]).unwrap();
        let before = sum(&batch);
        for bad in [&[1.0][..], &[1.0, 2.0, 3.0], &[f64::NAN, 0.0], &[0.0, f64::INFINITY]] {
            assert!(batch.add(bad).is_err());
        }
        assert_eq!((sum(&batch), batch.examples()), (before, 1));
        for clip in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-101, 1e101] {
            assert!(Batch::new(2, clip).is_err());
        }
        assert!(Batch::new(0, 1.0).is_err());
        let shown = format!("{batch:?}");
        assert!(!shown.contains("0.5") && !shown.contains("examples"), "{shown}");
    }
}
