//! What counts does not depend on the order in which events are read.
//!
//! The oracle is the rule as it is written in `evertally_stream::admission`: sort all events by
//! time and content, decide one by one, and keep what has counted in plain lists.

use evertally::Participation;
use evertally_stream::{
    BucketLength, Buckets, Clamp, Clocked, ClosedStep, Event, Follow, Gather, KeySet, Rules, Share,
    given_name,
};
use proptest::prelude::*;

const SECOND: i64 = 1_000_000;
const STEPS: u64 = 6;

/// An event in the order of the rule: time, id, key, value; and its person.
type Made = (i64, Option<&'static str>, Option<&'static str>, u64, Option<&'static str>);

/// What is declared: the bound on persons, whether ids are compared, and what a person may add to a
/// step: at most so many events, in so many keys, and whether their sum is clamped.
#[derive(Debug, Clone, Copy)]
struct Declared {
    bound: Option<(u64, u64)>,
    has_ids: bool,
    share: (Option<u64>, u64, bool),
}

const ONE_EVENT: (Option<u64>, u64, bool) = (Some(1), 1, false);

const fn declared(bound: Option<(u64, u64)>, has_ids: bool, share: (Option<u64>, u64, bool)) -> Declared {
    Declared { bound, has_ids, share }
}

const DECLARED: [Declared; 17] = [
    declared(None, false, ONE_EVENT),
    declared(None, true, ONE_EVENT),
    declared(Some((1, 1)), false, ONE_EVENT),
    declared(Some((2, 1)), false, ONE_EVENT),
    declared(Some((2, 2)), false, ONE_EVENT),
    declared(Some((1, 1)), true, ONE_EVENT),
    declared(Some((2, 1)), true, ONE_EVENT),
    declared(Some((2, 2)), true, ONE_EVENT),
    declared(Some((3, 1)), true, ONE_EVENT),
    declared(Some((1, 1)), false, (Some(2), 1, false)),
    declared(Some((2, 2)), false, (Some(2), 2, false)),
    declared(Some((2, 1)), true, (Some(2), 1, true)),
    declared(Some((2, 1)), true, (Some(3), 2, false)),
    declared(Some((1, 1)), false, (None, 1, true)),
    declared(Some((2, 2)), false, (None, 2, true)),
    declared(Some((1, 1)), true, (None, 1, true)),
    declared(Some((2, 1)), true, (None, 2, true)),
];

/// Sums of one and two events of most kinds are beyond it.
fn clamp() -> Clamp {
    Clamp::new(0.0, 2.5).unwrap()
}

fn share((events, keys, is_clamped): (Option<u64>, u64, bool)) -> Share {
    Share::new(events, keys, is_clamped.then(clamp)).unwrap()
}

fn event(made: &Made) -> Event<'static> {
    let (time, id, key, value, person) = *made;
    Event { time, id, key, person, value: Some(value as f64) }
}

fn buckets() -> Buckets {
    Buckets::new(0, "1s".parse().unwrap(), STEPS).unwrap()
}

fn rules(declared: Declared) -> Rules {
    let limits = declared.bound.map(|(k, b)| Participation::at_most(k, b).unwrap());
    let keys = Some(KeySet::new(["x", "w"]).unwrap());
    Rules { keys, limits, share: share(declared.share), has_ids: declared.has_ids, ..Rules::default() }
}

type Totals = Vec<[f64; 3]>;

fn plain(closed: impl Iterator<Item = ClosedStep>) -> Totals {
    closed.map(|closed| [0, 1, 2].map(|place| closed.totals[place].to_f64())).collect()
}

/// An event that has counted.
#[derive(Clone, Copy)]
struct Counted {
    owner: Option<&'static str>,
    id: Option<&'static str>,
    step: u64,
    place: usize,
    value: u64,
}

