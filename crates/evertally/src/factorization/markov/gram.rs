//! The column norms d of L₀⁻¹A, from the losses and drives that run.
//!
//! **Definition.** With β = Σb and G = b/β, the inverse filter takes u to draws: e = u_t − (1−p)ᵀx, g =
//! e/β, x ← (1−p)∘x + G e. Column t of L₀⁻¹A is its output for the input u_s = λ^{s−t} from x = 0.
//! The sum of squares of what follows from step t on, given x and the input z, is a quadratic form
//!
//! > V_t(x, z) = xᵀQx + 2z qᵀx + c z²,   V_t(x, z) = (e/β)² + V_{t+1}(x′, λz),
//!
//! computed from the end of the horizon, and d_t² = V_t(0, 1) = c. Without the input, column t of L₀⁻¹
//! has the square 1/β² + GᵀQ_{t+1}G.
//!
//! **Guarantee.** d is never too small. *Proof.* Q, q and c are off by the rounding of their last
//! step, and by what V of the step after is off at (x′, λz). The input λ^{s−t} keeps x on a simplex:
//! x ≥ 0 and 1ᵀx is the last input, because 0 ≤ 1−p ≤ λ, G ≥ 0 and 1ᵀG = 1, so that e ≥ 0 and 1ᵀx′ =
//! u_t. So the rounding of one step, at most ε per entry, changes V by at most ε(λ|x|₁ + |z|)² ≤ 4εz²:
//! the entries of Q and q are multiplied by 1−p ≤ λ, and x is at most z/λ. It decays with the input, by
//! λ² per step. An entry is a sum of products of entries of the step before with shares G that add up
//! to one. In units of M, the larger of the largest entry and 1/β², the shares are off by 6, the image
//! QG by J + 7, GᵀQG by J + 18, the innovation by J + 31, the sum of all these by 3J + 54, and its
//! products with 1−p by 3J + 74. [`Form::slack`] adds up 4J + 80 units per step, times the four of
//! above, and is added to d². A form that is not negative has no entry beyond its diagonal. Shares G
//! that differ by a few units in the last place, as those of the integer filter do, are within the
//! same bound. Then d is rounded up to single precision.
//!
//! It follows that R = L₀⁻¹A diag(1/d) ≥ 0: e ≥ 0 at every step.
//!
//! **Cost.** O(J²) per step.

use super::chain::{NO_ROW, NO_SQUARE, Numbers, Row, Square, packed, rounded_up, unpacked};
use crate::noise::{MAX_CHAINS as W, total, vectorised};

/// The unit of rounding of doubles.
const UNIT: f64 = 0.5 * f64::EPSILON;

/// V of a step: Q, q, c, and the bound on what rounding takes from c.
#[derive(Clone)]
pub(super) struct Form {
    square: Square,
    linear: Row,
    constant: f64,
    slack: f64,
}

/// The form before a block, as it is held.
pub(super) struct HeldForm {
    square: Box<[f64]>,
    linear: Box<[f64]>,
    constant: f64,
    slack: f64,
}

impl Form {
    /// V after the last step.
    pub(super) fn zero() -> Self {
        Self { square: NO_SQUARE, linear: NO_ROW, constant: 0.0, slack: 0.0 }
    }

    pub(super) fn hold(&self, count: usize) -> HeldForm {
        HeldForm {
            square: packed(&self.square, count),
            linear: self.linear[..count].into(),
            constant: self.constant,
            slack: self.slack,
        }
    }

    pub(super) fn from_held(held: &HeldForm) -> Self {
        let linear = std::array::from_fn(|j| held.linear.get(j).copied().unwrap_or_default());
        Self { square: unpacked(&held.square), linear, constant: held.constant, slack: held.slack }
    }

    /// Moves V back over a block of steps. `norms` receives d, and the result is Σ of the squares of
    /// the columns of L₀⁻¹, rounded up.
    pub(super) fn back_over(
        &mut self,
        numbers: &Numbers,
        count: usize,
        loss: f64,
        norms: &mut Vec<f32>,
    ) -> f64 {
        let len = numbers.losses.len();
        norms.clear();
        norms.resize(len, 0.0);
        let factor = 1.0 - loss;
        let mut inverse_squares = 0.0;
        let Self { square, linear, constant, slack } = self;
        let rounding = 4.0 * (4 * count + 80) as f64 * UNIT;
        vectorised(
            #[inline(always)]
            || {
                for t in (0..len).rev() {
                    let drives = numbers.drives[t].map(f64::from);
                    let keeps = numbers.losses[t].map(|loss| 1.0 - f64::from(loss));
                    let inverse = 1.0 / total(&drives);
                    let shares = drives.map(|drive| drive * inverse);
                    let mut image = NO_ROW;
                    for (row, share) in square.iter().zip(&shares).take(count) {
                        for i in 0..W {
                            image[i] += row[i] * share;
                        }
                    }
                    let (mut products, mut cross) = (NO_ROW, NO_ROW);
                    let mut largest = *constant;
                    for i in 0..W {
                        products[i] = shares[i] * image[i];
                        linear[i] *= factor;
                        cross[i] = shares[i] * linear[i];
                    }
                    for (k, row) in square.iter().enumerate().take(count) {
                        largest = largest.max(row[k]);
                    }
                    let (own, cross) = (total(&products), total(&cross));
                    let square_of_inverse = inverse * inverse;
                    inverse_squares += square_of_inverse + own.max(0.0);
                    let innovation = square_of_inverse + own;
                    for k in 0..count {
                        let (keep, offset) = (keeps[k], innovation - image[k]);
                        for i in 0..W {
                            square[k][i] = keep * keeps[i] * (square[k][i] - image[i] + offset);
                        }
                    }
                    for i in 0..W {
                        linear[i] = keeps[i] * (image[i] - innovation + (linear[i] - cross));
                    }
                    *constant = innovation + 2.0 * cross + factor * factor * *constant;
                    *slack = factor * factor * *slack + rounding * (largest + square_of_inverse);
                    norms[t] = rounded_up((*constant + *slack).sqrt() * (1.0 + 4.0 * UNIT));
                }
            },
        );
        inverse_squares * (1.0 + 1e-5)
    }
}
