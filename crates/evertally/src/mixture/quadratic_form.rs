//! Sums of squares over the coefficients of a mixture, decay by decay and pair by pair.
//!
//! **Definition.** Every norm here is a quadratic form of the weights: κ²·I + 2κ Σ_j w_j B(λ_j) +
//! Σ_ij w_i w_j Γ(λ_i, λ_j). A [`QuadraticForm`] selects the norm, and [`DecayTerms`] is what it
//! needs of one decay. With x = (1−p_i)(1−p_j), a = 1 − x = p_i + (1−p_i)p_j and m = 1 − (1−p)^n,
//!
//! > Σ_{k<n} x^k = (1 − x^n)/a,  1 − x^n = m_i + (1−m_i)m_j,
//!
//! with only positive terms in numerator and denominator. If a = 0, the sum is n. The mean over all
//! rows has Σ_{k<n}(n−k)x^k = ((1−a)^{n+1} − 1 + (n+1)a)/a². If an < 1, its binomial series is
//! used, because the closed form would cancel.
//!
//! **Several participations.** For Σ_{l<k} shift_{lb} c, split the horizon into blocks of b steps
//! that start with a participation. In block l the sum of shifts is again a mixture, with the
//! weights w_j S_j(l), S_j(l) = Σ_{m≤l} q_j^m, q_j = (1−p_j)^b, and the same impulse. All blocks
//! except the last have length b and need Σ_l S_i(l)S_j(l) and Σ_l S_j(l). Both follow by doubling,
//! S(m+l) = S(m−1) + q^m S(l), with positive terms only.
//!
//! **Guarantee.** Γ is right to about ten units in the last place, and ten more for every doubling.
//! That is a relative 10⁻¹³ for 2^60 participations.
//!
//! **Cost.** O(1) for Γ, or O(log k).

use super::{lost, power};
use crate::privacy::Participation;

/// The norm that is computed.
#[derive(Debug, Clone)]
pub(crate) enum QuadraticForm {
    /// Σ_{k<n} c_k²: row n − 1 of T(c), and its first column at horizon n.
    Row(f64),
    /// The mean of the rows 0 to n − 1: ‖T(c)‖_F²/n.
    Mean(f64),
    /// ‖Σ_l shift_{lb} c‖².
    Shifts(Shifts),
}

/// Participations in the first step of every block.
#[derive(Debug, Clone)]
pub(crate) struct Shifts {
    /// b.
    gap: f64,
    /// The number of blocks without the last, at least one.
    before: u64,
    /// The length of the last block.
    rest: f64,
}

/// What a quadratic form needs of one decay.
#[derive(Debug, Clone)]
pub(crate) struct DecayTerms {
    lost: Lost,
    /// Over the last block.
    rest: Lost,
    doublings: Vec<Doubling>,
    /// Σ_l S(l) over all blocks except the last.
    total: f64,
    /// S of the last block.
    last: f64,
}

/// One doubling from m blocks to 2m, and one more block if the number is odd.
#[derive(Debug, Clone, Copy)]
struct Doubling {
    /// m.
    count: f64,
    /// S(m−1).
    last: f64,
    /// q^m.
    power: f64,
    /// Σ_{l<m} S(l).
    total: f64,
    /// S(2m), or zero if it is not needed.
    odd: f64,
}

impl QuadraticForm {
    /// The squared sensitivity of T(c) at this horizon.
    pub(crate) fn participation(horizon: u64, participation: Participation) -> Self {
        let (steps, gap) = (participation.bounded(horizon), participation.min_gap());
        match steps {
            0 | 1 => Self::Row(horizon as f64),
            _ => {
                let rest = horizon - (steps - 1) * gap;
                Self::Shifts(Shifts { gap: gap as f64, before: steps - 1, rest: rest as f64 })
            }
        }
    }

    /// The terms of the decay with this loss and rate.
    pub(crate) fn terms(&self, loss: f64, rate: f64) -> DecayTerms {
        match self {
            Self::Row(n) | Self::Mean(n) => {
                let lost = Lost::new(loss, rate, *n);
                DecayTerms { lost, rest: lost, doublings: Vec::new(), total: 0.0, last: 1.0 }
            }
            Self::Shifts(shifts) => shifts.terms(loss, rate),
        }
    }

    /// I: the number of impulses.
    pub(crate) fn impulses(&self) -> f64 {
        match self {
            Self::Row(_) | Self::Mean(_) => 1.0,
            Self::Shifts(shifts) => (shifts.before + 1) as f64,
        }
    }

    /// B: the impulse with one decay.
    pub(crate) fn alone(&self, decay: &DecayTerms) -> f64 {
        decay.total + decay.last
    }

