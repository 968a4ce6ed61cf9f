//! `count --person`: events without a person.

use crate::common::{Place, TIMED, assert_near, rows};

const PERSONS: &str = "--person who --max-steps 1";

/// Ann, and events of nobody before and after hers, in the ways in which formats can say so.
const CSV: &str = "time,who,id\n\
    2026-01-05T00:10:00Z,,1\n\
    2026-01-05T00:20:00Z,ann,1\n\
    2026-01-05T01:10:00Z,  ,2\n\
    2026-01-05T02:10:00Z,\"\",3\n";
const JSON: &str = r#"{"time":"2026-01-05T00:10:00Z","id":"1"}
{"time":"2026-01-05T00:20:00Z","who":"ann","id":"1"}
{"time":"2026-01-05T01:10:00Z","who":null,"id":"2"}
{"time":"2026-01-05T02:10:00Z","who":" \t\u00a0","id":"3"}
"#;

/// Events without a person once shared one slot: the first of them counted, and without it the
/// second did, in another step. They do not count now, the operator is told how many there were,
/// and the header says the rule.
#[test]
fn events_of_nobody_are_left_out_and_their_number_is_told() {
    let place = Place::new();
    place.with_key().write("in.csv", CSV).write("in.jsonl", JSON);
    let line = format!("{TIMED} {PERSONS} --id id --noise-key noise.key");
    let by_csv = place.run(&format!("count in.csv {line}"));
    assert_near(&by_csv.stdout, &[1.0; 4]);
    assert_eq!(
        by_csv.stderr,
        "evertally: warning: 3 events name no person and were left out; --unnamed refuse stops instead\n"
    );
    assert!(by_csv.stdout.contains("# unnamed: left out\n"), "{}", by_csv.stdout);
    for again in ["count in.jsonl", "count in.csv --unnamed drop"] {
        let again = place.run(&format!("{again} {line}"));
        assert_eq!((again.code, &again.stdout, &again.stderr), (Some(0), &by_csv.stdout, &by_csv.stderr));
    }
    // Without them the releases are the same.
    let alone = "time,who,id\n2026-01-05T00:20:00Z,ann,1\n";
    assert_eq!(place.write("in.csv", alone).run(&format!("count in.csv {line}")).ok().stdout, by_csv.stdout);
    let one = format!("{alone}2026-01-05T00:30:00Z,,\n");
    let told = place.write("in.csv", one).run(&format!("count in.csv {line}")).stderr;
    assert!(told.contains("1 event names no person and was left out"), "{told}");
}

#[test]
fn following_tells_of_them_at_once_and_at_the_end() {
    let place = Place::new();
    // Nobody's event neither moves time nor stops the run, wherever it lies.
    let events = format!("{CSV}2026-01-05T00:30:00Z,bob,4\n2030-01-01,,5\n");
    let ran = place.run_with_input(&format!("count - --follow {TIMED} {PERSONS} --id id"), events);
    assert_near(&ran.stdout, &[2.0; 4]);
    let told: Vec<&str> = ran.stderr.lines().collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(
        told[0].contains("an event names no person") && told[1].contains("4 events name no person"),
        "{told:?}"
    );
    assert!(ran.stdout.contains("# unnamed: left out\n"), "{}", ran.stdout);
}

#[test]
fn nothing_is_spent_where_they_are_refused() {
    let place = Place::new();
    place.write("in.csv", CSV).write("ann.csv", "time,who\n2026-01-05T00:20:00Z,ann\n");
    let line = format!("{TIMED} {PERSONS} --unnamed refuse");
    place
        .run(&format!("count in.csv {line} --output out.csv"))
        .refused(&["in.csv, line 2, column \"who\": expected a person", "--unnamed drop"]);
    assert_eq!(place.files(), ["ann.csv", "in.csv"]);
    let refused = place.run(&format!("count ann.csv {line}")).ok().stdout;
    assert!(refused.contains("# unnamed: refused\n"), "{refused}");
    // What is followed stops at that line, with what was released before it.
    let late = "time,who\n2026-01-05T00:20:00Z,ann\n2026-01-05T01:20:00Z,bob\n2026-01-05T02:20:00Z,\n";
    let ran = place.run_with_input(&format!("count - --follow {line}"), late);
    assert_eq!((ran.code, rows(&ran.stdout).len()), (Some(2), 1), "{}", ran.stdout);
    assert!(ran.stderr.contains("standard input, line 4, column \"who\""), "{}", ran.stderr);
}

