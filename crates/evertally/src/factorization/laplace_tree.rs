//! A balanced k-ary tree with Laplace nodes, for pure ε (Andersson, Pagh, Steiner and Torkamani, 2024).
//!
//! Write the number of items c in balanced base k, k odd: digits between −(k−1)/2 and (k−1)/2. A
//! positive digit adds that many nodes of its level, a negative one subtracts nodes that lie just
//! after the prefix. With h levels and n ≤ (k^h − 1)/2, every item lies in h nodes. Noise of scale
//! h/ε per node then gives ε-DP, and the mean squared error is about h³k(1 − 1/k²)/(2ε²). k and h
//! are those of least exact mean error at this horizon.
//!
//! Subtracted nodes hold items of the future, but node and subtracted part shift together when such
//! an item changes, so what was published before does not depend on it: the proof holds for inputs
//! chosen adaptively too. Here Δ is the sum of magnitudes in a column of R. State O(log n), a few
//! draws per step, any horizon.

use std::ops::Range;
use std::sync::Arc;

use zeroize::Zeroizing;

use super::{Cost, Dense, Factorization, IntegerDecoder, Kind, Mechanism, Request, dense_size};
use crate::Result;
use crate::matrix::Matrix;
use crate::noise::{Correlator, Progress, WhiteField, restore_numbers};
use crate::privacy::{NoiseKind, Participation};
use crate::release::Tail;

pub(super) static KIND: Kind = Kind {
    name: "laplace-tree",
    code: 14,
    noise: NoiseKind::Laplace,
    has_exact_path: true,
    factorize: |request, _| Ok(Arc::new(LaplaceTree::new(request)?)),
    ..Kind::DEFAULT
};

struct LaplaceTree {
    horizon: u64,
    shape: Shape,
}

impl LaplaceTree {
    fn new(request: &Request<'_>) -> Result<Self> {
        request.prefix_sum_only(&Mechanism::LaplaceTree)?;
        Ok(Self { horizon: request.horizon, shape: Shape::best(request.horizon) })
    }
}

/// The base k = 2·half + 1 and the number of levels h.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Shape {
    half: u64,
    levels: u32,
}

/// Σ_{e < digits} |e − half|.
fn sum_of_magnitudes(digits: u128, half: u128) -> u128 {
    if digits <= half {
        digits * half - digits * digits.saturating_sub(1) / 2
    } else {
        half * (half + 1) / 2 + (digits - half - 1) * (digits - half) / 2
    }
}

impl Shape {
    /// For each number of levels the smallest base that reaches the horizon; of those, the least mean error.
    fn best(horizon: u64) -> Self {
        let error = |shape: &Self| f64::from(shape.levels).powi(2) * shape.mean(horizon);
        (1..=39)
            .map(|levels| Self::reaching(horizon, levels))
            .min_by(|a, b| error(a).total_cmp(&error(b)))
            .expect("there is more than one candidate")
    }

