//! Counters that find keys, saved and resumed.

use super::*;

const STEPS: u64 = 9;

fn small() -> Discovery {
    builder(STEPS).floor(3).contribution(Contribution::range(-3.0, 12.0).unwrap()).build().unwrap()
}

/// A part of a step: some keys stay below the floor, some wait for noise, some appear early.
fn part(counter: &mut DiscoveringCounter, step: u64, half: u64) {
    for number in 0..12_u64 {
        let name = format!("page {number}");
        let new = (number * number + step + half) % (number + 2);
        counter.add(&name, number as f64 - 2.5, new).unwrap();
    }
    counter.add(&format!("once {step} {half}"), -0.5, 1).unwrap();
}

fn close(counter: &mut DiscoveringCounter) -> Vec<(String, u64, u64, u64)> {
    let found = counter.close_step().unwrap();
    let row = |row: &FoundKey<'_>| {
        let release = row.release;
        (row.key.to_owned(), row.since, release.value.to_bits(), release.standard_error.to_bits())
    };
    found.iter().map(row).collect()
}

#[test]
fn a_resumed_counter_continues_bit_for_bit() {
    let discovery = small();
    let fresh = || DiscoveringCounter::new(&discovery, key(7)).unwrap();
    let mut whole = fresh();
    let mut all = Vec::new();
    for step in 0..STEPS {
        (0..2).for_each(|half| part(&mut whole, step, half));
        all.push(close(&mut whole));
    }
    let appeared: std::collections::HashSet<u64> = all.concat().iter().map(|row| row.1).collect();
    assert!(appeared.len() > 2, "some keys appear late: {appeared:?}");
    // Saved before each step, in the middle of it, and before it is closed.
    for (cut, halves) in (0..STEPS).flat_map(|cut| (0..3).map(move |halves| (cut, halves))) {
        let mut first = fresh();
        for step in 0..cut {
            (0..2).for_each(|half| part(&mut first, step, half));
            assert_eq!(close(&mut first), all[step as usize]);
        }
        (0..halves).for_each(|half| part(&mut first, cut, half));
        let state = first.save();
        let mut second = DiscoveringCounter::resume(&discovery, key(7), &state).unwrap();
        assert!(second.save() == state && second.held == first.held && second.steps_closed() == cut);
        assert_eq!(format!("{second:?}"), format!("{first:?}"));
        (halves..2).for_each(|half| part(&mut second, cut, half));
        assert_eq!(close(&mut second), all[cut as usize], "cut at {cut}, {halves}");
        for step in cut + 1..STEPS {
            (0..2).for_each(|half| part(&mut second, step, half));
            assert_eq!(close(&mut second), all[step as usize], "cut at {cut}, {halves}");
        }
        assert!(second.save() == whole.save());
    }
    let mut spent = DiscoveringCounter::resume(&discovery, key(7), &whole.save()).unwrap();
    assert_eq!(spent.close_step().unwrap_err().class(), ErrorClass::HorizonSpent);
}

/// A counter in the middle of its third step: with hidden keys, keys that wait, and keys that have appeared.
fn saved(discovery: &Discovery) -> Vec<u8> {
    let mut counter = DiscoveringCounter::new(discovery, key(7)).unwrap();
    for step in 0..2 {
        (0..2).for_each(|half| part(&mut counter, step, half));
        close(&mut counter);
    }
    part(&mut counter, 2, 0);
    assert!(!counter.awake.is_empty() && counter.shown.len() > 1);
    counter.save()
}

