//! The logistic loss ln(1 + e^{−ys}).

use super::{Loss, sign_labels};

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

/// 1/(1 + e^u), computed without subtracting a small number from one.
fn logistic_tail(u: f64) -> f64 {
    let small = (-u.abs()).exp();
    if u > 0.0 { small / (1.0 + small) } else { 1.0 / (1.0 + small) }
}

impl Loss for Logistic {
    fn at(&self, scores: &[f64], label: f64) -> f64 {
        let margin = label * scores[0];
        (-margin).max(0.0) + (-margin.abs()).exp().ln_1p()
    }

    fn slopes(&self, scores: &[f64], label: f64, into: &mut [f64]) {
        into[0] = -label * logistic_tail(label * scores[0]);
    }

    fn curvature(&self, scores: &[f64], _label: f64, into: &mut [f64]) {
        into[0] = logistic_tail(scores[0]) * logistic_tail(-scores[0]);
    }

    sign_labels!();

    fn smoothness(&self) -> Option<f64> {
        Some(0.25)
    }
}