    fn reaching(horizon: u64, levels: u32) -> Self {
        let reaches = |half: u64| Self { half, levels }.reach() >= u128::from(horizon);
        let (mut low, mut high) = (0, horizon);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if reaches(middle) { high = middle } else { low = middle }
        }
        Self { half: high, levels }
    }

    fn base(&self) -> u64 {
        2 * self.half + 1
    }

    /// (k^h − 1)/2: the longest prefix.
    fn reach(&self) -> u128 {
        let power = (0..self.levels).try_fold(1_u128, |p, _| p.checked_mul(u128::from(self.base())));
        power.map_or(u128::MAX, |p| (p - 1) / 2)
    }

    /// The balanced digits of a number of items, lowest first.
    fn digits(&self, mut items: u64) -> impl Iterator<Item = i64> {
        let (base, half) = (self.base(), self.half);
        (0..self.levels).map(move |_| {
            let digit = items % base;
            items /= base;
            if digit > half {
                items += 1;
                digit as i64 - base as i64
            } else {
                digit as i64
            }
        })
    }

    /// The mean over 1..=n of Σ |digit|. Shifted by (k^h − 1)/2, balanced digits are ordinary ones less k/2.
    fn mean(&self, n: u64) -> f64 {
        let (base, half) = (u128::from(self.base()), u128::from(self.half));
        let offset = self.reach();
        let mut place = 1_u128;
        let mut total = 0.0;
        for _ in 0..self.levels {
            let up_to = |numbers: u128| {
                let period = place * base;
                let full_periods = numbers / period * place * sum_of_magnitudes(base, half);
                let rest = numbers % period;
                let last = rest / place;
                full_periods + place * sum_of_magnitudes(last, half) + (rest % place) * last.abs_diff(half)
            };
            total += (up_to(offset + u128::from(n) + 1) - up_to(offset + 1)) as f64;
            place *= base;
        }
        total / n as f64
    }

    /// The largest Σ |digit| over 1..=n.
    fn max(&self, n: u64) -> f64 {
        let digits: Vec<i64> = self.digits(n).collect();
        let half = self.half as i64;
        let mut best: i64 = digits.iter().map(|d| d.abs()).sum();
        let mut so_far = 0;
        let mut started = false;
        for (below, &digit) in digits.iter().enumerate().rev() {
            // Take a smaller digit here; everything below is then free.
            let free = below as i64 * half;
            if started && digit > -half {
                best = best.max(so_far + half + free);
            } else if !started && digit > 0 && (digit > 1 || below > 0) {
                best = best.max(digit - 1 + free);
            }
            so_far += digit.abs();
            started |= digit != 0;
        }
        best as f64
    }

    /// The index of the first draw of each level. A level has room for its nodes and for those
    /// subtracted beyond the horizon.
    fn first_indices(&self, horizon: u64) -> Vec<u64> {
        let mut first = 0;
        let mut size = 1_u128;
        (0..self.levels)
            .map(|_| {
                let start = first;
                first += (u128::from(horizon) / size) as u64 + self.base() + 1;
                size *= u128::from(self.base());
                start
            })
            .collect()
    }

    /// The nodes read at each level for a number of items, and whether they are subtracted.
    fn nodes(&self, items: u64) -> impl Iterator<Item = (Range<u64>, bool)> {
        let base = u128::from(self.base());
        let mut place = 1_u128;
        let mut below = 0_i128;
        self.digits(items).map(move |digit| {
            below += i128::from(digit) * place as i128;
            let start = ((i128::from(items) - below) / place as i128) as u64;
            place *= base;
            if digit < 0 {
                (start - digit.unsigned_abs()..start, true)
            } else {
                (start..start + digit as u64, false)
            }
        })
    }
}

/// The number of nodes in which two prefixes differ. A node is only ever added (it is one of the
/// first half of its group) or only ever subtracted (one of the last), so that nodes of both
/// prefixes cancel and no node counts twice.
fn differing_nodes(shape: &Shape, earlier: u64, later: u64) -> u64 {
    let levels = shape.nodes(earlier).zip(shape.nodes(later));
    levels
        .map(|((a, _), (b, _))| {
            let shared = a.end.min(b.end).saturating_sub(a.start.max(b.start));
            (a.end - a.start) + (b.end - b.start) - 2 * shared
        })
        .sum()
}

impl Factorization for LaplaceTree {
    fn mechanism(&self) -> Mechanism {
        Mechanism::LaplaceTree
    }

    fn horizon(&self) -> u64 {
        self.horizon
    }

    /// The sum of magnitudes: h nodes of weight one for every step in which a person takes part.
    fn sensitivity(&self, participation: Participation) -> f64 {
        participation.bounded(self.horizon) as f64 * f64::from(self.shape.levels)
    }

    /// In the sum of magnitudes, replacing a contribution costs twice for any signs.
    fn row_norm_squared(&self, step: u64) -> f64 {
        self.shape.digits(step + 1).map(|d| d.unsigned_abs() as f64).sum()
    }

    fn difference_norm_squared(&self, earlier: u64, later: u64) -> f64 {
        differing_nodes(&self.shape, earlier + 1, later + 1) as f64
    }

    fn mean_row_norm_squared(&self) -> f64 {
        self.shape.mean(self.horizon)
    }

    fn max_row_norm_squared(&self) -> f64 {
        self.shape.max(self.horizon)
    }

    fn cost(&self) -> Cost {
        Cost {
            shared_bytes: 0,
            bytes_per_coordinate: 8 * (u64::from(self.shape.levels) + 1),
            operations_per_step: 4.0 + f64::from(self.shape.levels),
        }
    }

    fn draws(&self) -> u64 {
        self.shape
            .first_indices(self.horizon)
            .last()
            .map_or(0, |first| first + self.horizon + self.shape.base() + 1)
    }

    fn dense(&self) -> Result<Dense> {
        let n = dense_size(&self.mechanism(), self.horizon)?;
        let mut nodes: Vec<(usize, u64)> = (1..=n as u64)
            .flat_map(|c| {
                self.shape.nodes(c).enumerate().flat_map(|(level, (range, _))| range.map(move |i| (level, i)))
            })
            .collect();
        nodes.sort_unstable();
        nodes.dedup();
        let mut decoder = Matrix::zeros(n, nodes.len());
        for t in 0..n {
            for (level, (range, subtracted)) in self.shape.nodes(t as u64 + 1).enumerate() {
                for i in range {
                    let column = nodes.binary_search(&(level, i)).expect("listed above");
                    decoder[(t, column)] = if subtracted { -1.0 } else { 1.0 };
                }
            }
        }
        let base = self.shape.base();
        let encoder = Matrix::from_fn(nodes.len(), n, |i, j| {
            let (level, index) = nodes[i];
            f64::from(u8::from(j as u64 / base.pow(level as u32) == index))
        });
        Ok(Dense { decoder, encoder })
    }

