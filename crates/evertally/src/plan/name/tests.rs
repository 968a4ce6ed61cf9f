use super::*;
use crate::factorization::Mechanism;
use crate::plan::PlanBuilder;
use crate::privacy::{Budget, Calibration, Contribution, Neighbours, Participation};
use crate::workload::Workload;
use crate::{Arithmetic, Objective};

fn builder() -> PlanBuilder {
    Plan::prefix_sum(24).budget(Budget::new(0.5, 1e-6).unwrap())
}

fn built(builder: &PlanBuilder) -> Plan {
    builder.build().unwrap()
}

/// Plans that differ from each other in one choice each.
fn plans() -> Vec<Plan> {
    let tree = || builder().mechanism(Mechanism::Binary);
    let keys = |keys: &[&str]| builder().keys(keys.iter().copied());
    let split = |keys| Contribution::unit().split_between(keys).unwrap();
    let vector = |norm| builder().contribution(Contribution::norm(norm).unwrap());
    let budget = |budget: Budget| Plan::prefix_sum(24).budget(budget);
    let approximate = Budget::new(0.5, 1e-6).unwrap();
    [
        builder(),
        Plan::prefix_sum(25).budget(approximate),
        Plan::for_workload(24, Workload::SlidingWindow { width: 4 }).budget(approximate),
        Plan::for_workload(24, Workload::SlidingWindow { width: 5 }).budget(approximate),
        Plan::for_workload(24, Workload::Decay { factor: 0.5 }).budget(approximate),
        budget(Budget::new(0.25, 1e-6).unwrap()),
        budget(Budget::new(0.5, 1e-7).unwrap()),
        budget(approximate.with_calibration(Calibration::Zcdp).unwrap()),
        budget(approximate.with_calibration(Calibration::Paper).unwrap()),
        budget(Budget::zcdp(0.5).unwrap()),
        budget(Budget::pure(0.5).unwrap()),
        builder().neighbours(Neighbours::Replace),
        builder().participation(Participation::at_most(2, 1).unwrap()),
        builder().participation(Participation::at_most(2, 3).unwrap()),
        builder().contribution(Contribution::range(0.0, 2.0).unwrap()),
        builder().contribution(Contribution::range(-3.0, 1.0).unwrap()),
        builder().keys(["a", "b"]).contribution(split(2)),
        builder().keys(["a", "b"]).contribution(split(3)),
        builder().contribution(Contribution::range(-1.0, 3.0).unwrap()),
        builder().objective(Objective::Worst),
        tree(),
        tree().arithmetic(Arithmetic::Float),
        builder().mechanism(Mechanism::GradedSquareRoot { decays: Some(4) }),
        builder().mechanism(Mechanism::GradedSquareRoot { decays: Some(5) }),
        builder().mechanism(Mechanism::BandedSquareRoot { band: Some(4) }),
        builder().mechanism(Mechanism::BandedInverseSquareRoot { band: Some(4) }),
        builder().grid(2.0),
        builder().grid(3.0),
        vector(1.0).dimension(1),
        vector(1.0).dimension(2),
        vector(2.0).dimension(2),
        keys(&["north"]),
        keys(&["south"]),
        keys(&["north", "other"]),
        keys(&["north", "south", "other"]),
        keys(&["nort", "hother"]),
        builder().open_keys(),
        // The same mechanism: otherwise they would differ by it.
        builder().mechanism(Mechanism::Binary).participation(Participation::at_most(4, 1).unwrap()),
        builder().mechanism(Mechanism::Binary).participation(Participation::in_turn(4).unwrap()),
        builder().mechanism(Mechanism::Binary).participation(Participation::in_turn(6).unwrap()),
        builder().stream("visits"),
        builder().definition(*b"visits"),
        builder().stream("visits").definition(*b"visits"),
    ]
    .iter()
    .map(built)
    .collect()
}

