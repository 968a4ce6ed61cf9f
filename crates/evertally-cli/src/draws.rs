//! Pseudo-random draws from a public seed, for example data and for shuffling rows. The noise of
//! releases never comes from here, but from the library's keyed source.

/// SplitMix64: a small, well-known generator.
pub(crate) struct Draws {
    state: u64,
}

impl Draws {
    pub(crate) fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    fn word(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Uniform in [0, 1).
    pub(crate) fn unit(&mut self) -> f64 {
        (self.word() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Approximately standard normal: the sum of twelve uniform draws, centred.
    pub(crate) fn bell(&mut self) -> f64 {
        (0..12).map(|_| self.unit()).sum::<f64>() - 6.0
    }

    /// Approximately Poisson: a rounded normal with the same mean and variance.
    pub(crate) fn count(&mut self, expected: f64) -> u64 {
        (expected + expected.sqrt() * self.bell()).round().max(0.0) as u64
    }

    /// Uniform below `end`. Draws that would favour some numbers are rejected.
    fn below(&mut self, end: u64) -> u64 {
        let usable = u64::MAX - u64::MAX % end;
        loop {
            let word = self.word();
            if word < usable {
                return word % end;
            }
        }
    }

    /// Shuffles uniformly. The order depends only on the seed.
    pub(crate) fn shuffle<T>(&mut self, things: &mut [T]) {
        for last in (1..things.len()).rev() {
            let other = self.below(last as u64 + 1) as usize;
            things.swap(last, other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_all_there_and_their_own() {
        let order = |seed| {
            let mut things: Vec<u32> = (0..100).collect();
            Draws::new(seed).shuffle(&mut things);
            things
        };
        assert_eq!(order(1), order(1));
        assert_ne!(order(1), order(2));
        let mut sorted = order(3);
        sorted.sort_unstable();
        assert!(sorted.iter().copied().eq(0..100));
    }
}
