//! The life of counters, from the first event to the last release, with the ledger opened again in
//! between.

use crate::common::*;
use evertally::Budget;
use evertally_ledger::{Class, Error, Event, Mode, Role, Spec, Status};

#[test]
fn events_count_once_and_releases_stay() {
    let (home, mut ledger) = Home::with_plenty();
    let counter = create(&mut ledger, &loud("visits"));
    assert_eq!(submit(&mut ledger, &counter, 0..5, START).counted, 5);
    let again = submit(&mut ledger, &counter, 3..8, START);
    assert_eq!((again.counted, again.duplicate), (3, 2));
    assert_eq!(ledger.advance("visits", 2).unwrap(), 0..2);
    assert_eq!(counter.next_step(), 0, "nothing is shown before it is durable");
    ledger.commit(START).unwrap();
    assert_eq!(counter.next_step(), 2);
    assert_eq!(latest(&counter), [8.0]);
    let before = released(&ledger.read_view(), "visits");
    for _ in 0..3 {
        drop(ledger);
        ledger = home.open();
        assert_eq!(released(&ledger.read_view(), "visits"), before);
        let counter = ledger.read_view().counter("visits").unwrap();
        assert_eq!(submit(&mut ledger, &counter, 0..8, START).duplicate, 8, "ids outlive the process");
    }
    let counter = ledger.read_view().counter("visits").unwrap();
    submit(&mut ledger, &counter, 8..10, START);
    ledger.checkpoint_all().unwrap();
    drop(ledger);
    let mut ledger = home.open();
    assert_eq!(released(&ledger.read_view(), "visits"), before);
    let counter = ledger.read_view().counter("visits").unwrap();
    assert_eq!(submit(&mut ledger, &counter, 0..10, START).duplicate, 10, "ids outlive their frames");
    release_step(&mut ledger, "visits");
    assert_eq!(latest(&counter), [10.0], "open totals outlive their frames");
    ledger.verify().unwrap();
}

#[test]
fn a_clock_closes_steps_and_late_and_early_events_do_not_count() {
    let (_home, mut ledger) = Home::with_plenty();
    let spec = Spec { grace: Some("2s".parse().unwrap()), ..by_the_second(loud("visits")) };
    let counter = create(&mut ledger, &spec);
    let at = |second: i64| {
        let id = format!("at {second}");
        counter
            .intake()
            .prepare(&Event { id: &id, time: Some(START + second * SECOND), ..Event::default() })
            .unwrap()
    };
    let now = START + 5 * SECOND;
    // The steps that ended more than two seconds ago are 0, 1 and 2.
    assert!(!ledger.close_due(now).unwrap());
    let receipt = ledger.submit(&counter, &[at(-1), at(0), at(2), at(3), at(4), at(5), at(6)], now).unwrap();
    assert_eq!((receipt.late, receipt.counted, receipt.early), (3, 3, 1));
    ledger.commit(now).unwrap();
    assert_eq!((counter.next_step(), latest(&counter)), (3, vec![0.0]));
    assert_eq!(counter.next_release(), Some(START + 6 * SECOND));
    // A clock that is set back opens nothing.
    assert!(!ledger.close_due(START).unwrap());
    let receipt = ledger.submit(&counter, &[arrival(&counter, "now")], START).unwrap();
    assert_eq!(receipt.counted, 1);
    ledger.close_due(START + 6 * SECOND).unwrap();
    ledger.commit(START).unwrap();
    assert_eq!((counter.next_step(), latest(&counter)), (4, vec![2.0]));
    // Long after the end, all steps are closed, in several frames if need be.
    while ledger.close_due(START + 100_000 * SECOND).unwrap() {
        ledger.commit(START).unwrap();
    }
    ledger.commit(START).unwrap();
    assert_eq!((counter.status(), counter.next_step(), latest(&counter)), (Status::Ended, 1000, vec![4.0]));
    let receipt = ledger.submit(&counter, &[arrival(&counter, "then")], START + 100_000 * SECOND).unwrap();
    assert_eq!(receipt.ended, 1);
    assert_eq!(ledger.next_due(), None);
}