#[test]
fn every_choice_is_in_the_name_and_in_every_label() {
    let plans = plans();
    let labels = |plan: &Plan| {
        let layouts = [Layout::Scalar, Layout::Vector(1), Layout::Vector(2), Layout::Keys];
        let purposes = [Purpose::Float, Purpose::Integer, Purpose::Singles, Purpose::Doubles];
        let all = layouts.into_iter().flat_map(|layout| purposes.map(|purpose| (purpose, layout)));
        all.map(|(purpose, layout)| plan.stream_label(purpose, layout)).collect::<Vec<_>>()
    };
    let mut seen = std::collections::HashMap::new();
    for (number, plan) in plans.iter().enumerate() {
        let name = plan.noise_name().as_bytes().to_vec();
        for text in labels(plan).into_iter().chain([name]) {
            let before = seen.insert(text, number);
            assert_eq!(before, None, "plans {before:?} and {number} share noise: {plan:?}");
        }
    }
}

#[test]
fn what_changes_nothing_that_is_counted_keeps_the_name() {
    let name = |builder: PlanBuilder| built(&builder).noise_name();
    let same = |a, b| assert_eq!(name(a), name(b));
    same(builder(), builder().memory_limit(1 << 20));
    same(builder().keys(["a", "b"]), builder().keys(["b", "a"]));
    let zero = |lo| builder().contribution(Contribution::range(lo, 1.0).unwrap());
    same(zero(0.0), zero(-0.0));
    // Naming what would be chosen changes nothing.
    same(builder(), builder().mechanism(built(&builder()).mechanism()));
    same(builder(), builder().grid(built(&builder()).grid().unwrap()));
    let whole = built(&builder().keys(["a", "b", "c"]));
    assert_eq!(whole.part(["b"]).unwrap().noise_name(), whole.noise_name());
    assert_ne!(whole.part(["b"]).unwrap().fingerprint(), whole.fingerprint());
    assert_ne!(whole.with_keys(["b"]).unwrap().noise_name(), whole.noise_name());
}

/// Releases depend on these bytes: they must never change.
#[test]
fn version_2_is_frozen() {
    let whole = builder().mechanism(Mechanism::Binary).grid(1.0);
    let plan = built(&whole.stream("visits").definition(*b"daily").keys(["a"]));
    let mut name = b"EVNN\x02".to_vec();
    let mut field = |number: u8, parts: &[&[u8]]| {
        let value = parts.concat();
        name.push(number);
        name.extend((value.len() as u64).to_le_bytes());
        name.extend(value);
    };
    field(1, &[&[0]]);
    field(2, &[&24_u64.to_le_bytes(), &[0]]);
    field(3, &[&[0], &0.5_f64.to_le_bytes(), &1e-6_f64.to_le_bytes(), &[0]]);
    field(4, &[&[0]]);
    field(5, &[&1_u64.to_le_bytes(), &1_u64.to_le_bytes()]);
    field(6, &[&[0], &0.0_f64.to_le_bytes(), &1.0_f64.to_le_bytes()]);
    field(7, &[&[0]]);
    field(8, &[&[2], &0_u64.to_le_bytes(), &[0]]);
    field(9, &[&[0], &1.0_f64.to_le_bytes()]);
    field(10, &[&[2]]);
    field(11, &[&keys_digest(&["a"])]);
    field(12, &[b"visits"]);
    field(13, &[b"daily"]);
    assert_eq!(plan.noise_name().as_bytes(), name);
    name.extend([32, 1, 0, 0, 0, 0, 0, 0, 0, 1, 33, 1, 0, 0, 0, 0, 0, 0, 0, 2]);
    assert_eq!(plan.stream_label(Purpose::Integer, Layout::Keys), name);
    assert_eq!(keys_digest(&["a"])[..8], KEYS_A);
    // A value that is split between two keys.
    let split = Contribution::unit().split_between(2).unwrap();
    let plan = built(&builder().mechanism(Mechanism::Binary).keys(["a"]).contribution(split));
    let (lo, hi) = (0.0_f64.to_le_bytes(), 1.0_f64.to_le_bytes());
    let field = [&[6], &25_u64.to_le_bytes()[..], &[2], &lo, &hi, &2_u64.to_le_bytes()].concat();
    assert!(plan.noise_name().as_bytes().windows(field.len()).any(|bytes| bytes == field));
}