    fn integer(&self) -> Option<IntegerDecoder> {
        Some(IntegerDecoder::Sums { max_draws: self.max_row_norm_squared() })
    }

    fn correlator(&self, field: Arc<dyn WhiteField>, _: &dyn Progress) -> Box<dyn Correlator> {
        let lanes = field.width();
        let levels = self.shape.levels as usize;
        Box::new(LevelSums {
            shape: self.shape,
            first_index: self.shape.first_indices(self.horizon),
            field,
            step: 0,
            sums: Zeroizing::new(vec![0.0; levels * lanes]),
            fresh: Zeroizing::new(vec![0.0; lanes]),
        })
    }

    fn tail(&self, earlier: Option<u64>, later: u64) -> Tail {
        Tail::LaplaceSum { terms: differing_nodes(&self.shape, earlier.map_or(0, |s| s + 1), later + 1) }
    }
}

/// The signed sum of the nodes read at each level.
struct LevelSums {
    shape: Shape,
    /// The index of the first draw of each level.
    first_index: Vec<u64>,
    field: Arc<dyn WhiteField>,
    step: u64,
    sums: Zeroizing<Vec<f64>>,
    fresh: Zeroizing<Vec<f64>>,
}

impl LevelSums {
    fn add_node(&mut self, level: usize, node: u64, sign: f64) {
        let lanes = self.fresh.len();
        self.field.draw(self.first_index[level] + node, &mut self.fresh);
        for (sum, fresh) in self.sums[level * lanes..(level + 1) * lanes].iter_mut().zip(self.fresh.iter()) {
            *sum += sign * fresh;
        }
    }
}

impl Correlator for LevelSums {
    fn next(&mut self, out: &mut [f64]) {
        let lanes = out.len();
        let shape = self.shape;
        for (level, ((old, _), (new, subtracted))) in
            shape.nodes(self.step).zip(shape.nodes(self.step + 1)).enumerate()
        {
            if old == new {
                // No carry came from below, so the levels above are unchanged too.
                break;
            }
            if !subtracted && !new.is_empty() && (old.is_empty() || old.start == new.start) {
                self.add_node(level, new.end - 1, 1.0);
            } else {
                // A carry, or one subtracted node fewer: added up afresh, so that no rounding builds up.
                self.sums[level * lanes..(level + 1) * lanes].fill(0.0);
                let sign = if subtracted { -1.0 } else { 1.0 };
                new.for_each(|node| self.add_node(level, node, sign));
            }
        }
        out.fill(0.0);
        for level in self.sums.chunks(lanes) {
            for (sum, value) in out.iter_mut().zip(level) {
                *sum += value;
            }
        }
        self.step += 1;
    }

    fn save(&self) -> Vec<f64> {
        self.sums.to_vec()
    }

    fn restore(&mut self, step: u64, saved: &[f64]) -> Result<()> {
        restore_numbers(&mut self.sums, saved)?;
        self.step = step;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_and_maxima_match_enumeration() {
        for n in (1..200).chain([511, 1000]) {
            let shape = Shape::best(n);
            assert!(shape.reach() >= u128::from(n), "{n}: {shape:?}");
            let sums: Vec<f64> =
                (1..=n).map(|c| shape.digits(c).map(|d| d.unsigned_abs() as f64).sum()).collect();
            let mean = sums.iter().sum::<f64>() / n as f64;
            assert!((shape.mean(n) - mean).abs() < 1e-9, "{n}");
            assert_eq!(shape.max(n), sums.iter().copied().fold(0.0, f64::max), "{n}");
            for c in 1..=n {
                let mut place = 1;
                let mut sum = 0;
                for d in shape.digits(c) {
                    sum += d * place;
                    place *= shape.base() as i64;
                }
                assert_eq!(sum, c as i64);
            }
        }
    }

    #[test]
    fn the_mean_error_approaches_the_published_formula() {
        let n = 1 << 40;
        let shape = Shape::best(n);
        let (h, k) = (f64::from(shape.levels), shape.base() as f64);
        // At σ = 1 the node variance is one; the formula is for variance 2/ε².
        let formula = h * h * h * k * (1.0 - 1.0 / (k * k)) / 4.0;
        let exact = h * h * shape.mean(n);
        assert!((exact / formula - 1.0).abs() < 0.1, "{exact} {formula}");
        Shape::best(1 << 60);
    }
}
