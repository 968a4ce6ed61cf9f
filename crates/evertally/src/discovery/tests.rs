use super::*;
use crate::counter::SparseCounter;
use crate::noise::NoiseKey;
use crate::privacy::{Contribution, Participation};
use crate::{Arithmetic, Budget, ErrorClass};
use proptest::prelude::*;
use std::collections::{BTreeMap, HashMap};

mod probability;
mod saved;

fn key(seed: u64) -> NoiseKey {
    NoiseKey::insecure_from_seed(seed)
}

fn builder(horizon: u64) -> DiscoveryBuilder {
    Plan::discover(horizon).budget(Budget::new(1.0, 0.02).unwrap()).key_delta(0.015)
}

/// What happens to one key in one step: its amount and its new persons.
type Inputs = Vec<BTreeMap<String, (f64, u64)>>;

/// A key, when it appeared, and its released total.
type Row = (String, u64, f64);

/// The definition, step by step: every key of the universe has both counts, and both are released at every
/// step. Keys that have not appeared are then left out.
fn obvious(discovery: &Discovery, universe: &[String], inputs: &Inputs) -> Vec<Vec<Row>> {
    let mut persons = SparseCounter::new(discovery.persons(), key(3)).unwrap();
    let mut totals = SparseCounter::new(discovery.totals(), key(3)).unwrap();
    let mut held: HashMap<&str, u64> = HashMap::new();
    let mut since: BTreeMap<(u64, &str), usize> = BTreeMap::new();
    let mut released = Vec::new();
    for (step, input) in inputs.iter().enumerate() {
        for (name, (amount, new)) in input {
            persons.add(name, *new as f64).unwrap();
            totals.add(name, *amount).unwrap();
            *held.entry(name).or_default() += new;
        }
        persons.close_step().unwrap();
        totals.close_step().unwrap();
        let counts = persons.release_each(universe.iter().map(String::as_str)).unwrap();
        let sums = totals.release_each(universe.iter().map(String::as_str)).unwrap();
        let threshold = discovery.threshold(step as u64).unwrap();
        for (place, name) in universe.iter().enumerate() {
            let may = held.get(name.as_str()).is_some_and(|held| *held >= discovery.floor());
            let is_new = !since.values().any(|known| *known == place);
            if is_new && may && counts[place].value >= threshold {
                since.insert((step as u64, name), place);
            }
        }
        let row =
            |(&(since, name), &place): (&(u64, &str), &usize)| (name.to_owned(), since, sums[place].value);
        released.push(since.iter().map(row).collect());
    }
    released
}

fn fast(discovery: &Discovery, inputs: &Inputs) -> Vec<Vec<Row>> {
    let mut counter = DiscoveringCounter::new(discovery, key(3)).unwrap();
    let rows = |found: Vec<FoundKey<'_>>| {
        found.into_iter().map(|row| (row.key.to_owned(), row.since, row.release.value)).collect()
    };
    let steps = inputs.iter().map(|input| {
        for (name, (amount, new)) in input {
            counter.add(name, *amount, *new).unwrap();
        }
        rows(counter.close_step().unwrap())
    });
    steps.collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// The fast path gives what the definition gives, bit for bit, and some keys appear late.
    #[test]
    fn found_keys_are_those_of_the_definition(
        events in prop::collection::vec((0_usize..12, 0_usize..8, 0_u64..9, -3_i32..12), 1..90),
        floor in 1_u64..5, seed in 0_u64..3,
    ) {
        let universe: Vec<String> = (0..8).map(|number| format!("{seed}-{number}")).collect();
        let discovery = builder(12).floor(floor).contribution(Contribution::range(-3.0, 12.0).unwrap());
        let discovery = discovery.build().unwrap();
        let mut inputs: Inputs = vec![BTreeMap::new(); 12];
        for (step, key, new, amount) in events {
            let entry = inputs[step].entry(universe[key].clone()).or_default();
            *entry = (entry.0 + f64::from(amount) / 4.0, entry.1 + new);
        }
        prop_assert_eq!(fast(&discovery, &inputs), obvious(&discovery, &universe, &inputs));
    }
}

