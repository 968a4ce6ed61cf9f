//! Counters of 10⁵ keys hold as many bytes as their plans state, counted by the allocator.

#![allow(clippy::unwrap_used, reason = "a failed test is a failed test")]

use evertally::{
    Budget, DiscoveringCounter, KeyedCounter, Mechanism, NoiseKey, Plan, PlanBuilder, SparseCounter,
};
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

const KEYS: usize = 100_000;

/// Bytes that do not grow with the number of keys: grades, tables, buffers of a thread.
const FIXED: usize = 256 << 10;

fn builder(decays: Option<u64>) -> PlanBuilder {
    let budget = Budget::new(1.0, 1e-6).unwrap();
    Plan::prefix_sum(1 << 20).budget(budget).mechanism(Mechanism::GradedSquareRoot { decays })
}

fn name(key: usize) -> String {
    format!("key {key}")
}

fn key() -> NoiseKey {
    NoiseKey::insecure_from_seed(1)
}

/// Bytes that are held now and were not held before.
fn more_than(before: usize) -> usize {
    ALLOCATOR.current_usage().saturating_sub(before)
}

fn assert_held(what: &str, bytes: usize, stated: u64) {
    let a_key = bytes as f64 / KEYS as f64;
    assert!(bytes <= stated as usize * KEYS + FIXED, "{what}: {a_key:.2} bytes a key, stated {stated}");
    assert!(a_key > 0.9 * stated as f64, "{what}: {a_key:.2} bytes a key, stated {stated}");
    println!("{what}: {a_key:.2} bytes a key, stated {stated}");
}

/// This is one test, because the allocator counts what all threads allocate.
#[test]
fn counters_hold_what_their_plans_state() {
    for decays in [Some(6), None] {
        dense(decays);
        sparse(decays);
    }
    candidates();
}

/// Keys below the floor, of which most are in a file of searches.
fn candidates() {
    let discovery = Plan::discover(30).budget(Budget::new(1.0, 1e-6).unwrap()).build().unwrap();
    let stated = DiscoveringCounter::bytes_per_candidate();
    assert!(stated <= 64, "{stated}");
    let before = ALLOCATOR.current_usage();
    let mut counter = DiscoveringCounter::new(&discovery, key()).unwrap();
    for number in 0..KEYS {
        counter.add(&name(number), 1.0, 1).unwrap();
        if number % 1000 == 999 {
            assert!(more_than(before) <= stated as usize * (number + 1) + FIXED);
        }
    }
    assert_held(&format!("{KEYS} candidates"), more_than(before), stated);
    for _ in 0..3 {
        assert_eq!(counter.close_step().unwrap(), []);
    }
    assert_held(&format!("{KEYS} candidates after three steps"), more_than(before), stated);
}

fn dense(decays: Option<u64>) {
    let plan = builder(decays).keys((0..KEYS).map(name)).build().unwrap();
    let rows = plan.factorization().recipe().unwrap().rows() as u64;
    let stated = plan.cost().bytes_per_coordinate;
    // Integers, the row ahead, the total and the tag.
    assert!(stated <= 16 * rows + 16 + 16 + 12 + 8, "{stated}");
    let (inputs, mut out) = (vec![1.0; KEYS], vec![0.0; KEYS]);
    let before = ALLOCATOR.current_usage();
    let mut counter = KeyedCounter::new(&plan, key()).unwrap();
    counter.step_into(&inputs, &mut out).unwrap();
    assert_held(&format!("{KEYS} declared keys, {rows} numbers"), more_than(before), stated);
    // A step needs almost no additional memory.
    let held = ALLOCATOR.current_usage();
    ALLOCATOR.reset_peak_usage();
    (0..10).for_each(|_| {
        counter.step_into(&inputs, &mut out).unwrap();
    });
    let needed = ALLOCATOR.peak_usage() - held;
    assert!(needed < FIXED, "a step needs {needed} bytes");
    assert!(more_than(held) < 4096);
}

fn sparse(decays: Option<u64>) {
    let plan = builder(decays).open_keys().build().unwrap();
    let rows = plan.factorization().recipe().unwrap().rows();
    let stated = plan.cost().bytes_per_coordinate;
    if decays == Some(6) {
        assert!(stated <= 160, "{stated}");
    }
    let names: Vec<String> = (0..KEYS).map(name).collect();
    let mut out = vec![0.0; KEYS];
    let before = ALLOCATOR.current_usage();
    let mut counter = SparseCounter::new(&plan, key()).unwrap();
    // At any size, growth costs no more than the keys so far.
    for (count, name) in names.iter().enumerate() {
        counter.add(name, 1.0).unwrap();
        if count % 1000 == 999 {
            let most = (stated as usize + 16) * (count + 1) + FIXED;
            assert!(more_than(before) <= most, "{} bytes for {count} keys", more_than(before));
        }
    }
    let with_inputs = more_than(before);
    counter.close_step().unwrap();
    let what = format!("{KEYS} open keys, {rows} numbers");
    assert_held(&what, more_than(before), stated);
    assert_held(&format!("{what}, all in the open step"), with_inputs, stated + 16);
    for _ in 0..3 {
        counter.release_into(&names, &mut out).unwrap();
        counter.close_step().unwrap();
    }
    assert_held(&format!("{what}, released"), more_than(before), stated);
}
