//! What `count` releases: every declared step and key, for any order and format of the input.

use crate::common::{Place, ROWS, Ran, TIMED, assert_near, column, header, rows};

const SHUFFLED: &str = "time,region,amount,who,id
2026-01-05T03:59:59Z,north,4,p1,1
2026-01-05T00:10:00Z,south,1,p1,2
2026-01-05T00:10:00Z,north,20,p2,3
1767571200,west,3,p2,4
2026-01-05 02:30,north,2.5,p1,5
2026-01-05 02:30,north,2.5,p1,5
";

fn counted(extra: &str) -> String {
    let place = Place::new();
    place.with_key().write("in.csv", SHUFFLED);
    place.run(&format!("count in.csv {TIMED} --noise-key noise.key {extra}")).ok().stdout
}

#[test]
fn every_declared_step_is_released_even_when_empty() {
    let csv = counted("");
    assert_near(&csv, &[3.0, 3.0, 5.0, 6.0]);
    assert_eq!(column(&csv, "step"), ["0", "1", "2", "3"]);
    assert_eq!(column(&csv, "start")[1], "2026-01-05T01:00:00Z");
    let place = Place::new();
    place.write("in.csv", "time\n");
    assert_eq!(rows(&place.run(&format!("count in.csv {TIMED}")).ok().stdout).len(), 4);
}

/// An empty file of JSON lines was once refused, which revealed that nothing had happened. If rows
/// are steps and no horizon is declared, the number of rows is public and there must be one.
#[test]
fn an_input_without_events_is_counted_like_any_other() {
    let place = Place::new();
    place.write("in.jsonl", "");
    let csv = place.run(&format!("count in.jsonl {TIMED}")).ok().stdout;
    assert_near(&csv, &[0.0; 4]);
    place.run(&format!("count in.jsonl {ROWS}")).refused(&["no rows", "--horizon N"]);
    assert_near(&place.run(&format!("count in.jsonl {ROWS} --horizon 2")).ok().stdout, &[0.0; 2]);
}

#[test]
fn every_declared_key_is_released_and_the_rest_is_other() {
    let csv = counted("--group-by region --groups north,south,east");
    let keys = ["north", "south", "east", "other"];
    assert_eq!(column(&csv, "key"), keys.repeat(4));
    let totals = [1, 1, 0, 1, 1, 1, 0, 1, 3, 1, 0, 1, 4, 1, 0, 1].map(f64::from);
    assert_near(&csv, &totals);
    assert!(csv.contains("# keys: north,south,east,other\n"));

    let place = Place::new();
    place.with_key().write("in.csv", SHUFFLED).write("keys.txt", "north\nsouth\n\neast\n");
    let line = format!("count in.csv {TIMED} --noise-key noise.key --group-by region --groups keys.txt");
    assert_eq!(place.run(&line).ok().stdout, csv);
}

#[test]
fn values_are_clamped_copies_dropped_and_persons_bounded() {
    assert_near(&counted("--value amount --clamp 0,10"), &[14.0, 14.0, 19.0, 23.0]);
    assert_near(&counted("--id id"), &[3.0, 3.0, 4.0, 5.0]);
    // In order of time: p1 counts in step 0, then in step 2, and not in step 3; p2 counts once in
    // step 0. (It was in the order of the file once: p1 in steps 3 and 0.)
    assert_near(&counted("--person who --max-steps 2 --min-gap 2"), &[2.0, 2.0, 3.0, 3.0]);
    let outside = SHUFFLED.replace("02:30,north,2.5,p1,5\n2026-01-05 ", "02:30,north,2.5,p1,5\n2027-01-05 ");
    let place = Place::new();
    place.with_key().write("in.csv", outside);
    let ran = place.run(&format!("count in.csv {TIMED} --noise-key noise.key --outside drop"));
    assert_eq!((ran.code, ran.stderr.lines().count()), (Some(0), 1));
    assert_near(&ran.stdout, &[3.0, 3.0, 4.0, 5.0]);
}

