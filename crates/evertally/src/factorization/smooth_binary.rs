//! The smooth binary mechanism (Andersson and Pagh, 2023): a tree whose error is the same at every step.
//!
//! Items sit, in order, on the leaves of a tree of even height h whose binary names have h/2 ones; h is the
//! smallest with C(h, h/2) > n. The prefix of c items is read at leaf number c + 1: one node, the left
//! sibling, for each one-bit. So ‖L\[t;\]‖² = h/2 for every t. State O(log n), two draws per step on
//! average.
//!
//! **Sensitivity.** An item lies in the left siblings named by its zeros, h/2 of them. R has a row for
//! those that some prefix reads: for a zero at bit b, one of the leaves 1…n has the bits of the item
//! above b and a one at b. The top bit is one from leaf number C(h−1, h/2) on. If that is beyond n,
//! no item's zero there is read, so Δ² ≤ h/2 − 1. In both cases item 0, which is 0…01…1, reaches the
//! bound. Its zeros are above all ones. The first leaf with a one at b, at zeros above it, has the
//! other ones at the bottom, and for the second bit from the top its number is C(h−2, h/2), at most
//! C(h−2, h/2−1) ≤ n. So
//!
//! > Δ² = h/2 if C(h−1, h/2) ≤ n, and h/2 − 1 otherwise (for n > 1).
//!
//! Version 0.1 stated h/2 for every n. States that started under it keep their noise
//! ([`Factorization::before_version_2`]).

use std::sync::Arc;

use super::code_stack::{self, CodeStack, Codes};
use super::{
    Cost, Dense, Factorization, IntegerDecoder, Kind, Mechanism, Request, dense_size, digest_of, tree,
};
use crate::Result;
use crate::matrix::Matrix;
use crate::noise::{Correlator, Progress, WhiteField};
use crate::privacy::{MARGIN, Participation, round_up};

pub(super) static KIND: Kind = Kind {
    name: "smooth-binary",
    code: 5,
    has_exact_path: true,
    factorize: |request, _| Ok(Arc::new(SmoothBinary::new(request)?)),
    ..Kind::DEFAULT
};

struct SmoothBinary {
    horizon: u64,
    leaves: ConstantWeight,
    /// Δ².
    levels: u32,
}

impl SmoothBinary {
    fn new(request: &Request<'_>) -> Result<Self> {
        let mechanism = Mechanism::SmoothBinary;
        request.prefix_sum_only(&mechanism)?;
        let mut ones = 1;
        while binomial(2 * ones, ones) <= u128::from(request.horizon) {
            ones += 1;
        }
        let top_is_read = binomial(2 * ones - 1, ones) <= u128::from(request.horizon);
        let levels = if top_is_read { ones } else { ones - 1 };
        Ok(Self { horizon: request.horizon, leaves: ConstantWeight { ones }, levels })
    }
}

/// C(n, k), zero when k > n. Exact for every n up to 64.
fn binomial(n: u32, k: u32) -> u128 {
    if k > n {
        return 0;
    }
    (0..u128::from(k)).fold(1, |product, i| product * (u128::from(n) - i) / (i + 1))
}

/// The names of the leaves: the numbers with this many one-bits among twice as many bits.
#[derive(Clone, Copy)]
struct ConstantWeight {
    ones: u32,
}

impl Codes for ConstantWeight {
    /// The name of leaf number `rank`, counted from zero.
    fn at(&self, mut rank: u64) -> u64 {
        let mut code = 0;
        let mut ones = self.ones;
        for bit in (0..2 * self.ones).rev() {
            // The leaves with a zero here come first.
            let with_zero = binomial(bit, ones) as u64;
            if rank >= with_zero && ones > 0 {
                rank -= with_zero;
                code |= 1 << bit;
                ones -= 1;
            }
        }
        code
    }

    /// The next number with as many one-bits.
    fn successor(&self, code: u64) -> u64 {
        let lowest = code & code.wrapping_neg();
        let carried = code + lowest;
        let moved = (carried ^ code) >> 2 >> lowest.trailing_zeros();
        carried | moved
    }
    fn max_ones(&self) -> u32 {
        self.ones
    }
}

