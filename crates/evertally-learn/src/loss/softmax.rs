//! The softmax loss ln Σ_j e^{s_j} − s_y.

use evertally::{Error, Result};

use super::Loss;

/// The cross-entropy of a softmax over classes, which are numbered from zero.
///
/// ```
/// use evertally_learn::loss::{Loss, Softmax};
/// let loss = Softmax::new(3)?;
/// assert!((loss.at(&[0.0; 3], 2.0) - 3.0_f64.ln()).abs() < 1e-15);
/// assert_eq!(loss.predicted(&[0.0, 5.0, 1.0]), 1.0);
/// assert!(loss.check_label(3.0).is_err() && loss.check_label(0.5).is_err());
/// # Ok::<(), evertally::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Softmax {
    classes: usize,
}

impl Softmax {
    /// The maximum number of classes.
    pub const MAX_CLASSES: usize = 1 << 20;

    /// The loss for this number of classes.
    ///
    /// # Errors
    /// [`Error::BadParameter`] for fewer than two or more than [`Softmax::MAX_CLASSES`].
    pub fn new(classes: usize) -> Result<Self> {
        if (2..=Self::MAX_CLASSES).contains(&classes) {
            Ok(Self { classes })
        } else {
            Err(Error::bad("classes", format!("from 2 to {}", Self::MAX_CLASSES), classes))
        }
    }

    /// The number of classes.
    #[must_use]
    pub fn classes(&self) -> usize {
        self.classes
    }
}

fn largest(scores: &[f64]) -> f64 {
    scores.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

/// e^{s_j} / Σ e^{s_i}.
fn probabilities(scores: &[f64], into: &mut [f64]) {
    let most = largest(scores);
    into.iter_mut().zip(scores).for_each(|(share, score)| *share = (score - most).exp());
    let total: f64 = into.iter().sum();
    into.iter_mut().for_each(|share| *share /= total);
}

impl Loss for Softmax {
    fn scores(&self) -> usize {
        self.classes
    }

    fn at(&self, scores: &[f64], label: f64) -> f64 {
        // One term of the sum is e⁰ = 1. It is left out of the sum, so that small terms are not
        // lost beside it.
        let most = largest(scores);
        let mut ones = 0.0;
        let mut rest = 0.0;
        for &score in scores {
            if score == most { ones += 1.0 } else { rest += (score - most).exp() }
        }
        (most - scores[label as usize]) + (ones - 1.0 + rest).ln_1p()
    }

    fn slopes(&self, scores: &[f64], label: f64, into: &mut [f64]) {
        probabilities(scores, into);
        let class = label as usize;
        // 1 − p_y as the sum of the other probabilities, without cancellation.
        into[class] = 0.0;
        into[class] = -into.iter().sum::<f64>();
    }

    fn curvature(&self, scores: &[f64], _label: f64, into: &mut [f64]) {
        let (first, rest) = into.split_at_mut(self.classes);
        probabilities(scores, first);
        for (row, &share) in first.iter().enumerate().skip(1) {
            let line = &mut rest[(row - 1) * self.classes..row * self.classes];
            line.iter_mut().zip(&*first).for_each(|(entry, other)| *entry = -share * other);
            line[row] = share * (1.0 - share);
        }
        let share = first[0];
        first.iter_mut().for_each(|entry| *entry *= -share);
        first[0] = share * (1.0 - share);
    }

    fn predicted(&self, scores: &[f64]) -> f64 {
        let best = scores.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1).then(b.0.cmp(&a.0)));
        best.map_or(0.0, |(class, _)| class as f64)
    }

    fn check_label(&self, label: f64) -> Result<()> {
        if label >= 0.0 && label < self.classes as f64 && label.fract() == 0.0 {
            Ok(())
        } else {
            let expected = format!("an integer from 0 to {}", self.classes - 1);
            Err(Error::bad("label", expected, "another number"))
        }
    }

    /// The slopes are p − e_y, of squared norm (1 − p_y)² + Σ p_j² ≤ 2(1 − p_y)².
    fn lipschitz(&self, feature_norm: f64, _radius: Option<f64>) -> Option<f64> {
        Some(std::f64::consts::SQRT_2 * feature_norm)
    }

    /// The second derivatives are diag(p) − ppᵀ: their eigenvalues are at most 1/2.
    fn smoothness(&self) -> Option<f64> {
        Some(0.5)
    }

    fn is_classification(&self) -> bool {
        true
    }
}