#[test]
fn keys_values_and_persons() {
    let (home, mut ledger) = Home::with_plenty();
    ledger.grant(&population("people", "household", plenty())).unwrap();
    let keyed = loud("keyed").keys(["north", "south"]).values(0.0, 10.0).unwrap();
    let keyed = ledger.create(&keyed.plan(START).unwrap(), START).unwrap();
    let bounded = Spec { population: "people".into(), ..loud("bounded").persons(2, 2).unwrap() };
    let bounded = create(&mut ledger, &bounded);
    let event = |id: &'static str, key, value| {
        keyed.intake().prepare(&Event { id, key, value, ..Event::default() }).unwrap()
    };
    let events = [
        event("a", Some("north"), Some(2.5)),
        event("b", Some("south"), Some(99.0)),
        event("c", None, Some(-5.0)),
        event("d", Some("west"), None),
    ];
    ledger.submit(&keyed, &events, START).unwrap();
    let mut counted = Vec::new();
    for step in 0..5 {
        let person = bounded
            .intake()
            .prepare(&Event { id: &format!("{step}"), person: Some("p"), ..Event::default() })
            .unwrap();
        counted.push(ledger.submit(&bounded, &[person], START).unwrap().counted);
        release_step(&mut ledger, "bounded");
        if step == 2 {
            ledger.checkpoint_all().unwrap();
        }
    }
    assert_eq!(counted, [1, 0, 1, 0, 0], "two steps, two apart");
    release_step(&mut ledger, "keyed");
    assert_eq!(keyed.counter_plan().lane_names().unwrap(), ["north", "south", "other"]);
    let values = latest(&keyed);
    let expected = [2.5, 10.0, 1.0];
    assert!(
        values.iter().zip(expected).all(|(value, expected)| (value - expected).abs() < 2.5),
        "{values:?}"
    );
    drop(ledger);
    let mut ledger = home.open();
    let bounded = ledger.read_view().counter("bounded").unwrap();
    let person = |id: &str, person| {
        bounded.intake().prepare(&Event { id, person: Some(person), ..Event::default() }).unwrap()
    };
    let receipt = ledger.submit(&bounded, &[person("x", "p"), person("x", "q")], START).unwrap();
    assert_eq!((receipt.over_bound, receipt.counted), (1, 1), "persons outlive the process");
    ledger.verify().unwrap();
}

/// A request is decided by time and then by content, whatever the order in which its events stand.
/// Requests are decided in the order in which they come.
#[test]
fn the_order_of_events_in_a_request_does_not_matter() {
    let spec = Spec {
        population: "people".into(),
        grace: Some("1m".parse().unwrap()),
        ..by_the_second(loud("bounded").persons(1, 1).unwrap().keys(["x", "y"]))
    };
    let times = [(5, "y"), (0, "x"), (2, "y")];
    for (first, last) in [(0, 2), (1, 0), (2, 1)] {
        let home = Home::new();
        let mut ledger = home.open();
        ledger.grant(&population("people", "person", plenty())).unwrap();
        let counter = create(&mut ledger, &spec);
        let now = START + 9 * SECOND;
        let event = |at: usize| {
            let (second, key) = times[at];
            let time = Some(START + second * SECOND);
            let (id, key, person) = (&*format!("{at}"), Some(key), Some("p"));
            counter.intake().prepare(&Event { id, time, key, person, value: None }).unwrap()
        };
        let middle = 3 - first - last;
        let receipt = ledger.submit(&counter, &[event(first), event(middle), event(last)], now).unwrap();
        assert_eq!((receipt.counted, receipt.over_bound), (1, 2));
        ledger.close_due(START + 70 * SECOND).unwrap();
        ledger.commit(START + 70 * SECOND).unwrap();
        let releases = ledger.read_view().releases(&counter, 0..6).unwrap();
        let rounded: Vec<[f64; 2]> =
            releases.iter().map(|release| [release.values[0].round(), release.values[1].round()]).collect();
        assert_eq!(rounded, [[1.0, 0.0]; 6], "the earliest event counts");
    }
}