/// Only the first purchase of a person in a step once counted, without a word.
#[test]
fn what_a_person_adds_to_a_step_is_a_bounded_sum() {
    let persons = "--person who --max-steps 4";
    assert_near(&counted(persons), &[2.0, 2.0, 3.0, 4.0]);
    let sums = format!("{persons} --value amount --per-person-sum");
    // p1 spends 1, 5 and 4, and p2 spends 23 in the first hour.
    assert_near(&counted(&format!("{sums} 0,100")), &[24.0, 24.0, 29.0, 33.0]);
    assert_near(&counted(&format!("{sums} 0,4.5")), &[5.5, 5.5, 10.0, 14.0]);
    assert_near(&counted(&format!("{sums} 0,100 --clamp 0,10")), &[14.0, 14.0, 19.0, 23.0]);
    assert_near(&counted(&format!("{sums} 0,100 --per-person-events 1")), &[4.0, 4.0, 6.5, 10.5]);
    assert_near(&counted(&format!("{sums} 0,100 --id id")), &[24.0, 24.0, 29.0, 33.0]);
    assert_near(&counted(&format!("{persons} --per-person-events 2")), &[3.0, 3.0, 5.0, 6.0]);
    // p2 counts in the west at midnight, and with a second group in the north as well.
    let groups = format!("{sums} 0,10 --group-by region --groups north,west");
    assert_near(&counted(&groups), &[0.0, 3.0, 1.0, 0.0, 3.0, 1.0, 5.0, 3.0, 1.0, 9.0, 3.0, 1.0]);
    let two = counted(&format!("{groups} --groups-per-person 2"));
    assert_near(&two, &[10.0, 3.0, 1.0, 10.0, 3.0, 1.0, 15.0, 3.0, 1.0, 19.0, 3.0, 1.0]);
    assert!(
        two.contains("\n# per_step: the sums of all events in the first 2 groups, each clamped to 0,10\n")
    );
    assert!(two.contains("\n# contribution: sums over groups of norm at most 14.14213562373"), "{two}");
    // Laplace noise covers the sum of magnitudes, and nobody counts in more groups than there are.
    let place = Place::new();
    place.with_key().write("in.csv", SHUFFLED);
    let pure = TIMED.replace("--delta 0.4", "--delta 0");
    assert_ne!(pure, TIMED);
    let line = format!("count in.csv {pure} --noise-key noise.key {groups} --groups-per-person 9");
    let csv = place.run(&line).ok().stdout;
    assert!(csv.contains("\n# contribution: sums over groups of at most 30.00000000000"), "{csv}");
    assert!(counted(persons).contains("\n# per_step: the first event\n# contribution: 1\n"));
}

#[test]
fn shares_of_persons_that_bound_nothing_are_refused() {
    for (options, expected) in [
        ("--per-person-sum 0,5", "--person"),
        ("--person who --per-person-sum 0,5", "--max-steps"),
        ("--person who --max-steps 1 --per-person-sum 5", "--per-person-sum: expected two numbers LO,HI"),
        ("--person who --max-steps 1 --per-person-sum 5,0", "--per-person-sum: the clamp must be"),
        (
            "--person who --max-steps 1 --per-person-sum=-5,0",
            "--per-person-sum bounds what a person adds to a step: range must be wider than zero",
        ),
        ("--person who --max-steps 1 --per-person-events 0", "--per-person-events must be at least 1, got 0"),
        ("--person who --max-steps 1 --groups-per-person 2", "--group-by"),
        (
            "--person who --max-steps 1 --group-by region --groups north --groups-per-person 2",
            "one event is in one group",
        ),
        (
            "--person who --max-steps 1 --group-by region --groups north --groups-per-person 0",
            "--groups-per-person must be at least 1, got 0",
        ),
        (
            "--person who --max-steps 1 --value amount --per-person-events 2",
            "--value with --time needs --clamp",
        ),
        (
            "--person who --max-steps 1 --value amount --per-person-sum=-1,5 --monotone",
            "--per-person-sum must not reach below zero",
        ),
    ] {
        let place = Place::new();
        place.with_key().write("in.csv", SHUFFLED);
        let ran = place.run(&format!("count in.csv {TIMED} --noise-key noise.key {options}"));
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{options}");
        assert!(
            ran.stderr.contains(expected) && ran.stderr.lines().count() == 1,
            "{options}: {}",
            ran.stderr
        );
    }
    let place = Place::new();
    place.with_key().write("in.csv", SHUFFLED);
    let line = format!(
        "count in.csv {TIMED} --noise-key noise.key --person who --max-steps 1 --value amount --clamp 0,5"
    );
    let ran = place.run(&line);
    let (code, warned) = (ran.code, ran.stderr);
    assert_eq!(code, Some(0));
    assert!(warned.contains("only the first value of a person in each step counts"), "{warned}");
}

