//! Ranges of bins: the strategy of a histogram whose cumulative counts and quantiles are read.
//!
//! **Definition.** There are m bins. Level 0 has the single bins, and level l the ranges of bˡ neighbouring
//! bins (the last range of a level may be shorter). A strategy has the levels 0 to h − 1, and a whole
//! number w_l ≥ 1 for each. What counts in a bin counts w_l times in its range of every level l. Each
//! range is one lane of a plan. With h = 1 these are the plain bins.
//!
//! **Sensitivity.** An amount a in one bin adds w_l·a to one lane of each level: a vector of norm
//! |a|·√Σw_l², and of ℓ1 norm |a|·Σw_l. If it counts in several steps, each level alone is a histogram
//! with wider bins, for which the sensitivity Δ over time holds. The squares of levels add up, so all levels
//! together have Δ·√Σw_l² (and Δ₁·Σw_l for pure ε). [`Ranges::contribution`] is this bound, rounded up.
//!
//! **Estimates.** At one step, all lanes have independent noise with one law, of standard deviation s.
//! [`Ranges::bins_from`] gives the least-squares estimates x̂ of the bins: those that minimise
//! Σ(y_v/w_l − x̂(v))²·w_l² over all lanes v, where x̂(v) is the sum over the range. Sums of x̂ are
//! consistent, and have the least variance among all unbiased linear estimates from the releases of the
//! step (Gauss–Markov). The releases of *other* steps add nothing to them if the noise over time is the
//! same in all lanes: `docs/histograms.md` has the proof.
//!
//! **Algorithm** (Hay, Rastogi, Miklau and Suciu 2010, for nodes of any size and weight). Upwards, z_v is the
//! estimate of a range from its own subtree, and a_v its variance in units of s². A single bin has
//! z = y/w₀ and a = 1/w₀². Any other range, with A = Σa_c over its children c, has
//!
//! > 1/a = w_l² + 1/A,   z = g·y/w_l + (1 − g)·Σz_c,   g = w_l²·a.
//!
//! Downwards, the estimate x̂ of the largest ranges is z, and a child gets
//! x̂_c = z_c + (a_c/A)(x̂_v − Σz_c'). This is inference in a tree of Gaussian variables: given the
//! sum of v, the children are independent of everything else, with variances a_c and a known sum.
//!
//! **Cost.** O(lanes) per step, and O(h) for the error of one sum ([`Ranges::norms`]). The oracle of all of
//! it is dense least squares (`ranges/tests`).

mod choice;
mod distribution;
mod errors;
#[cfg(test)]
mod tests;

pub use distribution::{Distribution, Quantile};
pub use errors::Norms;

use crate::privacy::Contribution;
use crate::{Error, Result};
use std::ops::Range;

/// A strategy for the cumulative counts of a histogram.
///
/// ```
/// use evertally::ranges::{Distribution, Ranges};
/// use evertally::{Budget, Contribution, KeyedCounter, NoiseKey, Plan};
///
/// // Five bins: below 10, 10 to 20, 20 to 50, 50 to 90, and 90 and above.
/// let edges = vec![10.0, 20.0, 50.0, 90.0];
/// let ranges = Ranges::best(edges.len() + 1, false)?;
/// let plan = Plan::prefix_sum(24).budget(Budget::new(1.0, 1e-6)?).keys(ranges.names());
/// let plan = plan.contribution(ranges.contribution(Contribution::unit(), false)?);
/// let plan = plan.keys_per_step(ranges.levels() as u64).build()?;
/// let mut counter = KeyedCounter::new(&plan, NoiseKey::from_os()?)?;
///
/// // A thousand events in each bin.
/// let releases = counter.step_amounts(&ranges.lanes_from(&[1000; 5]), 0)?;
/// let spread = releases[0].spread();
/// let values: Vec<f64> = releases.iter().map(|release| release.value).collect();
/// let reading = Distribution::new(ranges, edges, vec![0.5])?;
/// let counts = reading.cumulative(&values);
/// let median = reading.quantiles(&counts, &spread, spread.tail.quantile(0.95))[0];
/// assert_eq!((median.lower, median.upper), (20.0, 50.0));
/// # Ok::<(), evertally::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Ranges {
    branching: usize,
    /// One for each level, that of the single bins first.
    weights: Vec<u64>,
    /// The first lane of each level, and the number of lanes.
    starts: Vec<usize>,
    /// One for each lane, level by level.
    nodes: Vec<Node>,
    /// Sums over the lanes before each, of variances and of magnitudes.
    before: Vec<(f64, f64)>,
}

