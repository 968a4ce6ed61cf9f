//! A plan for keys, counted in parts: the releases are those of the full plan, bit for bit.

use crate::common::{budget_for, builder, key, mechanisms_and_workloads};
use evertally::{
    Arithmetic, Contribution, ErrorClass, KeyedCounter, Participation, Plan, SparseCounter, Workload,
};

fn names(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("key {number}")).collect()
}

fn input(step: u64, name: &str) -> f64 {
    ((step * 7 + name.len() as u64 * 3 + u64::from(name.as_bytes()[name.len() - 1])) % 13) as f64
}

/// The bits of all releases of a counter, step by step, through a state after every third step.
fn releases(plan: &Plan, names: &[String]) -> Vec<Vec<u64>> {
    let mut counter = KeyedCounter::new(plan, key()).unwrap();
    let mut out = vec![0.0; names.len()];
    (0..plan.horizon())
        .map(|step| {
            if step % 3 == 2 {
                counter = KeyedCounter::resume(plan, key(), &counter.save()).unwrap();
            }
            let inputs: Vec<f64> = names.iter().map(|name| input(step, name)).collect();
            counter.step_into(&inputs, &mut out).unwrap();
            out.iter().map(|value| value.to_bits()).collect()
        })
        .collect()
}

/// Splits the keys in turn, as a hash of their names would, and compares each part with the full
/// plan.
fn parts_are_the_whole(whole: &Plan, names: &[String]) {
    let expected = releases(whole, names);
    for parts in [1, 2, 7] {
        for part in 0..parts {
            let places: Vec<usize> = (part..names.len()).step_by(parts).rev().collect();
            let own: Vec<String> = places.iter().map(|&place| names[place].clone()).collect();
            let plan = whole.part(own.clone()).unwrap();
            assert_eq!((plan.noise_scale(), plan.grid()), (whole.noise_scale(), whole.grid()));
            assert_eq!(plan.spend(), whole.spend());
            for (step, (got, all)) in releases(&plan, &own).iter().zip(&expected).enumerate() {
                let want: Vec<u64> = places.iter().map(|&place| all[place]).collect();
                assert_eq!(*got, want, "{whole:?}, part {part} of {parts}, step {step}");
            }
        }
    }
}

#[test]
fn every_mechanism_and_workload_is_the_same_in_parts() {
    let names = names(9);
    for (mechanism, workload) in mechanisms_and_workloads() {
        for arithmetic in [Arithmetic::Exact, Arithmetic::Float] {
            let plan = builder(workload, 13)
                .mechanism(mechanism)
                .budget(budget_for(mechanism))
                .keys(names.clone())
                .arithmetic(arithmetic)
                .build();
            match plan {
                Ok(plan) => parts_are_the_whole(&plan, &names),
                // Not every mechanism has an exact path; all of them have a float path.
                Err(error) => {
                    assert_eq!((error.class(), arithmetic), (ErrorClass::Unsupported, Arithmetic::Exact));
                }
            }
        }
    }
}

/// Rows of more than 2^14 keys are made differently from shorter rows.
#[test]
fn very_many_keys_are_the_same_in_parts() {
    let names = names((1 << 14) + 500);
    for arithmetic in [Arithmetic::Exact, Arithmetic::Float] {
        let plan = Plan::prefix_sum(70)
            .budget(budget_for(evertally::Mechanism::SquareRoot))
            .participation(Participation::at_most(3, 2).unwrap())
            .contribution(Contribution::range(-1.0, 2.0).unwrap())
            .mechanism(evertally::Mechanism::GradedSquareRoot { decays: Some(3) })
            .keys(names.clone())
            .arithmetic(arithmetic)
            .stream("visits")
            .build()
            .unwrap();
        let few = 12;
        let part = plan.part(names[..few].to_vec()).unwrap();
        let mut counters = [&plan, &part].map(|plan| KeyedCounter::new(plan, key()).unwrap());
        for step in 0..19 {
            let inputs: Vec<f64> = names.iter().map(|name| input(step, name)).collect();
            let (mut all, mut some) = (vec![0.0; names.len()], vec![0.0; few]);
            counters[0].step_into(&inputs, &mut all).unwrap();
            counters[1].step_into(&inputs[..few], &mut some).unwrap();
            assert!(some.iter().zip(&all).all(|(some, all)| some.to_bits() == all.to_bits()), "step {step}");
        }
    }
}

