use super::*;
use crate::contest::Contest;
use crate::{KeySet, Share};
use evertally::Participation;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const SECOND: i64 = 1_000_000;

fn buckets() -> Buckets {
    Buckets::new(0, "1s".parse().unwrap(), 6).unwrap()
}

fn rules(steps: u64, events: u64, keys: u64, has_ids: bool) -> Rules {
    Rules {
        limits: Some(Participation::at_most(steps, 1).unwrap()),
        share: Share::new(Some(events), keys, None).unwrap(),
        has_ids,
        ..Rules::default()
    }
}

type Table = BTreeMap<(u64, String), (i128, u64)>;

fn gathered(rules: &Rules, events: &[Event<'_>]) -> Table {
    let mut gather = OpenGather::new(buckets(), rules.clone(), 1 << 20).unwrap();
    events.iter().for_each(|event| assert!(gather.push(event).unwrap().is_none()));
    table_of(&gather.finish().unwrap())
}

fn table_of(steps: &OpenSteps) -> Table {
    let row = |step, row: InKey<'_>| ((step, row.key.to_owned()), (row.amount.grid_steps(), row.new_persons));
    (0..6).flat_map(|step| steps.of_step(step).map(move |in_key| row(step, in_key))).collect()
}

/// With a floor, by columns, and with a limit on memory beyond which events are spilled; and whether they
/// were.
fn gathered_above(
    rules: &Rules,
    events: &[Event<'_>],
    floor: u64,
    limit: u64,
    batch_len: usize,
) -> (Table, bool) {
    let is_spilled = Arc::new(AtomicBool::new(false));
    let mut open = OpenGather::new(buckets(), rules.clone(), limit).unwrap().at_or_above(floor);
    let spills = Arc::clone(&is_spilled);
    open = open.spilling_to(move || {
        spills.store(true, Ordering::Relaxed);
        Ok(Box::new(std::io::Cursor::new(Vec::new())))
    });
    let gather = open.events();
    let mut batch = gather.claim_batch().unwrap();
    for (number, event) in events.iter().enumerate() {
        let tag = batch.tag_of(event.person.unwrap()).unwrap();
        assert!(gather.takes_key(event.key));
        let key = batch.number_of(event.key);
        batch.push(
            tag,
            gather.moment_of(event.time).unwrap(),
            key,
            event.id,
            gather.amount_of(None).unwrap(),
        );
        if number % batch_len == 0 {
            gather.take(&mut batch).unwrap();
            batch.forget_keys();
        }
    }
    gather.take(&mut batch).unwrap();
    let steps = open.finish().unwrap();
    let table = table_of(&steps);
    let mut persons = BTreeMap::new();
    for ((_, key), (_, new)) in &table {
        *persons.entry(key.as_str()).or_insert(0) += new;
    }
    assert!(steps.persons().collect::<BTreeMap<_, _>>() == persons);
    (table, is_spilled.load(Ordering::Relaxed))
}

/// The definition: what counts by the oracle of declared keys, one person alone after another, and a set
/// of the persons of each key.
fn obvious(rules: &Rules, events: &[Event<'_>]) -> Table {
    let names = ["a", "b", "c", "d", "e"];
    let declared = Rules { keys: Some(KeySet::new(names).unwrap()), ..rules.clone() };
    let persons: HashSet<&str> = events.iter().filter_map(|event| event.person).collect();
    let mut table = Table::new();
    for person in persons {
        let mut contest = Contest::new(declared.clone());
        for event in events.iter().filter(|event| event.person == Some(person)) {
            let step = buckets().step_of(event.time).unwrap();
            assert!(contest.push(event, Ok(step)).is_ok());
        }
        let mut known = HashSet::new();
        while let Some(step) = contest.first_open() {
            for (place, amount) in contest.close(step) {
                let cell = table.entry((step, names[place].to_owned())).or_default();
                cell.0 += amount.grid_steps();
                cell.1 += u64::from(known.insert(place));
            }
        }
    }
    table
}

proptest! {
    #[test]
    fn what_counts_is_that_of_the_definition_in_any_order(
        events in prop::collection::vec((0_i64..6 * SECOND, 0_u8..5, 0_u8..5, 0_u8..6), 0..120),
        steps in 1_u64..4, most in 1_u64..4, keys in 1_u64..4, has_ids in any::<bool>(), seed in any::<u64>(),
    ) {
        let texts: Vec<_> = events
            .iter()
            .map(|(time, key, person, id)| {
                let key = char::from(b'a' + key).to_string();
                (*time, key, format!("p{person}"), format!("i{id}"))
            })
            .collect();
        let mut events: Vec<Event<'_>> = texts
            .iter()
            .map(|(time, key, person, id)| Event {
                time: *time,
                key: Some(key),
                person: Some(person),
                id: Some(id),
                value: None,
            })
            .collect();
        let rules = rules(steps, most, keys, has_ids);
        let table = gathered(&rules, &events);
        prop_assert!(table == obvious(&rules, &events));
        let bound = steps * rules.share.keys();
        for person in 0..6 {
            let own: Vec<_> =
                events.iter().filter(|event| event.person == Some(&format!("p{person}"))).copied().collect();
            let new: u64 = gathered(&rules, &own).values().map(|(_, new)| new).sum();
            prop_assert!(new <= bound, "a person is new in at most {bound} keys");
        }
        events.sort_by_key(|event| (event.time as u64).wrapping_mul(seed | 1));
        prop_assert!(gathered(&rules, &events) == table);
        for floor in 1..4 {
            let mut persons = BTreeMap::new();
            for ((_, key), (_, new)) in &table {
                *persons.entry(key.clone()).or_insert(0) += new;
            }
            let above: Table =
                table.clone().into_iter().filter(|((_, key), _)| persons[key] >= floor).collect();
            prop_assert!(gathered_above(&rules, &events, floor, 1 << 20, 7) == (above, false));
        }
    }
}

/// What was spilled is decided once, and keys below the floor are left out at the end.
#[test]
fn keys_below_the_floor_are_left_out_of_what_was_spilled() {
    let texts: Vec<_> = (0..3000)
        .map(|number| (format!("k{}", number * number % 900), format!("p{}", number % 700)))
        .collect();
    let events: Vec<Event<'_>> = (0_i64..)
        .zip(&texts)
        .map(|(at, (key, person))| Event {
            time: at * at % 6 * SECOND,
            key: Some(key),
            person: Some(person),
            ..Event::default()
        })
        .collect();
    let rules = rules(3, 2, 2, false);
    for floor in [1, 2, 5, 1000] {
        let (whole, is_spilled) = gathered_above(&rules, &events, floor, 1 << 20, 100);
        assert!(!is_spilled);
        assert!(gathered_above(&rules, &events, floor, 48_000, 100) == (whole.clone(), true));
        assert_eq!(whole.is_empty(), floor == 1000);
    }
}

#[test]
fn a_person_is_new_in_a_key_once_among_many() {
    let names: Vec<String> = (0..100).map(|number| format!("k{number}")).collect();
    let rules = rules(6, 1000, 1000, false);
    let events: Vec<Event<'_>> = (0..1000)
        .map(|number| Event {
            time: number % 6 * SECOND,
            key: Some(&names[number as usize % 100]),
            person: Some("p"),
            ..Event::default()
        })
        .collect();
    let table = gathered(&rules, &events);
    assert_eq!(table.values().map(|(_, new)| new).sum::<u64>(), 100);
    let counted: i128 = table.values().map(|(amount, _)| amount).sum();
    assert_eq!(counted, 1000 * Amount::ONE.grid_steps());
}

#[test]
fn events_without_a_name_are_no_part_of_it() {
    let mut gather = OpenGather::new(buckets(), rules(1, 1, 1, false), 1 << 20).unwrap();
    let event = |key, person| Event { key, person, ..Event::default() };
    assert_eq!(gather.push(&event(Some("k"), Some(" "))), Ok(Some(Outcome::Unnamed)));
    for key in [None, Some(""), Some(" \t")] {
        assert_eq!(gather.push(&event(key, Some("p"))), Err(Error::NoKey));
    }
    let long = "secret".repeat(2 << 20);
    let refusal = gather.push(&event(Some(&long), Some("p"))).unwrap_err().to_string();
    assert_eq!(refusal, "the name of the group is longer than 4096 bytes");
    assert_eq!(gather.finish().unwrap().persons().count(), 0);
}

#[test]
fn rules_that_bound_nobody_are_refused() {
    assert!(OpenGather::new(buckets(), Rules::default(), 1 << 20).is_err());
    let declared = Rules { keys: Some(KeySet::new(["a"]).unwrap()), ..rules(1, 1, 1, false) };
    assert!(OpenGather::new(buckets(), declared, 1 << 20).is_err());
}

#[test]
fn what_does_not_fit_in_memory_is_an_error() {
    let texts: Vec<String> = (0..2000).map(|number| number.to_string()).collect();
    let mut gather = OpenGather::new(buckets(), rules(1, 1, 1, false), 1 << 12).unwrap();
    let pushed = texts.iter().try_for_each(|text| {
        gather.push(&Event { key: Some(text), person: Some(text), ..Event::default() }).map(drop)
    });
    assert!(matches!(pushed, Err(Error::TooManyClaims { .. })));
}
