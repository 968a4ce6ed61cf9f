//! Regret measured.

mod sum;

pub(crate) use sum::Sum;