#[test]
fn a_part_is_a_plan_of_its_own() {
    let build = |names: &[&str]| {
        builder(Workload::Decay { factor: 0.9 }, 20)
            .budget(budget_for(evertally::Mechanism::SquareRoot))
            .keys(names.iter().copied())
            .stream("visits")
            .build()
            .unwrap()
    };
    let whole = build(&["a", "b", "c"]);
    let part = whole.part(["c", "a"]).unwrap();
    assert_eq!(part.stream_name(), "visits");
    // It has the noise of the full plan, which a plan that declares only those keys does not have.
    assert_eq!(part.noise_name(), whole.noise_name());
    assert_ne!(part.fingerprint(), build(&["c", "a"]).fingerprint());
    assert_eq!(part.with_keys(["c", "a"]).unwrap().fingerprint(), build(&["c", "a"]).fingerprint());
    let others = [whole.clone(), whole.part(["a", "c"]).unwrap(), whole.part(["c"]).unwrap()];
    assert!(others.iter().all(|other| other.fingerprint() != part.fingerprint()));
    assert_eq!(whole.part(["a", "b", "c"]).unwrap().fingerprint(), whole.fingerprint());
    let state = KeyedCounter::new(&part, key()).unwrap().save();
    assert!(KeyedCounter::resume(&part, key(), &state).is_ok());
    for other in &others {
        assert_eq!(KeyedCounter::resume(other, key(), &state).unwrap_err().class(), ErrorClass::BadState);
    }
    // A plan of the spec has the noise of the part. The spec of a part held its keys alone, and their
    // plan had independent noise for the same data.
    for part in [&part, &part.part(["b"]).unwrap()] {
        assert_eq!(part.spec(), whole.spec());
        assert_eq!(part.spec().build().unwrap().noise_name(), part.noise_name());
    }
    assert_eq!(part.with_keys(["c", "a"]).unwrap().spec(), build(&["c", "a"]).spec());
    // Keys that were not declared before work like any others.
    assert!(part.part(["d"]).unwrap().part(["a", "b", "c"]).is_ok());
}

/// Declaring keys that were left open does not change their noise.
#[test]
fn open_keys_can_be_declared() {
    let open = builder(Workload::PrefixSum, 20)
        .budget(budget_for(evertally::Mechanism::GradedSquareRoot { decays: None }))
        .open_keys();
    let open = open.build().unwrap();
    let mut declared = KeyedCounter::new(&open.part(["a", "b"]).unwrap(), key()).unwrap();
    let mut sparse = SparseCounter::new(&open, key()).unwrap();
    for step in 0..20 {
        sparse.add("b", f64::from(step % 3)).unwrap();
        sparse.close_step().unwrap();
        let releases = declared.step(&[0.0, f64::from(step % 3)]).unwrap();
        assert_eq!(releases, [sparse.release("a").unwrap(), sparse.release("b").unwrap()]);
    }
}

#[test]
fn keys_and_plans_that_cannot_be_are_refused() {
    let builder = || builder(Workload::PrefixSum, 20).budget(budget_for(evertally::Mechanism::SquareRoot));
    let whole = builder().keys(["a", "b"]).build().unwrap();
    let refused = |plan: &Plan, keys: &[&str]| plan.part(keys.iter().copied()).unwrap_err();
    for keys in [&[][..], &["a", "b", "a"]] {
        let by_builder = builder().keys(keys.iter().copied()).build().unwrap_err();
        assert_eq!(refused(&whole, keys), by_builder);
    }
    let vector = builder().dimension(2).contribution(Contribution::norm(1.0).unwrap());
    for other in [builder(), vector] {
        let error = refused(&other.build().unwrap(), &["a"]);
        assert_eq!(error.class(), ErrorClass::BadParameter);
        assert!(error.to_string().contains("one for keys"), "{error}");
    }
}

#[test]
fn the_limit_on_memory_holds_for_the_part() {
    let whole = builder(Workload::SlidingWindow { width: 5 }, 20)
        .budget(budget_for(evertally::Mechanism::SquareRoot))
        .keys(names(100))
        .memory_limit(50_000)
        .build()
        .unwrap();
    let cost = whole.cost();
    let most = ((50_000 - cost.shared_bytes) / cost.bytes_per_coordinate) as usize;
    assert!(whole.part(names(most)).is_ok());
    let error = whole.part(names(most + 1)).unwrap_err();
    assert_eq!(error.class(), ErrorClass::Unsupported);
    assert!(error.to_string().contains("50000"), "{error}");
}
