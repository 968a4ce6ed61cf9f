//! A person counts once in each of their first keys, in all steps together.
//!
//! The oracle is the rule in a few lines: the events of a person in order, and a list of the keys that
//! they have counted in.

use std::collections::{BTreeMap, BTreeSet};

use evertally::{NoiseKey, Participation};
use evertally_stream::{
    BucketLength, Buckets, Clocked, ClosedStep, Event, Follow, Gather, KeySet, Memory, Rules, Share,
    given_name,
};
use proptest::prelude::*;

const SECOND: i64 = 1_000_000;
const STEPS: u64 = 6;
const KEYS: [&str; 4] = ["x", "w", "v", "other"];

/// An event: time, key and person.
type Made = (i64, Option<&'static str>, Option<&'static str>);
type Totals = Vec<[f64; 4]>;

fn rules(max_keys: u64) -> Rules {
    let share = Share::once_per_key(max_keys).unwrap();
    Rules {
        keys: Some(KeySet::new(["x", "w", "v"]).unwrap()),
        limits: share.limits().or(Some(Participation::single())),
        share,
        has_ids: share.is_once_per_key(),
        ..Rules::default()
    }
}

fn buckets() -> Buckets {
    Buckets::new(0, "1s".parse().unwrap(), STEPS).unwrap()
}

fn event(&(time, key, person): &Made) -> Event<'static> {
    Event { time, key, person, ..Event::default() }
}

fn place(key: Option<&str>) -> usize {
    let declared = KEYS.iter().position(|name| given_name(key) == Some(name));
    declared.unwrap_or(KEYS.len() - 1)
}

/// By time, and then by the name of the group. One key is the share of any person who counts in one step,
/// where events of one time are ordered by their own keys.
fn oracle(events: &[Made], max_keys: u64) -> Totals {
    let by_name = |key| if max_keys == 1 { given_name(key) } else { Some(KEYS[place(key)]) };
    let mut sorted: Vec<_> =
        events.iter().map(|&(time, key, person)| (time, by_name(key), KEYS[place(key)], person)).collect();
    sorted.sort_unstable();
    let mut counted: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut totals = vec![[0.0; 4]; STEPS as usize];
    for (time, _, key, person) in sorted {
        let Some(person) = given_name(person) else { continue };
        let keys = counted.entry(person).or_default();
        if (keys.len() as u64) < max_keys && keys.insert(key) {
            totals[(time / SECOND) as usize][place(Some(key))] += 1.0;
        }
    }
    totals
}

fn plain(closed: impl IntoIterator<Item = ClosedStep>) -> Totals {
    closed.into_iter().map(|closed| [0, 1, 2, 3].map(|place| closed.totals[place].to_f64())).collect()
}

fn gathered(events: &[Made], max_keys: u64) -> Totals {
    let mut gather = Gather::new(buckets(), rules(max_keys), 1 << 20).unwrap();
    for made in events {
        assert_eq!(gather.push(&event(made)).unwrap().is_none(), given_name(made.2).is_some());
    }
    plain(gather.finish().unwrap())
}

/// The same in runs of one state, which is saved as bytes between them.
fn in_runs(events: &[Made], max_keys: u64, ends: [u64; 2]) -> Totals {
    let (rules, key) = (rules(max_keys), NoiseKey::insecure_from_seed(3));
    let mut memory = Memory::new(&rules, &key, b"persons").unwrap();
    let mut totals = Vec::new();
    let mut first = 0;
    for end in [ends[0], ends[1], STEPS] {
        let steps = first..end.max(first);
        first = steps.end;
        let mut run = Gather::of_steps(buckets(), rules.clone(), memory, steps, 1 << 20).unwrap();
        for made in events {
            let _ = run.push(&event(made)).unwrap();
        }
        let (closed, remembered) = run.finish_and_remember().unwrap();
        totals.extend(plain(closed));
        memory = Memory::resume(&rules, &key, b"persons", &remembered.unwrap().save()).unwrap();
    }
    totals
}

