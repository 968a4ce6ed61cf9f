//! ln(1 + e^{−ys}).

use evertally::Result;

use super::{Loss, check_sign, sign};

/// The logistic loss, for labels −1 and +1.
///
/// ```
/// use evertally_learn::loss::{Logistic, Loss};
/// assert_eq!(Logistic.at(&[-800.0], 1.0), 800.0);
/// assert!(Logistic.at(&[800.0], 1.0) >= 0.0);
/// assert!(Logistic.check_label(0.0).is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Logistic;

/// 1/(1 + e^u), whose larger half is never computed as one less something small.
fn falling(u: f64) -> f64 {
    let small = (-u.abs()).exp();
    if u > 0.0 { small / (1.0 + small) } else { 1.0 / (1.0 + small) }
}

impl Loss for Logistic {
    fn at(&self, scores: &[f64], label: f64) -> f64 {
        let margin = label * scores[0];
        (-margin).max(0.0) + (-margin.abs()).exp().ln_1p()
    }

    fn slopes(&self, scores: &[f64], label: f64, into: &mut [f64]) {
        into[0] = -label * falling(label * scores[0]);
    }

    fn curvature(&self, scores: &[f64], _label: f64, into: &mut [f64]) {
        into[0] = falling(scores[0]) * falling(-scores[0]);
    }

    fn predicted(&self, scores: &[f64]) -> f64 {
        sign(scores[0])
    }

    fn check_label(&self, label: f64) -> Result<()> {
        check_sign(label)
    }

    fn lipschitz(&self, feature_norm: f64, _radius: Option<f64>) -> Option<f64> {
        Some(feature_norm)
    }

    fn smoothness(&self) -> Option<f64> {
        Some(0.25)
    }

    fn is_classification(&self) -> bool {
        true
    }
}
