//! `count --follow`: each bucket is shown as soon as it is closed.

use crate::common::{Place, ROWS, Ran, TIMED, assert_near, rows};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdout, Stdio};

/// Reads lines until the table of releases starts.
fn past_the_header(child: &mut Child) -> BufReader<ChildStdout> {
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.starts_with("step,") {
        line.clear();
        assert_ne!(lines.read_line(&mut line).unwrap(), 0, "no header was written");
    }
    lines
}

fn next_step(lines: &mut BufReader<ChildStdout>) -> String {
    let mut line = String::new();
    lines.read_line(&mut line).unwrap();
    line.split(',').next().unwrap_or_default().to_owned()
}

#[test]
fn standard_input_is_released_while_it_is_open() {
    let place = Place::new();
    let mut child =
        place.command(&format!("count - {TIMED} --follow")).stdin(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    writeln!(input, "time\n2026-01-05T00:10:00Z\n2026-01-05T00:20:00Z\n2026-01-05T02:00:00Z").unwrap();
    input.flush().unwrap();
    let mut lines = past_the_header(&mut child);
    // The input is still open: the event at two o'clock has closed the first two hours.
    assert_eq!([next_step(&mut lines), next_step(&mut lines)], ["0", "1"]);
    writeln!(input, "2026-01-05T01:59:00Z\n2026-01-05T00:59:00Z\n2026-01-05T02:01:00Z").unwrap();
    drop(input);
    assert_eq!([next_step(&mut lines), next_step(&mut lines)], ["2", "3"]);
    let mut rest = String::new();
    lines.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "");
    let output = child.wait_with_output().unwrap();
    let Ran { code, stderr: warning, .. } = Ran::of(output);
    assert_eq!((code, warning.lines().count()), (Some(0), 1), "{warning}");
    assert!(
        warning.contains("warning") && !warning.contains(|letter: char| letter.is_ascii_digit()),
        "{warning}"
    );
}

/// The two have noise of their own, because what is late differs on other input. What they count
/// here is the same.
#[test]
fn following_sorted_events_counts_what_gathering_counts() {
    let place = Place::new();
    let events =
        "time,region\n2026-01-05T00:10:00Z,north\n2026-01-05T02:10:00Z,south\n2026-01-05T02:11:00Z,north\n";
    place.with_key().write("in.csv", events);
    let line = format!("{TIMED} --group-by region --groups north,south --noise-key noise.key");
    let totals = [1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 2.0, 1.0, 0.0, 2.0, 1.0, 0.0];
    assert_near(&place.run(&format!("count in.csv {line}")).ok().stdout, &totals);
    let followed = place.forget_uses().run_with_input(&format!("count - --follow {line}"), events).ok();
    assert_near(&followed.stdout, &totals);
}

#[test]
fn a_growing_file_is_waited_for() {
    let place = Place::new();
    place.write("in.csv", "time\n2026-01-05T00:10:00Z\n2026-01-05T02:00:");
    let line = format!("count in.csv {TIMED} --follow --outside drop --output out.csv");
    let child = place.command(&line).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(400));
    // Half a line is not an event, and no step has closed: there is nothing to write yet.
    assert_eq!(place.files(), ["in.csv"]);
    let mut file = std::fs::OpenOptions::new().append(true).open(place.path("in.csv")).unwrap();
    writeln!(file, "00Z\n2026-01-05T04:00:00Z").unwrap();
    drop(file);
    // An event after the declared range ends it.
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(place.files(), ["in.csv", "out.csv"]);
    assert_near(&String::from_utf8(place.read("out.csv")).unwrap(), &[1.0, 1.0, 2.0, 2.0]);
}

#[test]
fn releases_of_an_unfinished_run_are_kept() {
    let place = Place::new();
    place.write("in.csv", "time\n").write("out.csv.partial", "released");
    let line = format!("count in.csv {TIMED} --follow --output out.csv");
    place.run(&line).refused(&["out.csv.partial", "did not finish"]);
    assert_eq!(place.read("out.csv.partial"), b"released");
}