#[test]
fn bad_events_are_refused() {
    let (_home, mut ledger) = Home::with_plenty();
    ledger.grant(&population("people", "person", plenty())).unwrap();
    let plain = ledger.create(&loud("plain").plan(START).unwrap(), START).unwrap();
    let clamped = by_the_second(loud("clamped")).values(0.0, 10.0).unwrap();
    let clamped = ledger.create(&clamped.plan(START).unwrap(), START).unwrap();
    let bounded = Spec { population: "people".into(), ..loud("bounded").persons(2, 2).unwrap() };
    let bounded = ledger.create(&bounded.plan(START).unwrap(), START).unwrap();
    let event = Event { id: "an id", ..Event::default() };
    let long = "x".repeat(257);
    for bad in [
        Event { id: "", ..event },
        Event { id: " \t\u{a0}", ..event },
        Event { id: &long, ..event },
        Event { time: Some(START), ..event },
        Event { key: Some("north"), ..event },
        Event { value: Some(1.0), ..event },
    ] {
        let refusal = plain.intake().prepare(&bad).err().unwrap();
        assert_eq!(refusal.class().name(), "bad-parameter");
        assert!(!refusal.to_string().contains("an id") && !refusal.to_string().contains("north"));
    }
    assert!(clamped.intake().prepare(&Event { value: Some(f64::NAN), ..event }).is_err());
    let old = Spec { start: Some(0), ..by_the_second(loud("old")) };
    assert!(old.plan(START).is_err(), "steps without number would be closed first");
    // One person's overlong name refuses nobody else's events: it is no name.
    let overlong = bounded.intake().prepare(&Event { person: Some(&long), ..event }).unwrap();
    assert_eq!(ledger.submit(&bounded, &[overlong], START).unwrap().unnamed, 1);
}

/// An event without a person was an error, for which a whole request was refused: one person's
/// event kept out everybody else's. A blank name was somebody's, and all who had it shared what one
/// person may contribute. Neither counts now, and neither takes anything.
#[test]
fn events_that_name_nobody_take_nothing() {
    let home = Home::new();
    let mut ledger = home.open();
    ledger.grant(&population("people", "person", plenty())).unwrap();
    let bounded = Spec { population: "people".into(), ..loud("bounded").persons(1, 1).unwrap() };
    let bounded = ledger.create(&bounded.plan(START).unwrap(), START).unwrap();
    let ready = |id, person| bounded.intake().prepare(&Event { id, person, ..Event::default() }).unwrap();
    let nobody = [None, Some(""), Some(" "), Some("\t\u{a0}")];
    let mut arrivals: Vec<_> = nobody.into_iter().map(|person| ready("1", person)).collect();
    arrivals.extend([ready("1", Some("p")), ready("1", Some(" p"))]);
    let receipt = ledger.submit(&bounded, &arrivals, START).unwrap();
    // The whitespace around a name is no part of it: both are events of p, with one id.
    assert_eq!((receipt.unnamed, receipt.counted, receipt.duplicate, receipt.received()), (4, 1, 1, 6));
    // Not even an id is remembered, and nothing is found when the ledger is opened again.
    let receipt = ledger.submit(&bounded, &arrivals, START).unwrap();
    assert_eq!((receipt.unnamed, receipt.duplicate), (4, 2));
    ledger.commit(START).unwrap();
    ledger.verify().unwrap();
    drop(ledger);
    home.open().verify().unwrap();
}

