//! The hinge loss max(0, 1 − ys), and a smoothed form of it.

use super::{Loss, sign_labels};

/// The hinge loss, for labels −1 and +1.
///
/// ```
/// use evertally_learn::loss::{Hinge, Loss};
/// assert_eq!(Hinge.at(&[0.25], 1.0), 0.75);
/// assert_eq!(Hinge.at(&[2.0], 1.0), 0.0);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Hinge;

impl Loss for Hinge {
    fn at(&self, scores: &[f64], label: f64) -> f64 {
        (1.0 - label * scores[0]).max(0.0)
    }

    fn slopes(&self, scores: &[f64], label: f64, into: &mut [f64]) {
        into[0] = if label * scores[0] < 1.0 { -label } else { 0.0 };
    }

    fn curvature(&self, _scores: &[f64], _label: f64, into: &mut [f64]) {
        into[0] = 0.0;
    }

    sign_labels!();

    fn smoothness(&self) -> Option<f64> {
        None
    }

    fn smoothed(&self, width: f64) -> Option<Box<dyn Loss>> {
        Some(Box::new(SmoothedHinge { width }))
    }

    /// The lines below the hinge of slope −ay, 0 ≤ a ≤ 1, are a(1 − ys).
    fn offset(&self, _scores: &[f64], slopes: &[f64], _label: f64) -> f64 {
        slopes[0].abs()
    }
}

/// The hinge with its corner rounded by a logarithmic barrier.
///
/// The hinge is the least ξ with ξ ≥ 0 and ξ ≥ 1 − ys. The smoothed hinge is the least ξ − w ln ξ −
/// w ln(ξ − 1 + ys), up to a constant. It is self-concordant, as the minimum over ξ of a
/// self-concordant function, and so suits Newton's method as barriers do. With u = (1 − ys)/w and r
/// = √(u² + 4) it is w((u + r)/2 − ln(r + 2)), of slope 1/2 + u/(2(r + 2)) between zero and one in
/// u, and its tangents miss the hinge by at most 2w.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SmoothedHinge {
    /// The width w of the corner.
    pub width: f64,
}

impl SmoothedHinge {
    fn place(&self, score: f64, label: f64) -> (f64, f64) {
        let u = (1.0 - label * score) / self.width;
        (u, u.hypot(2.0))
    }
}

impl Loss for SmoothedHinge {
    fn at(&self, scores: &[f64], label: f64) -> f64 {
        let (u, root) = self.place(scores[0], label);
        // (u + r)/2 without cancellation if u is far below zero.
        let half = if u >= 0.0 { 0.5 * (u + root) } else { 2.0 / (root - u) };
        self.width * (half - (root + 2.0).ln())
    }

    fn slopes(&self, scores: &[f64], label: f64, into: &mut [f64]) {
        let (u, root) = self.place(scores[0], label);
        // 1/2 + u/(2(r + 2)) = (r + u + 2)/(2(r + 2)), whose r + u is 4/(r − u).
        let above = if u >= 0.0 { root + u } else { 4.0 / (root - u) };
        into[0] = -label * (above + 2.0) / (2.0 * (root + 2.0));
    }

    fn curvature(&self, scores: &[f64], label: f64, into: &mut [f64]) {
        let (_, root) = self.place(scores[0], label);
        into[0] = 1.0 / (self.width * root * (root + 2.0));
    }

    sign_labels!();

    fn smoothness(&self) -> Option<f64> {
        Some(1.0 / (8.0 * self.width))
    }
}
