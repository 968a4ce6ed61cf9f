//! Steps of the calendar in a time zone, and the forms of times.

use crate::common::{Place, Ran, assert_near, column};

const BUDGET: &str = "--epsilon 1000 --delta 0.4";

/// Noise of about a hundred, so that equal releases have equal noise.
const NOISY: &str = "--epsilon 0.05 --delta 1e-6";

const MONTHS: &str = "--time time --every 1mo --from 2026-01-01 --horizon 4 --timezone Europe/Zurich";

/// One event in January, two in February, one in March and two in April, all of them close to the ends
/// of months in Zurich.
const EVENTS: &str = "time
2026-01-31 23:59:59
2026-02-01 00:00
2026-01-31T23:30:00Z
31.03.2026 23:59
2026/04/01
1774994400
";

fn counted(contents: &str, options: &str) -> Ran {
    let place = Place::new();
    place.write("in.csv", contents).run(&format!("count in.csv {options} {BUDGET}"))
}

#[test]
fn months_of_a_zone_have_their_own_ends_and_are_shown_with_their_offset() {
    let csv = counted(EVENTS, MONTHS).ok().stdout;
    assert_near(&csv, &[1.0, 3.0, 4.0, 6.0]);
    assert_eq!(
        column(&csv, "start"),
        [
            "2026-01-01T00:00:00+01:00",
            "2026-02-01T00:00:00+01:00",
            "2026-03-01T00:00:00+01:00",
            "2026-04-01T00:00:00+02:00"
        ]
    );
    for line in ["every: 1mo", "calendar: months of Europe/Zurich", "timezone: Europe/Zurich"] {
        assert!(csv.contains(&format!("# {line}\n")), "{line}");
    }
    assert!(csv.contains("# from: 2026-01-01T00:00:00+01:00\n"));
}

#[test]
fn without_a_zone_months_are_those_of_utc() {
    let options = MONTHS.replace(" --timezone Europe/Zurich", "");
    let csv = counted(EVENTS, &options).ok().stdout;
    assert_near(&csv, &[2.0, 3.0, 5.0, 6.0]);
    assert_eq!(column(&csv, "start")[3], "2026-04-01T00:00:00Z");
    assert!(csv.contains("# calendar: months of UTC\n") && !csv.contains("# timezone"));
}

#[test]
fn every_way_to_declare_the_same_months_counts_the_same() {
    let place = Place::new();
    place.with_key().write("in.csv", EVENTS);
    let run = |options: &str| {
        let line = format!("count in.csv {options} --noise-key noise.key {NOISY}");
        place.forget_uses().run(&line).ok().stdout
    };
    let by_number = run(MONTHS);
    assert_eq!(run(&MONTHS.replace("--horizon 4", "--to 2026-05-01")), by_number);
    assert_eq!(run(&MONTHS.replace("Europe/Zurich", "europe/zurich")), by_number);
    assert_eq!(run(&MONTHS.replace("--from 2026-01-01", "--from 2025-12-31T23:00:00Z")), by_number);
    // Other words for the same steps: the header differs, and nothing else.
    let body = |csv: &str| csv.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join("\n");
    let quarters = run(&MONTHS.replace("1mo", "1q").replace("--horizon 4", "--horizon 2"));
    let threes = run(&MONTHS.replace("1mo", "3mo").replace("--horizon 4", "--horizon 2"));
    assert_eq!(body(&quarters), body(&threes));
}

/// The default by name is the default: the same bytes, with the same noise.
#[test]
fn utc_by_name_changes_nothing() {
    let place = Place::new();
    place.with_key().write("in.csv", "time\n2026-01-05 10:00\n2026-01-06T10:00:00+02:00\n");
    let line = format!(
        "count in.csv --time time --every 1d --from 2026-01-05 --horizon 3 --noise-key noise.key {NOISY}"
    );
    let plain = place.run(&line).ok().stdout;
    assert_eq!(place.forget_uses().run(&format!("{line} --timezone utc")).ok().stdout, plain);
    let other = place.forget_uses().run(&format!("{line} --timezone Africa/Abidjan")).ok().stdout;
    assert_ne!(column(&other, "estimate"), column(&plain, "estimate"), "another name has other noise");
}

