//! `count --state`: many runs release what one run would have released, whatever happens between them.

mod crashes;
mod refusals;
mod repeated;

use crate::common::{Place, assert_near, rows};

const KEY: &str = "--noise-key noise.key --state s.state --output out.csv";

/// Twelve hours from midnight on, with noise that no rounding hides.
const HOURS: &str = "--time time --every 1h --from 2026-01-05 --horizon 12 --epsilon 1 --delta 1e-6";

/// The hours at which the runs end.
const ENDS: [u32; 4] = [1, 5, 6, 12];

/// Some events of one hour, in no order, of few persons and ids, so that many compete.
fn hour(hour: u32) -> String {
    let mut text = String::new();
    let mut number = 7919 * (hour + 1);
    for _ in 0..30 {
        number = number.wrapping_mul(1_103_515_245).wrapping_add(12_345);
        let [a, b, c, d, e] = [8, 12, 16, 20, 24].map(|shift| number >> shift);
        let (minute, person, id) = (a % 60, b % 11, c % 17);
        let (region, amount) = (["north", "south", "west"][(d % 3) as usize], f64::from(e % 100) / 4.0 - 5.0);
        text.push_str(&format!(
            "2026-01-05T{hour:02}:{minute:02}:00Z,person-{person},id-{id},{region},{amount}\n"
        ));
    }
    text
}

const HEAD: &str = "time,person,id,region,amount\n";

fn hours(from: u32, to: u32) -> String {
    (from..to).map(hour).fold(HEAD.to_owned(), |all, hour| all + &hour)
}

fn clock(hour: u32) -> String {
    format!("2026-01-05T{hour:02}:00:00Z")
}

/// A place with a key, one file of all hours, and one for each run.
fn place() -> Place {
    let place = Place::new();
    place.with_key().write("all.csv", hours(0, 12));
    let mut from = 0;
    for end in ENDS {
        place.write(&format!("{end}.csv"), hours(from, end));
        from = end;
    }
    place
}

/// What one run releases.
fn in_one_run(options: &str) -> Vec<u8> {
    let place = place();
    place.run(&format!("count all.csv {HOURS} {options} {KEY} --until {}", clock(12))).ok();
    place.read("out.csv")
}

fn in_many_runs(options: &str) -> Vec<u8> {
    let place = place();
    for end in ENDS {
        place.run(&format!("count {end}.csv {HOURS} {options} {KEY} --until {}", clock(end))).ok();
    }
    assert_eq!(place.files().iter().filter(|name| name.ends_with(".tmp")).count(), 0);
    place.read("out.csv")
}

#[track_caller]
fn assert_equal(one: &[u8], many: &[u8], options: &str) {
    let [one, many] = [one, many].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    assert!(rows(&one).len() >= 8, "{options}: {one}");
    assert_eq!(one, many, "{options}");
}

#[test]
fn many_runs_release_what_one_run_does() {
    for options in [
        "",
        // Nothing but noise, so that the largest release is one of an earlier run.
        "--monotone --where region='nowhere'",
        "--group-by region --groups north,south",
        "--person person --max-steps 3 --min-gap 2",
        "--id id",
        "--person person --max-steps 3 --min-gap 2 --id id --group-by region --groups north,other,south",
        "--person person --max-steps 3 --id id --value amount --per-person-sum=-2,9 --per-person-events 3",
        "--person person --max-steps 3 --value amount --per-person-sum 0,9 --group-by region --groups north,south --groups-per-person 2",
        "--value amount --clamp=-2,5 --group-by region --groups north,south",
        "--window 4",
        "--decay 0.9",
        "--report steps,3,total --weights 2,1,1 --group-by region --groups north,south",
        "--report 2h,5",
        "--value amount --clamp 0,5 --monotone --round --non-negative --simultaneous",
        "--arithmetic float",
        "--arithmetic float --window 4",
        "--where region='north'",
    ] {
        assert_equal(&in_one_run(options), &in_many_runs(options), options);
    }
}

#[test]
fn every_mechanism_goes_on() {
    for mechanism in evertally_mechanisms() {
        let options = format!("--mechanism {mechanism}");
        assert_equal(&in_one_run(&options), &in_many_runs(&options), &options);
    }
}

/// Those that a count can use.
fn evertally_mechanisms() -> [&'static str; 7] {
    [
        "input-perturbation",
        "binary",
        "honaker-streaming",
        "square-root",
        "normalized-square-root",
        "graded-square-root",
        "banded-square-root",
    ]
}

/// What a whole file holds of other steps is left out, so that a log that grows can be given again.
#[test]
fn an_event_counts_in_the_run_that_releases_its_step() {
    for options in ["", "--person person --max-steps 3 --id id"] {
        let place = place();
        for (run, end) in ENDS.into_iter().enumerate() {
            let ran = place.run(&format!("count all.csv {HOURS} {options} {KEY} --until {}", clock(end)));
            assert_eq!(ran.code, Some(0), "{}", ran.stderr);
            let late =
                "warning: an event of a step that an earlier run released was left out, as will be others";
            assert_eq!(ran.stderr.contains(late), run > 0, "{}", ran.stderr);
            let early = "warning: an event from --until on was left out, as will be others";
            assert_eq!(ran.stderr.contains(early), end < 12, "{}", ran.stderr);
        }
        assert_equal(&in_one_run(options), &place.read("out.csv"), options);
    }
}