#[test]
fn the_rule_is_about_persons_alone() {
    let place = Place::new();
    place.write("in.csv", CSV);
    place.run(&format!("count in.csv {TIMED} --unnamed drop")).refused(&["--person"]);
    let events = place.run(&format!("count in.csv {TIMED}")).ok().stdout;
    assert!(!events.contains("unnamed"), "{events}");
    assert_near(&events, &[2.0, 3.0, 4.0, 4.0]);
    // Events without an id are copies of nothing, and of no person's either.
    let no_ids = CSV.replace(",1\n", ",\n").replace(",2\n", ",\n").replace(",3\n", ",\n");
    let counted = place.write("in.csv", no_ids).run(&format!("count in.csv {TIMED} --id id")).ok().stdout;
    assert_near(&counted, &[2.0, 3.0, 4.0, 4.0]);
}

/// A float is no name: all NaN of a column were one person, who shared one bound. The type of a column
/// is public, so nothing is read and nothing is spent.
#[test]
fn floats_decimals_and_times_name_nobody() {
    let place = Place::new();
    place.write("in.parquet", include_bytes!("../../../../fuzz/seeds/parquet/two-groups"));
    let timed = TIMED.replace("--time time", "--time seconds");
    for column in ["decimal", "single", "money", "nanos"] {
        for options in [
            format!("--person {column} --max-steps 1"),
            format!("--id {column}"),
            format!("--group-by {column} --groups a,b"),
        ] {
            let option = options.split(' ').next().unwrap_or_default();
            place.run(&format!("count in.parquet {timed} {options} --output out.csv")).refused(&[&format!(
                "in.parquet, column \"{column}\": {option} must be a column of strings or integers"
            )]);
        }
    }
    assert_eq!(place.files(), ["in.parquet"]);
    let by_number = place.run(&format!("count in.parquet {timed} --person unsigned --max-steps 1")).ok();
    assert_near(&by_number.stdout, &[2.0; 4]);
}

/// Literals of JSON that are neither strings nor integers name nobody: `{}` was one person, whom
/// everybody without a name shared, and `7` and `7.0` were two.
#[test]
fn other_literals_of_json_name_nobody() {
    let place = Place::new();
    let literals = ["{}", "{}", "false", "[]", "7.0", "7e0", "7", "18446744073709551616"];
    let line = |(minute, literal): (usize, &str)| {
        format!("{{\"time\":\"2026-01-05T00:{minute:02}:00Z\",\"who\":{literal}}}\n")
    };
    place.write("in.jsonl", literals.into_iter().enumerate().map(line).collect::<String>());
    let ran = place.run(&format!("count in.jsonl {TIMED} {PERSONS}"));
    assert_near(&ran.stdout, &[2.0; 4]);
    assert!(ran.stderr.contains("6 events name no person"), "{}", ran.stderr);
}

/// Ann is one person, with or without the whitespace around her name, in every format; and so are
/// ids and keys.
#[test]
fn the_whitespace_around_names_does_not_matter() {
    let place = Place::new();
    place.with_key();
    let names = ["ann", " ann", "ann\t", "\u{a0}ann\u{2003}"];
    let (mut csv, mut json) = ("time,who\n".to_owned(), String::new());
    for (hour, name) in names.iter().enumerate() {
        csv += &format!("2026-01-05T0{hour}:10:00Z,{name}\n");
        let name = name.replace('\t', "\\t");
        json += &format!("{{\"time\":\"2026-01-05T0{hour}:10:00Z\",\"who\":\"{name}\"}}\n");
    }
    place.write("in.csv", csv).write("in.jsonl", json);
    for (options, counted) in [
        ("--person who --max-steps 2", [1.0, 2.0, 2.0, 2.0]),
        ("--id who", [1.0; 4]),
        ("--group-by who --groups ann --non-negative", [1.0, 2.0, 3.0, 4.0]),
    ] {
        let line = format!("{TIMED} {options} --noise-key noise.key");
        let by_csv = place.forget_uses().run(&format!("count in.csv {line}")).ok().stdout;
        assert_eq!(place.run(&format!("count in.jsonl {line}")).ok().stdout, by_csv);
        let of_ann: String =
            by_csv.lines().filter(|row| !row.contains(",other,")).map(|row| format!("{row}\n")).collect();
        assert_near(&of_ann, &counted);
    }
}
