use super::*;
use crate::amount::Amount;
use crate::{Buckets, Event, Gather, KeySet, Outcome};
use proptest::prelude::*;

const STEPS: u64 = 12;

fn key() -> NoiseKey {
    NoiseKey::insecure_from_seed(1)
}

fn twelve_seconds() -> Buckets {
    Buckets::new(0, "1s".parse().unwrap(), STEPS).unwrap()
}

fn rules(limits: Option<(u64, u64)>, has_ids: bool) -> Rules {
    Rules {
        keys: Some(KeySet::new(["a", "b"]).unwrap()),
        limits: limits.map(|(k, b)| Participation::at_most(k, b).unwrap()),
        has_ids,
        ..Rules::default()
    }
}

/// One event: its time, and the numbers of its person, id and key.
type Drawn = (i64, u8, u8, u8);

fn push(gather: &mut Gather, (time, person, id, key): Drawn) -> Option<Outcome> {
    let [person, id, key] = [person, id, key].map(|number| number.to_string());
    // One id in four is none, and so is one person in nine.
    let id = (id != "0").then_some(id.as_str());
    let person = (person != "0").then_some(person.as_str());
    let key = if key == "0" { "a" } else { "b" };
    gather.push(&Event { time, key: Some(key), person, id, value: None }).unwrap()
}

proptest! {
    /// The oracle is one run over all events. Every run gets all of them again: those of other steps
    /// must not count.
    #[test]
    fn many_runs_decide_as_one(
        events in prop::collection::vec((0_i64..12_000_000, 0_u8..9, 0_u8..4, 0_u8..2), 0..150),
        limits in prop::option::of((1_u64..4, 1_u64..4)), has_ids in any::<bool>(),
        ends in prop::collection::vec(0..=STEPS, 0..5),
    ) {
        let rules = rules(limits, has_ids);
        let mut whole = Gather::new(twelve_seconds(), rules.clone(), 1 << 20).unwrap();
        events.iter().for_each(|event| { push(&mut whole, *event); });
        let whole: Vec<_> = whole.finish().unwrap().collect();

        let (mut ends, mut first, mut released) = (ends, 0, Vec::new());
        ends.push(STEPS);
        ends.sort_unstable();
        let mut saved = Memory::new(&rules, &key(), b"x").unwrap().save();
        for end in ends {
            let memory = Memory::resume(&rules, &key(), b"x", &saved).unwrap();
            let mut run = Gather::of_steps(twelve_seconds(), rules.clone(), memory, first..end, 1 << 20).unwrap();
            events.iter().for_each(|event| { push(&mut run, *event); });
            let (steps, memory) = run.finish_and_remember().unwrap();
            released.extend(steps);
            saved = memory.unwrap().save();
            first = end;
        }
        prop_assert!(released == whole);
    }
}

#[test]
fn events_of_other_steps_are_late_or_early() {
    let memory = Memory::new(&Rules::default(), &key(), b"x").unwrap();
    let mut run = Gather::of_steps(twelve_seconds(), Rules::default(), memory, 2..4, 32).unwrap();
    let outcome = |run: &mut Gather, second: i64| push(run, (second * 1_000_000, 1, 1, 0)).unwrap();
    assert_eq!(outcome(&mut run, 1), Outcome::Late);
    assert_eq!(outcome(&mut run, 2), Outcome::Counted { step: 2 });
    assert_eq!(outcome(&mut run, 4), Outcome::Early);
    let steps: Vec<_> = run.finish().unwrap().map(|closed| (closed.step, closed.totals[0])).collect();
    assert!(steps == [(2, Amount::ONE), (3, Amount::default())]);
    let memory = Memory::new(&Rules::default(), &key(), b"x").unwrap();
    assert!(Gather::of_steps(twelve_seconds(), Rules::default(), memory, 2..4, 31).is_err());
}

fn some_memory(rules: &Rules) -> Memory {
    let memory = Memory::new(rules, &key(), b"x").unwrap();
    let mut run = Gather::of_steps(twelve_seconds(), rules.clone(), memory, 0..STEPS, 1 << 20).unwrap();
    for (time, name) in [(0, "ann-of-green-gables"), (3_000_000, "ben-of-green-gables")] {
        run.push(&Event { time, person: Some(name), id: Some(name), ..Event::default() }).unwrap();
    }
    run.finish_and_remember().unwrap().1.unwrap()
}

#[test]
fn a_memory_names_nobody() {
    let saved = some_memory(&rules(Some((2, 1)), true)).save();
    let is_in = |text: &[u8]| saved.windows(text.len()).any(|window| window == text);
    assert!(is_in(b"EVTM") && is_in(b"EVTP") && !is_in(b"gables") && !is_in(b"ann"));
    // Head, two ids, and two persons with one step each.
    assert_eq!(saved.len(), 5 + 8 + 8 + 8 + 2 * 16 + (5 + 16 + 8 + 8 + 2 * 13 + 32) + 32);
}

