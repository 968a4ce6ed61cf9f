//! A file of every format that was ever written can be read by every later version.
//!
//! To keep a file of a new format: `cargo test -p evertally-ledger --test it formats -- --ignored`
//! writes one beside the others, for a person to look at and add.

use crate::common::*;
use evertally_ledger::{Event, Ledger, Mode, Role, Spec, Status};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// Every format that was ever written.
const FORMATS: &[&str] = &["ledger-1"];

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

/// One of everything, some of it in rows and some in the journal alone.
fn story(ledger: &mut Ledger) {
    ledger.grant(&everyone(plenty())).unwrap();
    ledger.grant(&population("people", "household", evertally::Budget::new(2.0, 1e-6).unwrap())).unwrap();
    ledger.add_token("operator", Role::Admin, None, START).unwrap();
    let keyed = by_the_second(loud("keyed")).keys(["north"]).values(0.0, 10.0).unwrap();
    let keyed = ledger.create(&keyed.plan(START).unwrap(), START).unwrap();
    let bounded = Spec::new("bounded", "people", 1.0, 1e-6).steps(50).persons(2, 2).unwrap();
    let bounded = ledger.create(&bounded.plan(START).unwrap(), START).unwrap();
    ledger.create(&loud("retired").plan(START).unwrap(), START).unwrap();
    ledger.commit(START).unwrap();
    for second in 0..6 {
        let (now, id) = (START + second * SECOND, format!("event {second}"));
        let event = Event { id: &id, key: Some("north"), value: Some(2.5), ..Event::default() };
        ledger.submit(&keyed, &[keyed.intake().prepare(&event).unwrap()], now).unwrap();
        let event = Event { id: &id, person: Some("somebody"), ..Event::default() };
        ledger.submit(&bounded, &[bounded.intake().prepare(&event).unwrap()], now).unwrap();
        ledger.advance("bounded", 1).unwrap();
        ledger.close_due(now).unwrap();
        ledger.commit(now).unwrap();
        if second == 3 {
            ledger.retire("retired").unwrap();
            ledger.commit(now).unwrap();
            ledger.checkpoint_all().unwrap();
        }
    }
}

/// What a reader of the story must find.
fn check(ledger: &mut Ledger, released_then: &str) {
    ledger.verify().unwrap();
    let shown = ledger.read_view();
    let seen = format!("{:?}\n{:?}\n", released(&shown, "keyed"), released(&shown, "bounded"));
    assert_eq!(seen, released_then);
    assert_eq!(shown.counter("retired").unwrap().status(), Status::Retired);
    assert_eq!(shown.tokens()[0].name, "operator");
    assert_eq!(shown.populations()[1].odometer.unit().name(), "household");
    // It is a copy: it is read, and goes on in a new epoch, with what was open and remembered.
    assert!(matches!(shown.mode(), Mode::Fenced { .. }));
    let started = ledger.start_epoch().unwrap();
    assert_eq!(started.restarted, ["keyed", "bounded"]);
    ledger.commit(START).unwrap();
    let keyed = shown.counter("keyed").unwrap();
    let now = START + 6 * SECOND;
    let ids = ["event 0", "event 5", "event 6"];
    let events = ids.map(|id| {
        keyed
            .intake()
            .prepare(&Event { id, key: Some("north"), value: Some(2.5), ..Event::default() })
            .unwrap()
    });
    let receipt = ledger.submit(&keyed, &events, now).unwrap();
    assert_eq!((receipt.duplicate, receipt.counted), (2, 1));
    ledger.close_due(now + SECOND).unwrap();
    ledger.commit(now).unwrap();
    let latest = keyed.latest().unwrap();
    assert!((latest.values[0] - 17.5).abs() < 10.0 * latest.standard_error.max(0.5), "{latest:?}");
}

#[test]
fn every_format_is_read() {
    for name in FORMATS {
        let home = Home::new();
        drop(home.try_open());
        let mut bytes = Vec::new();
        let packed = std::fs::File::open(data(&format!("{name}.redb.gz"))).unwrap();
        flate2::read::GzDecoder::new(packed).read_to_end(&mut bytes).unwrap();
        std::fs::write(home.file(), bytes).unwrap();
        let released_then = std::fs::read_to_string(data(&format!("{name}.txt"))).unwrap();
        check(&mut home.open(), &released_then);
    }
}

#[test]
#[ignore = "writes a file of the present format"]
fn write_the_present_format() {
    let home = Home::new();
    let mut ledger = home.open();
    story(&mut ledger);
    let shown = ledger.read_view();
    let seen = format!("{:?}\n{:?}\n", released(&shown, "keyed"), released(&shown, "bounded"));
    drop((shown, ledger));
    std::fs::create_dir_all(data("")).unwrap();
    std::fs::write(data("ledger-new.txt"), seen).unwrap();
    let packed = std::fs::File::create(data("ledger-new.redb.gz")).unwrap();
    let mut packed = flate2::write::GzEncoder::new(packed, flate2::Compression::best());
    packed.write_all(&std::fs::read(home.file()).unwrap()).unwrap();
    packed.finish().unwrap();
}
