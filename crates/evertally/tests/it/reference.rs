//! The error factors of the reference table, to 1e-9.

use crate::common::plan;
use evertally::{Budget, Mechanism, Plan, Workload};
use serde_json::Value;

fn table() -> Vec<Value> {
    serde_json::from_str(include_str!("../data/error-factors.json")).unwrap()
}

#[test]
fn error_factors_match_the_reference_table() {
    let names = [
        ("input_perturbation", Mechanism::InputPerturbation),
        ("output_perturbation", Mechanism::OutputPerturbation),
        ("binary", Mechanism::Binary),
        ("honaker_streaming", Mechanism::HonakerStreaming),
        ("honaker_full", Mechanism::HonakerFull),
        ("square_root", Mechanism::SquareRoot),
        ("normalised_square_root", Mechanism::NormalizedSquareRoot),
    ];
    let mut compared = 0;
    for row in table() {
        let n = row["n"].as_u64().unwrap();
        for (name, mechanism) in names {
            let accuracy = plan(mechanism, Workload::PrefixSum, n).accuracy().clone();
            for (got, field) in [(accuracy.mean_error, "mean"), (accuracy.max_error, "max")] {
                let expected = row[name][field].as_f64().unwrap();
                assert!((got / expected - 1.0).abs() < 1e-9, "{name} {field} n = {n}: {got} {expected}");
                compared += 1;
            }
        }
        let bound = plan(Mechanism::Binary, Workload::PrefixSum, n).accuracy().lower_bound.unwrap();
        let expected = row["nuclear_lower_bound_mean"].as_f64().unwrap();
        assert!((bound / expected - 1.0).abs() < 1e-9, "n = {n}: {bound} {expected}");
    }
    assert_eq!(compared, 11 * 14);
}

#[test]
fn the_optimum_lies_inside_its_certificate() {
    for row in table() {
        let n = row["n"].as_u64().unwrap();
        let (lower, upper) = match row.get("optimal_mean") {
            Some(known) => (known["lower"].as_f64().unwrap(), known["upper"].as_f64().unwrap()),
            None => (1.0, 1.0),
        };
        let builder =
            Plan::prefix_sum(n).budget(Budget::new(1.0, 1e-6).unwrap()).mechanism(Mechanism::Optimal);
        let comparison = builder.compare(&()).unwrap();
        let optimal = comparison.optimal.unwrap();
        assert!(optimal.lower <= upper && lower <= optimal.upper, "n = {n}: {optimal:?}");
        assert!(optimal.upper / optimal.lower - 1.0 < 1e-6, "n = {n}: {optimal:?}");
        let plan = comparison.best().unwrap();
        // The factorization that is run attains the certificate's upper bound.
        assert!((plan.accuracy().mean_error / optimal.upper - 1.0).abs() < 1e-8, "n = {n}");
    }
}