#[test]
fn rows_are_released_one_by_one() {
    let place = Place::new();
    let mut child =
        place.command(&format!("count - {ROWS} --horizon 3 --follow")).stdin(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    writeln!(input, "n\n4\n5").unwrap();
    let mut lines = past_the_header(&mut child);
    assert_eq!([next_step(&mut lines), next_step(&mut lines)], ["0", "1"]);
    drop(input);
    assert_eq!(next_step(&mut lines), "2");
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn the_end_of_the_input_ends_what_has_no_other_end() {
    let place = Place::new();
    place.with_key();
    let unbounded = "--horizon unbounded --follow --noise-key noise.key";
    let csv = place.run_with_input(&format!("count - {ROWS} {unbounded}"), "n\n4\n5\n6\n").ok().stdout;
    assert_near(&csv, &[4.0, 9.0, 15.0]);
    assert!(csv.contains("# horizon: unbounded, by a cap of 1099511627776 steps\n"), "{csv}");
    assert!(csv.contains("# steps: one row each, as long as there are any\n"), "{csv}");
    assert!(!csv.contains("# rmse"), "{csv}");
}

/// `--horizon unbounded` with `--time` once ended with the bucket of the last event: three lines, or
/// nine if one more event had come eight hours in. Help and threat model call the last event
/// private. Now the end is declared.
#[test]
fn the_number_of_lines_does_not_depend_on_the_last_event() {
    let place = Place::new();
    place.with_key();
    let until = "--horizon unbounded --until 2026-01-05T12:00:00Z --noise-key noise.key --outside drop";
    let timed = TIMED.replace("--horizon 4", until);
    let few = "time\n2026-01-05T00:10:00Z\n2026-01-05T02:10:00Z\n";
    let mut seen = Vec::new();
    for last in ["", "2026-01-05T02:20:00Z\n", "2026-01-05T08:00:00Z\n", "2027-01-05T00:00:00Z\n"] {
        let events = format!("{few}{last}");
        let follow = format!("count - --follow {timed}");
        let csv = place.forget_uses().run_with_input(&follow, &events).stdout;
        assert_eq!(rows(&csv).len(), 12, "{csv}");
        assert!(csv.contains("# every: 1h\n# until: 2026-01-05T12:00:00Z\n"), "{csv}");
        // A finished file has as many lines.
        place.write("in.csv", &events);
        let finished = place.run(&format!("count in.csv {timed}")).stdout;
        assert_eq!(rows(&finished).len(), 12, "{finished}");
        seen.push(csv);
    }
    let empty =
        place.forget_uses().run_with_input(&format!("count - --follow {timed}"), "time\n").ok().stdout;
    assert_near(&empty, &[0.0; 12]);
    let nothing =
        place.run_with_input(&format!("count - --input-format jsonl --follow {timed}"), "").ok().stdout;
    assert_eq!(nothing, empty);
    // The noise does not depend on the end: a later end continues an earlier one.
    let later = timed.replace("T12:", "T14:");
    let longer = place.forget_uses().run_with_input(&format!("count - --follow {later}"), few).ok().stdout;
    assert_eq!(rows(&longer)[..12], rows(&seen[0])[..]);
}

#[test]
fn a_stream_without_an_end_needs_one_that_is_public() {
    let place = Place::new();
    place.write("in.csv", "time\n2026-01-05T00:10:00Z\n");
    let timed = TIMED.replace("--horizon 4", "--horizon unbounded");
    for (options, parts) in [
        (format!("{timed} --follow"), ["--until TIME", "--lag LENGTH", "private"].as_slice()),
        (timed.clone(), &["--horizon unbounded", "--until", "--follow"]),
        (format!("{timed} --lag 1s"), &["--follow"]),
        (format!("{ROWS} --horizon 4 --follow --lag 1s"), &["--time"]),
        (format!("{timed} --follow --lag soon"), &["--lag", "soon", "30s"]),
        (format!("{timed} --follow --lag 0s"), &["--lag", "0s"]),
        (format!("{timed} --follow --until 2026-01-05"), &["--until", "after --from"]),
        (
            format!("{timed} --follow --until 2026-01-05T00:30:00Z"),
            &["--until", "integer number of steps of 1h"],
        ),
        (format!("{timed} --follow --until noon"), &["--until", "noon"]),
        (format!("{TIMED} --follow --until 2026-01-06"), &["--until", "--horizon unbounded"]),
        (format!("{ROWS} --horizon unbounded --until 2026-01-06"), &["--time"]),
    ] {
        place.run(&format!("count in.csv {options}")).refused(parts);
    }
    let many = TIMED.replace("--every 1h", "--every 1s").replace("--horizon 4", "--horizon 40000");
    place
        .run(&format!("count in.csv {many} --follow --lag 1w --memory-limit 4K"))
        .refused(&["40000 steps", "limit"]);
}

/// The whole second before this one, as `--from`.
fn just_now() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    now.as_secs() - 1
}

#[test]
fn the_clock_closes_steps_while_nothing_comes() {
    let place = Place::new();
    let from = just_now();
    let line =
        format!("count - --time time --every 1s --from {from} --epsilon 1000 --delta 0.4 --follow --lag 1s");
    let mut child =
        place.command(&format!("{line} --horizon unbounded")).stdin(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    // One event, which nobody can have had yet.
    writeln!(input, "time\n{}", from + 3600).unwrap();
    let mut lines = past_the_header(&mut child);
    assert_eq!([0, 1, 2].map(|_| next_step(&mut lines)), ["0", "1", "2"]);
    drop(input);
    let mut rest = String::new();
    lines.read_to_string(&mut rest).unwrap();
    let output = child.wait_with_output().unwrap();
    let Ran { code, stderr: warnings, .. } = Ran::of(output);
    assert_eq!((code, warnings.lines().count()), (Some(0), 1), "{warnings}");
    assert!(
        warnings.contains("future") && !warnings.contains(|letter: char| letter.is_ascii_digit()),
        "{warnings}"
    );
    // Only what had ended, by the clock, was released.
    let steps = 3 + rest.lines().count() as u64;
    assert!(from + steps <= just_now(), "{steps} steps");
}

#[test]
fn the_clock_ends_what_was_declared_while_the_input_is_open() {
    let place = Place::new();
    let from = just_now();
    let line =
        format!("count - --time time --every 1s --from {from} --epsilon 1000 --delta 0.4 --follow --lag 1s");
    for end in ["--horizon 3".to_owned(), format!("--horizon unbounded --until {}", from + 3)] {
        let mut child = place.command(&format!("{line} {end}")).stdin(Stdio::piped()).spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        writeln!(input, "time").unwrap();
        let output = Ran::of(child.wait_with_output().unwrap()).ok();
        assert_near(&output.stdout, &[0.0; 3]);
        assert!(output.stdout.contains("# lag: 1s\n"), "{}", output.stdout);
        drop(input);
    }
}

#[test]
fn a_longer_input_without_an_end_starts_as_the_shorter_one() {
    let place = Place::new();
    place.with_key().write("long.csv", "n\n4\n5\n6\n7\n").write("short.csv", "n\n4\n5\n");
    let options = format!("{ROWS} --horizon unbounded --noise-key noise.key");
    let long = place.run(&format!("count long.csv {options}")).ok().stdout;
    let short = place.run(&format!("count short.csv {options}")).ok().stdout;
    assert!(long.starts_with(&short), "{long}\n{short}");
    assert_near(&long, &[4.0, 9.0, 15.0, 22.0]);
    let decayed = place.forget_uses().run(&format!("count long.csv {options} --decay 0.5")).ok().stdout;
    assert_near(&decayed, &[4.0, 7.0, 9.5, 11.75]);
    let recent = place.forget_uses().run(&format!("count long.csv {options} --window 2")).ok().stdout;
    assert_near(&recent, &[4.0, 9.0, 11.0, 13.0]);
    let pure = "--value n --horizon unbounded --epsilon 2 --delta 0";
    assert!(place.run(&format!("count long.csv {pure}")).ok().stdout.contains("# mechanism: laplace-tree\n"));
    place.run(&format!("count long.csv {ROWS} --horizon many")).refused(&["--horizon", "many", "unbounded"]);
}

/// Any event past the declared range ended the run and closed every step, even the copy of an event
/// that had counted, or one of a person over the bound. Such an event moves no time.
#[test]
fn an_event_past_the_range_that_cannot_count_ends_nothing() {
    let place = Place::new();
    let events = "time,who,id\n\
        2026-01-05T00:10:00Z,ann,1\n\
        2027-01-05T00:10:00Z,ann,2\n\
        2026-01-05T00:20:00Z,bob,1\n\
        2027-01-05T00:20:00Z,bob,1\n\
        2026-01-05T02:20:00Z,cleo,1\n";
    let line = format!("count - --follow {TIMED} --outside drop --id id --person who --max-steps 1");
    let ran = place.run_with_input(&line, events);
    assert_near(&ran.stdout, &[2.0, 2.0, 3.0, 3.0]);
    // An event of somebody who may count does end the run: cleo's is not read.
    let ran = place.run_with_input(&line, events.replace("2027-01-05T00:20:00Z,bob,1", "2027-01-05,dan,1"));
    assert_near(&ran.stdout, &[2.0; 4]);
}