/// The rule, word by word.
fn oracle(events: &[Made], Declared { bound, has_ids, share }: Declared) -> Totals {
    let mut sorted = events.to_vec();
    let named = |id| given_name(id).filter(|_| has_ids);
    sorted.sort_by_key(|&(time, id, key, value, _)| (time, named(id), key, value));
    let mut counted: Vec<Counted> = Vec::new();
    for (time, id, key, value, person) in sorted {
        let owner = given_name(person).filter(|_| bound.is_some());
        if bound.is_some() && owner.is_none() {
            continue;
        }
        if named(id).is_some() && counted.iter().any(|other| (other.owner, other.id) == (owner, named(id))) {
            continue;
        }
        let step = time as u64 / SECOND as u64;
        let place = match key {
            Some("x") => 0,
            Some("w") => 1,
            _ => 2,
        };
        if let Some((k, b)) = bound {
            let own = counted.iter().filter(|other| other.owner == owner);
            let (here, elsewhere): (Vec<&Counted>, Vec<&Counted>) = own.partition(|other| other.step == step);
            let distinct = |values: Vec<u64>| values.into_iter().collect::<std::collections::BTreeSet<_>>();
            let steps = distinct(elsewhere.iter().map(|other| other.step).collect());
            let mut places = distinct(here.iter().map(|other| other.place as u64).collect());
            places.insert(place as u64);
            let (max_events, max_keys, _) = share;
            if steps.len() as u64 == k
                || steps.iter().any(|other| other.abs_diff(step) < b)
                || max_events.is_some_and(|most| here.len() as u64 == most)
                || places.len() as u64 > max_keys
            {
                continue;
            }
        }
        counted.push(Counted { owner, id: named(id), step, place, value });
    }
    // What each claimant adds to each step and key is clamped as a whole.
    let mut sums = std::collections::BTreeMap::new();
    for (number, event) in counted.iter().enumerate() {
        let alone = if bound.is_none() { number } else { usize::MAX };
        *sums.entry((event.owner, alone, event.step, event.place)).or_insert(0.0) += event.value as f64;
    }
    let mut totals = vec![[0.0; 3]; STEPS as usize];
    for ((_, _, step, place), sum) in sums {
        let is_clamped = bound.is_some() && share.2;
        totals[step as usize][place] += if is_clamped { sum.clamp(clamp().lo(), clamp().hi()) } else { sum };
    }
    totals
}

fn gathered(events: &[Made], declared: Declared) -> Totals {
    let mut gather = Gather::new(buckets(), rules(declared), 1 << 20).unwrap();
    for made in events {
        gather.push(&event(made)).unwrap();
    }
    plain(gather.finish().unwrap())
}

/// The same by columns, as a reader of whole columns hands them over.
fn gathered_by_columns(events: &[Made], declared: Declared, size: usize) -> Totals {
    let rules = rules(declared);
    let mut gather = Gather::new(buckets(), rules.clone(), 1 << 20).unwrap();
    assert!(gather.takes_columns());
    let mut batch = gather.claim_batch();
    assert_eq!(batch.is_some(), rules.has_ids || rules.limits.is_some());
    for events in events.chunks(size) {
        for Event { time, key, person, id, value } in events.iter().map(event) {
            let amount = gather.amount_of(value).unwrap();
            let is_bounded = rules.limits.is_some();
            let name = if is_bounded { person } else { id };
            let tag = batch.as_ref().zip(name).and_then(|(batch, name)| batch.tag_of(name));
            if let (Some(batch), Some(tag)) = (&mut batch, tag) {
                let (moment, key) = (gather.moment_of(time).unwrap(), batch.number_of(key));
                batch.push(tag, moment, key, id, amount);
            } else if !is_bounded {
                let cell = gather.cell_of(time, gather.place_of(key)).unwrap();
                gather.add_to_cell(cell, amount);
            }
        }
        batch.as_mut().map_or(Ok(()), |batch| gather.take(batch)).unwrap();
    }
    plain(gather.finish().unwrap())
}