const KEYS_A: [u8; 8] = [142, 137, 230, 56, 66, 89, 207, 225];

/// Noise of 0.1 depends on these texts: they must never change.
#[test]
fn version_1_is_frozen() {
    let first = |builder: PlanBuilder| built(&builder).with_first_noise_name();
    let tree = || builder().mechanism(Mechanism::Binary);
    let name = |builder| String::from_utf8(first(builder).noise_name().as_bytes().to_vec()).unwrap();
    assert_eq!(
        name(tree()),
        "evertally noise 1|prefix-sum|24|binary|(ε = 0.5, δ = 1e-6)-DP, exact Gaussian calibration|add-remove|\
         one step|a value in [0, 1]|mean||exact|0:"
    );
    let persons = tree().participation(Participation::at_most(4, 7).unwrap()).neighbours(Neighbours::Replace);
    assert_eq!(
        name(persons.stream("größe").arithmetic(Arithmetic::Float)),
        "evertally noise 1|prefix-sum|24|binary|(ε = 0.5, δ = 1e-6)-DP, exact Gaussian calibration|replace|\
         at most 4 steps, at least 7 apart|a value in [0, 1]|mean||float|7:größe"
    );
    let pure = Plan::prefix_sum(9).budget(Budget::pure(2.0).unwrap());
    assert_eq!(
        name(pure.contribution(Contribution::range(-1.5, 2e7).unwrap())),
        "evertally noise 1|prefix-sum|9|laplace-tree|(ε = 2)-DP, pure|add-remove|one step|\
         a value in [-1.5, 20000000]|mean||exact|0:"
    );
    let decay =
        Plan::decay(9, 0.25).budget(Budget::zcdp(1e-4).unwrap()).mechanism(Mechanism::InputPerturbation);
    let vector = decay.dimension(3).contribution(Contribution::norm(0.5).unwrap());
    assert_eq!(
        name(vector.clone()),
        "evertally noise 1|decay:0.25|9|input-perturbation|(ρ = 1e-4)-zCDP|add-remove|one step|\
         a vector of norm at most 0.5|mean||float|0:"
    );
    let plan = first(vector);
    let whole = String::from_utf8(plan.noise_name().as_bytes().to_vec()).unwrap();
    for (purpose, layout, end) in [
        (Purpose::Float, Layout::Scalar, "|scalar"),
        (Purpose::Integer, Layout::Keys, "|whole keys"),
        (Purpose::Singles, Layout::Vector(3), "|noise f32|vector 3"),
        (Purpose::Doubles, Layout::Vector(3), "|noise f64|vector 3"),
    ] {
        assert_eq!(plan.stream_label(purpose, layout), format!("{whole}{end}").into_bytes());
    }
}

/// Parts share their noise key by key, and each has its own inputs, so a record must distinguish
/// them.
#[test]
fn parts_are_recorded_apart_and_whole_plans_under_the_name_of_their_noise() {
    let whole = built(&builder().keys(["a", "b", "c"]));
    assert_eq!(whole.record_name(), whole.noise_name());
    assert_eq!(built(&builder().keys(["c", "a", "b"])).record_name(), whole.noise_name());
    let part = |keys: &[&str]| whole.part(keys.iter().copied()).unwrap();
    assert_eq!(part(&["a"]).noise_name(), whole.noise_name());
    let names = [part(&["a"]), part(&["b"]), part(&["a", "b"]), whole.clone()].map(|plan| plan.record_name());
    for (i, name) in names.iter().enumerate() {
        assert!(names[..i].iter().all(|other| other != name), "part {i}");
    }
    assert_eq!(part(&["b", "a"]).record_name(), names[2]);
    for plain in [built(&builder()), built(&builder().open_keys())] {
        assert_eq!(plain.record_name(), plain.noise_name());
    }
    // Names of 0.1 omit the keys.
    let first = |keys: &[&str]| built(&builder().keys(keys.iter().copied())).with_first_noise_name();
    assert_ne!(first(&["a"]).record_name(), first(&["b"]).record_name());
}
