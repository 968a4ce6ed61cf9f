//! Different persons: what counts is what [`evertally_stream::Gather`] counts once per key, wherever
//! the ledger was closed and opened again.

use crate::common::*;
use evertally::{Mechanism, NoiseKey, PlanSpec, Workload};
use evertally_ledger::simulated::SimulatedMachine;
use evertally_ledger::{CounterView, Event, Ledger, Location, Receipt, Spec};
use evertally_stream::{Buckets, Gather, KeySet, Rules, Share};
use proptest::prelude::*;

const STEPS: u64 = 5;
const KEYS: [&str; 3] = ["x", "w", "v"];

fn spec(max_keys: u64) -> Spec {
    let spec = loud("people").steps(STEPS).keys(KEYS).distinct(max_keys).unwrap();
    by_the_second(Spec { population: "people".to_owned(), ..spec })
}

fn open_on(machine: &SimulatedMachine) -> Ledger {
    let location = Location::on(machine.disk(), machine.fence(), 1);
    Ledger::open(location, NoiseKey::insecure_from_seed(7), START).unwrap()
}

/// An event: its time, key and person.
type Made = (i64, &'static str, &'static str);

/// What `count --distinct` counts, with the same times from the same start.
fn oracle(events: &[Made], max_keys: u64) -> Vec<Vec<f64>> {
    let share = Share::once_per_key(max_keys).unwrap();
    let rules = Rules {
        keys: Some(KeySet::new(KEYS).unwrap()),
        limits: share.limits().or(Some(evertally::Participation::single())),
        share,
        has_ids: share.is_once_per_key(),
        ..Rules::default()
    };
    let buckets = Buckets::new(START, "1s".parse().unwrap(), STEPS).unwrap();
    let mut gather = Gather::new(buckets, rules, 1 << 20).unwrap();
    for &(time, key, person) in events {
        let event =
            evertally_stream::Event { time, key: Some(key), person: Some(person), ..Default::default() };
        gather.push(&event).unwrap();
    }
    let mut totals = vec![0.0; KEYS.len() + 1];
    let steps = gather.finish().unwrap().map(|step| {
        totals.iter_mut().zip(&step.totals).for_each(|(total, input)| *total += input.to_f64());
        totals.clone()
    });
    steps.collect()
}

fn post(ledger: &mut Ledger, counter: &CounterView, events: &[(u64, Made)], now: i64) -> Receipt {
    let prepare = |(id, (time, key, person)): &(u64, Made)| {
        let (id, key, person) = (&*format!("{id}"), Some(*key), Some(*person));
        counter.intake().prepare(&Event { id, time: Some(*time), key, person, value: None }).unwrap()
    };
    let events: Vec<_> = events.iter().map(prepare).collect();
    ledger.submit(counter, &events, now).unwrap()
}

fn made() -> impl Strategy<Value = Made> {
    // No two at one moment: of undeclared keys, the ledger knows only that they are `other`.
    let key = prop::sample::select(&["x", "w", "v", "y", "z"][..]);
    (0..STEPS as i64 * SECOND, key, prop::sample::select(&["p", "q", "r"][..]))
        .prop_map(|(time, key, person)| (START + time, key, person))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn a_person_counts_once_in_each_of_their_first_keys(
        mut events in prop::collection::vec(made(), 1..40), max_keys in 1_u64..=4, restarts in any::<u64>(),
    ) {
        events.sort_unstable();
        let machine = SimulatedMachine::new(1);
        let mut ledger = open_on(&machine);
        ledger.grant(&population("people", "person", plenty())).unwrap();
        create(&mut ledger, &spec(max_keys));
        let numbered: Vec<(u64, Made)> = (0..).zip(events.iter().copied()).collect();
        for (round, part) in numbered.chunks(3).enumerate() {
            let (first, now) = (part[0].1.0, part[part.len() - 1].1.0);
            ledger.close_due(first).unwrap();
            let counter = ledger.read_view().counter("people").unwrap();
            let receipt = post(&mut ledger, &counter, part, now);
            let again = post(&mut ledger, &counter, part, now);
            prop_assert_eq!(again.counted, 0, "a copy changes nothing");
            prop_assert_eq!(receipt.received(), part.len() as u64);
            ledger.commit(now).unwrap();
            match restarts >> (2 * (round % 32)) & 3 {
                0 => {}
                1 => ledger.checkpoint_all().unwrap(),
                _ => {
                    drop(ledger);
                    machine.kill();
                    ledger = open_on(&machine);
                }
            }
        }
        ledger.close_due(START + 2 * STEPS as i64 * SECOND).unwrap();
        ledger.commit(START).unwrap();
        let view = ledger.read_view();
        let counter = view.counter("people").unwrap();
        let released = view.releases(&counter, 0..STEPS).unwrap();
        let rounded: Vec<Vec<f64>> =
            released.iter().map(|step| step.values.iter().map(|value| value.round()).collect()).collect();
        prop_assert_eq!(rounded, oracle(&events, max_keys));
        ledger.verify().unwrap();
    }
}