fn made() -> impl Strategy<Value = Made> {
    let names = |names: &'static [Option<&'static str>]| prop::sample::select(names);
    (
        prop_oneof![0..STEPS as i64 * SECOND, (0..STEPS as i64).prop_map(|second| second * SECOND)],
        names(&[None, Some("x"), Some(" x "), Some("w"), Some("v"), Some("y"), Some("z")]),
        names(&[Some("p"), Some("p"), Some("q"), None, Some(" ")]),
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn every_way_to_closed_steps_counts_a_person_once_per_key(
        events in prop::collection::vec(made(), 0..24), max_keys in 1_u64..5, ends in [0..=STEPS, 0..=STEPS],
    ) {
        let expected = oracle(&events, max_keys);
        prop_assert!(gathered(&events, max_keys) == expected);
        prop_assert!(in_runs(&events, max_keys, ends) == expected);

        let mut arrivals = events.clone();
        arrivals.sort_by_key(|made| made.0 / SECOND);
        let mut follow = Follow::new(buckets(), rules(max_keys));
        let mut closed = Vec::new();
        for made in &arrivals {
            closed.extend(follow.push(&event(made)).unwrap().closed);
        }
        closed.extend(follow.finish());
        prop_assert!(plain(closed) == expected);

        let mut live =
            Clocked::new(buckets(), rules(max_keys), BucketLength::from_micros(SECOND).unwrap(), 1 << 20).unwrap();
        let mut closed: Vec<ClosedStep> = Vec::new();
        arrivals.sort_by_key(|made| (made.0 / SECOND + 1) / 2);
        for made in &arrivals {
            closed.extend(live.advance_to((made.0 / SECOND + 1) / 2 * 2 * SECOND));
            let _ = live.push(&event(made)).unwrap();
        }
        closed.extend(live.advance_to(i64::MAX));
        prop_assert!(plain(closed) == expected);
    }

    /// Events in any order while following: what is not late counts as it does in a file.
    #[test]
    fn what_is_not_late_counts_as_in_a_file(
        events in prop::collection::vec(made(), 0..24), max_keys in 1_u64..5,
    ) {
        let mut follow = Follow::new(buckets(), rules(max_keys));
        let (mut closed, mut in_time) = (Vec::new(), Vec::new());
        for made in events {
            if made.0 / SECOND >= follow.open_step() as i64 {
                in_time.push(made);
            }
            closed.extend(follow.push(&event(&made)).unwrap().closed);
        }
        closed.extend(follow.finish());
        prop_assert!(plain(closed) == oracle(&in_time, max_keys));
    }

    /// What the privacy argument needs: without a person, each key changes in at most one step, by at
    /// most one, and no more than the declared number of keys change.
    #[test]
    fn a_person_changes_one_step_of_each_of_their_keys(
        events in prop::collection::vec(made(), 0..24), max_keys in 1_u64..5,
    ) {
        let others: Vec<Made> =
            events.iter().copied().filter(|made| given_name(made.2) != Some("p")).collect();
        let (all, without) = (gathered(&events, max_keys), gathered(&others, max_keys));
        let mut changes = [0.0_f64; 4];
        for (all, without) in all.iter().zip(&without) {
            for (change, (one, other)) in changes.iter_mut().zip(all.iter().zip(without)) {
                *change += (one - other).abs();
            }
        }
        let change: f64 = changes.iter().sum();
        prop_assert!(changes.iter().all(|change| *change <= 1.0) && change <= max_keys as f64);
        // The norm that the noise covers.
        let bound = rules(max_keys).share.contribution(Some((0.0, 1.0)), false).unwrap();
        prop_assert!(change.sqrt() <= bound.magnitude() && bound.magnitude() < (max_keys as f64).sqrt() * 1.000_001);
        let total = rules(max_keys).share.contribution(Some((0.0, 1.0)), true).unwrap();
        prop_assert!(change <= total.magnitude());
    }
}

/// A person with more events than memory holds: one claim of each step and key is kept.
#[test]
fn repeated_events_take_no_memory_without_end() {
    let mut gather = Gather::new(buckets(), rules(3), 1 << 10).unwrap();
    for number in 0..2_000_000_i64 {
        let made = (number % (STEPS as i64 * SECOND), Some(KEYS[number as usize % 4]), Some("p"));
        assert_eq!(gather.push(&event(&made)).unwrap(), None);
    }
    let totals = plain(gather.finish().unwrap());
    assert_eq!(totals[0], [1.0, 1.0, 1.0, 0.0]);
    assert!(totals[1..].iter().flatten().all(|total| *total == 0.0));
}