/// The same totals as without a state, with noise of its own.
#[test]
fn the_totals_are_those_of_a_count_without_a_state() {
    let place = place();
    let plain = place.run(&format!("count all.csv {HOURS} --noise-key noise.key")).ok().stdout;
    let with_state = String::from_utf8(in_many_runs("")).unwrap();
    assert_near(
        &with_state,
        &[30.0, 60.0, 90.0, 120.0, 150.0, 180.0, 210.0, 240.0, 270.0, 300.0, 330.0, 360.0],
    );
    assert!(rows(&plain) != rows(&with_state));
    assert!(with_state.contains("\n# runs: one or more of one state"), "{with_state}");
    assert!(!with_state.contains("# until"), "{with_state}");
    let starts: Vec<String> = rows(&with_state).iter().map(|row| format!("{} {}", row[0], row[1])).collect();
    assert_eq!(
        (starts[0].as_str(), starts[11].as_str()),
        ("0 2026-01-05T00:00:00Z", "11 2026-01-05T11:00:00Z")
    );
}

#[test]
fn a_stream_without_a_known_end_goes_on() {
    let options = "--report steps,5,total --person person --max-steps 3";
    let unbounded = HOURS.replace("--horizon 12", "--horizon unbounded");
    let run = |place: &Place, file: &str, end: u32| {
        place.run(&format!("count {file} {unbounded} {options} {KEY} --until {}", clock(end))).ok();
    };
    let one = place();
    run(&one, "all.csv", 12);
    let many = place();
    ENDS.into_iter().for_each(|end| run(&many, &format!("{end}.csv"), end));
    assert_equal(&one.read("out.csv"), &many.read("out.csv"), options);
}

/// Days of 23 and 25 hours, and months as periods.
#[test]
fn steps_of_a_calendar_go_on() {
    let days = "--time time --every 1d --timezone Europe/Zurich --from 2026-03-27 --horizon 40 --epsilon 1 --delta 1e-6 --report 1mo,total";
    let event = |day: u32| {
        let (month, day) = if day <= 31 { (3, day) } else { (4, day - 31) };
        format!("2026-{month:02}-{day:02} 02:30,p,i,r,1\n2026-{month:02}-{day:02} 23:30,p,i,r,1\n")
    };
    let events = |days: std::ops::Range<u32>| days.map(event).fold(HEAD.to_owned(), |all, day| all + &day);
    let until = |end: u32| match end {
        ..=31 => format!("2026-03-{end:02}"),
        32..=61 => format!("2026-04-{:02}", end - 31),
        _ => format!("2026-05-{:02}", end - 61),
    };
    let one = Place::new();
    one.with_key().write("all.csv", events(27..62));
    one.run(&format!("count all.csv {days} {KEY} --until 2026-05-01")).ok();
    let many = Place::new();
    many.with_key();
    let mut from = 27;
    for end in [28, 30, 33, 62] {
        many.write("some.csv", events(from..end));
        many.run(&format!("count some.csv {days} {KEY} --until {}", until(end))).ok();
        from = end;
    }
    assert!(
        String::from_utf8(one.read("out.csv")).unwrap().contains("\n1mo,5,34,2026-04-01T00:00:00+02:00,")
    );
    assert_equal(&one.read("out.csv"), &many.read("out.csv"), days);
}

#[test]
fn the_rows_of_each_file_are_the_next_steps() {
    for horizon in ["14", "unbounded"] {
        let options = format!("--value n --clamp 0,9 --horizon {horizon} --epsilon 1 --delta 1e-6");
        let numbers =
            |range: std::ops::Range<u32>| range.fold("n\n".to_owned(), |all, n| format!("{all}{}\n", n % 7));
        let one = Place::new();
        one.with_key().write("all.csv", numbers(0..12));
        one.run(&format!("count all.csv {options} {KEY}")).ok();
        let many = Place::new();
        many.with_key();
        for range in [0..1, 1..5, 5..12] {
            many.write("some.csv", numbers(range));
            many.run(&format!("count some.csv {options} {KEY}")).ok();
        }
        assert_equal(&one.read("out.csv"), &many.read("out.csv"), &options);
        if horizon == "14" {
            many.write("some.csv", "n\n1\n1\n1\n");
            many.run(&format!("count some.csv {options} {KEY}")).refused(&["some.csv, line 4", "14"]);
        }
        many.write("some.csv", "n\n");
        many.run(&format!("count some.csv {options} {KEY}"))
            .refused(&["some.csv has no rows: expected at least one"]);
        assert_eq!(one.read("out.csv"), many.read("out.csv"));
    }
}

