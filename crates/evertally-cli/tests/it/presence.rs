//! `count --distinct` with `--window` or `--operation`: how many persons are present.

use crate::common::{Place, header, rows, totals};

const TIMED: &str = "--time time --every 1h --from 2026-01-05 --horizon 6 --epsilon 1000 --delta 0.4";
const WINDOW: &str = "--distinct who --window 2 --max-flips 4";
const OPERATIONS: &str = "--distinct who --operation what --max-flips 4";

/// Ann is active in the first three hours and in the last, Bob in the third and fourth.
const CSV: &str = "time,who,region,what\n\
    2026-01-05T05:10:00Z,ann,north,insert\n\
    2026-01-05T00:20:00Z,ann,north,insert\n\
    2026-01-05T01:30:00Z, ann ,north,insert\n\
    2026-01-05T02:10:00Z,bob,south,insert\n\
    2026-01-05T03:10:00Z,ann,south,delete\n\
    2026-01-05T04:10:00Z,ann,north,delete\n";

/// Without the deletions, which are events like others in a window.
fn inserts() -> String {
    CSV.lines().filter(|line| !line.ends_with("delete")).map(|line| format!("{line}\n")).collect()
}

#[test]
fn a_person_is_active_for_a_window_after_each_event() {
    let place = Place::new();
    place.write("in.csv", inserts());
    let ran = place.run(&format!("count in.csv {TIMED} {WINDOW}")).ok().stdout;
    assert_eq!(totals(&ran), [1, 1, 2, 1, 0, 1]);
    assert_eq!(header(&ran, "distinct"), "different values of who with an event in the last 2 steps");
    assert_eq!(header(&ran, "unit"), "one person with all of their events");
    assert_eq!(
        header(&ran, "participation"),
        "one person makes at most 4 changes in all groups together, by one up and down in turn, enforced"
    );
    assert_eq!(header(&ran, "contribution"), "1 and -1 in turn");
    // The second stay of Ann is one too many.
    let ran = place.run(&format!("count in.csv {TIMED} --distinct who --window 2 --max-flips 2")).ok().stdout;
    assert_eq!(totals(&ran), [1, 1, 2, 1, 0, 0]);
    let long =
        place.run(&format!("count in.csv {TIMED} --distinct who --window 9 --max-flips 2")).ok().stdout;
    assert_eq!(totals(&long), [1, 1, 2, 2, 2, 2]);
}

#[test]
fn a_person_is_present_from_an_insertion_to_a_deletion() {
    let place = Place::new();
    place.write("in.csv", CSV);
    let ran = place.run(&format!("count in.csv {TIMED} {OPERATIONS}")).ok().stdout;
    // Without groups, the first deletion ends the stay, and the second finds nobody.
    assert_eq!(totals(&ran), [1, 1, 2, 1, 1, 2]);
    assert_eq!(header(&ran, "distinct"), "different values of who, from an insertion to a deletion in what");
    let by = "--group-by region --groups north,south";
    let ran = place.run(&format!("count in.csv {TIMED} {OPERATIONS} {by}")).ok().stdout;
    let expected = [[1, 0, 0], [1, 0, 0], [1, 1, 0], [1, 1, 0], [0, 1, 0], [1, 1, 0]];
    assert_eq!(totals(&ran), expected.as_flattened());
}

/// The noise covers a person with all changes: four times as many need twice the noise.
#[test]
fn the_noise_grows_with_the_root_of_the_flips() {
    let place = Place::new();
    place.write("in.csv", inserts());
    let sensitivity = |flips: u64| {
        let line = format!("count in.csv {TIMED} --distinct who --window 2 --max-flips {flips}");
        let ran = place.run(&format!("{line} --mechanism square-root")).ok().stdout;
        header(&ran, "sensitivity").parse::<f64>().unwrap()
    };
    let once = place.run(&format!("count in.csv {TIMED} --distinct who --mechanism square-root")).ok().stdout;
    let once: f64 = header(&once, "sensitivity").parse().unwrap();
    for flips in [2, 4, 16] {
        let ratio = sensitivity(flips) / (once * (flips as f64).sqrt());
        assert!((1.0..1.000_001).contains(&ratio), "{flips}: {ratio}");
    }
}

#[test]
fn what_decides_who_is_present_is_part_of_the_noise() {
    let place = Place::new();
    place.with_key().write("in.csv", CSV);
    let strict = TIMED.replace("--epsilon 1000 --delta 0.4", "--epsilon 1 --delta 1e-6");
    let mut seen = Vec::new();
    // The totals of the first step are the same in all of them.
    for options in [
        "--window 2 --max-flips 4",
        "--window 3 --max-flips 4",
        "--window 2 --max-flips 6",
        "--operation what --max-flips 4",
        "--operation what --max-flips 6",
    ] {
        let line = format!("count in.csv {strict} --distinct who {options} --noise-key noise.key");
        let ran = place.forget_uses().run(&line).ok().stdout;
        assert_eq!(place.run(&line).ok().stdout, ran, "{options}");
        let first = rows(&ran).swap_remove(0);
        assert!(!seen.contains(&first), "{options}");
        seen.push(first);
    }
}