#[test]
fn unsorted_input_equals_sorted_input() {
    let mut lines: Vec<&str> = SHUFFLED.lines().collect();
    lines[1..].reverse();
    let place = Place::new();
    place.with_key().write("in.csv", lines.join("\n"));
    let extra = "--group-by region --groups north,south --value amount --clamp 0,10";
    let reversed = place.run(&format!("count in.csv {TIMED} --noise-key noise.key {extra}")).ok().stdout;
    assert_eq!(reversed, counted(extra));
}

#[test]
fn json_lines_and_standard_input_are_read_alike() {
    let json = r#"{"time":"2026-01-05T03:59:59Z","region":"north","more":{"time":[1]}}
{"time":"2026-01-05T00:10:00Z","region":"south"}

{"region":"north","time":"2026-01-05T00:10:00Z"}
{"time":1767571200,"region":"west"}
{"time":"2026-01-05 02:30","region":"north"}
{"time":"2026-01-05 02:30","region":"north"}"#;
    let place = Place::new();
    place.with_key().write("in.jsonl", json);
    let extra = "--group-by region --groups north,south";
    let by_csv = counted(extra);
    let line = format!("{TIMED} --noise-key noise.key {extra}");
    assert_eq!(place.run(&format!("count in.jsonl {line}")).ok().stdout, by_csv);
    assert_eq!(
        place.run_with_input(&format!("count - --input-format jsonl {line}"), json).ok().stdout,
        by_csv
    );
    assert_eq!(place.run_with_input(&format!("count - {line}"), SHUFFLED).ok().stdout, by_csv);
}

#[test]
fn rows_are_steps() {
    let place = Place::new();
    place.with_key().write("in.csv", "\u{feff}n,more\n5,x\n-2,y\n1e3,z\n");
    let csv = place.run(&format!("count in.csv {ROWS} --noise-key noise.key")).ok().stdout;
    assert_near(&csv, &[5.0, 3.0, 1003.0]);
    assert!(csv.contains("taken as public"), "{csv}");
    assert!(csv.contains("\nstep,estimate,standard_error,lower,upper\n"), "{csv}");
    let line = format!("count in.csv {ROWS} --noise-key noise.key --horizon 5 --clamp 0,10");
    let csv = place.forget_uses().run(&line).ok().stdout;
    assert_near(&csv, &[5.0, 5.0, 15.0, 15.0, 15.0]);
    assert!(csv.contains("declared"), "{csv}");
}

#[test]
fn the_three_output_formats_hold_the_same_releases() {
    let place = Place::new();
    place.with_key().write("in.csv", SHUFFLED);
    let line = format!("count in.csv {TIMED} --noise-key noise.key --group-by region --groups north,south");
    for name in ["out.csv", "out.jsonl", "out.parquet"] {
        assert_eq!(place.run(&format!("{line} --output {name}")).ok().stdout, "");
    }
    assert_eq!(
        place.files(),
        ["in.csv", "noise.key", "noise.key.uses", "out.csv", "out.jsonl", "out.parquet"]
    );
    assert_eq!(place.run(&line).ok().bytes, place.read("out.csv"));
    assert_eq!(place.run(&format!("{line} --format parquet")).ok().bytes, place.read("out.parquet"));

    let csv = String::from_utf8(place.read("out.csv")).unwrap();
    let json = String::from_utf8(place.read("out.jsonl")).unwrap();
    let mut lines = json.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let header = lines.next().unwrap();
    for fact in
        ["version", "epsilon", "delta", "calibration", "mechanism", "workload", "neighbours", "participation"]
    {
        assert!(!header["evertally"][fact].is_null(), "{fact} is missing from {header}");
        assert!(csv.contains(&format!("\n# {fact}: ")), "{fact} is missing from {csv}");
    }
    for fact in ["contribution", "horizon", "keys", "post_processing"] {
        assert!(!header["evertally"][fact].is_null(), "{fact} is missing from {header}");
    }
    let expected = rows(&csv);
    for (line, row) in lines.zip(&expected) {
        assert_eq!(line["step"].to_string(), row[0]);
        assert_eq!(
            (line["start"].as_str(), line["key"].as_str()),
            (Some(row[1].as_str()), Some(row[2].as_str()))
        );
        for (name, cell) in ["estimate", "standard_error", "lower", "upper"].into_iter().zip(&row[3..]) {
            assert_eq!(line[name].as_f64(), cell.parse().ok());
        }
    }
    // Read back as rows of steps and as events, the Parquet file gives what the JSON lines give.
    for extra in [
        "--value upper --epsilon 1 --delta 1e-6",
        "--time start --every 1h --from 2026-01-05 --horizon 4 --group-by key --groups north,south --epsilon 1 --delta 1e-6",
    ] {
        let again = |name: &str, body: &str| {
            place.write(name, body);
            place.forget_uses().run(&format!("count {name} {extra} --noise-key noise.key")).ok().stdout
        };
        let body: String = json.lines().skip(1).map(|line| format!("{line}\n")).collect();
        let by_json = again("again.jsonl", &body);
        assert_eq!(
            place.run(&format!("count out.parquet {extra} --noise-key noise.key")).ok().stdout,
            by_json
        );
        let body: String =
            csv.lines().filter(|line| !line.starts_with('#')).map(|line| format!("{line}\n")).collect();
        assert_eq!(again("again.csv", &body), by_json);
    }
}

