//! However events come to a log, and however often they are sorted and spilled, it counts what a contest
//! does. Both are compared with the rule itself in `tests/it/order.rs`.

use std::io::{self, Cursor, Read, Seek, SeekFrom, Write};

use super::*;
use crate::amount::Clamp;
use crate::buckets::Buckets;
use crate::gather::Gather;
use crate::keys::KeySet;
use crate::memory::Memory;
use crate::rules::Event;
use crate::share::Share;
use evertally::{NoiseKey, Participation};
use proptest::prelude::*;

const SECOND: i64 = 1_000_000;

const STEPS: u64 = 40;

/// How events come to a log, and how much room it has.
#[derive(Debug, Clone, Copy)]
struct Way {
    /// How many bytes are not sorted.
    least_recent: usize,
    limit: u64,
    has_disk: bool,
    /// How many events are handed over at a time, if they are not one by one.
    batch: Option<usize>,
}

/// Everything is sorted once, at the end.
const AT_ONCE: Way = Way { least_recent: usize::MAX, limit: u64::MAX, has_disk: false, batch: None };

fn buckets() -> Buckets {
    Buckets::new(0, "1s".parse().unwrap(), STEPS).unwrap()
}

/// What counts under these rules, by step and place.
fn counted(rules: &Rules, events: &[Event<'_>], way: Way) -> Result<Vec<i128>> {
    let mut log = Log::new(rules, way.limit);
    (log.least_recent, log.next_look) = (way.least_recent, way.least_recent);
    if way.has_disk {
        log.spill_to(on_disk());
    }
    match way.batch {
        None => events.iter().try_for_each(|event| add(&mut log, rules, event))?,
        Some(size) => {
            // Two threads, each with a batch of its own.
            let mut batches = [log.batch(), log.batch()];
            for (number, events) in events.chunks(size).enumerate() {
                let batch = &mut batches[number % 2];
                for event in events {
                    push(batch, rules, event)?;
                }
                log.take(batch)?;
                batch.symbols.forget();
                batch.numbers.clear();
            }
        }
    }
    let mut totals = vec![0; STEPS as usize * rules.width()];
    log.decide(|step, (place, amount)| totals[step as usize * rules.width() + place] += amount.grid_steps())?;
    Ok(totals)
}

fn claimant<'a>(rules: &Rules, event: &Event<'a>) -> &'a str {
    let claimant = if rules.limits.is_some() { event.person } else { event.id };
    claimant.unwrap_or("?")
}

fn moment(event: &Event<'_>) -> Result<Moment> {
    let (step, offset) = buckets().moment_of(event.time)?;
    Ok(Moment { step, offset })
}

fn add(log: &mut Log, rules: &Rules, event: &Event<'_>) -> Result<()> {
    log.add(claimant(rules, event), moment(event)?, event.key, event.id, rules.amount(event)?)
}

fn push(batch: &mut ClaimBatch, rules: &Rules, event: &Event<'_>) -> Result<()> {
    let (tag, key) = (batch.tag_of(claimant(rules, event)).unwrap(), batch.number_of(event.key));
    batch.push(tag, moment(event)?, key, event.id, rules.amount(event)?);
    Ok(())
}

