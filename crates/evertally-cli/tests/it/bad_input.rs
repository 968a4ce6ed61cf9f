//! Everything that a user can get wrong ends with exit code 2, one line that says what was
//! expected, and no file.

use crate::common::{Place, ROWS, Ran, TIMED, only_for_its_owner};

const EVENTS: &str = "time,region,amount\n2026-01-05T00:10:00Z,north,1\n2026-01-05T02:10:00Z,south,2.5\n";

fn timed(place: &Place, contents: &str, extra: &str) -> Ran {
    place.write("in.csv", contents).run(&format!("count in.csv {TIMED} --output out.csv {extra}"))
}

#[track_caller]
fn refused_without_traces(contents: &str, extra: &str, parts: &[&str]) {
    let place = Place::new();
    timed(&place, contents, extra).refused(parts);
    assert_eq!(place.files(), ["in.csv"]);
}

#[test]
fn options_that_contradict_or_miss_each_other() {
    let place = Place::new();
    place.write("in.csv", EVENTS);
    let cases: &[(&str, &[&str])] = &[
        ("count in.csv", &["--epsilon", "--delta"]),
        ("count in.csv --epsilon 1 --delta 1e-6", &["--time", "--value"]),
        ("count in.csv --time time --epsilon 1 --delta 1e-6", &["--every", "--from"]),
        (
            "count in.csv --time time --every 1h --from 2026-01-05 --epsilon 1 --delta 1e-6",
            &["--horizon", "--to"],
        ),
        ("count in.csv --every 1h --epsilon 1 --delta 1e-6", &["--time"]),
        ("count in.csv --value amount --follow --epsilon 1 --delta 1e-6", &["--horizon"]),
        ("count in.csv --value amount --group-by region --groups a --epsilon 1 --delta 1e-6", &["--time"]),
        (
            "count in.csv --time time --every 0h --from 2026-01-05 --horizon 4 --epsilon 1 --delta 1e-6",
            &["--every", "1h"],
        ),
        (
            "count in.csv --time time --every 1h --from today --horizon 4 --epsilon 1 --delta 1e-6",
            &["--from", "today"],
        ),
        (
            "count in.csv --time time --every 1h --from 2026-01-05 --horizon 0 --epsilon 1 --delta 1e-6",
            &["--horizon"],
        ),
        (
            "count in.csv --time time --every 1h --from 2026-01-05 --horizon -3 --epsilon 1 --delta 1e-6",
            &["--horizon"],
        ),
        (
            "count in.csv --time time --every 1h --from 2026-01-05 --to 2026-01-05T00:30 --epsilon 1 --delta 1e-6",
            &["--to", "integer number of steps"],
        ),
        (
            "count in.csv --time time --every 1h --from 2026-01-05 --to 2026-01-04 --epsilon 1 --delta 1e-6",
            &["--to", "after --from"],
        ),
        (
            "count in.csv --time time --every 1w --from 2026-01-05 --horizon 1152921504606846977 --epsilon 1 --delta 1e-6",
            &["steps"],
        ),
        ("count in.csv --value amount --epsilon one --delta 1e-6", &["--epsilon", "one"]),
        (
            "count in.csv --value amount --window 3 --decay 0.5 --epsilon 1 --delta 1e-6",
            &["--window", "--decay"],
        ),
        ("plan --horizon 1e3 --epsilon 1 --delta 1e-6", &["--horizon", "1e3"]),
        ("plan --horizon 8 --epsilon 1 --delta 1e-6 --min-gap 2", &["--max-steps"]),
        ("plan --horizon 8 --epsilon 1 --delta 1e-6 --max-steps 0", &["--max-steps"]),
        ("plan --horizon 8 --epsilon 1 --delta 1e-6 --plot errors.pdf", &["--plot", ".svg"]),
        ("demo --days 0", &["--days"]),
        ("nothing", &["nothing"]),
    ];
    for (line, parts) in cases {
        place.run(line).refused(parts);
    }
    assert_eq!(place.files(), ["in.csv"]);
}

