//! Sums that do not lose small terms beside large ones.

/// A compensated sum (Neumaier): its error is that of a sum in twice the precision, rounded once.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Sum {
    total: f64,
    lost: f64,
}

impl Sum {
    pub(crate) fn add(&mut self, term: f64) {
        let total = self.total + term;
        self.lost += if self.total.abs() >= term.abs() {
            (self.total - total) + term
        } else {
            (term - total) + self.total
        };
        self.total = total;
    }

    pub(crate) fn value(&self) -> f64 {
        self.total + self.lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_terms_survive_large_ones() {
        let mut sum = Sum::default();
        [1e100, 1.0, -1e100, 2.0_f64.powi(-60)].into_iter().for_each(|term| sum.add(term));
        assert_eq!(sum.value(), 1.0 + 2.0_f64.powi(-60));
        let mut tenths = Sum::default();
        (0..1_000_000).for_each(|_| tenths.add(0.1));
        assert_eq!(tenths.value(), 100_000.0);
    }
}