/// What is known about a range without any data. Noise has a standard deviation of one here.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Node {
    /// The variance a of the estimate z from the subtree.
    variance: f64,
    /// The sum A of the variances of the children.
    of_children: f64,
    /// The part g of the range's own lane in z.
    gain: f64,
    /// The sum of the magnitudes of the factors with which lanes enter z.
    magnitude: f64,
}

/// The most bins. The error of a strategy is computed for each edge, and the ranges are lanes of a plan.
const MAX_BINS: usize = 1 << 20;

impl Ranges {
    /// Every bin by itself.
    ///
    /// # Errors
    /// `BadParameter` without a bin, and for more than 2²⁰.
    pub fn plain(bins: usize) -> Result<Self> {
        Self::tree(bins, 2, &[1])
    }

    /// Ranges of 2, 4, 8, … bins up to all of them, with equal weights.
    ///
    /// # Errors
    /// As [`Ranges::plain`].
    pub fn halving(bins: usize) -> Result<Self> {
        Self::tree(bins, 2, &vec![1; Self::most_levels(bins, 2)])
    }

    /// Ranges of `branching`ˡ bins on the levels l = 0, 1, …, with these weights.
    ///
    /// # Errors
    /// `BadParameter` for no bin or more than 2²⁰, a branching below 2, no level, a level whose ranges
    /// cannot grow any more, and weights that are not between 1 and 1000.
    pub fn tree(bins: usize, branching: usize, weights: &[u64]) -> Result<Self> {
        if bins == 0 || bins > MAX_BINS {
            return Err(Error::bad("bins", format!("from 1 to {MAX_BINS}"), bins));
        }
        if branching < 2 {
            return Err(Error::bad("branching", "at least 2", branching));
        }
        if let Some(weight) = weights.iter().find(|weight| !(1..=1000).contains(*weight)) {
            return Err(Error::bad("weights", "from 1 to 1000", weight));
        }
        let most = Self::most_levels(bins, branching);
        if weights.is_empty() || weights.len() > most {
            return Err(Error::bad("levels", format!("from 1 to {most}"), weights.len()));
        }
        let mut starts = vec![0];
        let mut size = bins;
        for _ in weights {
            starts.push(starts[starts.len() - 1] + size);
            size = size.div_ceil(branching);
        }
        let mut ranges = Self {
            branching,
            weights: weights.to_vec(),
            starts,
            nodes: Vec::new(),
            before: vec![(0.0, 0.0)],
        };
        ranges.fill();
        Ok(ranges)
    }

    /// The number of levels up to the one range of all bins.
    fn most_levels(bins: usize, branching: usize) -> usize {
        let sizes = std::iter::successors(Some(bins), |size| (*size > 1).then(|| size.div_ceil(branching)));
        sizes.count()
    }

    /// The pass upwards, without data.
    fn fill(&mut self) {
        for (level, weight) in self.weights.iter().enumerate() {
            let weight = *weight as f64;
            for lane in self.starts[level]..self.starts[level + 1] {
                let node = if level == 0 {
                    let (variance, magnitude) = (1.0 / (weight * weight), 1.0 / weight);
                    Node { variance, of_children: 0.0, gain: 1.0, magnitude }
                } else {
                    let children = &self.nodes[self.children(level, lane)];
                    let of_children = children.iter().map(|child| child.variance).sum::<f64>();
                    let below = children.iter().map(|child| child.magnitude).sum::<f64>();
                    let variance = 1.0 / (weight * weight + 1.0 / of_children);
                    let gain = weight * weight * variance;
                    let magnitude = gain / weight + (1.0 - gain) * below;
                    Node { variance, of_children, gain, magnitude }
                };
                let (variances, magnitudes) = self.before[lane];
                self.before.push((variances + node.variance, magnitudes + node.magnitude));
                self.nodes.push(node);
            }
        }
    }

    /// The lanes of the children of a range.
    fn children(&self, level: usize, lane: usize) -> Range<usize> {
        let first = self.starts[level - 1] + (lane - self.starts[level]) * self.branching;
        first..(first + self.branching).min(self.starts[level])
    }

    /// The number of bins.
    #[must_use]
    pub fn bins(&self) -> usize {
        self.starts[1]
    }

    /// How many ranges of a level make one of the next.
    #[must_use]
    pub fn branching(&self) -> usize {
        self.branching
    }

    /// The number of levels, and so of lanes in which an event counts.
    #[must_use]
    pub fn levels(&self) -> usize {
        self.weights.len()
    }