#[test]
fn the_day_on_which_clocks_change_has_23_or_25_hours() {
    for (date, offset, hours) in [("2026-03-29", 1, 23), ("2026-10-25", 2, 25)] {
        // One event per hour from midnight on, as instants.
        let midnight = format!("{date}T00:00:00+0{offset}:00");
        let from = evertally_stream::time::parse(&midnight).unwrap() / 1_000_000;
        let events: String = (0..48).map(|hour| format!("{}\n", from + 3600 * hour)).collect();
        let options = format!(
            "--time time --every 1d --from {date} --horizon 1 --timezone Europe/Zurich --outside drop"
        );
        let ran = counted(&format!("time\n{events}"), &options);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert_near(&ran.stdout, &[f64::from(hours)]);
    }
}

#[test]
fn formats_are_read_in_the_zone() {
    let events = "time\n31/01/2026 23:59\n01/02/2026 00:00\n01/02/2026 00:30\n31/03/2026 23:59\n";
    let place = Place::new();
    place.write("in.csv", events);
    let count = |place: &Place, file: &str| {
        let mut command = place.command(&format!("count {file} {MONTHS} {BUDGET}"));
        Ran::of(command.args(["--time-format", "%d/%m/%Y %H:%M"]).output().unwrap())
    };
    let csv = count(&place, "in.csv").ok().stdout;
    assert_near(&csv, &[1.0, 3.0, 4.0, 4.0]);
    assert!(csv.contains("# time_format: %d/%m/%Y %H:%M\n"));
    place.write("bad.csv", "time\n31/01/2026 23:59\n2026-02-01 00:00\n");
    count(&place, "bad.csv").refused(&["line 3", "\"time\"", "%d/%m/%Y %H:%M", "2026-02-01 00:00"]);
}

#[test]
fn numbers_are_unix_times_in_the_unit_of_their_digits() {
    let place = Place::new();
    let numbers = ["1774994399", "1774994400", "1774994400000", "1774994400000000.5", "1774994400.25"];
    let lines: String = numbers.iter().map(|number| format!("{{\"time\":{number}}}\n")).collect();
    place.write("in.jsonl", lines);
    let csv = place.run(&format!("count in.jsonl {MONTHS} {BUDGET}")).ok().stdout;
    assert_near(&csv, &[0.0, 0.0, 1.0, 5.0]);
}

/// What --until adds must not change what was released before it.
#[test]
fn a_later_end_of_an_unbounded_stream_keeps_its_noise() {
    let place = Place::new();
    place.with_key().write("in.csv", "time\n2026-01-31 23:59:59\n2026-02-01\n");
    let run = |until: &str| {
        let range = format!("--horizon unbounded --until {until}");
        let options = MONTHS.replace("--horizon 4", &range);
        let line = format!("count in.csv {options} --noise-key noise.key {NOISY}");
        column(&place.forget_uses().run(&line).ok().stdout, "estimate")
    };
    let (short, long) = (run("2026-03-01"), run("2026-07-01"));
    assert_eq!((short.len(), long.len()), (2, 6));
    assert_eq!(short[..], long[..2]);
}

#[test]
fn following_closes_months() {
    let place = Place::new();
    let sorted = "time\n2026-01-31 23:59:59\n2026-02-01 00:00\n2026-03-31 23:59\n2026-04-01\n";
    let csv = place.run_with_input(&format!("count - {MONTHS} --follow {BUDGET}"), sorted).ok().stdout;
    assert_near(&csv, &[1.0, 2.0, 3.0, 4.0]);
}

#[test]
fn json_lines_show_the_offset_as_well() {
    let json = counted(EVENTS, &format!("{MONTHS} --format jsonl")).ok().stdout;
    assert!(json.lines().nth(4).unwrap().contains("\"start\":\"2026-04-01T00:00:00+02:00\""), "{json}");
}

