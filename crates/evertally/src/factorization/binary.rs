//! The binary tree with Gaussian nodes (Chan, Shi and Song; Dwork, Naor, Pitassi and Rothblum).
//!
//! R holds one row for every node of the padded tree. L reads the prefix of c items off the nodes
//! named by the one-bits of c. Δ² is the number of levels and ‖L\[t;\]‖² the number of one-bits of
//! t + 1, so L has n·log₂(n)/2 + 1 ones when n is a power of two. State O(log n), one draw per
//! step, any horizon.

use std::sync::Arc;

use super::code_stack::{CodeStack, Codes};
use super::tree::{self, Reading, Tree};
use super::{IntegerDecoder, Kind, Mechanism};
use crate::noise::{Correlator, WhiteField};

pub(super) static KIND: Kind = Kind {
    name: "binary",
    code: 2,
    has_exact_path: true,
    factorize: |request, _| Ok(Arc::new(Tree::new(Binary, request)?)),
    ..Kind::DEFAULT
};

/// Every node is read as it is.
struct Binary;

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
    fn max_ones(&self) -> u32 {
        self.levels
    }
}

impl Reading for Binary {
    fn mechanism(&self) -> Mechanism {
        Mechanism::Binary
    }

    fn variance(&self, _: u32) -> f64 {
        1.0
    }

    fn covariance(&self, _: u32, _: u64) -> f64 {
        0.0
    }

    fn weights(&self, n: usize, height: u32, last: usize, visit: &mut dyn FnMut(usize, f64)) {
        visit(tree::node_index(n, height, last), 1.0);
    }

    fn operations(&self, _: u32) -> f64 {
        2.0
    }

    fn integer(&self, levels: u32) -> Option<IntegerDecoder> {
        Some(IntegerDecoder::Sums { max_draws: f64::from(levels) })
    }

    fn correlator(&self, levels: u32, field: Arc<dyn WhiteField>) -> Box<dyn Correlator> {
        Box::new(CodeStack::new(Counting { levels }, field))
    }
}