#[test]
fn more_options_of_a_timed_count() {
    let cases: &[(&str, &[&str])] = &[
        ("--value amount", &["--clamp"]),
        ("--value amount --clamp 5,1", &["--clamp", "5,1"]),
        ("--value amount --clamp 0,inf", &["--clamp"]),
        ("--value amount --clamp NaN,1", &["--clamp"]),
        ("--value amount --clamp 3", &["--clamp", "LO,HI"]),
        ("--clamp 0,1", &["--value"]),
        ("--group-by region", &["--groups"]),
        ("--group-by region --groups north,north", &["--groups", "number 2", "number 1"]),
        ("--group-by region --groups north,,south", &["--groups"]),
        ("--group-by region --groups absent.txt", &["--groups", "absent.txt,other"]),
        ("--group-by region --groups other,north,other", &["--groups", "number 3", "number 1"]),
        ("--person region", &["--max-steps"]),
        ("--max-steps 2", &["--person"]),
        ("--person region --max-steps 0", &["--max-steps"]),
        ("--person region --max-steps 2 --min-gap 0", &["--min-gap"]),
        ("--monotone --window 3", &["--monotone"]),
        ("--monotone --value amount --clamp -1,1", &["--monotone"]),
        ("--plot out.jpg", &["--plot", ".svg", ".png"]),
        ("--plot-truth-not-private", &["--plot"]),
        ("--memory-limit 0", &["--memory-limit"]),
        ("--follow --format parquet", &["--follow", "Parquet"]),
        ("--noise-key absent.key", &["absent.key"]),
    ];
    for (extra, parts) in cases {
        refused_without_traces(EVENTS, extra, parts);
    }
}

#[cfg(unix)]
#[test]
fn key_files_must_be_private_and_whole() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    place.with_key();
    let line = format!("count in.csv {TIMED} --noise-key noise.key");
    place.write("in.csv", EVENTS);
    std::fs::set_permissions(place.path("noise.key"), std::fs::Permissions::from_mode(0o644)).unwrap();
    place.run(&line).refused(&["noise.key", "chmod 600"]);
    place.write("noise.key", "5a5a");
    only_for_its_owner(&place.path("noise.key"));
    let ran = place.run(&line).refused(&["noise.key", "64 hexadecimal digits"]);
    assert!(!ran.stderr.contains("5a5a"), "a key was shown");
}

#[test]
fn parameters_outside_the_mathematics() {
    let place = Place::new();
    place.write("in.csv", "n\n1\n2\n");
    for epsilon in ["0", "-1", "NaN", "inf"] {
        place
            .run(&format!("count in.csv --value n --epsilon {epsilon} --delta 1e-6 --output o.csv"))
            .refused(&["psilon"]);
        place.run(&format!("plan --horizon 8 --epsilon {epsilon} --delta 1e-6")).refused(&["psilon"]);
    }
    for delta in ["1", "-0.1", "NaN", "inf"] {
        place
            .run(&format!("count in.csv --value n --epsilon 1 --delta {delta} --output o.csv"))
            .refused(&["elta"]);
    }
    for horizon in ["0", "1152921504606846977"] {
        place.run(&format!("plan --horizon {horizon} --epsilon 1 --delta 1e-6")).refused(&["horizon"]);
    }
    for (workload, part) in [
        ("--window 0", "window"),
        ("--decay 0", "decay"),
        ("--decay 1.5", "decay"),
        ("--decay NaN", "decay"),
        ("--mechanism cubic-root", "cubic-root"),
    ] {
        place.run(&format!("count in.csv {ROWS} {workload} --output o.csv")).refused(&[part]);
    }
    assert_eq!(place.files(), ["in.csv"]);
}