/// Who counts is remembered for as long as the counter lives, and not as long as an id.
#[test]
fn persons_are_remembered_when_their_events_are_gone() {
    let home = Home::new();
    let mut ledger = home.open();
    ledger.grant(&population("people", "person", plenty())).unwrap();
    let spec = Spec { population: "people".to_owned(), ..loud("people").distinct(1).unwrap() };
    let counter = create(&mut ledger, &spec);
    let person = |counter: &CounterView, id: &str| {
        counter.intake().prepare(&Event { id, person: Some("p"), ..Event::default() }).unwrap()
    };
    assert_eq!(ledger.submit(&counter, &[person(&counter, "a")], START).unwrap().counted, 1);
    for _ in 0..3 {
        ledger.advance("people", 40).unwrap();
        ledger.commit(START).unwrap();
        ledger.checkpoint_all().unwrap();
        drop(ledger);
        ledger = home.open();
        let counter = ledger.read_view().counter("people").unwrap();
        let receipt = ledger.submit(&counter, &[person(&counter, "b")], START).unwrap();
        assert_eq!((receipt.duplicate, receipt.counted), (1, 0));
    }
}

/// Of a person's events at one moment, the key whose name comes first counts, as in a file.
#[test]
fn events_of_one_moment_are_ordered_by_their_keys() {
    for max_keys in 1..=4 {
        let home = Home::new();
        let mut ledger = home.open();
        ledger.grant(&population("people", "person", plenty())).unwrap();
        let counter = create(&mut ledger, &spec(max_keys));
        let events: Vec<Made> = ["x", "w", "other", "v"].map(|key| (START, key, "p")).to_vec();
        let numbered: Vec<(u64, Made)> = (0..).zip(events.iter().copied()).collect();
        let receipt = post(&mut ledger, &counter, &numbered, START);
        assert_eq!((receipt.counted, receipt.over_bound), (max_keys, 4 - max_keys));
        ledger.close_due(START + SECOND).unwrap();
        ledger.commit(START).unwrap();
        let rounded: Vec<f64> = latest(&counter).iter().map(|value| value.round()).collect();
        assert_eq!(rounded, oracle(&events, max_keys)[0]);
    }
}

#[test]
fn what_a_number_of_persons_does_not_have_is_refused() {
    let refusal = |spec: Spec| spec.plan(START).unwrap_err().to_string();
    let with = |plan: &dyn Fn(PlanSpec) -> PlanSpec| {
        let spec = spec(2);
        Spec { plan: plan(spec.plan.clone()), ..spec }
    };
    assert!(loud("people").distinct(0).is_err());
    assert!(refusal(spec(5)).contains("max_keys must be at most 4"));
    assert!(refusal(Spec { remember_ids: Some(3), ..spec(2) }).contains("a copy changes nothing"));
    assert!(refusal(spec(1).values(0.0, 1.0).unwrap()).contains("clamp must be left out"));
    for workload in [Workload::SlidingWindow { width: 3 }, Workload::Decay { factor: 0.5 }] {
        let text = refusal(with(&|plan| PlanSpec { workload, ..plan }));
        assert!(text.contains("workload must be prefix-sum"), "{text}");
    }
    // Noise for fewer keys than a person may count in is not accepted.
    let text = refusal(with(&|plan| PlanSpec { keys_per_step: 1, ..plan }));
    assert!(text.contains("choices that a ledger stores"), "{text}");
    assert!(refusal(Spec { bounds_persons: false, ..spec(2) }).contains("choices that a ledger stores"));
}

/// The noise grows with the root of the number of keys, or with the number itself for pure ε.
#[test]
fn noise_covers_all_keys_of_a_person() {
    let scale = |max_keys: u64, delta: f64| {
        let mechanism = Some(if delta == 0.0 { Mechanism::LaplaceTree } else { Mechanism::SquareRoot });
        let spec = Spec::new("people", "people", 1.0, delta).steps(64).keys(KEYS).distinct(max_keys).unwrap();
        let made = Spec { plan: PlanSpec { mechanism, ..spec.plan.clone() }, ..spec }.plan(START).unwrap();
        made.plan().standard_error(63).unwrap()
    };
    for (delta, expected) in [(1e-6, 2.0), (0.0, 4.0)] {
        let ratio = scale(4, delta) / scale(1, delta);
        assert!((ratio / expected - 1.0).abs() < 0.02, "{delta}: {ratio}");
    }
}