/// Without this, the comparison above could be of nothing.
#[test]
fn keys_appear_at_different_steps_and_stay_with_all_they_had() {
    let discovery = builder(30).build().unwrap();
    let mut counter = DiscoveringCounter::new(&discovery, key(1)).unwrap();
    let last = discovery.threshold(29).unwrap();
    let mut first = HashMap::new();
    for step in 0..30_u64 {
        for number in 0..20_u64 {
            // Key number k gains k persons per step, with two visits each.
            counter.add(&format!("k{number:02}"), 2.0 * number as f64, number).unwrap();
        }
        let found = counter.close_step().unwrap();
        let names: Vec<_> = found.iter().map(|row| (row.since, row.key)).collect();
        assert!(names.is_sorted(), "in the order in which they appeared");
        for row in found {
            let since = *first.entry(row.key.to_owned()).or_insert(step);
            assert_eq!((row.since, row.release.step), (since, step));
            let number: u64 = row.key[1..].parse().unwrap();
            let truth = (2 * number * (step + 1)) as f64;
            assert!((row.release.value - truth).abs() < 6.0 * row.release.standard_error, "{}", row.key);
        }
    }
    let steps: std::collections::HashSet<_> = first.values().collect();
    assert!(steps.len() > 4 && !first.contains_key("k00"));
    assert!(
        (0..20)
            .all(|number| number as f64 * 30.0 < 2.0 * last || first.contains_key(&format!("k{number:02}")))
    );
}

/// A key of which nobody but one person knows is never shown below the floor, whatever the noise.
#[test]
fn below_the_floor_nothing_appears() {
    let discovery = builder(4).floor(3).build().unwrap();
    let mut counter = DiscoveringCounter::new(&discovery, key(2)).unwrap();
    for _ in 0..2 {
        (0..20_000).for_each(|number| counter.add(&format!("{number}"), 1.0, 1).unwrap());
        assert_eq!(counter.close_step().unwrap(), []);
    }
    (0..20_000).for_each(|number| counter.add(&format!("{number}"), 1.0, 1).unwrap());
    assert!(!counter.close_step().unwrap().is_empty(), "with three, noise shows some at this δ");
}

