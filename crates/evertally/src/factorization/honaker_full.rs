//! The binary tree with every node re-estimated from all the others: L = A R⁺ (Honaker, 2015).
//!
//! R is the binary tree's, cut to n columns, so Δ² is the number of levels. L is the least-squares
//! decoder. It uses nodes of the future, so the noise must be drawn as one vector.
//!
//! **How it is run in O(log n) state.** Only the law of z = L g matters: N(0, L Lᵀ). Least squares
//! on a tree is Gaussian elimination from the leaves. Let V_v be the variance of the estimate of
//! node v from its own subtree, V_v = 1/(1 + 1/(V_l + V_r)), V = 1 at a leaf and 0 for a node
//! beyond the horizon, whose sum is known. Given the error of v, the errors of its children are
//!
//! > err(l) = κ·err(v) + √W·g,  err(r) = err(v) − err(l),  κ = V_l/(V_l + V_r),  W = V_l·V_r/(V_l + V_r),
//!
//! with a fresh g for every split, and the root's error is √V·g. Walking down the tree along the
//! leaves in order gives err(leaf t), and z_t = z_{t−1} + err(leaf t): one draw per step, indexed by
//! the first leaf right of the split. Tests compare the covariance of this walk with the dense A
//! R⁺.

use std::ops::RangeInclusive;
use std::sync::Arc;

use rayon::prelude::*;

use zeroize::Zeroizing;

use super::{Cost, Dense, Factorization, Kind, Mechanism, Request, dense_size, tree};
use crate::matrix::Matrix;
use crate::noise::{Correlator, Progress, WhiteField, misfit};
use crate::privacy::Participation;
use crate::workload::Workload;
use crate::{Error, Result};

/// The mean and the largest error take a pass over all steps.
const MAX_HORIZON: u64 = 1 << 24;

pub(super) static KIND: Kind = Kind {
    name: "honaker-full",
    code: 4,
    preparation: |horizon, _, _| 2.0 * horizon as f64 * (horizon as f64).log2().max(1.0),
    factorize: |request, _| Ok(Arc::new(HonakerFull::new(request)?)),
    ..Kind::DEFAULT
};

struct HonakerFull {
    variances: Arc<Variances>,
    mean: f64,
    max: f64,
}

impl HonakerFull {
    fn new(request: &Request<'_>) -> Result<Self> {
        let mechanism = Mechanism::HonakerFull;
        request.prefix_sum_only(&mechanism)?;
        let horizon = request.horizon;
        if horizon > MAX_HORIZON {
            let reason = format!("its error is known step by step only, up to 2^24 steps, not {horizon}");
            return Err(Error::too_costly(mechanism, reason));
        }
        let variances = Arc::new(Variances::new(horizon));
        let (sum, max) = (0..horizon)
            .into_par_iter()
            .fold(
                || (0.0, 0.0_f64),
                |(sum, max), t| {
                    let norm = variances.prefix(t);
                    (sum + norm, max.max(norm))
                },
            )
            .reduce(|| (0.0, 0.0), |a, b| (a.0 + b.0, a.1.max(b.1)));
        Ok(Self { variances, mean: sum / horizon as f64, max })
    }
}

/// V of every node: full subtrees differ by height only, and one node of each height is cut by the horizon.
struct Variances {
    horizon: u64,
    full: Vec<f64>,
    last: Vec<f64>,
}

/// How a node's error is shared between its children.
struct Split {
    /// κ: what the left child takes of the node's error.
    share: f64,
    /// W: the variance that is fresh at this split.
    fresh: f64,
}

/// An error within a node: `slope`·err(node) + an independent part of variance `rest`.
#[derive(Clone, Copy)]
struct Part {
    slope: f64,
    rest: f64,
}

impl Split {
    /// `left`·err(l) + `right`·err(r) + rest, expressed in the node.
    fn combine(&self, left: f64, right: f64, rest: f64) -> Part {
        let difference = left - right;
        Part { slope: right + difference * self.share, rest: rest + difference * difference * self.fresh }
    }
}