#[test]
fn a_state_of_another_discovery_or_key_or_with_a_flipped_bit_is_refused() {
    let discovery = small();
    let state = saved(&discovery);
    let refused = |discovery: &Discovery, seed, state: &[u8], reason: &str| {
        let error = DiscoveringCounter::resume(discovery, key(seed), state).unwrap_err();
        assert_eq!(error.class(), ErrorClass::BadState, "{error}");
        assert!(error.to_string().contains(reason), "{error}");
    };
    for other in [
        builder(STEPS).floor(2),
        builder(STEPS + 1).floor(3),
        builder(STEPS).floor(3).share(0.25),
        builder(STEPS).floor(3).definition(*b"other"),
        builder(STEPS).floor(3),
    ] {
        refused(&other.build().unwrap(), 7, &state, "it belongs to another plan");
    }
    refused(&discovery, 8, &state, "it belongs to another key");
    let open = SparseCounter::new(discovery.persons(), key(7)).unwrap().save();
    refused(&discovery, 7, &open, "it is not the state of such a counter");
    (0..state.len()).step_by(7).for_each(|length| refused(&discovery, 7, &state[..length], ""));
    for bit in (0..8 * state.len()).step_by(11) {
        let mut flipped = state.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        refused(&discovery, 7, &flipped, "");
    }
    assert!(DiscoveringCounter::resume(&discovery, key(7), &state).is_ok());
}

/// Numbers with a valid hash that no counter could have saved.
#[test]
fn a_state_that_contradicts_itself_is_refused() {
    let discovery = small();
    let state = saved(&discovery);
    let number = |at: usize| u64::from_le_bytes(state[at..at + 8].try_into().unwrap()) as usize;
    let head = 4 + 1 + 32 + 8 + 8;
    let (first, record) = (head + 8, 11 + 8 + 16);
    let awake = first + record * number(head);
    let mut shown = awake + 8;
    (0..number(awake)).for_each(|_| shown += 12 + number(shown + 4));
    let since = shown + 8 + 4;
    let second = since + 8 + 8 + number(since + 8) + 4;
    // The candidate of the first key that waits.
    let waiting = first + record * state[awake + 8] as usize;
    type Damage<'a> = &'a dyn Fn(&mut Vec<u8>);
    let resealed = |change: Damage<'_>| {
        let mut content = state[..state.len() - 32].to_vec();
        change(&mut content);
        let hash = *blake3::hash(&content).as_bytes();
        content.extend(hash);
        DiscoveringCounter::resume(&discovery, key(7), &content)
    };
    assert!(resealed(&|_| {}).is_ok());
    let bad: [(&str, Damage<'_>); 14] = [
        ("more candidates than bytes", &|c| c[head + 7] = 0xff),
        ("one candidate twice", &|c| c.copy_within(first..first + 11, first + record)),
        ("a total beyond the largest", &|c| c[first + 11 + 8 + 15] = 0x7f),
        // Twice its magnitude is zero in 128 bits.
        ("the least total", &|c| {
            c[first + 11 + 8..first + 11 + 8 + 15].fill(0);
            c[first + 11 + 8 + 15] = 0x80;
        }),
        ("a key below the floor that has a name", &|c| c[waiting + 11..waiting + 19].fill(0)),
        ("a key above the floor without a name", &|c| c[awake - record + 11 + 7] = 1),
        ("more names than bytes", &|c| c[awake + 7] = 0xff),
        ("a name of no candidate", &|c| c[awake + 8 + 3] = 0xff),
        ("a name of another candidate", &|c| c[awake + 8 + 12] ^= 1),
        ("a name that is no text", &|c| c[awake + 8 + 12] = 0xff),
        ("a key that appears in a step to come", &|c| c[since] = 2),
        ("a step beyond those of its parts", &|c| c[head - 8] = 3),
        ("keys in another order", &|c| (c[since], c[second]) = (1, 0)),
        ("bytes left over", &|c| c.push(0)),
    ];
    for (what, change) in bad {
        let error = resealed(change).expect_err(what);
        assert_eq!(error.class(), ErrorClass::BadState, "{what}");
    }
}

#[test]
fn a_state_that_does_not_fit_the_memory_limit_is_refused() {
    let limited = |bytes: u64| builder(STEPS).memory_limit(bytes).build().unwrap();
    let (more, less) = (limited(3_000_000), limited(300_000));
    let mut counter = DiscoveringCounter::new(&more, key(7)).unwrap();
    (0..10_000).for_each(|number| counter.add(&format!("once {number}"), 1.0, 1).unwrap());
    let state = counter.save();
    assert!(DiscoveringCounter::resume(&more, key(7), &state).is_ok());
    let error = DiscoveringCounter::resume(&less, key(7), &state).unwrap_err();
    assert!(error.to_string().contains("the memory limit of 300000 bytes has no room"), "{error}");
}