/// A counter of version 0.1 knows `" p"` by a hash of that text. Without its spaces the name would be
/// somebody new, who may count in as many steps once more.
#[test]
fn counters_of_version_0_1_keep_names_as_they_came() {
    let (_home, mut ledger) = Home::with_plenty();
    ledger.grant(&population("people", "person", plenty())).unwrap();
    for (noise_name, counted) in [(1, 2), (Spec::NOISE_NAME, 1)] {
        let name = format!("version-{noise_name}");
        let spec = Spec { population: "people".into(), noise_name, ..loud(&name).persons(1, 1).unwrap() };
        let counter = ledger.create(&spec.plan(START).unwrap(), START).unwrap();
        let event = |id, person| {
            let event = Event { id, person: Some(person), ..Event::default() };
            counter.intake().prepare(&event).unwrap()
        };
        let receipt = ledger.submit(&counter, &[event("1", " p"), event("2", "p")], START).unwrap();
        assert_eq!((receipt.counted, receipt.over_bound), (counted, 2 - counted), "{noise_name}");
        let blank = Event { id: "3", person: Some(" "), ..Event::default() };
        let blank = counter.intake().prepare(&blank).unwrap();
        assert_eq!(ledger.submit(&counter, &[blank], START).unwrap().unnamed, 1);
    }
}

/// Keys are compared as names. Two that differ in whitespace alone are refused in a new counter.
#[test]
fn the_whitespace_around_keys_does_not_matter() {
    let (_home, mut ledger) = Home::with_plenty();
    let keyed = |name: &str, keys: [&str; 2]| loud(name).keys(keys);
    let counter = keyed("keyed", ["north", "south"]).plan(START).unwrap();
    let counter = ledger.create(&counter, START).unwrap();
    for (id, key) in [("1", "north"), ("2", " north\t"), ("3", "south ")] {
        let event = counter.intake().prepare(&Event { id, key: Some(key), ..Event::default() }).unwrap();
        ledger.submit(&counter, &[event], START).unwrap();
    }
    ledger.advance("keyed", 1).unwrap();
    ledger.commit(START).unwrap();
    let release = &ledger.read_view().releases(&counter, 0..1).unwrap()[0];
    assert_eq!(release.values.iter().map(|value| value.round()).collect::<Vec<_>>(), [2.0, 1.0, 0.0]);
    assert!(keyed("twice", ["north", "north "]).plan(START).is_err());
}

#[test]
fn budgets_hold() {
    let home = Home::new();
    let mut ledger = home.open();
    let plan =
        |name: &str, population: &str| Spec::new(name, population, 1.0, 1e-6).steps(100).plan(START).unwrap();
    let refusal = ledger.create(&plan("a", "nobody"), START).unwrap_err();
    assert_eq!(refusal.class(), Class::NotFound);
    ledger.grant(&everyone(Budget::new(1.5, 1e-6).unwrap())).unwrap();
    assert!(matches!(ledger.grant(&everyone(plenty())), Err(Error::Conflict { .. })));
    ledger.create(&plan("a", "everyone"), START).unwrap();
    assert!(matches!(ledger.create(&plan("a", "everyone"), START), Err(Error::Conflict { .. })));
    ledger.create(&plan("b", "everyone"), START).unwrap();
    ledger.commit(START).unwrap();
    drop(ledger);
    let mut ledger = home.open();
    let refusal = ledger.create(&plan("c", "everyone"), START).unwrap_err();
    assert_eq!(refusal.class().name(), "budget-spent");
    let bounded = Spec::new("d", "everyone", 0.1, 1e-6).persons(2, 1).unwrap();
    assert_eq!(
        ledger.create(&bounded.plan(START).unwrap(), START).unwrap_err().class().name(),
        "bad-parameter"
    );
    ledger.retire("a").unwrap();
    assert!(ledger.retire("a").is_err());
    assert!(ledger.create(&plan("c", "everyone"), START).is_err(), "what is spent is spent");
    assert!(ledger.delete("b").is_err());
    ledger.delete("a").unwrap();
    ledger.commit(START).unwrap();
    assert!(ledger.read_view().counter("a").is_none());
    ledger.checkpoint_all().unwrap();
    drop(ledger);
    let mut ledger = home.open();
    assert!(ledger.read_view().counter("a").is_none());
    assert_eq!(ledger.read_view().populations()[0].entries.len(), 2);
    assert!(
        matches!(ledger.create(&plan("a", "everyone"), START), Err(Error::Conflict { .. })),
        "names are used once"
    );
    assert_eq!(ledger.read_view().mode(), Mode::Running);
}