impl Variances {
    fn new(horizon: u64) -> Self {
        let levels = tree::levels(horizon);
        let mut variances = Self { horizon, full: vec![1.0], last: vec![1.0] };
        for height in 1..levels {
            let (left, right) = variances.children(height, (horizon - 1) >> height << height);
            variances.last.push(own_and(left + right));
            variances.full.push(own_and(2.0 * variances.full[height as usize - 1]));
        }
        variances
    }

    fn root_height(&self) -> u32 {
        self.full.len() as u32 - 1
    }

    /// V of the node of this height that contains leaf `leaf`; zero beyond the horizon.
    fn node(&self, height: u32, leaf: u64) -> f64 {
        let last = (self.horizon - 1) >> height;
        match (leaf >> height).cmp(&last) {
            std::cmp::Ordering::Less => self.full[height as usize],
            std::cmp::Ordering::Equal => self.last[height as usize],
            std::cmp::Ordering::Greater => 0.0,
        }
    }

    /// V of both children of the node of this height that contains `leaf`.
    fn children(&self, height: u32, leaf: u64) -> (f64, f64) {
        let start = leaf >> height << height;
        (self.node(height - 1, start), self.node(height - 1, start + (1 << (height - 1))))
    }

    fn split(&self, height: u32, leaf: u64) -> Split {
        let (left, right) = self.children(height, leaf);
        Split { share: left / (left + right), fresh: left * right / (left + right) }
    }

    /// The error of the prefix that ends with `leaf`, within the node of this height that contains it.
    fn prefix_within(&self, height: u32, leaf: u64) -> Part {
        // On the right, the whole left child belongs to the prefix too.
        self.raised(Part { slope: 1.0, rest: 0.0 }, 1..=height, leaf, 1.0)
    }

    /// The error of a part of the nodes above `leaf`, carried up through these heights. Where it
    /// lies in the right child, the left child belongs to it with the weight `left`.
    fn raised(&self, mut part: Part, heights: RangeInclusive<u32>, leaf: u64, left: f64) -> Part {
        for height in heights {
            let is_right = leaf >> (height - 1) & 1 == 1;
            let (left, right) = if is_right { (left, part.slope) } else { (part.slope, 0.0) };
            part = self.split(height, leaf).combine(left, right, part.rest);
        }
        part
    }

    fn at_root(&self, part: Part) -> f64 {
        part.slope * part.slope * self.node(self.root_height(), 0) + part.rest
    }

    /// The variance of the error of the prefix that ends with `leaf`.
    fn prefix(&self, leaf: u64) -> f64 {
        self.at_root(self.prefix_within(self.root_height(), leaf))
    }

    /// The variance of the error of the sum over earlier < leaf ≤ later.
    fn interval(&self, earlier: u64, later: u64) -> f64 {
        let meeting = 64 - (earlier ^ later).leading_zeros();
        let (left, right) =
            (self.prefix_within(meeting - 1, earlier), self.prefix_within(meeting - 1, later));
        // The left child whole, less the earlier prefix, and the later prefix within the right child.
        let part = self.split(meeting, later).combine(1.0 - left.slope, right.slope, left.rest + right.rest);
        self.at_root(self.raised(part, meeting + 1..=self.root_height(), later, 0.0))
    }
}

/// The variance after a node's own value, of variance one, joins an independent one.
fn own_and(other: f64) -> f64 {
    1.0 / (1.0 + 1.0 / other)
}

impl Factorization for HonakerFull {
    fn mechanism(&self) -> Mechanism {
        Mechanism::HonakerFull
    }

    fn horizon(&self) -> u64 {
        self.variances.horizon
    }

    fn sensitivity(&self, participation: Participation) -> f64 {
        tree::sensitivity(self.horizon(), participation)
    }

    fn gram_is_nonnegative(&self) -> bool {
        true
    }

    fn gram_falls(&self) -> bool {
        true
    }

    fn row_norm_squared(&self, step: u64) -> f64 {
        self.variances.prefix(step)
    }

    fn difference_norm_squared(&self, earlier: u64, later: u64) -> f64 {
        self.variances.interval(earlier, later)
    }

    fn mean_row_norm_squared(&self) -> f64 {
        self.mean
    }

    fn max_row_norm_squared(&self) -> f64 {
        self.max
    }

