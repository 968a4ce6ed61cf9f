//! The binary tree with Gaussian nodes (Chan, Shi and Song; Dwork, Naor, Pitassi and Rothblum).
//!
//! R holds one row for every node of the padded tree, L reads the prefix of c items off the nodes named by
//! the one-bits of c. Δ² is the number of levels and ‖L\[t;\]‖² the number of one-bits of t + 1, so L has
//! n·log₂(n)/2 + 1 ones when n is a power of two. State O(log n), one draw a step, any horizon.

use std::sync::Arc;

use super::code_stack::{self, CodeStack, Codes};
use super::{Cost, Dense, Factorization, Mechanism, Request, WholeDecoder, dense_size, tree};
use crate::Result;
use crate::matrix::Matrix;
use crate::noise::{Correlator, Progress, WhiteField};
use crate::privacy::Participation;

pub(crate) struct Binary {
    horizon: u64,
}

impl Binary {
    pub(crate) fn new(request: &Request<'_>) -> Result<Self> {
        request.prefix_sum_only(&Mechanism::Binary)?;
        Ok(Self { horizon: request.horizon })
    }
}

/// The codes 1, 2, 3, …: each step changes one zero to a one, and only zeros follow it.
struct Counting {
    levels: u32,
}

impl Codes for Counting {
    fn at(&self, step: u64) -> u64 {
        step
    }
    fn successor(&self, code: u64) -> u64 {
        code + 1
    }
    fn most_ones(&self) -> u32 {
        self.levels
    }
}

impl Factorization for Binary {
    fn mechanism(&self) -> Mechanism {
        Mechanism::Binary
    }

    fn horizon(&self) -> u64 {
        self.horizon
    }

    fn sensitivity(&self, participation: Participation) -> f64 {
        tree::sensitivity(self.horizon, participation)
    }

    fn gram_is_nonnegative(&self) -> bool {
        true
    }

    fn row_norm_squared(&self, step: u64) -> f64 {
        f64::from((step + 1).count_ones())
    }

    fn difference_norm_squared(&self, earlier: u64, later: u64) -> f64 {
        let (earlier, later) = tree::low_parts(earlier + 1, later + 1);
        f64::from(earlier.count_ones() + later.count_ones())
    }

    fn mean_row_norm_squared(&self) -> f64 {
        tree::mean_over_bits(self.horizon, |_| 1.0)
    }

    fn max_row_norm_squared(&self) -> f64 {
        tree::max_over_bits(self.horizon, |_| 1.0)
    }

    fn cost(&self) -> Cost {
        Cost {
            shared_bytes: 0,
            bytes_per_coordinate: code_stack::bytes_per_coordinate(tree::levels(self.horizon)),
            operations_per_step: 2.0,
        }
    }

    fn dense(&self) -> Result<Dense> {
        let n = dense_size(&self.mechanism(), self.horizon)?;
        let encoder = tree::encoder(n);
        let mut decoder = Matrix::zeros(n, encoder.rows());
        for t in 0..n {
            let mut covered = t + 1;
            while covered > 0 {
                let height = covered.trailing_zeros();
                decoder[(t, tree::node_index(n, height, covered - 1))] = 1.0;
                covered &= covered - 1;
            }
        }
        Ok(Dense { decoder, encoder })
    }

    fn whole(&self) -> Option<WholeDecoder> {
        Some(WholeDecoder::Sums { most_draws: f64::from(tree::levels(self.horizon)) })
    }

    fn correlator(&self, field: Arc<dyn WhiteField>, _: &dyn Progress) -> Box<dyn Correlator> {
        Box::new(CodeStack::new(Counting { levels: tree::levels(self.horizon) }, field))
    }
}