#[test]
fn many_releases_move_to_chunks() {
    let (home, mut ledger) = Home::with_plenty();
    let spec = loud("wide").keys((0..99).map(|key| format!("k{key}")));
    let wide = ledger.create(&spec.plan(START).unwrap(), START).unwrap();
    for step in 0..400 {
        if step % 7 == 0 {
            let id = format!("{step}");
            let event =
                wide.intake().prepare(&Event { id: &id, key: Some("k3"), ..Event::default() }).unwrap();
            ledger.submit(&wide, &[event], START).unwrap();
        }
        release_step(&mut ledger, "wide");
        assert_eq!(
            wide.latest().map(|release| release.step),
            Some(step),
            "whether or not a chunk was just full"
        );
    }
    let all = released(&ledger.read_view(), "wide");
    assert_eq!(all.len(), 400);
    assert_eq!(all.iter().map(|(step, ..)| *step).collect::<Vec<_>>(), (0..400).collect::<Vec<_>>());
    assert_eq!(f64::from_bits(all[399].2[3]), 58.0);
    let shown = ledger.read_view();
    assert_eq!(shown.sum(&wide, 7, 13, 3).unwrap().values, [1.0]);
    assert!(shown.sum(&wide, 7, 400, 3).is_err());
    assert!(shown.sum(&wide, 8, 7, 3).is_err());
    assert!(shown.sum(&wide, 7, 8, 100).is_err());
    let verified = ledger.verify().unwrap();
    assert_eq!((verified.counters, verified.releases), (1, 400));
    let last = wide.latest();
    drop((ledger, wide, shown));
    let mut ledger = home.open();
    assert_eq!(released(&ledger.read_view(), "wide"), all);
    assert_eq!(ledger.read_view().counter("wide").unwrap().latest(), last);
    ledger.checkpoint_all().unwrap();
    drop(ledger);
    let ledger = home.open();
    assert_eq!(ledger.read_view().counter("wide").unwrap().latest(), last);
    ledger.verify().unwrap();
}

#[test]
fn tokens_outlive_the_process() {
    let home = Home::new();
    let mut ledger = home.open();
    let (token, bearer) = ledger.add_token("first", Role::Admin, None, START).unwrap();
    assert!(ledger.read_view().authenticate(&bearer).is_none(), "not before it is durable");
    ledger.commit(START).unwrap();
    assert!(ledger.remove_token(&token.id).is_err());
    drop(ledger);
    let ledger = home.open();
    assert_eq!(ledger.read_view().authenticate(&bearer), Some(token));
}

/// A million events of a million each, with fractions: whether one counts must not depend on how
/// much the others were.
#[test]
fn large_totals_stay_exact() {
    let (_home, mut ledger) = Home::with_plenty();
    let spec = loud("euros").values(0.0, 1e6).unwrap();
    let euros = ledger.create(&spec.plan(START).unwrap(), START).unwrap();
    for batch in 0..10 {
        let arrivals: Vec<_> = (0..2_000)
            .map(|number| {
                let id = format!("{batch} {number}");
                let value = 999_999.0 + f64::from(number) / 2_000.0;
                euros.intake().prepare(&Event { id: &id, value: Some(value), ..Event::default() }).unwrap()
            })
            .collect();
        assert_eq!(ledger.submit(&euros, &arrivals, START).unwrap().counted, 2_000);
    }
    release_step(&mut ledger, "euros");
    let release = euros.latest().unwrap();
    assert!(
        (release.values[0] - 20_000.0 * 999_999.5).abs() < 20_000.0 + 8.0 * release.standard_error,
        "{release:?}"
    );
}