    fn cost(&self) -> Cost {
        let levels = u64::from(tree::levels(self.horizon()));
        Cost { shared_bytes: 16 * levels, bytes_per_coordinate: 8 * (levels + 2), operations_per_step: 12.0 }
    }

    fn dense(&self) -> Result<Dense> {
        use faer::linalg::solvers::Solve;
        let n = dense_size(&self.mechanism(), self.horizon())?;
        let encoder = tree::encoder(n);
        let r = encoder.to_faer();
        // R has full column rank, so R⁺ = (RᵀR)⁻¹Rᵀ.
        let gram = r.transpose() * &r;
        let inverse = gram.partial_piv_lu().solve(r.transpose());
        let decoder = Workload::PrefixSum.matrix(n).to_faer() * inverse;
        Ok(Dense { decoder: Matrix::from_faer(decoder.as_ref()), encoder })
    }

    fn correlator(&self, field: Arc<dyn WhiteField>, _: &dyn Progress) -> Box<dyn Correlator> {
        let lanes = field.width();
        let zeros = |len| Zeroizing::new(vec![0.0; len]);
        Box::new(Walk {
            variances: Arc::clone(&self.variances),
            field,
            step: 0,
            errors: zeros((self.variances.root_height() as usize + 1) * lanes),
            prefix: zeros(lanes),
            fresh: zeros(lanes),
        })
    }
}

/// The walk down the tree, leaf by leaf.
struct Walk {
    variances: Arc<Variances>,
    field: Arc<dyn WhiteField>,
    step: u64,
    /// `errors[k]` lanes: the error of the node of height k on the path to the current leaf.
    errors: Zeroizing<Vec<f64>>,
    /// z of the last step.
    prefix: Zeroizing<Vec<f64>>,
    fresh: Zeroizing<Vec<f64>>,
}

impl Walk {
    /// Moves to the right sibling of the path's node at this height.
    fn turn_right(&mut self, height: usize, lanes: usize) {
        let (below, above) = self.errors.split_at_mut((height + 1) * lanes);
        for (node, parent) in below[height * lanes..].iter_mut().zip(above) {
            *node = *parent - *node;
        }
    }

    /// Sets the left child's error of the path's node at this height.
    fn turn_left(&mut self, height: u32, leaf: u64) {
        let lanes = self.fresh.len();
        let split = self.variances.split(height, leaf);
        self.field.draw((leaf >> height << height) + (1 << (height - 1)), &mut self.fresh);
        let deviation = split.fresh.sqrt();
        let (below, node) = self.errors.split_at_mut(height as usize * lanes);
        let left = &mut below[(height as usize - 1) * lanes..];
        for ((left, node), fresh) in left.iter_mut().zip(node).zip(self.fresh.iter()) {
            *left = split.share * *node + deviation * fresh;
        }
    }
}

impl Correlator for Walk {
    fn next(&mut self, out: &mut [f64]) {
        let lanes = out.len();
        let top = if self.step == 0 {
            let root = self.variances.root_height();
            self.field.draw(0, &mut self.fresh);
            let deviation = self.variances.node(root, 0).sqrt();
            for (error, fresh) in self.errors[root as usize * lanes..].iter_mut().zip(self.fresh.iter()) {
                *error = deviation * fresh;
            }
            root
        } else {
            let height = self.step.trailing_zeros();
            self.turn_right(height as usize, lanes);
            height
        };
        for height in (1..=top).rev() {
            self.turn_left(height, self.step);
        }
        for (prefix, leaf) in self.prefix.iter_mut().zip(self.errors.iter()) {
            *prefix += leaf;
        }
        out.copy_from_slice(&self.prefix);
        self.step += 1;
    }

    fn save(&self) -> Vec<f64> {
        [&self.errors[..], &self.prefix].concat()
    }

    fn restore(&mut self, step: u64, saved: &[f64]) -> Result<()> {
        if saved.len() != self.errors.len() + self.prefix.len() {
            return Err(misfit());
        }
        let (errors, prefix) = saved.split_at(self.errors.len());
        self.errors.copy_from_slice(errors);
        self.prefix.copy_from_slice(prefix);
        self.step = step;
        Ok(())
    }
}