#[test]
fn what_cannot_be_meant_is_refused_with_what_can() {
    let timed = "--time time --horizon 4";
    let cases: &[(&str, &[&str])] = &[
        (
            "--every 1mo --from 2026-01-15",
            &["--from 2026-01-15 is not the start of a month: use --from 2026-01-01"],
        ),
        ("--every 1q --from 2026-06-01", &["start of a quarter", "use --from 2026-04-01"]),
        ("--every 1y --from 2026-06-01", &["start of a year", "use --from 2026-01-01"]),
        ("--every 1mo --from 2026-01-01T01:00:00Z", &["start of a month", "use --from 2026-01-01"]),
        (
            "--every 1d --from 2026-01-05T06:00 --timezone Europe/Zurich",
            &["start of a day in Europe/Zurich", "use --from 2026-01-05"],
        ),
        ("--every 1d --from 2026-01-05 --timezone Europe/Zuerich", &["--timezone", "Europe/Zurich"]),
        ("--every 1d --from 2026-01-05 --timezone zurich", &["--timezone", "Europe/Zurich"]),
        ("--every 0mo --from 2026-01-01", &["--every", "3mo", "0mo"]),
        ("--every 1month --from 2026-01-01", &["--every", "mo (months)"]),
        ("--every 1d --from 2026-01-05 --week-starts monday", &["--week-starts", "--every 1w"]),
        ("--every 1w --from 2026-01-06 --week-starts Mon", &["start of a Monday", "use --from 2026-01-05"]),
        (
            "--every 1w --from 2026-01-05 --week-starts sunday --timezone America/New_York",
            &["start of a Sunday in America/New_York", "use --from 2026-01-04"],
        ),
        ("--every 1w --from 2026-01-05 --week-starts someday", &["--week-starts", "someday"]),
        ("--every 1d --from 2026-01-05 --time-format %H:%M", &["--time-format", "a year, a month and a day"]),
        ("--every 1d --from 2026-01-05 --time-format %I:%M/%F", &["--time-format", "%p"]),
        ("--every 1d --from 2026-01-05 --time-format %!", &["--time-format", "strptime"]),
        ("--every 1d --from 01/02/2026", &["--from", "2026-01-05", "01/02/2026"]),
        ("--every 1mo --from 2026-01-01 --follow --lag 1mo", &["--lag", "1w"]),
        ("--every 100y --from 2026-01-01 --horizon 99", &["--horizon"]),
    ];
    let place = Place::new();
    place.write("in.csv", EVENTS);
    for (options, parts) in cases {
        let timed = if options.contains("--horizon") { "--time time" } else { timed };
        place.run(&format!("count in.csv {timed} {options} {BUDGET}")).refused(parts);
    }
    let ends: &[(&str, &[&str])] = &[
        ("--to 2026-03-15", &["--to", "1mo", "--to 2026-03-01"]),
        ("--to 2026-01-15", &["--to", "after --from"]),
        ("--horizon unbounded --until 2026-03-15", &["--until 2026-03-01"]),
    ];
    for (end, parts) in ends {
        let line = format!("count in.csv --time time --every 1mo --from 2026-01-01 {end} {BUDGET}");
        place.run(&line).refused(parts);
    }
    place.run(&format!("count in.csv --value time --timezone Europe/Zurich {BUDGET}")).refused(&["--time"]);
    place.run(&format!("count in.csv --value time --time-format %F {BUDGET}")).refused(&["--time"]);
    assert_eq!(place.files(), ["in.csv"]);
}

#[test]
fn a_date_that_could_be_two_is_refused_with_the_remedy() {
    let options = "--time time --every 1d --from 2015-01-01 --horizon 400";
    counted("time\n01/02/2015\n", options).refused(&["line 2", "--time-format %d/%m/%Y"]);
    counted("time\nsoon\n", options).refused(&["line 2", "--time-format reads others"]);
}

#[test]
fn weeks_start_on_the_declared_day() {
    let options = "--time time --every 1w --from 2026-01-04 --week-starts sun --timezone America/New_York";
    let csv = counted("time\n2026-01-10 23:59\n2026-01-11\n", &format!("{options} --horizon 2")).ok().stdout;
    assert_near(&csv, &[1.0, 2.0]);
    assert_eq!(column(&csv, "start")[1], "2026-01-11T00:00:00-05:00");
}
