//! How well one number distinguishes two groups, by ranks alone, within strata of comparable
//! values.
//!
//! **Definition.** Within a stratum, a pair of one value from each group counts one if the first is
//! larger and half if they tie. The advantage is twice the share of such pairs, minus one: 0 if the
//! groups look alike, ±1 if a threshold separates them. Strata are pooled with equal weight per
//! pair (van Elteren, 1960).
//!
//! **Guarantee.** If the labels are random, the share has mean ½ and the standard deviation given
//! here for any distribution of the values, because it depends only on ranks. Ties make it smaller.

/// The advantage in distinguishing two groups, with its standard deviation if they do not differ.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Advantage {
    pub(crate) advantage: f64,
    pub(crate) deviation: f64,
}

/// The advantage over strata of values with their labels. `None` if no stratum has both labels.
pub(crate) fn advantage(strata: &[Vec<(u64, bool)>]) -> Option<Advantage> {
    let (mut wins, mut pairs, mut variance) = (0.0, 0.0, 0.0);
    for stratum in strata {
        let mut sorted = stratum.clone();
        sorted.sort_unstable();
        let ours = sorted.iter().filter(|(_, is_ours)| *is_ours).count() as f64;
        let theirs = sorted.len() as f64 - ours;
        let mut theirs_below = 0.0;
        for tied in sorted.chunk_by(|a, b| a.0 == b.0) {
            let ours_here = tied.iter().filter(|(_, is_ours)| *is_ours).count() as f64;
            let theirs_here = tied.len() as f64 - ours_here;
            wins += ours_here * (theirs_below + 0.5 * theirs_here);
            theirs_below += theirs_here;
        }
        pairs += ours * theirs;
        variance += ours * theirs * (ours + theirs + 1.0) / 12.0;
    }
    (pairs > 0.0).then(|| Advantage {
        advantage: 2.0 * wins / pairs - 1.0,
        deviation: 2.0 * f64::sqrt(variance) / pairs,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::Coins;

    fn of(strata: &[Vec<(u64, bool)>]) -> f64 {
        advantage(strata).unwrap().advantage
    }

    #[test]
    fn the_advantage_is_that_of_all_pairs() {
        assert_eq!(of(&[vec![(1, false), (2, false), (3, true)]]), 1.0);
        assert_eq!(of(&[vec![(1, true), (2, false), (3, true)]]), 0.0);
        assert_eq!(of(&[vec![(5, true), (5, false)]]), 0.0);
        // A difference between strata gives no advantage.
        assert_eq!(of(&[vec![(1, true), (1, false)], vec![(9, true), (9, false)]]), 0.0);
        assert!(advantage(&[vec![(1, true)], vec![(2, false)]]).is_none());
    }

    /// 400 shuffles: the mean square of 400 standardised values lies between 0.7 and 1.4, except
    /// once in 10⁵ times.
    #[test]
    fn the_deviation_is_that_of_shuffled_labels() {
        let mut coins = Coins::seeded(5);
        let mut squares = 0.0;
        for _ in 0..400 {
            let strata: Vec<Vec<_>> =
                (0..4).map(|_| (0..25).map(|_| (coins.next(), coins.toss())).collect()).collect();
            let found = advantage(&strata).unwrap();
            squares += (found.advantage / found.deviation).powi(2);
        }
        assert!((0.7..1.4).contains(&(squares / 400.0)), "{squares}");
    }
}
