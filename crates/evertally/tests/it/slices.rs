//! The noise of some coordinates is those columns of the full stream, bit for bit.

use std::ops::Range;

use crate::common::{budget_for, builder, key, mechanisms_and_workloads};
use evertally::internals::noise::Real;
use evertally::{Contribution, ErrorClass, Mechanism, NoiseStream, Plan, Workload};

const HORIZON: u64 = 19;

fn plan(mechanism: Mechanism, workload: Workload, dimension: usize) -> Plan {
    builder(workload, HORIZON)
        .mechanism(mechanism)
        .budget(budget_for(mechanism))
        .dimension(dimension)
        .contribution(Contribution::norm(1.0).unwrap())
        .build()
        .unwrap_or_else(|error| panic!("{mechanism} {workload}: {error}"))
}

/// All mechanisms except the one that has no noise for vectors.
fn mechanisms() -> impl Iterator<Item = (Mechanism, Workload)> {
    mechanisms_and_workloads().into_iter().filter(|(mechanism, _)| *mechanism != Mechanism::LaplaceTree)
}

fn bits<F: Real>(row: &[F]) -> Vec<u64> {
    row.iter().map(|value| value.to_f64().to_bits()).collect()
}

fn rest<F: Real>(stream: &mut NoiseStream<F>) -> Vec<Vec<u64>> {
    std::iter::from_fn(|| stream.next().ok().map(bits)).collect()
}

/// Compares a slice with the full stream: row by row, filled, saved and resumed, and sought in both
/// directions.
fn is_that_of_the_whole<F: Real>(plan: &Plan, whole: &[Vec<u64>], slice: Range<usize>) {
    let make = || NoiseStream::<F>::slice(plan, key(), slice.clone()).unwrap();
    let expected: Vec<Vec<u64>> = whole.iter().map(|row| row[slice.clone()].to_vec()).collect();
    let mut stream = make();
    assert_eq!(stream.coordinates(), slice);
    for step in [0, 3, 8, 9] {
        while stream.steps_taken() < step {
            stream.next().unwrap();
        }
        let state = stream.save();
        let mut resumed = NoiseStream::<F>::resume_slice(plan, key(), slice.clone(), &state).unwrap();
        assert_eq!(rest(&mut resumed), expected[step as usize..], "{plan:?}, {slice:?} from {step}");
        resumed.seek(step).unwrap();
        assert_eq!(rest(&mut resumed), expected[step as usize..], "{plan:?}, {slice:?} back to {step}");
    }
    let mut filled = vec![F::ZERO; slice.len() * HORIZON as usize];
    make().fill(&mut filled).unwrap();
    assert_eq!(bits(&filled), expected.concat(), "{plan:?}, {slice:?} at once");
    if slice.len() > 1 {
        assert!(make().fill(&mut filled[1..]).is_err(), "rows are as wide as the slice");
    }
}

fn every_slice<F: Real>(plan: &Plan, slices: impl IntoIterator<Item = Range<usize>>) {
    let whole = rest(&mut NoiseStream::<F>::new(plan, key()).unwrap());
    assert_eq!(whole.len() as u64, HORIZON);
    for slice in slices {
        is_that_of_the_whole::<F>(plan, &whole, slice);
    }
}

/// A single coordinate runs on another kernel, but one coordinate of several must not.
#[test]
fn slices_of_narrow_vectors_are_columns_of_the_whole() {
    for (mechanism, workload) in mechanisms() {
        for dimension in 1..=9 {
            let plan = plan(mechanism, workload, dimension);
            let slices = || [0..1, dimension - 1..dimension, dimension / 3..dimension, 0..dimension];
            every_slice::<f64>(&plan, slices());
            every_slice::<f32>(&plan, slices());
        }
    }
}

#[test]
fn slices_of_wide_vectors_are_columns_of_the_whole() {
    for (mechanism, workload) in mechanisms() {
        let plan = plan(mechanism, workload, 1000);
        every_slice::<f64>(&plan, [999..1000, 17..18, 250..507]);
        every_slice::<f32>(&plan, [0..1, 17..999]);
    }
}

/// Wider than a tile of the engine, and than the share of one thread.
#[test]
fn slices_that_cross_tiles_are_columns_of_the_whole() {
    let plan = plan(Mechanism::GradedSquareRoot { decays: None }, Workload::PrefixSum, 20_000);
    every_slice::<f32>(&plan, [1000..1050, 500..19_000]);
    every_slice::<f64>(&plan, [1023..1025, 19_999..20_000]);
}

#[test]
fn states_belong_to_their_slice() {
    for mechanism in [Mechanism::SquareRoot, Mechanism::Binary] {
        let plan = plan(mechanism, Workload::PrefixSum, 9);
        let state = |slice| NoiseStream::<f64>::slice(&plan, key(), slice).unwrap().save();
        let resume = |slice, state: &[u8]| NoiseStream::<f64>::resume_slice(&plan, key(), slice, state);
        assert!(resume(2..5, &state(2..5)).is_ok());
        for (slice, other) in [(2..5, 3..6), (2..5, 2..6), (2..5, 0..9), (0..9, 2..5)] {
            assert_eq!(resume(slice, &state(other)).unwrap_err().class(), ErrorClass::BadState);
        }
        assert!(NoiseStream::<f64>::resume(&plan, key(), &state(2..5)).is_err());
        assert!(NoiseStream::<f32>::resume_slice(&plan, key(), 2..5, &state(2..5)).is_err());
        // All coordinates together are the full stream.
        assert!(NoiseStream::<f64>::resume(&plan, key(), &state(0..9)).is_ok());
    }
}

#[test]
fn slices_that_cannot_be_are_refused() {
    let refused = |plan: &Plan, slice: Range<usize>| {
        let error = NoiseStream::<f64>::slice(plan, key(), slice.clone()).unwrap_err();
        let resumed = NoiseStream::<f64>::resume_slice(plan, key(), slice, &[]).unwrap_err();
        assert_eq!((error.class(), resumed), (ErrorClass::BadParameter, error));
    };
    let vector = plan(Mechanism::SquareRoot, Workload::PrefixSum, 9);
    #[expect(clippy::reversed_empty_ranges, reason = "that is what is refused")]
    for slice in [0..0, 9..9, 5..4, 8..10, 9..10, 0..usize::MAX, usize::MAX..usize::MAX] {
        refused(&vector, slice);
    }
    let other = || builder(Workload::PrefixSum, HORIZON).budget(budget_for(Mechanism::SquareRoot));
    for plan in [other(), other().keys(["a", "b"]), other().open_keys()] {
        refused(&plan.build().unwrap(), 0..1);
    }
}