    /// How often an event counts in its range of each level, that of the single bins first.
    #[must_use]
    pub fn weights(&self) -> &[u64] {
        &self.weights
    }

    /// The number of lanes.
    #[must_use]
    pub fn lanes(&self) -> usize {
        self.nodes.len()
    }

    /// Whether these are the plain bins, without any wider ranges or weights.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.weights == [1]
    }

    /// A name for each lane: its level and its place there.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let of_level = |(level, ends): (usize, &[usize])| {
            (0..ends[1] - ends[0]).map(move |place| format!("range {level}.{place}"))
        };
        self.starts.windows(2).enumerate().flat_map(of_level).collect()
    }

    /// What one amount in one bin adds to all lanes together, per unit: its Euclidean norm, or for pure ε
    /// its sum. Rounded up.
    #[must_use]
    pub fn norm(&self, is_pure: bool) -> f64 {
        let whole = |sum: u64| sum as f64;
        if is_pure {
            return whole(self.weights.iter().sum());
        }
        let squares = whole(self.weights.iter().map(|weight| weight * weight).sum());
        let root = squares.sqrt();
        if root * root == squares && root.fract() == 0.0 { root } else { root.next_up() }
    }

    /// The largest whole number by which a lane of its own may be multiplied, for what is in no bin: it adds
    /// no more to all lanes together than what is in a bin.
    #[must_use]
    pub fn weight_of_others(&self) -> u64 {
        self.weights.iter().map(|weight| weight * weight).sum::<u64>().isqrt()
    }

    /// What a contribution to one bin is to all lanes together, as a plan takes it.
    ///
    /// # Errors
    /// `BadParameter` for a vector or a number that is split, and beyond the largest double.
    pub fn contribution(&self, of_bin: Contribution, is_pure: bool) -> Result<Contribution> {
        if of_bin.is_vector() || of_bin.keys() > 1 {
            return Err(Error::bad("contribution", "a range of numbers, each in one bin", of_bin));
        }
        if self.is_plain() {
            return Ok(of_bin);
        }
        let norm = self.norm(is_pure);
        // Exact products stay as they are, and others are rounded away from zero.
        let outwards = |end: f64| {
            let product = norm * end;
            match norm.mul_add(end, -product) == 0.0 {
                true => product,
                false if product > 0.0 => product.next_up(),
                false => product.next_down(),
            }
        };
        Contribution::range(outwards(of_bin.lo()), outwards(of_bin.hi()))
    }

    /// The amounts of all lanes, from those of the bins. Exact, or at the end of 128 bits.
    ///
    /// # Panics
    /// If there is not one amount for each bin.
    #[must_use]
    pub fn lanes_from(&self, bins: &[i128]) -> Vec<i128> {
        assert_eq!(bins.len(), self.bins(), "one amount for each bin");
        let mut sums = Vec::with_capacity(self.lanes());
        sums.extend_from_slice(bins);
        for level in 1..self.levels() {
            for lane in self.starts[level]..self.starts[level + 1] {
                let children = &sums[self.children(level, lane)];
                sums.push(children.iter().fold(0, |sum: i128, child| sum.saturating_add(*child)));
            }
        }
        for (level, weight) in self.weights.iter().enumerate() {
            for sum in &mut sums[self.starts[level]..self.starts[level + 1]] {
                *sum = sum.saturating_mul(i128::from(*weight));
            }
        }
        sums
    }

    /// The least-squares estimates of the bins, from the releases of all lanes at one step.
    ///
    /// # Panics
    /// If there is not one release for each lane.
    #[must_use]
    pub fn bins_from(&self, releases: &[f64]) -> Vec<f64> {
        assert_eq!(releases.len(), self.lanes(), "one release for each lane");
        let mut sums = vec![0.0; self.lanes()];
        for (level, weight) in self.weights.iter().enumerate() {
            for lane in self.starts[level]..self.starts[level + 1] {
                let own = releases[lane] / *weight as f64;
                let gain = self.nodes[lane].gain;
                sums[lane] = if level == 0 {
                    own
                } else {
                    gain * own + (1.0 - gain) * sums[self.children(level, lane)].iter().sum::<f64>()
                };
            }
        }
        for level in (1..self.levels()).rev() {
            for lane in self.starts[level]..self.starts[level + 1] {
                let children = self.children(level, lane);
                let missing = sums[lane] - sums[children.clone()].iter().sum::<f64>();
                let per_variance = missing / self.nodes[lane].of_children;
                for child in children {
                    sums[child] += per_variance * self.nodes[child].variance;
                }
            }
        }
        sums.truncate(self.bins());
        sums
    }
}