#[test]
fn files_that_are_not_what_they_should_be() {
    refused_without_traces("", "", &["in.csv", "empty", "header"]);
    refused_without_traces(EVENTS, "--group-by town --groups north", &["no column", "town", "region"]);
    // Without a header, the first event is taken for one: the message shows what was found.
    refused_without_traces("2026-01-05T00:10:00Z,north,1\n", "", &["no column \"time\" in its first line"]);
    refused_without_traces("time,time\n1,2\n", "", &["more than one column", "time"]);
    refused_without_traces("time,n\n2026-01-05T00:10:00Z\n", "", &["line 2", "expected 2 columns"]);

    let place = Place::new();
    place.run(&format!("count absent.csv {TIMED}")).refused(&["absent.csv", "no such file"]);
    place.run(&format!("count . {TIMED} --input-format csv")).refused(&["directory"]);
    place
        .write("in.txt", EVENTS)
        .run(&format!("count in.txt {TIMED}"))
        .refused(&["in.txt", "--input-format"]);
    let ran =
        place.write("in.jsonl", "{\"time\":1}\n[1]\n").run(&format!("count in.jsonl {TIMED} --outside drop"));
    assert!(ran.code == Some(2) && ran.stderr.contains("line 2"), "{}", ran.stderr);
    place
        .write("in.jsonl", "\n[1]\n")
        .run(&format!("count in.jsonl {TIMED}"))
        .refused(&["line 2", "JSON object"]);
    place
        .write("in.jsonl", "{\"a\":1}\n")
        .run(&format!("count in.jsonl {TIMED}"))
        .refused(&["line 1", "time", "nothing"]);
    place.write("in.parquet", "").run(&format!("count in.parquet {TIMED}")).refused(&["in.parquet", "empty"]);
    place
        .write("in.parquet", EVENTS)
        .run(&format!("count in.parquet {TIMED}"))
        .refused(&["not a complete Parquet file"]);
}

#[test]
fn cells_that_do_not_parse_are_named_by_line_and_column() {
    let good = "2026-01-05T00:10:00Z";
    for bad in ["2026-01-05T00:10:00[Europe/Paris]", "yesterday", "25:00", "2026-13-05", "1.5", "", "nan"] {
        let contents = format!("time,region,amount\n{good},north,1\n{bad},south,1\n");
        refused_without_traces(&contents, "", &["line 3", "column \"time\"", "expected a time"]);
    }
    for bad in ["9223372036854775808", "-9223372036854775809", "nan", "inf", "1e999", "one", ""] {
        let contents = format!("time,region,amount\n{good},north,{bad}\n");
        let extra = "--value amount --clamp 0,10";
        refused_without_traces(&contents, extra, &["line 2", "column \"amount\"", "an integer"]);
    }
    let long = "x".repeat(10_000);
    let contents = format!("time,region,amount\n{long},north,1\n");
    refused_without_traces(&contents, "", &["line 2", "…"]);
    refused_without_traces("time\n\u{1b}[31m\n", "", &["line 2", "u{1b}"]);
}

#[test]
fn times_outside_the_declared_range() {
    for outside in ["2026-01-04T23:59:59.999999Z", "2026-01-05T04:00:00Z", "1999-01-01"] {
        let contents = format!("time,region,amount\n{outside},north,1\n");
        refused_without_traces(
            &contents,
            "",
            &["line 2", "column \"time\"", "2026-01-05T04:00:00Z", "--outside drop"],
        );
    }
}

#[test]
fn rows_past_the_horizon_or_too_large() {
    let place = Place::new();
    place.write("in.csv", "n\n1\n2\n3\n");
    place
        .run(&format!("count in.csv {ROWS} --horizon 2 --output o.csv"))
        .refused(&["line 4", "2 declared steps"]);
    place.write("in.csv", "n\n9007199254740993\n");
    place.run(&format!("count in.csv {ROWS} --output o.csv")).refused(&["line 2", "2^53"]);
    place.write("in.csv", "n\n");
    place.run(&format!("count in.csv {ROWS} --output o.csv")).refused(&["no rows", "--horizon"]);
    assert_eq!(place.files(), ["in.csv"]);
}

#[test]
fn a_parquet_file_cut_short_anywhere() {
    let place = Place::new();
    place.write("in.csv", EVENTS).run(&format!("count in.csv {TIMED} --output whole.parquet")).ok();
    let whole = place.read("whole.parquet");
    let line = "count cut.parquet --value estimate --epsilon 1 --delta 1e-6 --output o.csv";
    place.write("cut.parquet", &whole).run(line).ok();
    std::fs::remove_file(place.path("o.csv")).unwrap();
    for length in (1..whole.len()).step_by(17) {
        place.write("cut.parquet", &whole[..length]).run(line).refused(&["cut.parquet", "cut short"]);
    }
    assert_eq!(place.files(), ["cut.parquet", "in.csv", "whole.parquet"]);
}

