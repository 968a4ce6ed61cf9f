//! Spilling changes nothing. What a log without a limit counts is compared with the rule itself in
//! `tests/it/order.rs`.

use std::io::{self, Cursor, Read, Seek, SeekFrom, Write};

use super::*;
use crate::amount::Clamp;
use crate::keys::KeySet;
use crate::share::Share;
use evertally::Participation;
use proptest::prelude::*;

const SECOND: i64 = 1_000_000;

/// What counts under these rules, by step and place.
fn counted(rules: &Rules, events: &[Event<'_>], limit: u64, open: Option<Open>) -> Result<Vec<i128>> {
    let buckets = Buckets::new(0, "1s".parse()?, 6)?;
    let mut log = Log::new(rules, &buckets, limit);
    if let Some(open) = open {
        log.spill_to(open);
    }
    for event in events {
        let claimant = if rules.limits.is_some() { event.person } else { event.id };
        log.add(claimant.unwrap_or("?"), event, rules.amount(event)?)?;
    }
    let mut totals = vec![0; 6 * rules.width()];
    log.decide(|step, (place, amount)| totals[step as usize * rules.width() + place] += amount.grid_steps())?;
    Ok(totals)
}

fn rules(bound: Option<(u64, u64)>, has_ids: bool, share: Share) -> Rules {
    let limits = bound.map(|(k, b)| Participation::at_most(k, b).unwrap());
    Rules { keys: Some(KeySet::new(["x", "w"]).unwrap()), limits, share, has_ids, ..Rules::default() }
}

fn on_disk() -> Option<Open> {
    Some(Box::new(|| Ok(Box::new(Cursor::new(Vec::new())))))
}

proptest! {
    #[test]
    fn spilling_changes_nothing(
        made in prop::collection::vec((0..6 * SECOND, 0_usize..5, 0_usize..5, 0_usize..9, -3_i8..9), 0..120),
        bound in prop::option::of((1_u64..4, 1_u64..3)),
        has_ids in any::<bool>(), events in prop::option::of(1_u64..4), keys in 1_u64..4,
    ) {
        let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i"];
        let clamp = Clamp::new(-1.5, 4.5).unwrap();
        let rules = rules(bound, has_ids || bound.is_none(), Share::new(events, keys, Some(clamp)).unwrap());
        let made: Vec<Event<'_>> = made.into_iter().map(|(time, key, id, person, value)| Event {
            time,
            key: Some(["x", "w", "y", "z", " "][key]),
            id: Some(names[id]),
            person: Some(names[person]),
            value: Some(f64::from(value)),
        }).collect();
        let expected = counted(&rules, &made, u64::MAX, None).ok();
        prop_assert!(counted(&rules, &made, 0, on_disk()).ok() == expected);
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
    assert!(matches!(counted(&rules, &events, 0, None), Err(Error::TooManyClaims { limit: LEAST_ROOM })));
    let full: Open = Box::new(|| Ok(Box::new(Full)));
    let expected = Error::Spill { reason: "no space left".to_owned() };
    assert!(counted(&rules, &events, 0, Some(full)).is_err_and(|error| error == expected));

    let mut log = Log::new(&rules, &Buckets::new(0, "1s".parse().unwrap(), 1).unwrap(), 0);
    log.spill_to(Box::new(|| Ok(Box::new(Full))));
    let failed = events.iter().filter(|event| log.add(event.person.unwrap(), event, Amount::ONE).is_err());
    assert!(failed.count() > 0);
    assert!(log.decide(|_, _| {}).is_err());
}