#[test]
fn options_that_make_no_sense_are_refused_before_anything_is_read() {
    let place = Place::new();
    for (options, parts) in [
        ("--distinct who --window 2", &["needs --max-flips F"][..]),
        ("--distinct who --operation what", &["needs --max-flips F"]),
        ("--distinct who --max-flips 2", &["--max-flips needs --window W or --operation COLUMN"]),
        ("--max-flips 2", &["--distinct"]),
        ("--operation what", &["--distinct"]),
        ("--distinct who --window 2 --max-flips 3", &["--max-flips must be an even number", "got 3"]),
        ("--distinct who --window 2 --max-flips 0", &["--max-flips must be an even number", "got 0"]),
        ("--distinct who --window 0 --max-flips 2", &["--window must be at least 1"]),
        (
            "--distinct who --window 2 --operation what --max-flips 2",
            &["--operation cannot be used with --window"],
        ),
        (
            "--distinct who --window 2 --max-flips 2 --follow",
            &["--follow cannot be used with --distinct and --window"],
        ),
        (
            "--distinct who --operation what --max-flips 2 --monotone",
            &["--monotone cannot be used with --distinct and --operation"],
        ),
        ("--distinct who --window 2 --max-flips 2 --report steps,total", &["--report cannot be used"]),
        (
            "--distinct who --window 2 --max-flips 2 --group-by r --groups a --groups-per-person 2",
            &["--groups-per-person cannot be used", "all groups together"],
        ),
        ("--distinct who --operation what --max-flips 2 --decay 0.5", &["--decay cannot be used"]),
    ] {
        place.run(&format!("count missing.csv {TIMED} {options} --output out.csv")).refused(parts);
    }
    assert!(place.files().is_empty());
}

#[test]
fn an_operation_that_is_none_is_an_error_with_its_place() {
    let place = Place::new();
    for cell in ["", "inserted", "0"] {
        let broken = format!("{CSV}2026-01-05T02:10:00Z,cid,west,{cell}\n");
        place.write("in.csv", broken);
        place
            .run(&format!("count in.csv {TIMED} {OPERATIONS} --output out.csv"))
            .refused(&["in.csv, line 8, column \"what\": expected insert or delete"]);
        assert_eq!(place.files(), ["in.csv"]);
        let skipped = place.run(&format!("count in.csv {TIMED} {OPERATIONS} --skip-bad-rows"));
        assert_eq!(totals(&skipped.stdout), [1, 1, 2, 1, 1, 2]);
        // What the filter leaves out is not looked at.
        let mut kept = place.command(&format!("count in.csv {TIMED} {OPERATIONS} --where"));
        let kept = crate::common::Ran::of(kept.arg("region != 'west'").output().unwrap()).ok();
        assert_eq!(totals(&kept.stdout), [1, 1, 2, 1, 1, 2]);
    }
}

#[test]
fn nobody_is_never_present_and_persons_are_paid_for() {
    let place = Place::new();
    place.write("in.csv", format!("{}2026-01-05T00:20:00Z,,north,insert\n", inserts()));
    let strict = TIMED.replace("--epsilon 1000 --delta 0.4", "--epsilon 1 --delta 1e-6");
    let ran = place.run(&format!("count in.csv {TIMED} {WINDOW}"));
    assert_eq!(totals(&ran.stdout), [1, 1, 2, 1, 0, 1]);
    assert_eq!(
        ran.stderr,
        "evertally: warning: 1 event names no person and was left out; --unnamed refuse stops instead\n"
    );
    for (unit, code) in [("person", 0), ("event", 2)] {
        place.run(&format!("budget new {unit}.budget --unit {unit} --epsilon 2 --delta 1e-5"));
        let ran = place.run(&format!("count in.csv {strict} {WINDOW} --budget-file {unit}.budget"));
        assert_eq!(ran.code, Some(code), "{unit}: {}", ran.stderr);
    }
}

/// A plan for changes in turn, and its audit.
#[test]
fn plans_and_audits_know_changes_in_turn() {
    let place = Place::new();
    let options = "--horizon 12 --epsilon 1 --delta 1e-6 --max-flips 4";
    let planned = place.run(&format!("plan {options}")).ok().stdout;
    assert!(planned.contains("square-root"), "{planned}");
    let audited = place.run(&format!("audit {options} --runs 400"));
    assert_eq!(audited.code, Some(0), "{}{}", audited.stdout, audited.stderr);
    place.run("plan --horizon 12 --epsilon 1 --delta 1e-6 --max-flips 3").refused(&["even number"]);
    place.run(&format!("plan {options} --max-steps 2")).refused(&["--max-flips"]);
}
