//! The binary tree with each node re-estimated from its own subtree (Honaker, 2015, as used in DP-FTRL).
//!
//! R is the binary tree's. A node of height k has its own noisy value and, independently, the sum
//! of its children's estimates. Weighing both by their precision gives variance
//! V_k = 2^k/(2^{k+1} − 1), and prefixes are read from the better values. This is causal: a node
//! needs nothing that came after its last leaf. State O(log n), two draws per step on average, any
//! horizon.

use std::sync::Arc;

use zeroize::Zeroizing;

use super::tree::{self, Reading, Tree};
use super::{Kind, Mechanism};
use crate::Result;
use crate::noise::{Correlator, WhiteField, restore_numbers};

pub(super) static KIND: Kind = Kind {
    name: "honaker-streaming",
    code: 3,
    factorize: |request, _| Ok(Arc::new(Tree::new(HonakerStreaming, request)?)),
    ..Kind::DEFAULT
};

/// Every node is read as estimated from its subtree.
struct HonakerStreaming;

/// V_k: the variance of the estimate of a node of height k.
fn variance(height: u32) -> f64 {
    1.0 / (2.0 - (-f64::from(height)).exp2())
}

/// What the children's estimates are multiplied by: V_k / (2 V_{k−1}). The node's own value has weight V_k.
fn weight_of_children(height: u32) -> f64 {
    variance(height) / (2.0 * variance(height - 1))
}

impl Reading for HonakerStreaming {
    fn mechanism(&self) -> Mechanism {
        Mechanism::HonakerStreaming
    }

    fn variance(&self, height: u32) -> f64 {
        variance(height)
    }

    /// The estimate of a node of height h passes on each node of height k below it with weight
    /// V_h/(2^{h−k} V_k), so their covariance is V_h/2^{h−k}.
    fn covariance(&self, height: u32, items: u64) -> f64 {
        variance(height) * items as f64 / (f64::from(height)).exp2()
    }

    fn weights(&self, n: usize, height: u32, last: usize, visit: &mut dyn FnMut(usize, f64)) {
        estimate(n, height, last, 1.0, visit);
    }

    fn operations(&self, levels: u32) -> f64 {
        8.0 + f64::from(levels) / 2.0
    }

    fn correlator(&self, levels: u32, field: Arc<dyn WhiteField>) -> Box<dyn Correlator> {
        let lanes = field.width();
        let zeros = |len| Zeroizing::new(vec![0.0; len]);
        let estimates = zeros(levels as usize * lanes);
        Box::new(Estimates { field, step: 0, estimates, node: zeros(lanes), own: zeros(lanes) })
    }
}

/// The weights of all noisy values of a subtree in the estimate of its root.
fn estimate(n: usize, height: u32, last: usize, weight: f64, visit: &mut dyn FnMut(usize, f64)) {
    visit(tree::node_index(n, height, last), weight * variance(height));
    if height > 0 {
        let half = 1 << (height - 1);
        estimate(n, height - 1, last, weight * weight_of_children(height), visit);
        estimate(n, height - 1, last - half, weight * weight_of_children(height), visit);
    }
}

/// The noise in the estimates of the nodes that cover the current prefix, one for each height.
struct Estimates {
    field: Arc<dyn WhiteField>,
    step: u64,
    /// `estimates[k]` lanes: the node of height k, meaningful where bit k of the count is set.
    estimates: Zeroizing<Vec<f64>>,
    node: Zeroizing<Vec<f64>>,
    own: Zeroizing<Vec<f64>>,
}

impl Correlator for Estimates {
    fn next(&mut self, out: &mut [f64]) {
        let lanes = out.len();
        let covered = self.step + 1;
        // Nodes are numbered in the order in which they are completed; this many came before this step.
        let completed = 2 * self.step - u64::from(self.step.count_ones());
        self.field.draw(completed, &mut self.node);
        let top = covered.trailing_zeros();
        for height in 1..=top {
            self.field.draw(completed + u64::from(height), &mut self.own);
            let left = &self.estimates[(height as usize - 1) * lanes..height as usize * lanes];
            let (own_weight, child_weight) = (variance(height), weight_of_children(height));
            for ((node, own), left) in self.node.iter_mut().zip(self.own.iter()).zip(left) {
                *node = own_weight * own + child_weight * (*node + left);
            }
        }
        self.estimates[top as usize * lanes..(top as usize + 1) * lanes].copy_from_slice(&self.node);
        out.fill(0.0);
        for height in (0..64).filter(|bit| covered >> bit & 1 == 1) {
            let estimate = &self.estimates[height as usize * lanes..(height as usize + 1) * lanes];
            for (sum, value) in out.iter_mut().zip(estimate) {
                *sum += value;
            }
        }
        self.step = covered;
    }

    fn save(&self) -> Vec<f64> {
        self.estimates.to_vec()
    }

    fn restore(&mut self, step: u64, saved: &[f64]) -> Result<()> {
        restore_numbers(&mut self.estimates, saved)?;
        self.step = step;
        Ok(())
    }
}