/// What counts is a function of the set of events. Once the order in the file decided which of a
/// person's events, or of the copies of one event, counts.
#[test]
fn a_shuffled_file_has_the_same_releases() {
    let rows: Vec<String> = (0..60_u32)
        .map(|row| {
            let (minute, second) = ((row * 37) % 230, row % 2);
            let (hour, minute) = (minute / 60, minute % 60);
            let (person, id) = (row % 7, (row * 5) % 41);
            let (region, amount) = (["north", "south", "west"][row as usize % 3], f64::from(row % 11) / 4.0);
            format!("2026-01-05T0{hour}:{minute:02}:0{second}Z,p{person},{id},{region},{amount}\n")
        })
        .collect();
    for options in [
        "--person who --max-steps 2",
        "--person who --max-steps 2 --min-gap 2 --id id",
        "--id id --value amount --clamp 0,2",
        "--person who --max-steps 3 --id id --value amount --clamp 0,2 --per-person-events 1",
        "--person who --max-steps 2 --value amount --per-person-sum 0,3 --groups-per-person 2",
        "--person who --max-steps 2 --per-person-events 2 --groups-per-person 2",
        "--person who --max-steps 2 --id id --value amount --per-person-sum 0,3 --memory 1K",
    ] {
        let place = Place::new();
        place.with_key();
        // One key and its record for all of them: other totals would be refused.
        let releases = [1, 7, 11, 59].map(|stride| {
            let shuffled: String = (0..60).map(|row| rows[row * stride % 60].as_str()).collect();
            place.write("in.csv", format!("time,who,id,region,amount\n{shuffled}"));
            let line = format!(
                "count in.csv {TIMED} --group-by region --groups north,south --noise-key noise.key {options}"
            );
            place.run(&line).ok().stdout
        });
        assert!(releases.iter().all(|release| *release == releases[0]), "{options}");
    }
}

#[test]
fn plots_are_drawn_without_the_truth_unless_asked() {
    let place = Place::new();
    place.write("in.csv", SHUFFLED);
    let line = format!("count in.csv {TIMED} --output o.csv --force");
    place.run(&format!("{line} --plot o.svg")).ok();
    place.run(&format!("{line} --plot o.png")).ok();
    place.run(&format!("{line} --plot truth.svg --plot-truth-not-private")).ok();
    let svg = String::from_utf8(place.read("o.svg")).unwrap();
    assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>") && svg.contains("95 % interval"));
    assert!(!svg.contains("NOT PRIVATE"));
    assert!(String::from_utf8(place.read("truth.svg")).unwrap().contains("NOT PRIVATE"));
    assert!(place.read("o.png").starts_with(b"\x89PNG\r\n\x1a\n"));
}

#[test]
fn a_closed_pipe_ends_quietly() {
    let place = Place::new();
    place.write("in.csv", format!("n\n{}", "1\n".repeat(100_000)));
    for line in [format!("count in.csv {ROWS}"), "demo".to_owned()] {
        let mut child = place.command(&line).spawn().unwrap();
        drop(child.stdout.take());
        Ran::of(child.wait_with_output().unwrap()).ok();
    }
}