/// What counts as the rule is written for steps that close one by one, which has no claims in common.
fn contested(rules: &Rules, events: &[Event<'_>]) -> Vec<i128> {
    let memory = Memory::new(rules, &NoiseKey::insecure_from_seed(1), b"x").unwrap();
    let mut gather = Gather::of_steps(buckets(), rules.clone(), memory, 0..STEPS, u64::MAX).unwrap();
    for event in events {
        gather.push(event).unwrap();
    }
    gather.finish().unwrap().flat_map(|step| step.totals).map(Amount::grid_steps).collect()
}

fn rules(bound: Option<(u64, u64)>, has_ids: bool, share: Share) -> Rules {
    let limits = bound.map(|(k, b)| Participation::at_most(k, b).unwrap());
    Rules { keys: Some(KeySet::new(["x", "w"]).unwrap()), limits, share, has_ids, ..Rules::default() }
}

fn on_disk() -> Open {
    Box::new(|| Ok(Box::new(Cursor::new(Vec::new()))))
}

/// Times of which many are equal, in each unit.
fn time() -> impl Strategy<Value = i64> {
    let end = STEPS as i64 * SECOND;
    prop_oneof![
        (0..STEPS as i64).prop_map(|second| second * SECOND),
        (0..end / 50_000).prop_map(|moment| moment * 50_000),
        (0..end),
    ]
}

fn way() -> impl Strategy<Value = Way> {
    let least_recent = prop::sample::select(vec![0, 40, 300, usize::MAX]);
    let batch = prop::option::of(1_usize..50);
    (least_recent, any::<bool>(), batch).prop_map(|(least_recent, has_disk, batch)| Way {
        least_recent,
        limit: if has_disk { 0 } else { u64::MAX },
        has_disk,
        batch,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn a_log_counts_what_a_contest_does_in_any_room(
        made in prop::collection::vec((time(), 0_usize..6, 0_usize..5, 0_usize..12, -3_i8..9), 0..200),
        (persons, seconds) in (1_usize..12, any::<bool>()),
        bound in prop::option::of((1_u64..30, 1_u64..4)),
        has_ids in any::<bool>(), events in prop::option::of(1_u64..4), keys in 1_u64..4,
        (has_values, is_clamped) in any::<(bool, bool)>(),
        way in way(),
    ) {
        let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "7", "é"];
        let clamp = Some(Clamp::new(-1.5, 4.5).unwrap()).filter(|_| is_clamped || events.is_none());
        let rules = rules(bound, has_ids || bound.is_none(), Share::new(events, keys, clamp).unwrap());
        let made: Vec<Event<'_>> = made.into_iter().map(|(time, key, id, person, value)| Event {
            // Coarse times are narrow, and then are made wider.
            time: if seconds && key > 0 { time / SECOND * SECOND } else { time },
            key: [Some("x"), Some("w"), Some("y"), Some("z"), Some(" "), None][key],
            id: Some(names[id]),
            person: Some(names[person % persons]),
            value: has_values.then(|| f64::from(value) * if person == 3 { 0.375 } else { 1.0 }),
        }).collect();
        let expected = contested(&rules, &made);
        prop_assert!(counted(&rules, &made, AT_ONCE) == Ok(expected.clone()));
        let counted = counted(&rules, &made, way);
        prop_assert!(counted == Ok(expected), "{way:?}");
    }
}

/// One claimant has all claims of a shelf, in narrow numbers. Then one comes that makes all of them wider.
#[test]
fn a_busy_claimant_counts_as_often_as_allowed_however_wide_claims_become() {
    let many = 3 * MAX_RECENT / 13;
    for max_events in [Some(1), None] {
        let clamp = Some(Clamp::new(0.0, 1e6).unwrap());
        let rules = rules(Some((2, 1)), false, Share::new(max_events, 1, clamp).unwrap());
        for (step, last) in [(9, 9 * SECOND + 1), (20, 3 * SECOND + 1)] {
            let event = |time| Event {
                time,
                person: Some("a"),
                key: Some("x"),
                value: Some(1.0),
                ..Event::default()
            };
            // More than are sorted in at a time, and as many as are not.
            for count in [MAX_RECENT / 13 - 1, many] {
                let mut events = vec![event(step * SECOND); count];
                events.push(event(last));
                events.push(Event { value: Some(0.125), ..event(last) });
                let expected = contested(&rules, &events);
                for least_recent in [0, usize::MAX] {
                    let way = Way { least_recent, ..AT_ONCE };
                    assert!(
                        counted(&rules, &events, way) == Ok(expected.clone()),
                        "{max_events:?} {count} {way:?}"
                    );
                }
            }
        }
    }
}

/// A disk that is full.
struct Full;

impl Write for Full {
    fn write(&mut self, _bytes: &[u8]) -> io::Result<usize> {
        Err(io::Error::other("no space left"))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for Full {
    fn read(&mut self, _bytes: &mut [u8]) -> io::Result<usize> {
        Ok(0)
    }
}

impl Seek for Full {
    fn seek(&mut self, _position: SeekFrom) -> io::Result<u64> {
        Ok(0)
    }
}

#[test]
fn what_cannot_be_spilled_is_an_error_and_nothing_is_decided_after_it() {
    let rules = rules(Some((1, 1)), false, Share::default());
    let names: Vec<String> = (0..99).map(|number| number.to_string()).collect();
    let events: Vec<Event<'_>> =
        names.iter().map(|name| Event { person: Some(name), ..Event::default() }).collect();
    let cramped = Way { limit: 0, ..AT_ONCE };
    assert!(matches!(counted(&rules, &events, cramped), Err(Error::TooManyClaims { limit: LEAST_ROOM })));

    let mut log = Log::new(&rules, 0);
    log.spill_to(Box::new(|| Ok(Box::new(Full))));
    let failed = events.iter().filter_map(|event| add(&mut log, &rules, event).err());
    let failed: Vec<Error> = failed.collect();
    assert_eq!(failed.first(), Some(&Error::Spill { reason: "no space left".to_owned() }));
    assert!(log.decide(|_, _| {}).is_err());
}
