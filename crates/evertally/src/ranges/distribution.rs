//! Cumulative counts and quantiles, from the releases of one step.
//!
//! **Definition.** The edges e₁ < … < e_{m−1} make m bins; e₀ = −∞ and e_m = ∞. C_j counts what is in the
//! first j bins. With C_m > 0 and 0 < q < 1, the q-quantile is the least x such that at least q·C_m of all
//! are at most x. It is in the bin J with C_{J−1} < q·C_m ≤ C_J, which is [e_{J−1}, e_J).
//!
//! **Interval.** Let g_j = C_j − q·C_m, and ĝ_j its estimate, and M_j the margin that |ĝ_j − g_j| keeps with
//! probability p or more ([`Norms`](super::Norms), and for Laplace noise the argument of
//! [`Spread::margin_of_sum`]). The interval reaches from e_{l−1} to e_u, where
//!
//! - l is the least j ≥ 1 with ĝ_j ≥ −M_j,
//! - u is the largest j ≤ m with j = 1 or ĝ_{j−1} ≤ M_{j−1}.
//!
//! **Guarantee.** It holds the q-quantile with probability p or more, at any number of bins. *Proof.* If
//! l > J, then J did not qualify for l: ĝ_J < −M_J. But g_J ≥ 0, so ĝ_J − g_J < −M_J. If u < J, then J did
//! not qualify for u: J > 1 and ĝ_{J−1} > M_{J−1}. But g_{J−1} < 0, so ĝ_{J−1} − g_{J−1} > M_{J−1}. The
//! law of noise is symmetric, so each of these has a probability of at most (1 − p)/2. J is fixed by the
//! data: only two of the m tests can make the interval wrong, and there is nothing to add up over bins. ∎
//!
//! Whatever makes the interval wider keeps the guarantee. If Ĉ_m is not more than its margin, the number of
//! events cannot be told from zero: the interval is the whole line and there is no estimate. The interval is
//! also widened to hold the estimate.
//!
//! **Estimate.** The cumulative counts are made monotone by isotonic regression with equal weights, and
//! raised to zero. The estimate interpolates between the edges of the bin in which they pass q of the last.
//! A bin without an end has no inside to interpolate in: there is no estimate there, and the interval says
//! which side it is.
//!
//! **Cost.** O(m) per quantile and step, after O(m·h) once.

use super::{Norms, Ranges};
use crate::post::{Combined, isotonic_regression};
use crate::release::Spread;
use crate::{Error, Result};

/// Reads the releases of [`Ranges`] as cumulative counts and quantiles.
#[derive(Debug, Clone, PartialEq)]
pub struct Distribution {
    ranges: Ranges,
    edges: Vec<f64>,
    quantiles: Vec<f64>,
    /// The factors of C_1, …, C_m.
    of_counts: Vec<Norms>,
    /// The factors of C_1 − q·C_m, …, C_m − q·C_m, for each quantile.
    of_quantiles: Vec<Vec<Norms>>,
}

/// A quantile and its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quantile {
    /// The estimate; `None` in a bin without an end, and if the number of events cannot be told from zero.
    pub value: Option<f64>,
    /// The lower end of the interval: an edge, or −∞.
    pub lower: f64,
    /// The upper end of the interval: an edge, or ∞.
    pub upper: f64,
}

impl Distribution {
    /// For the bins between these edges, below the first and from the last one on.
    ///
    /// # Errors
    /// `BadParameter` unless the edges are finite and ascending and make as many bins as there are, and the
    /// quantiles are ascending and between zero and one.
    pub fn new(ranges: Ranges, edges: Vec<f64>, quantiles: Vec<f64>) -> Result<Self> {
        let are_ascending = edges.is_sorted_by(|edge, next| edge < next);
        if !are_ascending || !edges.iter().all(|edge| edge.is_finite()) {
            return Err(Error::bad("edges", "finite and in ascending order, each once", "others"));
        }
        if edges.len() + 1 != ranges.bins() {
            let expected = format!("one fewer than the {} bins", ranges.bins());
            return Err(Error::bad("edges", expected, edges.len()));
        }
        if let Some(outside) = quantiles.iter().find(|quantile| !(0.0 < **quantile && **quantile < 1.0)) {
            return Err(Error::bad("a quantile", "between 0 and 1, such as 0.5", outside));
        }
        if let Some(pair) = quantiles.windows(2).find(|pair| pair[0] >= pair[1]) {
            let got = format!("{} before {}", pair[0], pair[1]);
            return Err(Error::bad("quantiles", "in ascending order, each once", got));
        }
        let norms = |q: f64| (1..=ranges.bins()).map(|edge| ranges.norms(edge, q)).collect();
        let of_counts = norms(0.0);
        let of_quantiles = quantiles.iter().map(|quantile| norms(*quantile)).collect();
        Ok(Self { ranges, edges, quantiles, of_counts, of_quantiles })
    }

    /// The strategy.
    #[must_use]
    pub fn ranges(&self) -> &Ranges {
        &self.ranges
    }