#[test]
fn workloads_budgets_and_mechanisms_can_be_chosen() {
    let place = Place::new();
    place.with_key().write("in.csv", "n\n1000\n2000\n4000\n8000\n");
    let run = |extra: &str| {
        let line = format!("count in.csv --value n --horizon 4 --noise-key noise.key {extra}");
        place.forget_uses().run(&line).ok().stdout
    };
    assert_near(&run("--epsilon 1 --delta 1e-6 --window 2"), &[1000.0, 3000.0, 6000.0, 12000.0]);
    assert_near(&run("--epsilon 1 --delta 1e-6 --decay 0.5"), &[1000.0, 2500.0, 5250.0, 10625.0]);
    let totals = [1000.0, 3000.0, 7000.0, 15000.0];
    for extra in [
        "--epsilon 1 --delta 0",
        "--epsilon 1 --delta 1e-6 --calibration zcdp",
        "--epsilon 0.5 --delta 1e-6 --calibration paper",
        "--epsilon 1 --delta 1e-6 --neighbours replace",
        "--epsilon 1 --delta 1e-6 --max-steps 2 --min-gap 2",
        "--epsilon 1 --delta 1e-6 --memory-limit 1M --mechanism banded-square-root:2",
    ] {
        assert_near(&run(extra), &totals);
    }
    assert!(run("--epsilon 1 --delta 0").contains("laplace-tree"));
    let line = "count in.csv --value n --epsilon 1.5 --delta 1e-6 --calibration paper";
    place.run(line).refused(&["epsilon", "paper"]);
    place.run("count in.csv --value n --epsilon 1 --delta 0 --calibration zcdp").refused(&["--calibration"]);
}

#[test]
fn post_processing_holds_what_it_promises() {
    let place = Place::new();
    place.with_key().write("in.csv", format!("n\n{}", "0\n".repeat(200)));
    let line = "count in.csv --value n --epsilon 1 --delta 1e-6 --noise-key noise.key";
    let estimates = |extra: &str| {
        let csv = place.run(&format!("{line} {extra}")).ok().stdout;
        let cells = column(&csv, "estimate");
        let inside = cells.iter().zip(column(&csv, "lower")).zip(column(&csv, "upper")).all(
            |((cell, lower), upper)| {
                let [cell, lower, upper] = [cell, &lower, &upper].map(|text| text.parse::<f64>().unwrap());
                lower <= cell && cell <= upper
            },
        );
        assert!(inside, "an estimate lies outside its interval");
        cells
    };
    let numbers =
        |cells: &[String]| cells.iter().map(|cell| cell.parse::<f64>().unwrap()).collect::<Vec<_>>();
    let raw = numbers(&estimates(""));
    assert!(raw.iter().any(|&value| value < 0.0) && raw.windows(2).any(|pair| pair[1] < pair[0]));
    assert!(numbers(&estimates("--non-negative")).iter().all(|&value| value >= 0.0));
    assert!(numbers(&estimates("--monotone")).is_sorted());
    // The margin is public, so that an interval with its low bits would give back what rounding took away.
    let rounded = place.run(&format!("{line} --round")).ok().stdout;
    for name in ["estimate", "lower", "upper"] {
        let cells = column(&rounded, name);
        assert!(cells.iter().all(|cell| cell.parse::<i64>().is_ok() && cell != "-0"), "{name}: {cells:?}");
    }
    let widths = column(&rounded, "lower").into_iter().zip(column(&rounded, "upper"));
    let errors = numbers(&column(&rounded, "standard_error"));
    for ((lower, upper), error) in widths.zip(errors) {
        let width = upper.parse::<f64>().unwrap() - lower.parse::<f64>().unwrap();
        // Half the grid on either side for the estimate, and the rounding of the ends.
        let grid = header(&rounded, "grid").parse::<f64>().unwrap();
        let noise = (error * error - grid * grid / 12.0).sqrt();
        assert!(width >= 2.0 * 1.959 * noise + grid && width <= 2.0 * 1.961 * noise + grid + 2.0);
    }
}

/// At ε = 17 the noise is less than the rounding, and the interval still reaches the neighbouring
/// integers.
#[test]
fn intervals_reach_as_far_as_rounding_cut_at_zero_and_hold_at_once() {
    let place = Place::new();
    let rows: String = (0..40).map(|row| format!("2026-01-{:02}\n", 1 + row % 20)).collect();
    place.with_key().write("in.csv", format!("day\n{rows}"));
    let ends = |extra: &str| -> Vec<[f64; 2]> {
        let line = "count in.csv --time day --every 1d --from 2026-01-01 --horizon 20 --delta 1e-6";
        let csv = place.forget_uses().run(&format!("{line} --noise-key noise.key {extra}")).ok().stdout;
        let ends = |name: &str| column(&csv, name).into_iter().map(|cell| cell.parse::<f64>().unwrap());
        ends("lower").zip(ends("upper")).map(|(lower, upper)| [lower, upper]).collect()
    };
    let width = |ends: &[[f64; 2]]| ends.iter().map(|[lower, upper]| upper - lower).sum::<f64>();
    assert!(ends("--epsilon 17 --whole").iter().all(|[lower, upper]| upper - lower >= 2.0));
    let (alone, all) = (ends("--epsilon 0.2"), ends("--epsilon 0.2 --simultaneous"));
    // 3.02 standard deviations hold one in four hundred outside, 1.96 one in twenty.
    let ratio = width(&all) / width(&alone);
    assert!((ratio - 3.02 / 1.96).abs() < 0.02, "{ratio}");
    let cut = ends("--epsilon 0.2 --non-negative");
    assert!(cut.iter().all(|[lower, _]| *lower >= 0.0));
    assert!(alone.iter().any(|[lower, _]| *lower < 0.0), "there was something to cut");
}

