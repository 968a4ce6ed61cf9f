//! Persons who come and go.
//!
//! The oracle looks at every step: who is present in it, by the words of the definition.

use std::collections::BTreeSet;

use evertally_stream::{Buckets, Error, Event, KeySet, Operation, Outcome, Presence, Present, given_name};
use proptest::prelude::*;

const SECOND: i64 = 1_000_000;
const STEPS: usize = 9;
const KEYS: [&str; 3] = ["x", "w", "other"];

/// An event: time, key, person, and whether it is a deletion.
type Made = (i64, Option<&'static str>, Option<&'static str>, bool);

fn place(key: Option<&str>) -> usize {
    KEYS.iter().position(|name| given_name(key) == Some(name)).unwrap_or(KEYS.len() - 1)
}

fn operation(is_deletion: bool) -> Operation {
    if is_deletion { Operation::Delete } else { Operation::Insert }
}

fn buckets() -> Buckets {
    Buckets::new(0, "1s".parse().unwrap(), STEPS as u64).unwrap()
}

fn changes(events: &[Made], presence: Presence, max_stays: u64) -> Vec<[f64; 3]> {
    let keys = Some(KeySet::new(["x", "w"]).unwrap());
    let mut present = Present::new(buckets(), keys, presence, max_stays, 1 << 20).unwrap();
    for &(time, key, person, is_deletion) in events {
        let event = Event { time, key, person, ..Event::default() };
        let expected = given_name(person).is_none().then_some(Outcome::Unnamed);
        assert_eq!(present.push(&event, operation(is_deletion)).unwrap(), expected);
    }
    present.finish().map(|closed| [0, 1, 2].map(|place| closed.totals[place].to_f64())).collect()
}

/// How many persons are present in each step and key.
fn oracle(events: &[Made], presence: Presence, max_stays: u64) -> Vec<[f64; 3]> {
    let mut sorted = events.to_vec();
    sorted.sort_by_key(|&(time, key, _, is_deletion)| (time, KEYS[place(key)], is_deletion));
    let mut present = vec![[0.0; 3]; STEPS];
    let persons: BTreeSet<&str> = events.iter().filter_map(|made| given_name(made.2)).collect();
    for person in persons {
        let own: Vec<&Made> = sorted.iter().filter(|made| given_name(made.2) == Some(person)).collect();
        // Whether the person is present in each step and key, and in which keys after the last event.
        let mut is_present = [[false; 3]; STEPS];
        let mut inside = [false; 3];
        let mut stays = 0;
        for (number, made) in own.iter().enumerate() {
            let (step, place) = ((made.0 / SECOND) as usize, place(made.1));
            match presence {
                Presence::Window { steps } => {
                    let goes_on = is_present[step][place] || (step > 0 && is_present[step - 1][place]);
                    if !goes_on && stays == max_stays {
                        continue;
                    }
                    stays += u64::from(!goes_on);
                    for later in is_present.iter_mut().skip(step).take(steps as usize) {
                        later[place] = true;
                    }
                }
                Presence::Operations => {
                    if !made.3 && !inside[place] && stays < max_stays {
                        stays += 1;
                        inside[place] = true;
                    } else if made.3 {
                        inside[place] = false;
                    }
                    // What holds until the step of the next event.
                    let next = own.get(number + 1).map_or(STEPS, |next| (next.0 / SECOND) as usize);
                    is_present[step..next].iter_mut().for_each(|step| *step = inside);
                }
            }
        }
        for (present, own) in present.iter_mut().zip(is_present) {
            (0..3).for_each(|place| present[place] += f64::from(u8::from(own[place])));
        }
    }
    present
}

/// The running totals of changes.
fn totals(changes: &[[f64; 3]]) -> Vec<[f64; 3]> {
    let mut total = [0.0; 3];
    let added = changes.iter().map(|change| {
        (0..3).for_each(|place| total[place] += change[place]);
        total
    });
    added.collect()
}

fn made() -> impl Strategy<Value = Made> {
    let names = |names: &'static [Option<&'static str>]| prop::sample::select(names);
    (
        prop_oneof![0..STEPS as i64 * SECOND, (0..STEPS as i64).prop_map(|second| second * SECOND)],
        names(&[None, Some("x"), Some("x"), Some(" w ")]),
        names(&[Some("p"), Some("p"), Some("q"), None, Some(" ")]),
        any::<bool>(),
    )
}

