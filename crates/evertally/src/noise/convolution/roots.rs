//! Roots of unity from two short tables.

use rustfft::num_complex::Complex;

use super::C64;

/// e^{iπj/(2m)} for 0 ≤ j ≤ m: a quarter of the circle in m steps.
///
/// A root is the product of one entry of a coarse table and one entry of a fine table. Both tables
/// stay in cache, whereas a full table would stream 16 bytes per value from memory in every pass.
/// The price is a complex multiplication and an error of 3·10⁻¹⁶.
pub(super) struct RootsOfUnity {
    coarse: Vec<C64>,
    fine: Vec<C64>,
}

/// The length of the fine table: 8 KiB.
pub(super) const FINE_LEN: usize = 512;

impl RootsOfUnity {
    pub(super) fn new(quarter_len: usize) -> Self {
        let root = |j: usize| {
            let (sin, cos) = (j as f64 / quarter_len as f64 * std::f64::consts::FRAC_PI_2).sin_cos();
            Complex::new(cos, sin)
        };
        Self {
            coarse: (0..=quarter_len / FINE_LEN).map(|i| root(i * FINE_LEN)).collect(),
            fine: (0..FINE_LEN).map(root).collect(),
        }
    }

    /// The root at j.
    #[inline(always)]
    pub(super) fn at(&self, j: usize) -> C64 {
        self.coarse[j / FINE_LEN] * self.fine[j % FINE_LEN]
    }

    /// Splits [first, first + len) where the coarse root changes: (offset in the range, coarse
    /// root, fine roots).
    pub(super) fn runs(&self, first: usize, len: usize) -> impl Iterator<Item = (usize, C64, &[C64])> {
        let mut offset = 0;
        std::iter::from_fn(move || {
            let (at, start) = (offset, (first + offset) % FINE_LEN);
            let run = (FINE_LEN - start).min(len - at);
            offset += run;
            (run > 0).then(|| (at, self.coarse[(first + at) / FINE_LEN], &self.fine[start..start + run]))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_are_right_and_runs_cover_the_range() {
        for quarter_len in [1, 2, 5, 511, 512, 513, 3000] {
            let roots = RootsOfUnity::new(quarter_len);
            let want = |j: usize| C64::cis(j as f64 / quarter_len as f64 * std::f64::consts::FRAC_PI_2);
            assert!((0..=quarter_len).all(|j| (roots.at(j) - want(j)).norm() < 6e-16));
            for first in [0, quarter_len / 3] {
                let joined: Vec<C64> = roots
                    .runs(first, quarter_len - first)
                    .flat_map(|(_, coarse, fine)| fine.iter().map(move |f| coarse * f))
                    .collect();
                assert_eq!(joined, (first..quarter_len).map(|j| roots.at(j)).collect::<Vec<_>>());
            }
        }
    }
}
