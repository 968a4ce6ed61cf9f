//! Sums of spends that are never below the true sum.

use super::Spend;

/// Running sums of the parts of spends.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SpendSum {
    mu_squared: UpwardSum,
    pure_epsilon: UpwardSum,
    pure_rho: UpwardSum,
    variation: UpwardSum,
    key_delta: UpwardSum,
}

impl SpendSum {
    pub(super) fn add(&mut self, spend: &Spend) {
        self.mu_squared.add(spend.mu_squared);
        self.pure_epsilon.add(spend.pure_epsilon);
        self.pure_rho.add(spend.pure_rho);
        self.variation.add(spend.variation);
        self.key_delta.add(spend.key_delta);
    }

    pub(super) fn total(&self) -> Spend {
        Spend {
            mu_squared: self.mu_squared.value(),
            pure_epsilon: self.pure_epsilon.value(),
            pure_rho: self.pure_rho.value(),
            variation: self.variation.value(),
            key_delta: self.key_delta.value(),
        }
    }
}

/// A sum of non-negative numbers that is never below the true sum. What each addition loses is
/// known exactly, and is summed with upward rounding. The result is exact if nothing was lost, and
/// otherwise within two units in the last place, so thousands of small shares do not drift.
#[derive(Debug, Clone, Copy, Default)]
struct UpwardSum {
    sum: f64,
    lost: f64,
}

impl UpwardSum {
    fn add(&mut self, term: f64) {
        let sum = self.sum + term;
        let (larger, smaller) = if self.sum >= term { (self.sum, term) } else { (term, self.sum) };
        let lost = (larger - sum) + smaller;
        if lost != 0.0 {
            self.lost = (self.lost + lost).next_up();
        }
        self.sum = sum;
    }

    /// An overflowed sum is infinite.
    fn value(self) -> f64 {
        if self.lost == 0.0 || self.sum.is_infinite() { self.sum } else { (self.sum + self.lost).next_up() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_never_below_the_truth() {
        // In units of 2⁻⁸⁰, in which every term is an integer.
        let mut sum = UpwardSum::default();
        let mut exact = 0_u128;
        let unit = (-80.0_f64).exp2();
        for i in 1..3000_u128 {
            let term = (i * 0x9E37_79B9_7F4A_7C15 % (1 << 53)) << (i % 20);
            sum.add(term as f64 * unit);
            exact += term;
            let above = (sum.value() / unit) as u128;
            assert!(above >= exact && above - exact <= exact >> 51, "{i}: {above} {exact}");
        }
        let mut quarters = UpwardSum::default();
        (0..4).for_each(|_| quarters.add(0.25));
        assert_eq!(quarters.value(), 1.0);
        quarters.add(f64::MAX);
        quarters.add(f64::MAX);
        quarters.add(1.0);
        assert_eq!(quarters.value(), f64::INFINITY);
    }
}
