//! Counters of very many keys: declared keys, released at every step, and open keys, released on
//! demand.
//!
//! Each is the oracle of the other. A key's releases must have the same bits in either counter, at
//! any time, and with any other keys.

use std::collections::HashMap;

use crate::common::open_keys::{bits, budget, builder, graded, key, name};
use evertally::{
    Budget, Contribution, Error, ErrorClass, KeyedCounter, Mechanism, Plan, PlanBuilder, Release,
    SparseCounter, Workload,
};
use proptest::prelude::*;

fn open(plan: &PlanBuilder) -> SparseCounter {
    SparseCounter::new(&plan.clone().open_keys().build().unwrap(), key()).unwrap()
}

/// A counter of some keys of the same open plan. It releases all of them at every step.
fn declared(plan: &PlanBuilder, keys: usize) -> KeyedCounter {
    let open = plan.clone().open_keys().build().unwrap();
    KeyedCounter::new(&open.part((0..keys).map(name)).unwrap(), key()).unwrap()
}

/// The events of a step: amounts that are added, and keys that are released after it.
type Step = (Vec<(usize, f64)>, Vec<usize>);

fn schedule(keys: usize, steps: usize) -> impl Strategy<Value = Vec<Step>> {
    let add = (0..keys, prop_oneof![Just(1.0), Just(0.0), -5.0..5.0_f64]);
    let step = (prop::collection::vec(add, 0..8), prop::collection::vec(0..keys, 0..6));
    prop::collection::vec(step, 1..=steps).prop_map(|mut steps| {
        for (adds, released) in &mut steps {
            // One amount per key and step, because a declared key takes sums of floats. A key is
            // released once.
            let mut seen = Vec::new();
            adds.retain(|(key, _)| {
                !seen.contains(key) && {
                    seen.push(*key);
                    true
                }
            });
            let mut seen = Vec::new();
            released.retain(|key| {
                !seen.contains(key) && {
                    seen.push(*key);
                    true
                }
            });
        }
        steps
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The oracle: any schedule of additions and releases, with the counter saved and resumed in
    /// between.
    #[test]
    fn releases_are_those_of_declared_keys(
        steps in schedule(10, 30),
        decays in prop::option::of(1_u64..10),
        factor in prop::option::of(0.01..0.9999_f64),
        resumed_every in 1_usize..6,
    ) {
        let plan = match factor {
            Some(factor) => Plan::decay(30, factor).budget(budget()).mechanism(Mechanism::SquareRoot),
            None => builder(30, graded(decays)),
        };
        let (mut dense, mut sparse) = (declared(&plan, 10), open(&plan));
        for (t, (adds, released)) in steps.iter().enumerate() {
            let mut inputs = [0.0; 10];
            for (key, amount) in adds {
                inputs[*key] = *amount;
                sparse.add(&name(*key), *amount).unwrap();
            }
            if t % resumed_every == 0 {
                sparse = SparseCounter::resume(sparse.plan(), key(), &sparse.save()).unwrap();
            }
            prop_assert_eq!(sparse.close_step().unwrap(), t as u64);
            let all = dense.step(&inputs).unwrap();
            let names: Vec<String> = released.iter().map(|key| name(*key)).collect();
            let got = sparse.release_each(names.iter().map(String::as_str)).unwrap();
            let want: Vec<Release> = released.iter().map(|key| all[*key]).collect();
            prop_assert_eq!(bits(&got), bits(&want));
        }
    }
}

/// A key that is first seen late has the same noise as one that was always there, even if it
/// appears in one step with keys at many other steps.
#[test]
fn a_key_that_comes_late_was_always_there() {
    let decayed = Plan::decay(3000, 0.99).budget(budget()).mechanism(Mechanism::SquareRoot);
    for plan in [builder(3000, graded(6)), builder(3000, graded(None)), decayed] {
        let (mut dense, mut sparse) = (declared(&plan, 40), open(&plan));
        for t in 0..3000_u64 {
            let inputs: Vec<f64> = (0..40).map(|key| f64::from(u8::from((t + key) % 7 == 0))).collect();
            for (key, x) in inputs.iter().enumerate() {
                sparse.add(&name(key), *x).unwrap();
            }
            sparse.close_step().unwrap();
            let all = dense.step(&inputs).unwrap();
            // Key k at every k-th step, and those above 30 at step 1000 for the first time.
            let due = |key: usize| {
                t % (key as u64 * key as u64 + 1) == 0 && key < 30 || (key >= 30 && t >= 1000 && t % 100 == 0)
            };
            let names: Vec<(usize, String)> =
                (0..40).filter(|key| due(*key)).map(|key| (key, name(key))).collect();
            let got = sparse.release_each(names.iter().map(|(_, name)| name.as_str())).unwrap();
            let want: Vec<Release> = names.iter().map(|(key, _)| all[*key]).collect();
            assert_eq!(bits(&got), bits(&want), "step {t}");
        }
    }
}

/// Several additions to a key in one step are added up exactly.
#[test]
fn additions_of_a_step_are_added_up() {
    let plan = builder(3, graded(6));
    let (mut dense, mut sparse) = (declared(&plan, 1), open(&plan));
    for _ in 0..3 {
        for amount in [3.0, 0.25, 5.0, -0.125, 100.0] {
            sparse.add(&name(0), amount).unwrap();
        }
        sparse.close_step().unwrap();
        let want = dense.step(&[108.125]).unwrap();
        assert_eq!(bits(&[sparse.release(&name(0)).unwrap()]), bits(&want));
    }
}

/// The content of the open step does not show in the release of the step before.
#[test]
fn a_release_is_that_of_the_closed_step() {
    let plan = builder(10, graded(6));
    let (mut early, mut late) = (open(&plan), open(&plan));
    for t in 0..10 {
        for counter in [&mut early, &mut late] {
            counter.add("a", 2.0).unwrap();
            counter.close_step().unwrap();
        }
        let want = early.release("a").unwrap();
        if t < 9 {
            early.add("a", 5.0).unwrap();
            late.add("a", 5.0).unwrap();
        }
        assert_eq!(bits(&[late.release("a").unwrap()]), bits(&[want]));
    }
}

#[test]
fn threads_do_not_matter() {
    let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let keys = 20_000;
    let plan = builder(5, graded(6)).keys((0..keys).map(name)).build().unwrap();
    let dense = || {
        let mut counter = KeyedCounter::new(&plan, key()).unwrap();
        let mut out = vec![0.0; keys];
        (0..5)
            .flat_map(|t| {
                let inputs: Vec<f64> = (0..keys).map(|key| ((key + t) % 13) as f64).collect();
                counter.step_into(&inputs, &mut out).unwrap();
                out.iter().map(|value| value.to_bits()).collect::<Vec<_>>()
            })
            .collect::<Vec<_>>()
    };
    let one = pool(1).install(dense);
    assert_eq!(one, pool(2).install(dense));
    assert_eq!(one, pool(7).install(dense));

    let plan = plan_of_open_keys(100);
    let names: Vec<String> = (0..2000).map(name).collect();
    let sparse = || {
        let mut counter = SparseCounter::new(&plan, key()).unwrap();
        let mut all = Vec::new();
        for t in 0..20 {
            names.iter().skip(t).step_by(3).for_each(|name| counter.add(name, 1.5).unwrap());
            counter.close_step().unwrap();
            let due: Vec<&str> = names.iter().skip(t % 5).step_by(1 + t % 4).map(String::as_str).collect();
            let mut out = vec![0.0; due.len()];
            counter.release_into(&due, &mut out).unwrap();
            all.extend(out.iter().map(|value| value.to_bits()));
        }
        (all, counter.save())
    };
    let one = pool(1).install(sparse);
    assert_eq!(one, pool(2).install(sparse));
    assert_eq!(one, pool(7).install(sparse));
}

fn plan_of_open_keys(horizon: u64) -> Plan {
    builder(horizon, graded(6)).open_keys().build().unwrap()
}

/// Beyond 2^14 keys, rows are made straight into the caller's memory. The releases of a key stay
/// the same.
#[test]
fn a_large_family_releases_what_a_small_one_does() {
    let plan = builder(20, graded(6));
    let (mut few, mut many) = (declared(&plan, 3), declared(&plan, 17_000));
    let mut out = vec![0.0; 17_000];
    for t in 0..20 {
        let want = few.step(&[f64::from(t), 2.0, 0.5]).unwrap();
        let mut inputs = vec![7.0; 17_000];
        inputs[..3].copy_from_slice(&[f64::from(t), 2.0, 0.5]);
        let spread = many.step_into(&inputs, &mut out).unwrap();
        let got: Vec<Release> = out[..3].iter().map(|value| spread.around(*value)).collect();
        assert_eq!(bits(&got), bits(&want));
        if t == 11 {
            many = KeyedCounter::resume(many.plan(), key(), &many.save()).unwrap();
        }
    }
}

#[test]
fn a_refused_step_of_many_keys_changes_nothing() {
    let keys = 20_000;
    let plan = builder(6, graded(6));
    let (mut clean, mut dirty) = (declared(&plan, keys), declared(&plan, keys));
    let (mut want, mut got) = (vec![0.0; keys], vec![0.0; keys]);
    for t in 0..6 {
        let inputs: Vec<f64> = (0..keys).map(|key| ((key * 3 + t) % 5) as f64).collect();
        clean.step_into(&inputs, &mut want).unwrap();
        for (lane, bad) in [(0, f64::NAN), (keys - 1, f64::INFINITY), (keys / 2, 1e30), (5000, -1e300)] {
            let mut bad_inputs = inputs.clone();
            bad_inputs[lane] = bad;
            let mut untouched = vec![7.5; keys];
            let error = dirty.step_into(&bad_inputs, &mut untouched).unwrap_err();
            assert!(matches!(error, Error::BadInput { step, .. } if step == t as u64), "{error}");
            assert!(untouched.iter().all(|value| *value == 7.5));
        }
        assert!(dirty.step_into(&inputs[1..], &mut got).is_err());
        assert!(dirty.step_into(&inputs, &mut got[1..]).is_err());
        dirty.step_into(&inputs, &mut got).unwrap();
        assert_eq!(got, want);
    }
    assert_eq!(dirty.step_into(&want.clone(), &mut got).unwrap_err(), Error::HorizonSpent { horizon: 6 });
}

#[test]
fn a_refusal_of_open_keys_changes_nothing() {
    let plan = plan_of_open_keys(4);
    let fresh = || SparseCounter::new(&plan, key()).unwrap();
    let (mut clean, mut dirty) = (fresh(), fresh());
    let refused =
        |counter: &mut SparseCounter, what: &str, act: &mut dyn FnMut(&mut SparseCounter) -> Error| {
            let before = counter.save();
            let error = act(counter);
            assert_eq!(counter.save(), before, "{what}");
            error
        };
    for t in 0..4 {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e30, -1e300] {
            for name in ["a", "never seen"] {
                let error = refused(&mut dirty, "add", &mut |c| c.add(name, bad).unwrap_err());
                assert!(matches!(error, Error::BadInput { step, .. } if step == t), "{error}");
            }
        }
        if t == 0 {
            let error = refused(&mut dirty, "release", &mut |c| c.release("a").unwrap_err());
            assert_eq!(error.class(), ErrorClass::BadParameter);
        }
        for counter in [&mut clean, &mut dirty] {
            counter.add("a", 1.0).unwrap();
            counter.close_step().unwrap();
        }
        let want = clean.release_each(["a", "b"]).unwrap();
        let twice = |c: &mut SparseCounter, keys: &[&str]| {
            let error = c.release_each(keys.iter().copied()).unwrap_err();
            assert!(error.to_string().contains("remember the release"), "{error}");
            assert!(!error.to_string().contains("key a"), "{error}");
            error
        };
        // Twice in one call, for known and for new keys.
        refused(&mut dirty, "known twice", &mut |c| twice(c, &["b", "a", "x", "a"]));
        refused(&mut dirty, "new twice", &mut |c| twice(c, &["b", "new", "a", "new"]));
        assert!(dirty.release_into(&["a", "b"], &mut [0.0]).is_err());
        assert_eq!(bits(&dirty.release_each(["a", "b"]).unwrap()), bits(&want));
        refused(&mut dirty, "again", &mut |c| twice(c, &["c", "a"]));
        refused(&mut dirty, "again", &mut |c| twice(c, &["b"]));
    }
    // After the last step nothing can be added, but unreleased keys can still be released.
    let spent = Error::HorizonSpent { horizon: 4 };
    assert_eq!(refused(&mut dirty, "add", &mut |c| c.add("a", 1.0).unwrap_err()), spent);
    assert_eq!(refused(&mut dirty, "close", &mut |c| c.close_step().unwrap_err()), spent);
    assert_eq!(bits(&[clean.release("c").unwrap()]), bits(&[dirty.release("c").unwrap()]));
    assert_eq!(dirty.steps_closed(), 4);
}

/// Totals near the largest countable one: an addition with which the step could not be closed is
/// refused at once.
#[test]
fn totals_too_large_are_refused_when_they_are_added() {
    let mut counter = SparseCounter::new(&plan_of_open_keys(10), key()).unwrap();
    let is_counted = |x: f64| SparseCounter::new(&plan_of_open_keys(10), key()).unwrap().add("a", x).is_ok();
    let most = (0..200).map(|power| 2.0_f64.powi(power)).take_while(|x| is_counted(*x)).last().unwrap();
    assert!(most > 1e20);
    counter.add("a", most).unwrap();
    assert!(counter.add("a", 1.0).is_err());
    counter.close_step().unwrap();
    assert!(counter.add("a", most).is_err());
    counter.add("a", -most).unwrap();
    assert!(counter.add("a", -most).is_err(), "an input too large by itself");
    counter.close_step().unwrap();
    counter.add("a", -most).unwrap();
    assert!(counter.add("a", -1.0).is_err());
    counter.close_step().unwrap();
    assert!(counter.release("a").unwrap().value < -0.99 * most);
}

#[test]
fn plans_that_cannot_have_open_keys_say_why() {
    let refused = |plan: PlanBuilder, class: ErrorClass, word: &str| {
        let error = plan.open_keys().build().expect_err(word);
        assert_eq!(error.class(), class, "{error}");
        assert!(error.to_string().contains(word), "'{error}' does not mention {word}");
    };
    for mechanism in Mechanism::ALL {
        let streams =
            builder(50, mechanism).build().is_ok_and(|plan| plan.factorization().recipe().is_some());
        if !streams && mechanism != Mechanism::LaplaceTree {
            refused(builder(50, mechanism), ErrorClass::Unsupported, "graded-square-root");
        }
    }
    refused(Plan::sliding_window(50, 5).budget(budget()), ErrorClass::Unsupported, "window");
    refused(Plan::prefix_sum(50).budget(Budget::pure(1.0).unwrap()), ErrorClass::Unsupported, "open keys");
    let norm = Contribution::norm(1.0).unwrap();
    refused(
        Plan::prefix_sum(50).budget(budget()).contribution(norm),
        ErrorClass::BadParameter,
        "contribution",
    );
    // The default streams, at short horizons too.
    let bounded = [1, 2, 10, 64, 65, 1000, 1 << 30]
        .map(|horizon| [Plan::prefix_sum(horizon), Plan::decay(horizon, 0.9)]);
    let unbounded = [Workload::PrefixSum, Workload::Decay { factor: 0.99 }].map(Plan::unbounded);
    for plan in bounded.into_iter().flatten().chain(unbounded) {
        let plan = plan.budget(budget()).open_keys().build().unwrap();
        let mut counter = SparseCounter::new(&plan, key()).unwrap();
        counter.close_step().unwrap();
        assert!(counter.release("a").is_ok());
    }
    let declared = builder(10, graded(6)).keys(["a"]).build().unwrap();
    assert!(SparseCounter::new(&declared, key()).is_err());
    let open = plan_of_open_keys(10);
    assert!(KeyedCounter::new(&open, key()).is_err());
    assert!(evertally::NoiseStream::<f64>::new(&open, key()).is_err());
}

#[test]
fn the_memory_limit_holds_at_the_last_key_that_fits() {
    let plan = builder(10, graded(6)).open_keys();
    let cost = plan.build().unwrap().cost();
    let limit = cost.bytes(100);
    let mut counter = SparseCounter::new(&plan.memory_limit(limit).build().unwrap(), key()).unwrap();
    (0..100).for_each(|key| counter.add(&name(key), 1.0).unwrap());
    counter.close_step().unwrap();
    for error in [counter.add("one more", 1.0).unwrap_err(), counter.release("one more").unwrap_err()] {
        assert!(matches!(error, Error::TooCostly { .. }), "{error}");
        assert!(error.to_string().contains("memory limit"));
    }
    counter.add(&name(5), 1.0).unwrap();
    counter.release(&name(99)).unwrap();
    assert_eq!(counter.keys_held(), 100);
}

#[test]
fn a_key_costs_nothing_until_it_is_used() {
    let mut counter = SparseCounter::new(&plan_of_open_keys(10), key()).unwrap();
    counter.add("a", 0.0).unwrap();
    counter.close_step().unwrap();
    assert_eq!(counter.keys_held(), 0);
    counter.release("b").unwrap();
    counter.add("a", 1.0).unwrap();
    assert_eq!(counter.keys_held(), 2);
}

#[test]
fn nothing_secret_is_in_debug_output() {
    let mut counter = SparseCounter::new(&plan_of_open_keys(10), key()).unwrap();
    counter.add("someone", 123_456.0).unwrap();
    counter.close_step().unwrap();
    let text = format!("{counter:?}");
    let hidden = ["123456", "someone", "total", "keys_held", "noise:"];
    assert!(hidden.iter().all(|word| !text.contains(word)), "{text}");
    assert!(text.contains("steps_closed: 1"), "{text}");
}

/// Many keys, so that chains are long and there are many pages. Every key keeps its own total.
#[test]
fn totals_do_not_mix() {
    let mut counter = SparseCounter::new(&plan_of_open_keys(2), key()).unwrap();
    let mut plain = HashMap::new();
    for i in 0..30_000_usize {
        let (name, amount) = (name(i * i % 7919), (i % 17) as f64 * 1e9);
        counter.add(&name, amount).unwrap();
        *plain.entry(name).or_insert(0.0) += amount;
    }
    counter.close_step().unwrap();
    let names: Vec<&str> = plain.keys().map(String::as_str).collect();
    for (name, release) in names.iter().zip(counter.release_each(names.iter().copied()).unwrap()) {
        assert!((release.value - plain[*name]).abs() < 10.0 * release.standard_error, "{name}");
    }
}
