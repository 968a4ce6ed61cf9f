//! `count --distinct`: how many different persons there have been.

use crate::common::{Place, TIMED, header, rows, totals};

/// Ann comes in three hours and two regions, Bob in two, Cid in the last and at the same moment in two.
const CSV: &str = "time,who,region\n\
    2026-01-05T02:10:00Z,ann,south\n\
    2026-01-05T00:20:00Z,ann,north\n\
    2026-01-05T00:30:00Z,ann,north\n\
    2026-01-05T00:10:00Z,bob,south\n\
    2026-01-05T01:10:00Z, ann ,north\n\
    2026-01-05T01:40:00Z,bob,west\n\
    2026-01-05T03:00:00Z,cid,south\n\
    2026-01-05T03:00:00Z,cid,north\n";

const BY_REGION: &str = "--group-by region --groups north,south";

#[test]
fn each_person_counts_at_their_first_step() {
    let place = Place::new();
    place.write("in.csv", CSV);
    let ran = place.run(&format!("count in.csv {} --distinct who", TIMED)).ok().stdout;
    assert_eq!(totals(&ran), [2, 2, 2, 3]);
    assert_eq!(header(&ran, "distinct"), "different values of who, so far");
    assert_eq!(header(&ran, "unit"), "one person with all of their events");
    assert_eq!(
        header(&ran, "participation"),
        "one person counts once, in the step of their first event, enforced"
    );
    assert_eq!(header(&ran, "contribution"), "1");
    assert_eq!(header(&ran, "sensitivity").parse::<f64>().map(|one| one > 0.9), Ok(true), "{ran}");
}

/// One count has one noise: that of a person who may count in one step.
#[test]
fn without_groups_it_is_a_person_in_one_step() {
    let place = Place::new();
    place.with_key().write("in.csv", CSV);
    let same = format!("{} --noise-key noise.key", TIMED.replace("--epsilon 1000", "--epsilon 1"));
    for groups in ["", BY_REGION] {
        let run = |options: &str| {
            let ran = place.run(&format!("count in.csv {same} {groups} {options}")).ok().stdout;
            rows(&ran)
        };
        assert_eq!(run("--distinct who"), run("--person who --max-steps 1"));
        // Another way to count leaves a note.
        place.forget_uses();
    }
}

#[test]
fn a_person_counts_once_in_each_of_their_first_groups() {
    let place = Place::new();
    place.with_key().write("in.csv", CSV);
    let groups: [(u64, [[i64; 3]; 4]); 3] = [
        (1, [[1, 1, 0], [1, 1, 0], [1, 1, 0], [2, 1, 0]]),
        (2, [[1, 1, 0], [1, 1, 1], [1, 2, 1], [2, 3, 1]]),
        (9, [[1, 1, 0], [1, 1, 1], [1, 2, 1], [2, 3, 1]]),
    ];
    let mut seen = Vec::new();
    for (most, expected) in groups {
        let line = format!("{} --distinct who {BY_REGION} --groups-per-person {most}", TIMED);
        let ran = place.run(&format!("count in.csv {line}")).ok().stdout;
        assert_eq!(totals(&ran), expected.as_flattened(), "{most}");
        let enforced = header(&ran, "participation").to_owned();
        // There are three groups with `other`.
        let (most, norm) = (most.min(3), (most.min(3) as f64).sqrt());
        if most > 1 {
            assert_eq!(
                enforced,
                format!(
                    "one person counts once in each of at most {most} groups, in the step of their first event there, enforced"
                )
            );
            let contribution = header(&ran, "contribution");
            let bound = contribution.strip_prefix("sums over groups of norm at most ").unwrap();
            let bound: f64 = bound.parse().unwrap();
            assert!(bound >= norm && bound < norm * 1.000_001, "{contribution}");
        }
        seen.push(enforced);
        // Following and runs of a state count the same persons.
        let mut sorted: Vec<&str> = CSV.lines().skip(1).collect();
        sorted.sort_unstable();
        let sorted = format!("time,who,region\n{}\n", sorted.join("\n"));
        let followed = place.run_with_input(&format!("count - --follow {line}"), sorted).ok().stdout;
        assert_eq!(totals(&followed), expected.as_flattened(), "{most}");
        let state = format!("{line} --noise-key noise.key --state s{most} --output o{most}.csv");
        for until in [2, 4] {
            let ran = place.run(&format!("count in.csv {state} --until 2026-01-05T0{until}:00:00Z"));
            assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        }
        let output = String::from_utf8(place.read(&format!("o{most}.csv"))).unwrap();
        assert_eq!(totals(&output), expected.as_flattened(), "{most}");
    }
    assert_eq!(seen.len(), 3);
    assert_ne!(seen[0], seen[1]);
}