#[test]
fn another_memory_is_refused() {
    let mine = rules(Some((2, 1)), true);
    let saved = some_memory(&mine).save();
    let resume = |rules: &Rules, seed: u64, label: &[u8], saved: &[u8]| {
        Memory::resume(rules, &NoiseKey::insecure_from_seed(seed), label, saved)
            .err()
            .map(|error| error.to_string())
    };
    assert_eq!(resume(&mine, 1, b"x", &saved), None);
    for (rules, seed, label) in [
        (&mine, 2, &b"x"[..]),
        (&mine, 1, b"y"),
        (&rules(Some((3, 1)), true), 1, b"x"),
        (&rules(Some((2, 1)), false), 1, b"x"),
        (&rules(None, true), 1, b"x"),
    ] {
        assert!(resume(rules, seed, label, &saved).is_some());
    }
    for end in 0..saved.len() {
        assert!(resume(&mine, 1, b"x", &saved[..end]).is_some(), "cut at {end}");
        let mut damaged = saved.clone();
        damaged[end] ^= 1;
        assert!(resume(&mine, 1, b"x", &damaged).is_some(), "damaged at {end}");
    }
    assert!(resume(&mine, 1, b"x", &[&saved[..], b"x"].concat()).is_some());
}

/// Such events once ignored the limit, and the system ended the program.
#[test]
fn events_that_are_held_keep_to_the_limit() {
    let rules = rules(Some((2, 1)), true);
    let run = |limit: u64| {
        let memory = Memory::new(&rules, &key(), b"x").unwrap();
        let mut run = Gather::of_steps(twelve_seconds(), rules.clone(), memory, 0..STEPS, limit).unwrap();
        let mut pushed = Ok(None);
        for number in 0..1000 {
            let person = number.to_string();
            pushed = run.push(&Event {
                time: 1,
                key: Some("a"),
                person: Some(&person),
                id: Some("i"),
                value: None,
            });
            if pushed.is_err() {
                break;
            }
        }
        pushed.map(|_| run.finish().unwrap().map(|closed| closed.totals[0].to_f64()).sum::<f64>())
    };
    assert_eq!(run(1 << 20), Ok(1000.0));
    let table = 16 * 3 * STEPS;
    let refused = run(table + 100_000).unwrap_err();
    assert!(matches!(refused, crate::Error::TooManyClaims { limit: ..=100_000 }), "{refused}");
    // What earlier runs remember takes memory as well.
    let mut before = Memory::new(&rules, &key(), b"x").unwrap();
    assert_eq!(before.bytes(), 0);
    let mut first = Gather::of_steps(twelve_seconds(), rules.clone(), before, 0..1, 1 << 20).unwrap();
    (0..1000).for_each(|number| {
        let person = number.to_string();
        first
            .push(&Event { time: 1, key: Some("a"), person: Some(&person), id: Some("i"), value: None })
            .unwrap();
    });
    before = first.finish_and_remember().unwrap().1.unwrap();
    assert!(before.bytes() > 1000 * (16 + 11), "{}", before.bytes());
}

/// An open step gives its memory back when it closes.
#[test]
fn closed_steps_hold_nothing() {
    let mut follow = crate::Follow::new(twelve_seconds(), rules(Some((9, 1)), true)).holding_at_most(100_000);
    let mut push = |second: i64, number: u32| {
        let (person, id) = (number.to_string(), second.to_string());
        let event =
            Event { time: second * 1_000_000, person: Some(&person), id: Some(&id), ..Event::default() };
        follow.push(&event).map(|answer| answer.closed.count())
    };
    for second in 0..9 {
        for number in 0..200 {
            push(second, number).unwrap();
        }
    }
    assert!((200..1000).any(|number| push(8, number).is_err()));
    let lag = "1s".parse().unwrap();
    let mut live = crate::Clocked::new(twelve_seconds(), rules(Some((9, 1)), true), lag, 100_000).unwrap();
    let _ = live.advance_to(0);
    let refused = (0..1000).find_map(|number: u32| {
        let person = number.to_string();
        live.push(&Event { time: 1, person: Some(&person), id: Some("i"), ..Event::default() }).err()
    });
    assert!(matches!(refused, Some(crate::Error::TooManyClaims { .. })), "{refused:?}");
    // Nothing is taken any more, even if there is room again: one person would decide about others.
    let _ = live.advance_to(5_000_000);
    let small = live.push(&Event { time: 6_000_000, person: Some("p"), id: Some("i"), ..Event::default() });
    assert!(matches!(small, Err(crate::Error::TooManyClaims { .. })), "{small:?}");
}