    /// The quantiles, in ascending order.
    #[must_use]
    pub fn parts(&self) -> &[f64] {
        &self.quantiles
    }

    /// The consistent cumulative counts C_1, …, C_m from the releases of all lanes.
    ///
    /// # Panics
    /// If there is not one release for each lane.
    #[must_use]
    pub fn cumulative(&self, releases: &[f64]) -> Vec<f64> {
        sums_of(&self.ranges.bins_from(releases))
    }

    /// The cumulative counts with their errors, and margins at a level whose
    /// [`quantile`](crate::Tail::quantile) is known.
    #[must_use]
    pub fn counts(&self, cumulative: &[f64], spread: &Spread, quantile: f64) -> Vec<Combined> {
        let with_error = |(value, norms): (&f64, &Norms)| Combined {
            value: *value,
            standard_error: spread.standard_error * norms.euclidean,
            margin: spread.margin_of_norms(norms.euclidean, norms.sum, quantile),
        };
        cumulative.iter().zip(&self.of_counts).map(with_error).collect()
    }

    /// The quantiles with their intervals, at a level whose [`quantile`](crate::Tail::quantile) is known.
    #[must_use]
    pub fn quantiles(&self, cumulative: &[f64], spread: &Spread, quantile: f64) -> Vec<Quantile> {
        let margin = |norms: &Norms| spread.margin_of_norms(norms.euclidean, norms.sum, quantile);
        let last = cumulative.last().zip(self.of_counts.last());
        let is_told_from_zero = last.is_some_and(|(all, norms)| *all > margin(norms));
        if !is_told_from_zero {
            let all = Quantile { value: None, lower: f64::NEG_INFINITY, upper: f64::INFINITY };
            return vec![all; self.quantiles.len()];
        }
        let monotone = monotone(cumulative);
        let of_one = |(q, norms): (&f64, &Vec<Norms>)| {
            self.quantile(*q, cumulative, &monotone, &|edge| margin(&norms[edge - 1]))
        };
        self.quantiles.iter().zip(&self.of_quantiles).map(of_one).collect()
    }

    /// The quantiles of true totals of the bins, or of totals without noise. `None` without events, and in a
    /// bin without an end.
    #[must_use]
    pub fn of_totals(&self, bins: &[f64]) -> Vec<Option<f64>> {
        let counts = sums_of(bins);
        self.quantiles.iter().map(|q| place(&counts, *q).and_then(|place| self.inside(place))).collect()
    }

    fn quantile(
        &self,
        q: f64,
        cumulative: &[f64],
        monotone: &[f64],
        margin: &dyn Fn(usize) -> f64,
    ) -> Quantile {
        let bins = cumulative.len();
        let difference = |edge: usize| cumulative[edge - 1] - q * cumulative[bins - 1];
        let first = (1..=bins).find(|edge| difference(*edge) >= -margin(*edge));
        let last = (1..=bins).rfind(|edge| *edge == 1 || difference(edge - 1) <= margin(edge - 1));
        let place = place(monotone, q);
        let of_estimate = place.map(|(bin, _)| bin + 1);
        let first = first.unwrap_or(1).min(of_estimate.unwrap_or(bins));
        let last = last.unwrap_or(bins).max(of_estimate.unwrap_or(1));
        Quantile {
            value: place.and_then(|place| self.inside(place)),
            lower: if first == 1 { f64::NEG_INFINITY } else { self.edges[first - 2] },
            upper: self.edges.get(last - 1).copied().unwrap_or(f64::INFINITY),
        }
    }

    /// The value at a fraction of a bin, unless the bin has no end.
    fn inside(&self, (bin, fraction): (usize, f64)) -> Option<f64> {
        let (lower, upper) = (self.edges.get(bin.checked_sub(1)?)?, self.edges.get(bin)?);
        Some((lower * (1.0 - fraction) + upper * fraction).clamp(*lower, *upper))
    }
}

fn sums_of(bins: &[f64]) -> Vec<f64> {
    let mut sum = 0.0;
    let add = |bin: &f64| {
        sum += bin;
        sum
    };
    bins.iter().map(add).collect()
}

/// The monotone counts that estimates interpolate.
fn monotone(cumulative: &[f64]) -> Vec<f64> {
    let fit = isotonic_regression(cumulative, &vec![1.0; cumulative.len()]);
    fit.into_iter().map(|count| count.max(0.0)).collect()
}

/// The bin, from 0, in which monotone counts reach q of the last one, and the fraction of it. `None` if all
/// are zero.
fn place(counts: &[f64], q: f64) -> Option<(usize, f64)> {
    let wanted = q * counts.last()?;
    if wanted <= 0.0 {
        return None;
    }
    let bin = counts.partition_point(|count| *count < wanted);
    let before = bin.checked_sub(1).map_or(0.0, |before| counts[before]);
    Some((bin, ((wanted - before) / (counts.get(bin)? - before)).clamp(0.0, 1.0)))
}
