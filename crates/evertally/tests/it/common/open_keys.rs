//! Helpers that the two test files of open keys share.

use evertally::{Budget, Mechanism, NoiseKey, Plan, PlanBuilder, Release};

pub(crate) fn budget() -> Budget {
    Budget::new(1.0, 1e-6).unwrap()
}

pub(crate) fn graded(decays: impl Into<Option<u64>>) -> Mechanism {
    Mechanism::GradedSquareRoot { decays: decays.into() }
}

pub(crate) fn builder(horizon: u64, mechanism: Mechanism) -> PlanBuilder {
    Plan::prefix_sum(horizon).budget(budget()).mechanism(mechanism)
}

pub(crate) fn key() -> NoiseKey {
    NoiseKey::insecure_from_seed(42)
}

pub(crate) fn name(i: usize) -> String {
    format!("key {i}")
}

pub(crate) fn bits(releases: &[Release]) -> Vec<(u64, u64, u64)> {
    releases.iter().map(|r| (r.step, r.value.to_bits(), r.standard_error.to_bits())).collect()
}
