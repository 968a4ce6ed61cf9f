//! Counters of open keys, saved and resumed.

use crate::common::open_keys::{bits, budget, builder, graded, key, name};
use evertally::{ErrorClass, KeyedCounter, Mechanism, NoiseKey, Plan, SparseCounter};

fn plan_of_open_keys(horizon: u64) -> Plan {
    builder(horizon, graded(6)).open_keys().build().unwrap()
}

#[test]
fn a_resumed_counter_continues_bit_for_bit() {
    let decayed = Plan::decay(25, 0.9).budget(budget()).mechanism(Mechanism::SquareRoot);
    for plan in [builder(25, graded(6)), builder(25, graded(None)), decayed] {
        let plan = plan.open_keys().build().unwrap();
        let act = |counter: &mut SparseCounter, t: usize| {
            (0..7).for_each(|key| counter.add(&name(key * t % 11), (key + t) as f64).unwrap());
            counter.close_step().unwrap();
            // Part of the next step, before the state is saved.
            if t < 24 {
                counter.add(&name(t % 3), 0.5).unwrap();
            }
            let names: Vec<String> =
                (0..12).filter(|key: &usize| (key + t).is_multiple_of(3)).map(name).collect();
            bits(&counter.release_each(names.iter().map(String::as_str)).unwrap())
        };
        let mut whole = SparseCounter::new(&plan, key()).unwrap();
        let all: Vec<_> = (0..25).map(|t| act(&mut whole, t)).collect();
        for cut in 0..=25 {
            let mut first = SparseCounter::new(&plan, key()).unwrap();
            (0..cut).for_each(|t| assert_eq!(act(&mut first, t), all[t]));
            let mut second = SparseCounter::resume(&plan, key(), &first.save()).unwrap();
            assert_eq!((second.steps_closed(), second.keys_held()), (cut as u64, first.keys_held()));
            assert_eq!(second.save(), first.save());
            (cut..25).for_each(|t| assert_eq!(act(&mut second, t), all[t], "cut at {cut}"));
            assert_eq!(second.save(), whole.save());
        }
    }
}

#[test]
fn a_state_of_another_plan_or_key_or_with_a_flipped_bit_is_refused() {
    let plan = plan_of_open_keys(10);
    let mut counter = SparseCounter::new(&plan, key()).unwrap();
    counter.add("a", 1.0).unwrap();
    counter.close_step().unwrap();
    counter.release_each(["a", "b"]).unwrap();
    counter.add("b", 1.0).unwrap();
    let state = counter.save();
    let refused = |plan: &Plan, seed, state: &[u8]| {
        let error = SparseCounter::resume(plan, NoiseKey::insecure_from_seed(seed), state).unwrap_err();
        assert_eq!(error.class(), ErrorClass::BadState, "{error}");
    };
    refused(&plan_of_open_keys(11), 42, &state);
    refused(&plan, 2, &state);
    (0..state.len()).for_each(|length| refused(&plan, 42, &state[..length]));
    for bit in 0..8 * state.len() {
        let mut flipped = state.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        refused(&plan, 42, &flipped);
    }
    // The state of a counter of another kind.
    let declared = builder(10, graded(6)).keys(["a", "b"]).build().unwrap();
    let declared = KeyedCounter::new(&declared, key()).unwrap();
    refused(&plan, 42, &declared.save());
    let error = KeyedCounter::resume(declared.plan(), key(), &state).unwrap_err();
    assert_eq!(error.class(), ErrorClass::BadState);
    assert!(SparseCounter::resume(&plan, key(), &state).is_ok());
}

/// Numbers with a valid hash that no counter could have saved.
#[test]
fn a_state_that_contradicts_itself_is_refused() {
    let plan = plan_of_open_keys(10);
    let mut counter = SparseCounter::new(&plan, key()).unwrap();
    counter.add("a", 1.0).unwrap();
    counter.add("b", 1.0).unwrap();
    let state = counter.save();
    let resealed = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut content = state[..state.len() - 32].to_vec();
        change(&mut content);
        content.extend(blake3_of(&content));
        SparseCounter::resume(&plan, key(), &content)
    };
    let head = 4 + 1 + 32 + 8 + 8;
    let (first, record) = (head + 8, 11 + 8 + 16);
    assert!(resealed(&|_| {}).is_ok());
    type Damage<'a> = &'a dyn Fn(&mut Vec<u8>);
    let bad: [(&str, Damage<'_>); 8] = [
        ("more keys than bytes", &|c| c[head + 7] = 0xff),
        ("one key twice", &|c| c.copy_within(first..first + 11, first + record)),
        ("noise of steps to come", &|c| c[first + 11] = 1),
        ("a total beyond the largest", &|c| c[first + 11 + 8 + 15] = 0x7f),
        ("an input for no key", &|c| c[first + 2 * record + 8] = 2),
        ("two inputs for one key", &|c| c[first + 2 * record + 8 + 20] = 0),
        ("an input beyond the largest", &|c| c[first + 2 * record + 8 + 4 + 15] = 0x7f),
        ("bytes left over", &|c| c.push(0)),
    ];
    for (what, change) in bad {
        let error = resealed(change).expect_err(what);
        assert_eq!(error.class(), ErrorClass::BadState, "{what}");
    }
}

fn blake3_of(content: &[u8]) -> [u8; 32] {
    *blake3::hash(content).as_bytes()
}