impl Factorization for SmoothBinary {
    fn mechanism(&self) -> Mechanism {
        Mechanism::SmoothBinary
    }

    fn horizon(&self) -> u64 {
        self.horizon
    }

    /// No item is in more nodes that are read. Several participations: by the triangle inequality.
    fn sensitivity(&self, participation: Participation) -> f64 {
        let times = participation.bounded(self.horizon) as f64;
        round_up(times * f64::from(self.levels).sqrt(), MARGIN)
    }

    /// Noise of the same name may not be scaled in two ways, so the smaller Δ has a name of its own.
    fn digest(&self) -> Option<[u8; 32]> {
        (self.levels < self.leaves.ones).then(|| digest_of([f64::from(self.levels)].into_iter()))
    }

    fn before_version_2(&self) -> Option<Arc<dyn Factorization>> {
        let before = Self { horizon: self.horizon, leaves: self.leaves, levels: self.leaves.ones };
        (self.levels < self.leaves.ones).then(|| Arc::new(before) as Arc<dyn Factorization>)
    }

    fn gram_is_nonnegative(&self) -> bool {
        true
    }

    fn row_norm_squared(&self, _: u64) -> f64 {
        f64::from(self.leaves.ones)
    }

    fn difference_norm_squared(&self, earlier: u64, later: u64) -> f64 {
        let (earlier, later) = tree::low_parts(self.leaves.at(earlier + 1), self.leaves.at(later + 1));
        f64::from(earlier.count_ones() + later.count_ones())
    }

    fn mean_row_norm_squared(&self) -> f64 {
        f64::from(self.leaves.ones)
    }

    fn max_row_norm_squared(&self) -> f64 {
        f64::from(self.leaves.ones)
    }

    fn cost(&self) -> Cost {
        Cost {
            shared_bytes: 0,
            bytes_per_coordinate: code_stack::bytes_per_coordinate(self.leaves.ones),
            operations_per_step: 4.0,
        }
    }

    /// Draws are named by leaves, which are numbers of h bits.
    fn draws(&self) -> u64 {
        1_u64.checked_shl(2 * self.leaves.ones).unwrap_or(u64::MAX)
    }

    /// One column of L and row of R for each left sibling that some prefix reads, named by the bits above it.
    fn dense(&self) -> Result<Dense> {
        let n = dense_size(&self.mechanism(), self.horizon)?;
        let leaves: Vec<u64> = (0..=n as u64).map(|rank| self.leaves.at(rank)).collect();
        // The node read for a one-bit: all higher bits, and where the bit stands.
        let read = |leaf: u64, bit: u32| (leaf >> bit >> 1, bit);
        let bits = 0..2 * self.leaves.ones;
        let mut nodes: Vec<(u64, u32)> = leaves[1..]
            .iter()
            .flat_map(|&leaf| bits.clone().filter(move |b| leaf >> b & 1 == 1).map(move |b| read(leaf, b)))
            .collect();
        nodes.sort_unstable();
        nodes.dedup();
        let decoder = Matrix::from_fn(n, nodes.len(), |t, i| {
            let (above, bit) = nodes[i];
            let leaf = leaves[t + 1];
            f64::from(u8::from(leaf >> bit >> 1 == above && leaf >> bit & 1 == 1))
        });
        let encoder = Matrix::from_fn(nodes.len(), n, |i, j| {
            let (above, bit) = nodes[i];
            let leaf = leaves[j];
            f64::from(u8::from(leaf >> bit >> 1 == above && leaf >> bit & 1 == 0))
        });
        Ok(Dense { decoder, encoder })
    }

    fn integer(&self) -> Option<IntegerDecoder> {
        Some(IntegerDecoder::Sums { max_draws: self.max_row_norm_squared() })
    }

    fn correlator(&self, field: Arc<dyn WhiteField>, _: &dyn Progress) -> Box<dyn Correlator> {
        Box::new(CodeStack::new(self.leaves, field))
    }
}