/// In pure ε the noise covers the sum of magnitudes.
#[test]
fn pure_privacy_covers_every_group() {
    let place = Place::new();
    place.write("in.csv", CSV);
    let pure = TIMED.replace("--delta 0.4", "--delta 0");
    let line = format!("count in.csv {pure} --distinct who {BY_REGION} --groups-per-person 2");
    let ran = place.run(&line).ok().stdout;
    let contribution = header(&ran, "contribution");
    let bound = contribution.strip_prefix("sums over groups of at most ").unwrap();
    let bound: f64 = bound.strip_suffix(" in total").unwrap().parse().unwrap();
    assert!((2.0..2.000_001).contains(&bound), "{contribution}");
    assert_eq!(totals(&ran), [1, 1, 0, 1, 1, 1, 1, 2, 1, 2, 3, 1]);
}

#[test]
fn other_bounds_have_other_noise() {
    let place = Place::new();
    place.with_key().write("in.csv", CSV);
    let same = format!("{BY_REGION} --noise-key noise.key");
    let first_row = |options: &str| {
        let ran = place.forget_uses().run(&format!(
            "count in.csv {} {same} {options}",
            TIMED.replace("--epsilon 1000", "--epsilon 1")
        ));
        rows(&ran.ok().stdout).swap_remove(0)
    };
    // The first steps have the same totals.
    let two = first_row("--distinct who --groups-per-person 2");
    let three = first_row("--distinct who --groups-per-person 3");
    let sums = first_row(
        "--person who --max-steps 1 --groups-per-person 2 --per-person-events 2 --per-person-sum 0,1",
    );
    assert_ne!(two, three);
    assert_ne!(two, sums);
}

#[test]
fn what_makes_no_sense_is_refused_before_anything_is_read() {
    let place = Place::new();
    let line = format!("count missing.csv {} --distinct who --output out.csv", TIMED);
    for (options, parts) in [
        ("--value n --clamp 0,1", &["--value cannot be used with --distinct", "as one"][..]),
        ("--mean n --clamp 0,1", &["--mean cannot be used with --distinct"]),
        ("--id who", &["--id cannot be used with --distinct", "copy"]),
        ("--max-steps 2", &["--max-steps cannot be used with --distinct", "first event"]),
        ("--min-gap 2", &["--m", "--distinct"]),
        ("--window 2", &["needs --max-flips"]),
        ("--decay 0.5", &["--decay cannot be used with --distinct"]),
        ("--groups-per-person 2", &["--group-by"]),
        ("--group-by r --groups a --groups-per-person 0", &["--groups-per-person must be at least 1, got 0"]),
    ] {
        place.run(&format!("{line} {options}")).refused(parts);
    }
    let both = format!("count missing.csv {} --distinct who --person who --max-steps 1", TIMED);
    place.run(&both).refused(&["--distinct", "--person"]);
    let untimed = "count missing.csv --distinct who --epsilon 1 --delta 1e-6";
    place.run(untimed).refused(&["--time"]);
    assert!(place.files().is_empty());
    place.write("in.csv", CSV);
    place.run(&format!("count in.csv {} --distinct nobody", TIMED)).refused(&["nobody"]);
}

/// An event of nobody is left out, as with `--person`, and nothing else is said about the input.
#[test]
fn nobody_is_no_person() {
    let place = Place::new();
    place.write("in.csv", format!("{CSV}2026-01-05T00:20:00Z,,north\n"));
    let ran = place.run(&format!("count in.csv {} --distinct who", TIMED));
    assert_eq!(totals(&ran.stdout), [2, 2, 2, 3]);
    assert_eq!(
        ran.stderr,
        "evertally: warning: 1 event names no person and was left out; --unnamed refuse stops instead\n"
    );
    let line = format!("count in.csv {} --distinct who --unnamed refuse", TIMED);
    place.run(&line).refused(&["in.csv, line 10, column \"who\": expected a person"]);
}

/// A budget file of persons pays for it, and one of events does not.
#[test]
fn its_budget_is_of_persons() {
    let place = Place::new();
    place.write("in.csv", CSV);
    let strict = TIMED.replace("--epsilon 1000 --delta 0.4", "--epsilon 1 --delta 1e-6");
    for (unit, code) in [("person", 0), ("event", 2)] {
        let new = format!("budget new {unit}.budget --unit {unit} --epsilon 2 --delta 1e-5");
        assert_eq!(place.run(&new).code, Some(0));
        let line = format!("count in.csv {strict} --distinct who --budget-file {unit}.budget");
        let ran = place.run(&line);
        assert_eq!(ran.code, Some(code), "{unit}: {}", ran.stderr);
    }
}
