//! The squared loss (s − y)²/2.

use evertally::{Error, Result};

use super::Loss;

use crate::positive;

/// The squared error, halved.
///
/// With a largest label there is a Lipschitz constant on a bounded set, and larger labels are
/// refused.
///
/// ```
/// use evertally_learn::loss::{Loss, Squared};
/// assert_eq!(Squared::default().at(&[3.0], 1.0), 2.0);
/// assert_eq!(Squared::up_to(1.0)?.lipschitz(1.0, Some(2.0)), Some(3.0));
/// assert_eq!(Squared::default().lipschitz(1.0, Some(2.0)), None);
/// # Ok::<(), evertally::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Squared {
    largest_label: Option<f64>,
}

impl Squared {
    /// For labels of at most this magnitude.
    ///
    /// # Errors
    /// [`Error::BadParameter`] unless it is positive and finite.
    pub fn up_to(largest_label: f64) -> Result<Self> {
        Ok(Self { largest_label: Some(positive("largest label", largest_label)?) })
    }

    /// The largest magnitude of a label, if given.
    #[must_use]
    pub fn largest_label(&self) -> Option<f64> {
        self.largest_label
    }
}

impl Loss for Squared {
    fn at(&self, scores: &[f64], label: f64) -> f64 {
        0.5 * (scores[0] - label).powi(2)
    }

    fn slopes(&self, scores: &[f64], label: f64, into: &mut [f64]) {
        into[0] = scores[0] - label;
    }

    fn curvature(&self, _scores: &[f64], _label: f64, into: &mut [f64]) {
        into[0] = 1.0;
    }

    fn predicted(&self, scores: &[f64]) -> f64 {
        scores[0]
    }

    fn check_label(&self, label: f64) -> Result<()> {
        let largest = self.largest_label.unwrap_or(f64::MAX);
        if label.abs() <= largest {
            Ok(())
        } else {
            Err(Error::bad("label", format!("of magnitude at most {largest}"), "a larger label"))
        }
    }

    fn lipschitz(&self, feature_norm: f64, radius: Option<f64>) -> Option<f64> {
        Some(feature_norm * (feature_norm * radius? + self.largest_label?))
    }

    fn smoothness(&self) -> Option<f64> {
        Some(1.0)
    }

    fn is_classification(&self) -> bool {
        false
    }

    /// −g²/2 − gy for slope g. Large labels do not cancel here as they do in (s − y)²/2 − gs.
    fn offset(&self, _scores: &[f64], slopes: &[f64], label: f64) -> f64 {
        -slopes[0] * (0.5 * slopes[0] + label)
    }
}
