//! Keys that are found: the same counts with fresh noise.

use evertally::{Budget, Contribution, DiscoveringCounter, Discovery, DiscoveryBuilder, NoiseKey, Plan};

const STEPS: u64 = 9;

/// A key, when it appeared, and its released total.
type Row = (String, u64, f64);

fn key(seed: u64) -> NoiseKey {
    NoiseKey::insecure_from_seed(seed)
}

fn builder() -> DiscoveryBuilder {
    Plan::discover(STEPS).budget(Budget::new(1.0, 0.02).unwrap()).key_delta(0.015)
}

fn small() -> Discovery {
    builder().floor(3).contribution(Contribution::range(-3.0, 12.0).unwrap()).build().unwrap()
}

fn names() -> Vec<String> {
    (0..12).map(|number| format!("page {number}")).chain(["rare".to_owned()]).collect()
}

fn add(counter: &mut DiscoveringCounter, step: u64) {
    for number in 0..12_u64 {
        let new = (number * number + step) % (number + 2);
        counter.add(&format!("page {number}"), number as f64 - 2.5, new).unwrap();
    }
    counter.add("rare", -0.5, u64::from(step == 0)).unwrap();
}

fn close(counter: &mut DiscoveringCounter) -> Vec<Row> {
    let found = counter.close_step().unwrap();
    found.iter().map(|row| (row.key.to_owned(), row.since, row.release.value)).collect()
}

fn copy(counter: &DiscoveringCounter, discovery: &Discovery) -> DiscoveringCounter {
    DiscoveringCounter::resume(discovery, key(7), &counter.save()).unwrap()
}

/// Beside a counter that ran under the other stream from the start: keys that were hidden there and here
/// have the same counts and noise, and those that had appeared here stay.
#[test]
fn counts_stay_and_noise_is_that_of_the_other_stream() {
    let discovery = small();
    let again = discovery.with_stream("again");
    assert_ne!(again.persons().noise_name(), discovery.persons().noise_name());
    assert_ne!(again.totals().noise_name(), discovery.totals().noise_name());
    for cut in 0..STEPS {
        let mut counter = DiscoveringCounter::new(&discovery, key(7)).unwrap();
        let mut other = DiscoveringCounter::new(&again, key(7)).unwrap();
        let mut appeared: Vec<Row> = Vec::new();
        for step in 0..cut {
            add(&mut counter, step);
            add(&mut other, step);
            (appeared, _) = (close(&mut counter), close(&mut other));
        }
        // The open step is part of the counts.
        add(&mut counter, cut);
        add(&mut other, cut);
        let mut names = names();
        names.reverse();
        let fresh = counter.with_fresh_noise(&again, key(7), names.iter().map(String::as_str)).unwrap();
        let state = fresh.save();
        for mut fresh in [fresh, DiscoveringCounter::resume(&again, key(7), &state).unwrap()] {
            let (rows, others) = (close(&mut fresh), close(&mut copy(&other, &again)));
            for (old, row) in appeared.iter().zip(&rows) {
                assert_eq!((&row.0, row.1), (&old.0, old.1), "what has appeared stays, in its order");
            }
            for row in &rows {
                if let Some(other) = others.iter().find(|other| other.0 == row.0) {
                    assert_eq!(row.2, other.2);
                }
            }
            for other in others.iter().filter(|other| other.1 == cut) {
                assert!(rows.iter().any(|row| row.0 == other.0), "the same noise decides");
            }
        }
    }
}

#[test]
fn names_that_are_not_all_names_are_refused_without_saying_how_many() {
    let discovery = small();
    let again = discovery.with_stream("again");
    let mut counter = DiscoveringCounter::new(&discovery, key(7)).unwrap();
    add(&mut counter, 0);
    close(&mut counter);
    let names = names();
    let all: Vec<&str> = names.iter().map(String::as_str).collect();
    let refusal = |names: &[&str]| {
        counter.with_fresh_noise(&again, key(7), names.iter().copied()).map(drop).unwrap_err().to_string()
    };
    let expected = refusal(&all[1..]);
    for bad in [&[&all[..], &all[..1]].concat()[..], &[]] {
        assert_eq!(refusal(bad), expected);
    }
    assert!(!expected.contains("page") && !expected.contains("13"), "{expected}");
    let more = all.iter().copied().chain(["without inputs"]);
    assert!(counter.with_fresh_noise(&again, key(7), more).is_ok());
    assert!(counter.with_fresh_noise(&discovery, key(7), all.iter().copied()).is_err(), "not fresh");
    assert!(counter.with_fresh_noise(&discovery, key(8), all.iter().copied()).is_ok());
    let third = builder().floor(4).build().unwrap().with_stream("again");
    assert!(counter.with_fresh_noise(&third, key(7), all.iter().copied()).is_err(), "another discovery");
}
