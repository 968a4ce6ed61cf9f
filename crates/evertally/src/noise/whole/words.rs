//! Where a draw takes its random bits from.

/// An endless sequence of independent, uniform 32-bit words.
pub(crate) trait Words {
    fn next(&mut self) -> u32;
}
