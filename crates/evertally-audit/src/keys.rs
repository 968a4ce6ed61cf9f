//! The randomness of an audit: noise keys for the runs, and coins for the auditor.

use evertally::{NoiseKey, Result};

/// The source of noise keys.
///
/// ```
/// use evertally_audit::{Keys, Purpose};
/// let keys = Keys::SeededNotPrivate(1);
/// assert_eq!(keys.key(Purpose::Without, 7)?.tag(), keys.key(Purpose::Without, 7)?.tag());
/// assert_ne!(keys.key(Purpose::Without, 7)?.tag(), keys.key(Purpose::With, 7)?.tag());
/// assert_ne!(Keys::Os.key(Purpose::With, 7)?.tag(), Keys::Os.key(Purpose::With, 7)?.tag());
/// # Ok::<(), evertally::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keys {
    /// A fresh key from the operating system for every run, as in deployment.
    Os,
    /// Keys derived from a number, so that an audit can be repeated to the last bit. Nothing
    /// released under them is private.
    SeededNotPrivate(u64),
}

/// The purpose of a key or coin. Different purposes never share keys or coins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Runs on a stream.
    Without,
    /// Runs on its neighbour.
    With,
    /// Runs on a quiet stream, for the low bits.
    Quiet,
    /// Runs on a shifted stream, for the low bits.
    Shifted,
    /// The run with canaries, and their coins.
    Canaries,
    /// Pairs of runs under one key.
    Replay,
    /// Runs that are timed, and the order of their values.
    Timing,
    /// The events for the attack on admission.
    Admission,
}

impl Keys {
    /// The key of a run.
    ///
    /// # Errors
    /// [`evertally::Error::NoEntropy`] if the operating system provides no randomness.
    pub fn key(&self, purpose: Purpose, index: u64) -> Result<NoiseKey> {
        match *self {
            Self::Os => NoiseKey::from_os(),
            Self::SeededNotPrivate(seed) => Ok(NoiseKey::insecure_from_seed(mixed(seed, purpose, index))),
        }
    }

    /// The auditor's own coins. They are independent of the mechanism and need not be secret.
    ///
    /// # Errors
    /// As [`Keys::key`].
    pub(crate) fn coins(&self, purpose: Purpose) -> Result<Coins> {
        Ok(Coins(match *self {
            Self::Os => u64::from_le_bytes(NoiseKey::from_os()?.tag()),
            Self::SeededNotPrivate(seed) => mixed(seed, purpose, u64::MAX),
        }))
    }
}

fn mixed(seed: u64, purpose: Purpose, index: u64) -> u64 {
    let mut coins = Coins(seed);
    let mut coins = Coins(coins.next() ^ purpose as u64);
    Coins(coins.next() ^ index).next()
}

/// SplitMix64 (Steele, Lea and Flood, 2014): the auditor's coins.
#[derive(Debug, Clone)]
pub(crate) struct Coins(u64);

impl Coins {
    /// Coins that are the same in every audit, for public choices.
    pub(crate) fn public() -> Self {
        Self(0x0A0D_17ED)
    }

    #[cfg(any(test, feature = "planted-faults"))]
    pub(crate) fn seeded(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^ (bits >> 31)
    }

    /// A fair coin.
    pub(crate) fn toss(&mut self) -> bool {
        self.next() >> 63 == 1
    }

    /// A number below `end`, uniform to one part in 2^64/end.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.next()) * end as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first outputs of the published generator for seed 1234567.
    #[test]
    fn coins_are_those_of_the_paper() {
        let mut coins = Coins::seeded(1_234_567);
        assert_eq!(coins.next(), 6_457_827_717_110_365_317);
        assert_eq!(coins.next(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn numbers_stay_below_and_reach_everything() {
        let mut coins = Coins::public();
        let mut seen = [0; 5];
        (0..500).for_each(|_| seen[coins.below(5)] += 1);
        assert!(seen.iter().all(|&count| count > 50), "{seen:?}");
    }
}