fn presence() -> impl Strategy<Value = Presence> {
    prop_oneof![(1_u64..5).prop_map(|steps| Presence::Window { steps }), Just(Presence::Operations)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn running_totals_are_the_numbers_of_present_persons(
        events in prop::collection::vec(made(), 0..40), presence in presence(), max_stays in 1_u64..5,
    ) {
        let expected = oracle(&events, presence, max_stays);
        let changed = changes(&events, presence, max_stays);
        prop_assert!(totals(&changed) == expected, "{presence:?}, {max_stays}");
        prop_assert!(expected.iter().flatten().all(|total| *total >= 0.0));
        let mut backwards = events.clone();
        backwards.reverse();
        prop_assert!(changes(&backwards, presence, max_stays) == changed);
    }

    /// What the plan is told: in each key up and down in turn, at most two changes for each stay.
    #[test]
    fn a_person_changes_the_stream_up_and_down_in_turn(
        events in prop::collection::vec(made(), 0..40), presence in presence(), max_stays in 1_u64..5,
    ) {
        let others: Vec<Made> = events.iter().copied().filter(|made| given_name(made.2) != Some("p")).collect();
        let (with, without) = (changes(&events, presence, max_stays), changes(&others, presence, max_stays));
        let mut number = 0;
        for place in 0..3 {
            let own = with.iter().zip(&without).map(|(with, without)| with[place] - without[place]);
            let own: Vec<f64> = own.filter(|change| *change != 0.0).collect();
            number += own.len() as u64;
            for (turn, change) in own.iter().enumerate() {
                prop_assert_eq!(*change, if turn % 2 == 0 { 1.0 } else { -1.0 });
            }
        }
        prop_assert!(number <= 2 * max_stays, "{number} changes in {max_stays} stays");
    }
}

/// Somebody with events in many steps, and many of them: the list of events grew and shrank again, and the
/// bytes that it gave back were subtracted from nothing.
#[test]
fn lists_of_events_may_shrink() {
    let days = Buckets::new(0, "1s".parse().unwrap(), 56).unwrap();
    for distinct in 1..56 {
        let mut present =
            Present::new(days.clone(), None, Presence::Window { steps: 7 }, 1, 1 << 16).unwrap();
        for number in 0..500 {
            let event =
                Event { time: number * 37 % distinct * SECOND, person: Some("p"), ..Event::default() };
            assert_eq!(present.push(&event, Operation::Insert).unwrap(), None);
        }
        let changes: f64 = present.finish().map(|closed| closed.totals[0].to_f64()).sum();
        assert_eq!(changes, if distinct + 6 < 56 { 0.0 } else { 1.0 }, "{distinct}");
    }
}

/// Many events of one person in few steps are few marks; other persons need memory, and its end is an error.
#[test]
fn memory_is_bounded() {
    let weekly = Presence::Window { steps: 7 };
    let mut present = Present::new(buckets(), None, weekly, 1, 1 << 12).unwrap();
    fn event(number: i64, person: Option<&str>) -> Event<'_> {
        Event { time: number % (9 * SECOND), person, ..Event::default() }
    }
    for number in 0..200_000 {
        assert_eq!(present.push(&event(number * 7919, Some("p")), Operation::Insert).unwrap(), None);
    }
    let refused = (0..1000).map(|number| {
        let name = number.to_string();
        present.push(&event(number, Some(&name)), Operation::Insert).err()
    });
    let limit = (1 << 12) - 9 * 16;
    assert_eq!(refused.flatten().next(), Some(Error::TooManyClaims { limit }));
    assert!(Present::new(buckets(), None, weekly, 1, 100).is_err());
    assert!(Present::new(buckets(), None, weekly, 0, 1 << 12).is_err());
    assert!(Present::new(buckets(), None, Presence::Window { steps: 0 }, 1, 1 << 12).is_err());
    let mut present = Present::new(buckets(), None, Presence::Operations, 1, 1 << 12).unwrap();
    assert!(
        present.push(&Event { time: -1, person: Some("p"), ..Event::default() }, Operation::Insert).is_err()
    );
}
