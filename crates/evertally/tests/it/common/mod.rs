//! Helpers that several test files share.

pub(crate) mod open_keys;

use std::ops::Range;
use std::sync::Arc;

use evertally::internals::factorization::Factorization;
use evertally::internals::noise::WhiteField;
use evertally::{Budget, Matrix, Mechanism, NoiseKey, Participation, Plan, PlanBuilder, Workload};

pub(crate) fn budget() -> Budget {
    Budget::new(1.0, 1e-6).unwrap()
}

pub(crate) fn key() -> NoiseKey {
    NoiseKey::insecure_from_seed(11)
}

/// A budget that the mechanism's noise can meet.
pub(crate) fn budget_for(mechanism: Mechanism) -> Budget {
    match mechanism {
        Mechanism::LaplaceTree => Budget::pure(1.0).unwrap(),
        _ => budget(),
    }
}

pub(crate) fn builder(workload: Workload, n: u64) -> PlanBuilder {
    Plan::for_workload(n, workload)
}

pub(crate) fn plan(mechanism: Mechanism, workload: Workload, n: u64) -> Plan {
    plan_with(mechanism, workload, n, Participation::single())
}

pub(crate) fn plan_with(
    mechanism: Mechanism,
    workload: Workload,
    n: u64,
    participation: Participation,
) -> Plan {
    builder(workload, n)
        .mechanism(mechanism)
        .budget(budget_for(mechanism))
        .participation(participation)
        .build()
        .unwrap_or_else(|error| panic!("{mechanism} {workload} {n}: {error}"))
}

/// Every mechanism with every workload that it serves. Banded mechanisms have several bands.
pub(crate) fn mechanisms_and_workloads() -> Vec<(Mechanism, Workload)> {
    let workloads =
        [Workload::PrefixSum, Workload::SlidingWindow { width: 5 }, Workload::Decay { factor: 0.8 }];
    let any = [
        Mechanism::InputPerturbation,
        Mechanism::OutputPerturbation,
        Mechanism::SquareRoot,
        Mechanism::NormalizedSquareRoot,
        Mechanism::BandedSquareRoot { band: None },
        Mechanism::BandedSquareRoot { band: Some(3) },
        Mechanism::BandedInverseSquareRoot { band: None },
        Mechanism::BandedInverseSquareRoot { band: Some(4) },
        Mechanism::Optimal,
    ];
    let running_or_decayed = [
        Mechanism::Markov { chains: None },
        Mechanism::Markov { chains: Some(4) },
        Mechanism::Blt { buffers: None },
        Mechanism::Blt { buffers: Some(1) },
    ];
    let prefix_sum_only = [
        Mechanism::Binary,
        Mechanism::HonakerStreaming,
        Mechanism::HonakerFull,
        Mechanism::SmoothBinary,
        Mechanism::GroupAlgebra,
        Mechanism::GradedSquareRoot { decays: None },
        Mechanism::EndlessSquareRoot,
        Mechanism::LaplaceTree,
    ];
    let mut pairs: Vec<_> = prefix_sum_only.map(|m| (m, Workload::PrefixSum)).to_vec();
    for workload in workloads {
        pairs.extend(any.map(|m| (m, workload)));
        if !matches!(workload, Workload::SlidingWindow { .. }) {
            pairs.extend(running_or_decayed.map(|m| (m, workload)));
        }
    }
    pairs
}

/// White noise that is one at a single index and zero elsewhere. It extracts a column of L.
pub(crate) struct Impulse(pub(crate) u64);

impl WhiteField for Impulse {
    fn width(&self) -> usize {
        1
    }
    fn tile(&self, first: u64, _: Range<usize>, out: &mut [f64]) {
        out.fill(0.0);
        if let Some(value) = self.0.checked_sub(first).and_then(|i| out.get_mut(i as usize)) {
            *value = 1.0;
        }
    }
}

/// The matrix that the correlator really applies, one column per draw.
pub(crate) fn applied_matrix(factorization: &dyn Factorization) -> Matrix {
    let n = factorization.horizon() as usize;
    let draws = factorization.draws() as usize;
    let mut applied = Matrix::zeros(n, draws);
    for index in 0..draws {
        let mut correlator = factorization.correlator(Arc::new(Impulse(index as u64)), &());
        for t in 0..n {
            let mut out = [0.0];
            correlator.next(&mut out);
            applied[(t, index)] = out[0];
        }
    }
    applied
}

pub(crate) fn largest_difference(a: &Matrix, b: &Matrix) -> f64 {
    assert_eq!((a.rows(), a.columns()), (b.rows(), b.columns()));
    (0..a.rows()).flat_map(|i| a.row(i).iter().zip(b.row(i)).map(|(x, y)| (x - y).abs())).fold(0.0, f64::max)
}