/// Another output has the rows of its run, and standard output as well. What an earlier run wrote grows.
#[test]
fn an_output_grows_or_is_new() {
    for format in ["csv", "jsonl", "parquet"] {
        let one = place();
        let command = |file: &str, out: &str, end: u32| {
            format!(
                "count {file} {HOURS} --noise-key noise.key --state s.state --format {format} --until {} {out}",
                clock(end)
            )
        };
        one.run(&command("all.csv", "--output out", 12)).ok();
        let place = place();
        place.run(&command("1.csv", "--output out", 1)).ok();
        place.run(&command("5.csv", "--output other", 5)).ok();
        if format == "parquet" {
            place.run(&command("6.csv", "--output other", 6)).refused(&["other: a Parquet file cannot grow"]);
            place.run(&command("6.csv", "--output third", 6)).ok();
            continue;
        }
        place.run(&command("6.csv", "--output other", 6)).ok();
        // The state knows the last output only.
        place
            .run(&command("12.csv", "--output out", 12))
            .refused(&["out exists already and is not overwritten"]);
        let third = place.run(&command("12.csv", "", 12)).ok().bytes;
        let is_data = |line: &&str| {
            !line.starts_with('#') && !line.starts_with("step,") && !line.starts_with("{\"evertally\"")
        };
        let lines = |bytes: &[u8]| {
            String::from_utf8_lossy(bytes).lines().filter(is_data).map(str::to_owned).collect::<Vec<_>>()
        };
        let [first, second] = ["out", "other"].map(|name| lines(&place.read(name)));
        let third = lines(&third);
        assert_eq!((first.len(), second.len(), third.len()), (1, 5, 6));
        assert_eq!([first, second, third].concat(), lines(&one.read("out")));
    }
}

/// A renamed output still belongs to the state, and a removed one is begun again.
#[test]
fn an_output_is_known_by_its_content() {
    let run = |place: &Place, out: &str, end: u32| {
        place.run(&format!(
            "count {end}.csv {HOURS} --noise-key noise.key --state s.state --until {} --output {out}",
            clock(end)
        ))
    };
    let place = place();
    run(&place, "out.csv", 1).ok();
    std::fs::rename(place.path("out.csv"), place.path("renamed.csv")).unwrap();
    run(&place, "renamed.csv", 5).ok();
    assert_eq!(rows(&String::from_utf8(place.read("renamed.csv")).unwrap()).len(), 5);
    std::fs::remove_file(place.path("renamed.csv")).unwrap();
    run(&place, "renamed.csv", 6).ok();
    assert_eq!(rows(&String::from_utf8(place.read("renamed.csv")).unwrap()).len(), 1);
    place.write("renamed.csv", "mine");
    run(&place, "renamed.csv", 12).refused(&["renamed.csv is not as the last run of the state left it"]);
    assert_eq!(place.read("renamed.csv"), b"mine");
    run(&place, "renamed.csv --force", 12).ok();
    assert_eq!(rows(&String::from_utf8(place.read("renamed.csv")).unwrap()).len(), 6);
}

/// The first run pays, and later ones are free.
#[test]
fn a_budget_file_is_charged_once() {
    let place = place();
    place.run("budget new b.ledger --epsilon 1.5 --delta 2e-6 --unit event").ok();
    let line =
        |end: u32| format!("count {end}.csv {HOURS} {KEY} --budget-file b.ledger --until {}", clock(end));
    for end in ENDS {
        place.run(&line(end)).ok();
        let shown = place.run("budget show b.ledger").ok().stdout;
        assert_eq!(shown.matches("count ").count(), 1, "{shown}");
    }
    assert_eq!(rows(&String::from_utf8(place.read("out.csv")).unwrap()).len(), 12);
    // Another state under the same key repeats the same releases, and is free as well.
    std::fs::rename(place.path("s.state"), place.path("old.state")).unwrap();
    let first = place.read("out.csv");
    std::fs::remove_file(place.path("out.csv")).unwrap();
    ENDS.into_iter().for_each(|end| drop(place.run(&line(end)).ok()));
    assert!(
        rows(&String::from_utf8(first).unwrap()) == rows(&String::from_utf8(place.read("out.csv")).unwrap())
    );
}

#[test]
fn the_summary_says_which_steps_and_where_the_state_is() {
    let place = place();
    place.run(&format!("count 1.csv {HOURS} {KEY} --until {}", clock(1))).ok();
    let ran = place.run(&format!("count 5.csv {HOURS} {KEY} --verbose --until {}", clock(5)));
    assert!(ran.stderr.contains("4 hours (steps 1 to 4 of 12), ε"), "{}", ran.stderr);
    assert!(ran.stderr.contains("wrote out.csv; state in s.state"), "{}", ran.stderr);
}

/// The state names no person and no id, and its errors name nothing of the data.
#[test]
fn a_state_names_nobody() {
    let place = place();
    let options = "--person person --max-steps 3 --id id --group-by region --groups north,south";
    place.run(&format!("count 1.csv {HOURS} {options} {KEY} --until {}", clock(1))).ok();
    let state = place.read("s.state");
    let holds = |text: &str| state.windows(text.len()).any(|window| window == text.as_bytes());
    assert!(holds("north,south") && holds("--person"));
    for name in ["person-", "id-1", "id-0"] {
        assert!(!holds(name), "{name}");
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(place.path("s.state")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
