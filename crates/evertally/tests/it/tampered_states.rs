//! Saved states whose numbers were changed by somebody who can recompute the hash.
//!
//! Each of these was once accepted. A number that is not finite spread through a lane and spoilt
//! all its later releases. A number that is too large overflowed some steps later.

use crate::common::{budget_for, key, mechanisms_and_workloads};
use evertally::{
    Arithmetic, Budget, Contribution, Counter, Error, ErrorClass, Mechanism, NoiseStream, Plan, SparseCounter,
};

/// Bytes of a state before its numbers: magic, version, fingerprint, tag and step.
const HEAD: usize = 4 + 1 + 32 + 8 + 8;

fn number_at(state: &[u8], at: usize) -> usize {
    u64::from_le_bytes(state[at..at + 8].try_into().unwrap()) as usize
}

/// The positions of the words of the noise's state.
fn noise_words(state: &[u8]) -> Vec<usize> {
    let totals = number_at(state, HEAD);
    let noise = HEAD + 8 + 16 * totals;
    (0..number_at(state, noise)).map(|i| noise + 8 + 8 * i).collect()
}

/// The state with other bytes at one position, and a hash that fits.
fn changed(state: &[u8], at: usize, bytes: &[u8]) -> Vec<u8> {
    let mut state = state[..state.len() - 32].to_vec();
    state[at..at + bytes.len()].copy_from_slice(bytes);
    let hash = blake3::hash(&state);
    state.extend(hash.as_bytes());
    state
}

#[track_caller]
fn refused<T>(resumed: Result<T, Error>) {
    let refusal = resumed.err().map(|error| error.class());
    assert_eq!(refusal, Some(ErrorClass::BadState));
}

const NOT_FINITE: [f64; 3] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY];

#[test]
fn noise_that_is_not_finite_is_refused() {
    let mut changes = 0;
    for (mechanism, workload) in mechanisms_and_workloads() {
        let plan = Plan::for_workload(20, workload).mechanism(mechanism).budget(budget_for(mechanism));
        let plan = plan.arithmetic(Arithmetic::Float).build().unwrap();
        let mut counter = Counter::new(&plan, key()).unwrap();
        let mut stream = NoiseStream::<f64>::new(&plan, key()).unwrap();
        let mut singles = NoiseStream::<f32>::new(&plan, key()).unwrap();
        for _ in 0..9 {
            counter.step(1.0).unwrap();
            stream.next().unwrap();
            singles.next().unwrap();
        }
        let (counter, stream, singles) = (counter.save(), stream.save(), singles.save());
        for bad in NOT_FINITE.map(f64::to_le_bytes) {
            for at in noise_words(&counter) {
                refused(Counter::resume(&plan, key(), &changed(&counter, at, &bad)));
                changes += 1;
            }
            for at in noise_words(&stream) {
                refused(NoiseStream::<f64>::resume(&plan, key(), &changed(&stream, at, &bad)));
            }
        }
        // Finite, but not in single precision.
        for at in noise_words(&singles)
            .into_iter()
            .filter(|_| mechanism == Mechanism::GradedSquareRoot { decays: None })
        {
            refused(NoiseStream::<f32>::resume(
                &plan,
                key(),
                &changed(&singles, at, &1e300_f64.to_le_bytes()),
            ));
        }
    }
    assert!(changes > 500);
}

#[test]
fn whole_noise_that_no_lane_holds_is_refused() {
    let mut changes = 0;
    for (mechanism, workload) in mechanisms_and_workloads() {
        let plan = Plan::for_workload(20, workload).mechanism(mechanism).budget(budget_for(mechanism));
        let Ok(plan) = plan.arithmetic(Arithmetic::Exact).build() else { continue };
        let mut counter = Counter::new(&plan, key()).unwrap();
        for _ in 0..9 {
            counter.step(1.0).unwrap();
        }
        let state = counter.save();
        for at in noise_words(&state).into_iter().step_by(2) {
            for bad in [i128::MAX, i128::MIN, 1 << 126, -(1 << 121)] {
                refused(Counter::resume(&plan, key(), &changed(&state, at, &bad.to_le_bytes())));
                changes += 1;
            }
        }
    }
    assert!(changes > 100);
}

#[test]
fn open_keys_are_held_to_the_same() {
    for arithmetic in [Arithmetic::Exact, Arithmetic::Float] {
        let plan = Plan::prefix_sum(20)
            .budget(Budget::new(1.0, 1e-6).unwrap())
            .open_keys()
            .arithmetic(arithmetic)
            .build()
            .unwrap();
        let mut counter = SparseCounter::new(&plan, key()).unwrap();
        counter.add("a", 1.0).unwrap();
        counter.close_step().unwrap();
        counter.release("a").unwrap();
        let state = counter.save();
        // The number of keys, then the tag, the steps made and the total of the only key.
        let lane = HEAD + 8 + 11 + 8 + 16;
        let bad = match arithmetic {
            Arithmetic::Exact => (1_i128 << 121).to_le_bytes().to_vec(),
            Arithmetic::Float => f64::NAN.to_le_bytes().to_vec(),
        };
        let step = bad.len();
        let words = (lane..state.len() - 32 - 8).step_by(step).filter(|at| at + step <= state.len() - 40);
        assert!(
            words.map(|at| refused(SparseCounter::resume(&plan, key(), &changed(&state, at, &bad)))).count()
                > 3
        );
        assert!(SparseCounter::resume(&plan, key(), &state).is_ok());
    }
}

/// A window's sums are recomputed at a certain count of steps. A forged count overflowed.
#[test]
fn what_follows_from_the_step_must_follow_from_it() {
    let plan = Plan::sliding_window(20, 4)
        .mechanism(Mechanism::InputPerturbation)
        .budget(Budget::new(1.0, 1e-6).unwrap());
    let plan = plan.arithmetic(Arithmetic::Float).build().unwrap();
    let mut counter = Counter::new(&plan, key()).unwrap();
    for _ in 0..6 {
        counter.step(1.0).unwrap();
    }
    let state = counter.save();
    let words = noise_words(&state);
    for wrong in [-1.0, 0.5, 3.0, 4.0, 1e300, u64::MAX as f64] {
        for at in &words[1..3] {
            if f64::from_le_bytes(state[*at..*at + 8].try_into().unwrap()) != wrong {
                refused(Counter::resume(&plan, key(), &changed(&state, *at, &wrong.to_le_bytes())));
            }
        }
    }
}

#[test]
fn remembered_releases_are_numbers() {
    let plan = Plan::prefix_sum(3)
        .budget(Budget::new(1.0, 1e-6).unwrap())
        .contribution(Contribution::unit())
        .build()
        .unwrap();
    let mut counter = Counter::new(&plan, key()).unwrap().remember_releases().unwrap();
    counter.step(1.0).unwrap();
    let state = counter.save();
    let last = state.len() - 32 - 8;
    for bad in NOT_FINITE {
        refused(Counter::resume(&plan, key(), &changed(&state, last, &bad.to_le_bytes())));
    }
    // Whether any are remembered is yes or no.
    refused(Counter::resume(&plan, key(), &changed(&state, last - 9, &[2])));
    assert!(Counter::resume(&plan, key(), &changed(&state, last, &5.0_f64.to_le_bytes())).is_ok());
}