#[test]
fn a_damaged_parquet_file_never_crashes() {
    let place = Place::new();
    place.write("in.csv", EVENTS).run(&format!("count in.csv {TIMED} --output whole.parquet")).ok();
    let whole = place.read("whole.parquet");
    let line = "count bent.parquet --value estimate --epsilon 1 --delta 1e-6";
    for at in (0..whole.len()).step_by(23) {
        let mut bent = whole.clone();
        bent[at] ^= 0xFF;
        let ran = place.write("bent.parquet", &bent).run(line);
        // Some bytes carry no checked meaning, and then the file is simply read.
        assert!(matches!(ran.code, Some(0 | 2)), "byte {at}: {:?} {}", ran.code, ran.stderr);
        assert!(ran.stderr.lines().count() <= 1, "byte {at}: {}", ran.stderr);
    }
}

#[test]
fn an_output_never_destroys_what_is_read() {
    let place = Place::new();
    place.with_key().write("in.csv", EVENTS).write("in.svg", EVENTS).write("keys.csv", "north\n");
    let keyed = "--group-by region --groups keys.csv";
    for extra in [
        "--output in.csv",
        "--output ./in.csv --follow",
        "--output noise.key --noise-key noise.key",
        "--output keys.csv",
        "--output out.svg --plot out.svg",
    ] {
        place.run(&format!("count in.csv {TIMED} {keyed} {extra}")).refused(&["cannot be an output"]);
    }
    // A key may have the name of an output that is not there yet.
    place.run(&format!("count in.csv {TIMED} --group-by region --groups north --output north")).ok();
    std::fs::remove_file(place.path("north")).unwrap();
    let line = format!("count in.svg --input-format csv {TIMED} {keyed} --plot in.svg");
    place.run(&line).refused(&["in.svg", "cannot be an output"]);
    assert_eq!(place.read("in.csv"), EVENTS.as_bytes());
    assert_eq!(place.files(), ["in.csv", "in.svg", "keys.csv", "noise.key"]);
}

#[test]
fn nothing_is_released_where_the_rest_would_fail() {
    let place = Place::new();
    // A bad row far behind what any buffer holds back.
    place.write("in.csv", format!("n\n{}x\n", "1\n".repeat(20_000)));
    place.run(&format!("count in.csv {ROWS} --horizon 30000")).refused(&["line 20002"]);
    place.write("in.csv", EVENTS);
    for extra in ["--plot absent/o.svg", "--plot o.svg --output .", "--plot o.svg --output absent/o.csv"] {
        let ran = place.run(&format!("count in.csv {TIMED} {extra}"));
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{extra}");
        assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
    }
    assert_eq!(place.files(), ["in.csv"]);
}

#[cfg(target_os = "linux")]
#[test]
fn messages_that_nobody_can_read_change_no_exit_code() {
    let place = Place::new();
    let full = || std::fs::File::options().write(true).open("/dev/full").unwrap();
    let line = format!("count absent.csv {TIMED}");
    assert_eq!(place.command(&line).stderr(full()).status().unwrap().code(), Some(2));
}

/// Found by fuzzing: words of the command line came back as they were, and a terminal obeys what is in them.
#[test]
fn messages_command_no_terminal() {
    let place = Place::new();
    for word in ["\u{1b}[31mcount", "--\u{1b}[2J", "--\r\rsteps", "--mechanism=\nroot", "--window=\u{7}"] {
        let mut command = place.command("count in.csv --value n --epsilon 1 --delta 1e-6");
        let output = command.arg(word).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said:?}");
        assert!(!said.trim_end_matches('\n').contains(char::is_control), "{said:?}");
    }
}

#[test]
fn an_output_that_cannot_be_written_is_a_failure() {
    let ran = Place::new().run("demo --output absent/visits.csv");
    assert_eq!(ran.code, Some(1));
    assert_eq!(ran.stderr.lines().count(), 1);
    assert!(ran.stderr.contains("absent/visits.csv"), "{}", ran.stderr);
}