#[test]
fn choices_that_cannot_be_kept_are_refused_with_their_reason() {
    let refused = |builder: DiscoveryBuilder| builder.build().unwrap_err().to_string();
    let base = || Plan::discover(10).budget(Budget::new(1.0, 1e-6).unwrap());
    let of = |spec: crate::PlanSpec| refused(DiscoveryBuilder::from(spec));
    let budget = Budget::new(1.0, 1e-6).unwrap();
    for (error, part) in [
        (refused(Plan::discover(10)), "budget must be ε with a δ above zero"),
        (refused(base().budget(Budget::pure(1.0).unwrap())), "with δ = 0 no key could ever appear"),
        (refused(base().budget(Budget::zcdp(1.0).unwrap())), "budget must be ε with a δ above zero"),
        (
            refused(base().key_delta(1e-6)),
            "key_delta must be above zero and below δ = 0.000001, got 0.000001",
        ),
        (refused(base().key_delta(2e-6)), "key_delta must be above zero and below δ"),
        (refused(base().key_delta(0.0)), "key_delta must be above zero"),
        (refused(base().key_delta(f64::NAN)), "key_delta must be above zero"),
        (refused(base().key_delta(1e-299)), "key_delta must be large enough"),
        (refused(base().share(0.0)), "share must be above zero and below one"),
        (refused(base().share(1.0)), "share must be above zero and below one"),
        (refused(base().share(f64::NAN)), "share must be above zero and below one"),
        (refused(base().floor(0)), "floor must be at least 1"),
        (refused(base().keys_per_step(0)), "keys_per_step must be at least 1"),
        (refused(base().keys_per_step(u64::MAX)), "key_delta must be large enough"),
        (refused(base().floor(1 << 40)), "the threshold must be one that a key can reach"),
        (
            of(crate::PlanSpec {
                workload: crate::Workload::SlidingWindow { width: 2 },
                ..crate::PlanSpec::new(9, budget)
            }),
            "workload must be prefix-sum",
        ),
        (
            of(crate::PlanSpec {
                shape: crate::Shape::Vector { dimension: 2 },
                ..crate::PlanSpec::new(9, budget)
            }),
            "shape must be left out",
        ),
        (refused(Plan::discover(0).budget(budget)), "horizon must be"),
    ] {
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn what_cannot_be_counted_is_refused_and_changes_nothing() {
    let discovery = builder(2).build().unwrap();
    let long = "k".repeat(10 << 20);
    let refused = |counter: &mut DiscoveringCounter, name: &str, amount: f64, persons: u64| {
        let error = counter.add(name, amount, persons).unwrap_err();
        assert!(!error.to_string().contains("kkk") && !error.to_string().contains("page"), "{error}");
        error.class()
    };
    let mut counter = DiscoveringCounter::new(&discovery, key(4)).unwrap();
    counter.add("page", 500.0, 400).unwrap();
    for (name, amount, persons) in
        [("", 1.0, 1), (&long, 1.0, 1), ("page", f64::NAN, 1), ("page", 1e300, 1), ("page", 1.0, u64::MAX)]
    {
        let class = refused(&mut counter, name, amount, persons);
        assert_eq!(class, ErrorClass::BadParameter);
    }
    let mut alone = DiscoveringCounter::new(&discovery, key(4)).unwrap();
    alone.add("page", 500.0, 400).unwrap();
    assert_eq!(counter.close_step().unwrap(), alone.close_step().unwrap());
    assert!(counter.close_step().unwrap().len() == 1);
    let spent = |error: crate::Error| assert_eq!(error.class(), ErrorClass::HorizonSpent);
    spent(counter.close_step().unwrap_err());
    spent(counter.add("page", 1.0, 1).unwrap_err());
}

/// The limit could be reached when a step was closed, in the middle of its releases. All memory that a key
/// may need is reserved when an input is taken.
#[test]
fn the_memory_limit_refuses_inputs_and_never_a_release() {
    const LIMIT: u64 = 300_000;
    let discovery = builder(3).memory_limit(LIMIT).build().unwrap();
    let mut counter = DiscoveringCounter::new(&discovery, key(5)).unwrap();
    let mut taken = Vec::new();
    let refusal = (0..).find_map(|number: u64| {
        let name = format!("page-{number}");
        match counter.add(&name, 900.0, 900) {
            Ok(()) => {
                taken.push(name);
                None
            }
            Err(error) => Some(error),
        }
    });
    let refusal = refusal.unwrap();
    assert_eq!(refusal.class(), ErrorClass::Unsupported);
    assert_eq!(
        refusal.to_string(),
        "a counter that finds keys is too costly here: the memory limit of 300000 bytes has no room for what it was given"
    );
    assert!(taken.len() > 100);
    let room = |names: &[String]| counter.check_room(names.iter().map(|name| (name.as_str(), 900))).is_ok();
    let others: Vec<String> = (0..taken.len()).map(|number| format!("page-{}", 10_000 + number)).collect();
    assert!(!room(&others[..1]), "it is full");
    let fresh = DiscoveringCounter::new(&discovery, key(5)).unwrap();
    let room = |names: &[String]| fresh.check_room(names.iter().map(|name| (name.as_str(), 900))).is_ok();
    assert!(room(&taken) && !room(&others), "what was taken fits, and more of it with longer names does not");
    // Keys that are known go on.
    for _ in 0..3 {
        taken.iter().for_each(|name| counter.add(name, 1.0, 1).unwrap());
        assert_eq!(counter.close_step().unwrap().len(), taken.len());
    }
}

/// Many hidden keys change nothing that the counter says.
#[test]
fn hidden_keys_leave_no_trace() {
    let discovery = builder(6).build().unwrap();
    let mut with = DiscoveringCounter::new(&discovery, key(6)).unwrap();
    let mut without = DiscoveringCounter::new(&discovery, key(6)).unwrap();
    for step in 0..6_u64 {
        for counter in [&mut with, &mut without] {
            (0..9_u64).for_each(|page| counter.add(&format!("/{page}"), 150.0, 10 * page).unwrap());
        }
        for hidden in 0..4000_u64 {
            with.add(&format!("hidden-{}", hidden + 1000 * step), 5.0, u64::from(hidden % 3 == 0)).unwrap();
        }
        assert_eq!(format!("{with:?}"), format!("{without:?}"));
        let found: Vec<_> = without.close_step().unwrap();
        // A few of the hidden ones have two persons, and noise may show them: the floor is 2.
        let mut same = with.close_step().unwrap();
        same.retain(|row| !row.key.starts_with("hidden"));
        assert_eq!(same, found);
        assert!(!found.is_empty());
    }
}

/// When the first person came to a key that is not shown is not seen in anything, even later.
#[test]
fn when_a_key_was_first_seen_does_not_matter() {
    let discovery = builder(8).build().unwrap();
    let run = |arrivals: [u64; 8]| {
        let mut counter = DiscoveringCounter::new(&discovery, key(9)).unwrap();
        let mut rows: Vec<Row> = Vec::new();
        for new in arrivals {
            counter.add("late", 3.0 * new as f64, new).unwrap();
            counter.add("steady", 100.0, 90).unwrap();
            let found = counter.close_step().unwrap();
            rows.extend(found.iter().map(|row| (row.key.to_owned(), row.since, row.release.value)));
        }
        rows
    };
    let expected = run([0, 0, 0, 0, 400, 0, 1, 0]);
    assert!(expected.iter().any(|row| row.0 == "late" && row.1 == 4));
    // Below the floor, and above it without the noise that it would take at this seed.
    for other in [[1, 0, 0, 0, 399, 0, 1, 0], [0, 0, 0, 1, 399, 0, 1, 0], [1, 1, 1, 0, 397, 0, 1, 0]] {
        assert_eq!(run(other), expected);
    }
}

/// At a large ε the distance of integer noise from Gaussian noise costs more than δ by the curve, whatever σ.
/// zCDP needs no such charge, and a few percent more noise. A budget of ε = 300 was refused.
#[test]
fn large_budgets_are_fitted_by_zcdp() {
    for epsilon in [1.0, 20.0, 40.0, 60.0, 300.0, 900.0] {
        let discovery = Plan::discover(16).budget(Budget::new(epsilon, 1e-6).unwrap()).build().unwrap();
        let spend = discovery.spend();
        assert!(spend.delta_at(epsilon).unwrap() <= 1e-6, "{epsilon}");
        // Half of δ is for the noise.
        let sigma = Budget::new(epsilon, 5e-7).unwrap().noise_multiplier();
        let ratio = 1.0 / (sigma * spend.mu_squared().sqrt());
        assert!(
            ratio > 1.0 - 1e-9 && ratio < if epsilon > 20.0 { 1.1 } else { 1.000_001 },
            "{epsilon}: {ratio}"
        );
    }
}

#[test]
fn the_budget_is_split_and_everything_is_in_the_name_of_the_noise() {
    let base = || Plan::discover(64).budget(Budget::new(1.0, 1e-6).unwrap());
    let discovery = base().build().unwrap();
    assert_eq!(discovery.spend().key_delta(), discovery.key_delta());
    assert!(discovery.spend().delta_at(1.0).unwrap() <= 1e-6);
    assert!(discovery.spend().delta_at(1.0).unwrap() > 0.999e-6);
    let (persons, totals) = (discovery.persons(), discovery.totals());
    assert!((persons.spend().mu_squared() / totals.spend().mu_squared() - 1.0).abs() < 1e-9);
    assert_eq!(persons.arithmetic(), Arithmetic::Exact);
    let third = base().share(0.75).build().unwrap();
    let ratio = third.persons().spend().mu_squared() / third.totals().spend().mu_squared();
    assert!((ratio - 3.0).abs() < 1e-9);
    let names = |builder: DiscoveryBuilder| {
        let discovery = builder.build().unwrap();
        [discovery.persons().noise_name(), discovery.totals().noise_name()]
    };
    let others = [
        base(),
        base().share(0.25),
        base().floor(3),
        base().key_delta(1e-7),
        base().definition(*b"other"),
        base().grid(0.5),
        base().contribution(Contribution::range(0.0, 2.0).unwrap()),
        base().participation(Participation::at_most(2, 1).unwrap()),
        base().neighbours(Neighbours::Replace),
        base().mechanism(crate::Mechanism::SquareRoot),
        base().persons_mechanism(crate::Mechanism::SquareRoot),
    ];
    let mut seen = Vec::new();
    for other in others {
        for name in names(other) {
            assert!(!seen.contains(&name));
            seen.push(name);
        }
    }
    assert!(seen.contains(&totals.noise_name()));
}