#[test]
fn a_clamped_row_is_hidden_whatever_it_was_inside_its_range() {
    let place = Place::new();
    place.with_key().write("in.csv", "n\n5\n-7\n30\n");
    let errors = |clamp: &str| {
        let line = format!("count in.csv {ROWS} --noise-key noise.key --clamp {clamp}");
        column(&place.forget_uses().run(&line).ok().stdout, "standard_error")
    };
    // From -10 to 10 is as far as from 0 to 20.
    assert_eq!(errors("-10,10"), errors("0,20"));
    assert_eq!(errors("-20,0"), errors("0,20"));
    // An event is there or not, so that its value moves its step by ten at most.
    let events = |clamp: &str| column(&counted(&format!("--value amount --clamp {clamp}")), "standard_error");
    assert_eq!(events("-10,10"), events("0,10"));
}

#[test]
fn the_header_names_who_is_protected() {
    for (extra, unit) in [
        ("", "one event\n"),
        ("--id id", "one event with all rows of the same id\n"),
        ("--person who --max-steps 2", "one person with all of their events\n"),
    ] {
        assert!(counted(extra).contains(&format!("# unit: {unit}")), "{extra}");
    }
    // Rows with a declared bound were charged for a person, and the header said an event.
    let place = Place::new();
    place.write("in.csv", "n\n5\n3\n");
    let by_rows = place.run(&format!("count in.csv {ROWS} --max-steps 2")).ok().stdout;
    assert!(by_rows.contains("# unit: one person, who changes each of their rows by no more"), "{by_rows}");
}

#[cfg(unix)]
#[test]
fn links_and_devices_are_written_to_and_not_replaced() {
    let place = Place::new();
    place.with_key().write("in.csv", SHUFFLED).write("real.csv", "");
    std::os::unix::fs::symlink("real.csv", place.path("link.csv")).unwrap();
    std::os::unix::fs::symlink("/dev/null", place.path("sink.csv")).unwrap();
    for name in ["link.csv", "sink.csv"] {
        place.run(&format!("count in.csv {TIMED} --noise-key noise.key --output {name} --force")).ok();
        assert!(place.path(name).is_symlink(), "{name} was replaced");
    }
    assert_eq!(String::from_utf8(place.read("real.csv")).unwrap(), counted(""));
}

#[test]
fn a_mark_at_the_start_of_a_file_is_skipped() {
    let place = Place::new();
    place.with_key().write("keys.txt", "\u{feff}north\r\nsouth\r\n");
    let events = "{\"time\":\"2026-01-05T00:10:00Z\",\"region\":\"north\"}\n";
    place.write("in.jsonl", format!("\u{feff}{events}"));
    let line = format!("{TIMED} --noise-key noise.key --group-by region --groups keys.txt");
    let csv = place.run(&format!("count in.jsonl {line}")).ok().stdout;
    assert!(csv.contains("# keys: north,south,other\n"), "{csv}");
}

#[test]
fn noise_is_fresh_unless_a_key_is_given() {
    let place = Place::new();
    place.with_key().write("in.csv", "n\n1\n2\n3\n");
    // Small integers of noise could agree by chance.
    let line = "count in.csv --value n --horizon 3 --epsilon 1e-6 --delta 1e-6".to_owned();
    let estimates = |line: &str| column(&place.run(line).ok().stdout, "estimate");
    assert_ne!(estimates(&line), estimates(&line));
    let keyed = format!("{line} --noise-key noise.key");
    assert_eq!(estimates(&keyed), estimates(&keyed));
    assert_ne!(estimates(&keyed), ["1", "3", "6"]);
}