/// Every sequence of three events, so that every set of three comes in all of its orders. Each kind
/// of event has a value of its own, so that the totals show which ones counted where sums are not
/// clamped.
#[test]
fn a_file_in_any_order_counts_what_the_sorted_one_does() {
    let mut kinds: Vec<Made> = Vec::new();
    for time in [0, 1, SECOND, 3 * SECOND] {
        for id in [None, Some(" "), Some("a"), Some("b")] {
            for person in [Some("p"), Some("q"), None] {
                let key = [None, Some("x"), Some("y"), Some("w")][kinds.len() % 4];
                kinds.push((time, id, key, 1 << kinds.len(), person));
            }
        }
    }
    let number = kinds.len();
    let (mut tried, mut unsorted) = (0, 0);
    for code in 0..number.pow(3) {
        let events = [kinds[code % number], kinds[code / number % number], kinds[code / number.pow(2)]];
        // All rules on some of the streams, and each stream under some of the rules.
        for declared in DECLARED.into_iter().skip(code % 3).step_by(3) {
            let expected = oracle(&events, declared);
            assert!(gathered(&events, declared) == expected, "{code} under {declared:?}");
            if code % 7 == 0 {
                let in_columns = gathered_by_columns(&events, declared, 2);
                assert!(in_columns == expected, "{code} by columns under {declared:?}");
            }
            tried += 1;
            unsorted += usize::from(!events.is_sorted());
        }
    }
    assert!(unsorted > tried / 2, "{unsorted} of {tried}");
}

fn made() -> impl Strategy<Value = Made> {
    let names = |names: &'static [Option<&'static str>]| prop::sample::select(names);
    (
        prop_oneof![0..STEPS as i64 * SECOND, (0..STEPS as i64).prop_map(|second| second * SECOND)],
        names(&[None, Some(""), Some("a"), Some("b"), Some("c")]),
        names(&[None, Some("x"), Some("y"), Some("z"), Some("w")]),
        1_u64..4,
        names(&[Some("p"), Some("p"), Some("q"), None, Some(" ")]),
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    /// Longer streams, for all three ways to closed steps. Events that arrive step by step, in any
    /// order within a step, are never late, so following them counts what gathering does.
    #[test]
    fn every_way_to_closed_steps_follows_the_rule(
        events in prop::collection::vec(made(), 0..24),
        declared in prop::sample::select(&DECLARED[..]),
        k in 1_u64..5, b in 1_u64..4,
    ) {
        let declared = Declared { bound: declared.bound.map(|_| (k, b)), ..declared };
        let expected = oracle(&events, declared);
        prop_assert!(gathered(&events, declared) == expected);
        prop_assert!(gathered_by_columns(&events, declared, b as usize + 1) == expected);

        let mut arrivals = events.clone();
        arrivals.sort_by_key(|made| made.0 / SECOND);
        let mut follow = Follow::new(buckets(), rules(declared));
        let mut closed = Vec::new();
        for made in &arrivals {
            closed.extend(follow.push(&event(made)).unwrap().closed);
        }
        closed.extend(follow.finish());
        prop_assert!(plain(closed.into_iter()) == expected);

        // Two steps are open at a time, and events of both arrive mixed.
        let lag = BucketLength::from_micros(SECOND).unwrap();
        let mut live = Clocked::new(buckets(), rules(declared), lag, 1 << 20).unwrap();
        let mut closed: Vec<ClosedStep> = Vec::new();
        let mut mixed = events.clone();
        mixed.sort_by_key(|made| (made.0 / SECOND + 1) / 2);
        for made in &mixed {
            closed.extend(live.advance_to((made.0 / SECOND + 1) / 2 * 2 * SECOND));
            live.push(&event(made)).unwrap();
        }
        closed.extend(live.advance_to(i64::MAX));
        prop_assert!(plain(closed.into_iter()) == expected);
    }

    /// Events in any order. An event of a later bucket may close others, and what comes after that is
    /// late. All other events are decided as if they had been gathered.
    #[test]
    fn following_decides_everything_that_is_not_late_as_gathering_does(
        events in prop::collection::vec(made(), 0..24),
        declared in prop::sample::select(&DECLARED[..]),
        k in 1_u64..5, b in 1_u64..4,
    ) {
        let declared = Declared { bound: declared.bound.map(|_| (k, b)), ..declared };
        let mut follow = Follow::new(buckets(), rules(declared));
        let (mut closed, mut in_time) = (Vec::new(), Vec::new());
        for made in events {
            if made.0 / SECOND >= follow.open_step() as i64 {
                in_time.push(made);
            }
            closed.extend(follow.push(&event(&made)).unwrap().closed);
        }
        closed.extend(follow.finish());
        prop_assert!(plain(closed.into_iter()) == oracle(&in_time, declared));
    }
}