    /// Γ: one decay with another or with itself.
    pub(crate) fn pair(&self, a: &DecayTerms, b: &DecayTerms) -> f64 {
        let lost = a.lost.with(b.lost);
        match self {
            Self::Row(n) => lost.sum(*n),
            Self::Mean(n) => lost.mean_of_sums(*n),
            Self::Shifts(shifts) => {
                products(a, b) * lost.sum(shifts.gap) + a.last * b.last * a.rest.with(b.rest).sum(shifts.rest)
            }
        }
    }
}

impl Shifts {
    fn terms(&self, loss: f64, rate: f64) -> DecayTerms {
        let rate_a_stretch = rate * self.gap;
        let decay = power(rate_a_stretch, 1.0);
        let mut doublings = Vec::new();
        let (mut count, mut last, mut total) = (1.0, 1.0, 1.0);
        // From the highest bit of the number down: double, and add one if the bit is set.
        for bit in (0..self.before.ilog2()).rev() {
            let power = power(rate_a_stretch, count);
            let before = Doubling { count, last, power, total, odd: 0.0 };
            total += before.count * last + power * total;
            last += power * last;
            count *= 2.0;
            let mut odd = 0.0;
            if self.before >> bit & 1 == 1 {
                last = 1.0 + decay * last;
                total += last;
                count += 1.0;
                odd = last;
            }
            doublings.push(Doubling { odd, ..before });
        }
        DecayTerms {
            lost: Lost::new(loss, rate, self.gap),
            rest: Lost::new(loss, rate, self.rest),
            doublings,
            total,
            last: 1.0 + decay * last,
        }
    }
}

/// Σ_l S_i(l)S_j(l) over all blocks except the last.
fn products(i: &DecayTerms, j: &DecayTerms) -> f64 {
    i.doublings.iter().zip(&j.doublings).fold(1.0, |products, (i, j)| {
        let fresh = i.count * i.last * j.last
            + i.last * j.power * j.total
            + j.last * i.power * i.total
            + i.power * j.power * products;
        products + fresh + i.odd * j.odd
    })
}

/// The lost fraction of a decay after one step, and after all n.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lost {
    once: f64,
    all: f64,
}

impl Lost {
    fn new(loss: f64, rate: f64, n: f64) -> Self {
        Self { once: loss, all: lost(rate, n) }
    }

    /// The same for the product of two decays.
    fn with(self, other: Self) -> Self {
        Self {
            once: self.once + (1.0 - self.once) * other.once,
            all: self.all + (1.0 - self.all) * other.all,
        }
    }

    /// Σ_{k<n} x^k.
    fn sum(self, n: f64) -> f64 {
        if self.once > 0.0 { self.all / self.once } else { n }
    }

    /// (1/n) Σ_{k<n} (n−k) x^k.
    fn mean_of_sums(self, n: f64) -> f64 {
        let a = self.once;
        if a * n >= 1.0 {
            // The mean of x^k is at most 0.64 here.
            return (1.0 - (1.0 - a) * self.all / (a * n)) / a;
        }
        let (mut term, mut sum) = (0.5 * (n + 1.0), 0.0);
        // Terms alternate, and each is at most a third of the one before. After 24 terms nothing is
        // left.
        for (m, inverse) in (1_u8..).zip(INVERSES) {
            sum += term;
            term *= -a * (n - f64::from(m)) * inverse;
            if term.abs() <= f64::EPSILON / 8.0 * sum {
                break;
            }
        }
        sum
    }
}

/// 1/3, 1/4, ….
const INVERSES: [f64; 24] = {
    let mut inverses = [0.0; 24];
    let mut m = 0;
    while m < 24 {
        inverses[m] = 1.0 / (m + 3) as f64;
        m += 1;
    }
    inverses
};

#[cfg(test)]
mod tests {
    use super::*;

    /// The two formulas of the mean agree where one takes over from the other, and with the limits
    /// at both ends.
    #[test]
    fn means_are_smooth_at_any_horizon() {
        for n in [10.0, 1e3, 1e12, 1e18] {
            let at = |a: f64| Lost::new(a, -libm::log1p(-a), n).mean_of_sums(n);
            let (below, above) = (at(1.0 / n * (1.0 - 1e-14)), at(1.0 / n * (1.0 + 1e-14)));
            assert!((below / above - 1.0).abs() < 1e-13, "{n}: {below} {above}");
            assert_eq!(at(0.0), 0.5 * (n + 1.0));
            assert!((at(0.5) * 0.5 - (1.0 - 1.0 / n)).abs() < 1e-14 + 2.0 * libm::pow(0.5, n));
        }
    }
}
