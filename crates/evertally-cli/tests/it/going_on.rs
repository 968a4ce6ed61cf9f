//! Runs that are stopped, followed files that are cut or replaced, and outputs that fail.

use crate::common::{Place, ROWS, Ran, TIMED, assert_near, rows};
use std::io::Write;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

const FOLLOW: &str = "--follow --outside drop --output out.csv";

/// Long enough for a followed run to look at its file.
const A_FEW_LOOKS: Duration = Duration::from_millis(700);

fn event(clock: &str) -> String {
    format!("2026-01-05T{clock}:00Z\n")
}

fn append(place: &Place, name: &str, text: &str) {
    let mut file = std::fs::OpenOptions::new().append(true).open(place.path(name)).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

/// Waits for a file with so many released rows.
fn wait_for_steps(place: &Place, name: &str, steps: usize) {
    let begun = Instant::now();
    loop {
        let released = std::fs::read_to_string(place.path(name)).unwrap_or_default();
        if rows(&released).len() >= steps {
            return;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{name} has no {steps} steps: {released}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A run that follows a file with this text, has released so many steps and waits for more.
fn following(text: impl AsRef<[u8]>, steps: usize) -> (Place, Child) {
    let place = Place::new();
    place.write("in.csv", text);
    let child = place.command(&format!("count in.csv {TIMED} {FOLLOW}")).spawn().unwrap();
    wait_for_steps(&place, "out.csv.partial", steps);
    std::thread::sleep(A_FEW_LOOKS);
    (place, child)
}

/// The run ends by itself with these totals.
#[track_caller]
fn assert_ends_with(place: &Place, child: Child, totals: &[f64]) {
    let ran = ended(child);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_near(&String::from_utf8(place.read("out.csv")).unwrap(), totals);
}

fn ended(child: Child) -> Ran {
    Ran::of(child.wait_with_output().unwrap())
}

#[cfg(unix)]
fn signal(child: &Child, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, signal).unwrap();
}

/// A rotated file once was never left: the run waited for ever at the end of the old one.
#[cfg(unix)]
#[test]
fn a_rotated_file_is_read_to_its_end_and_then_the_new_one() {
    let (place, child) = following(format!("time\n{}{}", event("00:10"), event("01:10")), 1);
    std::fs::rename(place.path("in.csv"), place.path("in.csv.1")).unwrap();
    // The writer still has the old file, and its last line has no end.
    append(&place, "in.csv.1", &event("01:20"));
    place.write("in.csv", "note,time\n");
    append(&place, "in.csv.1", event("01:30").trim_end());
    append(&place, "in.csv", &format!("x,{}x,{}", event("02:10"), event("09:00")));
    // It writes on for a while, with pauses that are shorter than the second that ends the old file.
    for clock in ["01:40", "01:41", "01:42"] {
        std::thread::sleep(Duration::from_millis(300));
        append(&place, "in.csv.1", &format!("\n{}", event(clock).trim_end()));
    }
    let ran = ended(child);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("note: in.csv was replaced: the old file was read to its end"),
        "{}",
        ran.stderr
    );
    assert_near(&String::from_utf8(place.read("out.csv")).unwrap(), &[1.0, 7.0, 8.0, 8.0]);
    assert_eq!(place.files(), ["in.csv", "in.csv.1", "out.csv"]);
}

#[cfg(unix)]
#[test]
fn a_new_file_must_name_the_columns() {
    let (place, child) = following(format!("time\n{}{}", event("00:10"), event("01:10")), 1);
    std::fs::rename(place.path("in.csv"), place.path("in.csv.1")).unwrap();
    place.write("in.csv", "when\n1\n");
    let ran = ended(child);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(ran.stderr.contains("in.csv has no column \"time\""), "{}", ran.stderr);
    // What was released was paid for.
    assert_eq!(place.files(), ["in.csv", "in.csv.1", "out.csv.partial"]);
}

/// A file that was cut once was waited for until it had grown past its old length, and the rows
/// before were skipped without a word.
#[test]
fn a_file_that_was_cut_is_read_from_its_start() {
    let (place, child) = following(format!("time\n{}{}2026-01-05T01:", event("00:10"), event("01:10")), 1);
    place.write("in.csv", "");
    std::thread::sleep(A_FEW_LOOKS);
    append(&place, "in.csv", &format!("time\n{}{}{}", event("01:20"), event("02:20"), event("09:00")));
    let ran = ended(child);
    assert_eq!((ran.code, ran.stderr.lines().count()), (Some(0), 2), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("warning: in.csv was cut: it is read again from its start; rows that were written and removed between two looks are lost"),
        "{}",
        ran.stderr
    );
    assert_near(&String::from_utf8(place.read("out.csv")).unwrap(), &[1.0, 3.0, 4.0, 4.0]);
}

/// Rows that stay in a file that is rewritten, as editors do, must not count twice: each event would
/// weigh more than the noise covers.
#[test]
fn rows_of_a_rewritten_file_count_once() {
    for replaces in [false, true] {
        let [first, second, third] = ["00:10", "01:10", "01:20"].map(event);
        let (place, child) = following(format!("time\n{first}{second}{third}"), 1);
        let what = if replaces {
            // All rows and one more, under a new inode.
            place.write("new", format!("time\n{first}{second}{third}{}", event("01:30")));
            std::fs::rename(place.path("new"), place.path("in.csv")).unwrap();
            "was replaced and starts with rows that were read"
        } else {
            // The last row is cut in two.
            place.write("in.csv", format!("time\n{first}{second}2026-01-05"));
            std::thread::sleep(A_FEW_LOOKS);
            append(&place, "in.csv", &format!("T01:20:00Z\n{}", event("01:30")));
            "was cut and starts with rows that were read"
        };
        std::thread::sleep(A_FEW_LOOKS);
        append(&place, "in.csv", &format!("{}{}", event("02:20"), event("09:00")));
        let ran = ended(child);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert!(ran.stderr.contains(what), "{}", ran.stderr);
        assert_near(&String::from_utf8(place.read("out.csv")).unwrap(), &[1.0, 4.0, 5.0, 5.0]);
    }
}

/// One look at a file that was still being written once decided what had happened to it, and its rows
/// counted twice: an empty file, or one shorter than its start, was taken for a new one, and a file that
/// was written in two pieces was read on from the end of the first.
#[test]
fn rows_of_a_file_that_is_written_slowly_count_once() {
    let clocks = ["00:10", "00:20", "01:10", "01:20", "01:30", "02:10"].map(event);
    let old = format!("time\n{}", clocks.concat());
    for case in ["cut", "removed", "two pieces", "replaced in two pieces"] {
        let (place, child) = following(&old, 2);
        if case.starts_with("re") {
            std::fs::remove_file(place.path("in.csv")).unwrap();
        }
        let first = if case.ends_with("pieces") { old.len() / 2 } else { 0 };
        place.write("in.csv", &old[..first]);
        std::thread::sleep(3 * A_FEW_LOOKS);
        append(&place, "in.csv", &old[first..]);
        std::thread::sleep(A_FEW_LOOKS);
        append(&place, "in.csv", &format!("{}{}", event("02:20"), event("09:00")));
        let ran = ended(child);
        assert_eq!(ran.code, Some(0), "{case}: {}", ran.stderr);
        assert!(ran.stderr.contains("reading goes on after them"), "{case}: {}", ran.stderr);
        assert_near(&String::from_utf8(place.read("out.csv")).unwrap(), &[2.0, 5.0, 7.0, 7.0]);
    }
}

/// Rows that stay when a file is cut do not count again if other rows come after them.
#[test]
fn rows_before_a_cut_count_once_whatever_follows() {
    let [first, second, third] = ["00:10", "01:10", "01:20"].map(event);
    let (place, child) = following(format!("time\n{first}{second}{third}"), 1);
    place.write("in.csv", format!("time\n{first}{second}"));
    std::thread::sleep(A_FEW_LOOKS);
    append(&place, "in.csv", &format!("{}{}{}", event("01:50"), event("02:20"), event("09:00")));
    assert_ends_with(&place, child, &[1.0, 4.0, 5.0, 5.0]);
}

/// A line that was cut in two was read. What comes behind the cut is no row, even if it looks like one.
#[test]
fn the_rest_of_a_line_that_was_cut_in_two_is_no_row() {
    let [first, second, third] = ["00:10", "01:10", "01:20"].map(event);
    let (place, child) = following(format!("time\n{first}{second}{third}"), 1);
    place.write("in.csv", format!("time\n{first}{second}2"));
    std::thread::sleep(A_FEW_LOOKS);
    append(&place, "in.csv", &format!("{}{}{}", event("01:55"), event("02:20"), event("09:00")));
    let ran = ended(child);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stderr.contains("reading goes on after them"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("the row does not count"), "{}", ran.stderr);
    assert_near(&String::from_utf8(place.read("out.csv")).unwrap(), &[1.0, 3.0, 4.0, 4.0]);
}

/// A header longer than what was compared once made every rotated file look like the old one, and its
/// rows were lost.
#[test]
fn a_file_with_a_long_header_is_known_by_its_rows() {
    let header = format!("time,{}", "x".repeat(9000));
    let old = ["00:10", "01:10", "01:20"].map(|clock| event(clock).replace('\n', ",\n")).concat();
    let (place, child) = following(format!("{header}\n{old}"), 1);
    let new = ["01:40", "02:20", "09:00"].map(|clock| event(clock).replace('\n', ",\n")).concat();
    place.write("new", format!("{header}\n{new}"));
    std::fs::rename(place.path("new"), place.path("in.csv")).unwrap();
    assert_ends_with(&place, child, &[1.0, 4.0, 5.0, 5.0]);
}

/// A file whose start stays and whose middle changes was once read on from the old place, whatever its
/// rows were.
#[test]
fn a_file_that_changes_behind_its_start_ends_the_run() {
    let text = |clock: &str| {
        format!("time\n{}{}{}", event("00:10").repeat(300), event(clock).repeat(300), event("02:10"))
    };
    let (place, child) = following(text("01:10"), 2);
    place.write("new", text("01:20"));
    std::fs::rename(place.path("new"), place.path("in.csv")).unwrap();
    let ran = ended(child);
    assert_eq!((ran.code, ran.stderr.lines().count()), (Some(2), 1), "{}", ran.stderr);
    assert!(ran.stderr.contains("nobody can tell which of its rows were counted"), "{}", ran.stderr);
    assert_eq!(place.files(), ["in.csv", "out.csv.partial"]);
}

/// A pipe that was followed once ended the run with "illegal seek", because it was compared as a file
/// is.
#[cfg(unix)]
#[test]
fn a_followed_pipe_ends_where_its_writer_does() {
    let place = Place::new();
    let fifo = std::process::Command::new("mkfifo").arg(place.path("in.pipe")).status().unwrap();
    assert!(fifo.success());
    let line = format!("count in.pipe --input-format csv {TIMED} {FOLLOW}");
    let child = place.command(&line).spawn().unwrap();
    place.write("in.pipe", format!("time\n{}{}", event("00:10"), event("01:10").trim_end()));
    assert_ends_with(&place, child, &[1.0, 2.0, 2.0, 2.0]);
}

/// A run that was stopped before its first step was charged, although it released nothing.
#[cfg(unix)]
#[test]
fn a_run_that_is_stopped_before_its_first_step_spends_nothing() {
    let place = Place::new();
    place.write("in.csv", format!("time\n{}", event("00:10")));
    place.run("budget new l --rho 1").ok();
    let timed = TIMED.replace("--epsilon 1000 --delta 0.4", "--epsilon 1 --delta 1e-6");
    let line = format!("count in.csv {timed} {FOLLOW} --budget-file l");
    let child = place.command(&line).spawn().unwrap();
    std::thread::sleep(2 * A_FEW_LOOKS);
    signal(&child, rustix::process::Signal::INT);
    let ran = ended(child);
    assert_eq!((ran.code, ran.stderr.lines().count()), (Some(0), 1), "{}", ran.stderr);
    assert!(ran.stderr.contains("nothing was released, and no budget was spent"), "{}", ran.stderr);
    assert!(!String::from_utf8(place.read("l")).unwrap().contains("{\"spend\""));
    assert!(!place.path("out.csv").exists() && !place.path("out.csv.partial").exists());
}

#[test]
fn a_bad_line_is_named_and_left_out() {
    let place = Place::new();
    let good = [event("00:10"), event("00:20"), event("01:10")];
    let events = format!(
        "time,n\n{}yesterday,1\n{}1,2,3\n",
        good[0].trim_end().to_owned() + ",1\n",
        good[1].trim_end().to_owned() + ",x\n"
    );
    let events = format!("{events}{},4\n", good[2].trim_end());
    let line = format!("count - {TIMED} --value n --clamp 0,10 --follow");
    let ran = place.run_with_input(&line, &events);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_near(&ran.stdout, &[1.0, 5.0, 5.0, 5.0]);
    let said: Vec<&str> = ran.stderr.lines().collect();
    assert_eq!(said.len(), 3, "{said:?}");
    for (line, said) in
        ["line 3, column \"time\"", "line 4, column \"n\"", "line 5: expected 2"].iter().zip(&said)
    {
        assert!(said.contains("warning") && said.contains(line), "{said}");
        assert!(said.ends_with("; the row does not count"), "{said}");
    }
    // Rows as steps, and objects.
    let ran = place.run_with_input(&format!("count - {ROWS} --horizon 3 --follow"), "n\n4\nfour\n5\n");
    assert!(ran.code == Some(0) && ran.stderr.contains("line 3"), "{}", ran.stderr);
    assert_near(&ran.stdout, &[4.0, 9.0, 9.0]);
    let objects = "{\"n\":4}\n{\"n\":\n[]\n{\"n\":5}\n";
    let ran =
        place.run_with_input(&format!("count - --input-format jsonl {ROWS} --horizon 2 --follow"), objects);
    assert_eq!((ran.code, ran.stderr.lines().count()), (Some(0), 2), "{}", ran.stderr);
    assert_near(&ran.stdout, &[4.0, 9.0]);
    // A finished file is still refused as a whole, before anything is released.
    place.write("in.csv", "n\n4\nfour\n5\n");
    place.run(&format!("count in.csv {ROWS} --horizon 3")).refused(&["line 3"]);
}

#[test]
fn the_clock_goes_on_after_a_bad_line() {
    let place = Place::new();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let line = format!(
        "count - --time time --every 1s --from {now} --horizon 3 --epsilon 1000 --delta 0.4 --follow --lag 2s"
    );
    let mut child = place.command(&line).stdin(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    writeln!(input, "time\nsoon\n{now}").unwrap();
    let ran = ended(child);
    assert!(ran.code == Some(0) && ran.stderr.contains("line 2"), "{}", ran.stderr);
    assert_near(&ran.stdout, &[1.0; 3]);
}

#[cfg(unix)]
#[test]
fn a_signal_ends_a_followed_run_cleanly_and_it_can_go_on() {
    use rustix::process::Signal;
    for (number, end) in [Signal::INT, Signal::TERM].into_iter().enumerate() {
        let place = Place::new();
        place.with_key().write("in.csv", format!("time\n{}{}", event("00:10"), event("02:10")));
        let line = format!("count in.csv {TIMED} {FOLLOW} --noise-key noise.key");
        let child = place.command(&line).spawn().unwrap();
        wait_for_steps(&place, "out.csv.partial", 2);
        signal(&child, end);
        let ran = ended(child);
        assert_eq!((ran.code, ran.stderr.lines().count()), (Some(0), 1), "{}", ran.stderr);
        assert!(
            ran.stderr
                .contains("stopped: 2 steps were released, and the output is complete; with the same key"),
            "{}",
            ran.stderr
        );
        assert_eq!(place.files(), ["in.csv", "noise.key", "noise.key.uses", "out.csv"]);
        // The open step was not closed: it goes on with an event that comes later.
        append(&place, "in.csv", &format!("{}{}", event("02:20"), event("09:00")));
        let again = place.run(&line.replace("out.csv", "more.csv"));
        assert_eq!(again.code, Some(0), "{}", again.stderr);
        let [first, more] = ["out.csv", "more.csv"].map(|name| String::from_utf8(place.read(name)).unwrap());
        assert_near(&more, &[1.0, 1.0, 3.0, 3.0]);
        assert_eq!(rows(&first)[..], rows(&more)[..2], "{number}");
    }
}

#[cfg(unix)]
#[test]
fn a_signal_ends_a_followed_pipe_while_nothing_comes() {
    let place = Place::new();
    let line = format!("count - {ROWS} --horizon 9 --follow --output out.csv");
    let mut child = place.command(&line).stdin(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    // Half a line is no row.
    write!(input, "n\n4\n5\n12").unwrap();
    wait_for_steps(&place, "out.csv.partial", 2);
    signal(&child, rustix::process::Signal::INT);
    let ran = ended(child);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stderr.contains("--noise-key lets a run go on"), "{}", ran.stderr);
    assert_near(&String::from_utf8(place.read("out.csv")).unwrap(), &[4.0, 9.0]);
    drop(input);
}

#[cfg(unix)]
#[test]
fn a_stopped_run_leaves_nothing_and_says_so() {
    use std::os::unix::process::ExitStatusExt;
    let place = Place::new();
    let line = format!("count - {ROWS} --output out.csv --plot out.svg");
    let mut child = place.command(&line).stdin(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    writeln!(input, "n\n1").unwrap();
    // Signals are received before anything is read.
    std::thread::sleep(A_FEW_LOOKS);
    signal(&child, rustix::process::Signal::TERM);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.signal(), Some(15), "the caller sees the signal");
    let said = Ran::of(output).stderr;
    assert!(said.contains("stopped: nothing was released, and no budget was spent"), "{said}");
    assert!(place.files().is_empty(), "{:?}", place.files());
    drop(input);
}

/// The moments of a signal in a run with temporary files: at any of them, either nothing is left or all
/// outputs.
#[cfg(unix)]
#[test]
fn a_signal_at_any_moment_leaves_all_outputs_or_none() {
    let place = Place::new();
    place.write("in.csv", format!("n\n{}", "1\n".repeat(60_000)));
    let line = "count in.csv --value n --epsilon 1 --delta 1e-6 --output out.csv --plot out.svg --force";
    let begun = Instant::now();
    place.run(line).ok();
    let whole = begun.elapsed();
    for moment in 0..16 {
        for name in ["out.csv", "out.svg"] {
            let _ = std::fs::remove_file(place.path(name));
        }
        let child = place.command(line).spawn().unwrap();
        std::thread::sleep(whole * moment / 16);
        signal(&child, rustix::process::Signal::INT);
        let _ = child.wait_with_output().unwrap();
        let left = place.files();
        assert!(left == ["in.csv"] || left == ["in.csv", "out.csv", "out.svg"], "moment {moment}: {left:?}");
    }
}

/// The table once was written before a plot that could not be, and a second run spent a second
/// budget.
#[cfg(target_os = "linux")]
#[test]
fn a_plot_that_fails_leaves_no_output_and_loses_no_release() {
    let place = Place::new();
    place.with_key().write("in.csv", "n\n1\n2\n3\n");
    place.run("budget new l --rho 1").ok();
    std::os::unix::fs::symlink("/dev/full", place.path("full.svg")).unwrap();
    let line = "count in.csv --value n --epsilon 1 --delta 1e-6 --budget-file l --output out.csv --plot full.svg --force";
    let files = place.files();
    let entries = || String::from_utf8(place.read("l")).unwrap().matches("{\"spend\"").count();
    // With a key, nothing is left, and the same command completes the run.
    let keyed = format!("{line} --noise-key noise.key");
    let ran = place.run(&keyed);
    assert_eq!((ran.code, ran.stderr.lines().count()), (Some(1), 1), "{}", ran.stderr);
    for part in [
        "full.svg cannot be written: no space left on device",
        "no output was written",
        "without a second charge",
    ] {
        assert!(ran.stderr.contains(part), "{}", ran.stderr);
    }
    let now: Vec<String> = place
        .files()
        .into_iter()
        .filter(|name| !["l.lock", "noise.key.uses"].contains(&name.as_str()))
        .collect();
    assert_eq!((now, entries()), (files.into_iter().filter(|name| name != "l.lock").collect(), 1));
    place.run(&keyed.replace("full.svg", "out.svg")).ok();
    assert_eq!(entries(), 1);
    assert_near(&String::from_utf8(place.read("out.csv")).unwrap(), &[1.0, 3.0, 6.0]);
    // Without one, the releases are kept where the error says.
    let ran = place.run(&line.replace("out.csv", "fresh.csv"));
    assert_eq!((ran.code, entries()), (Some(1), 2), "{}", ran.stderr);
    assert!(!place.path("fresh.csv").exists());
    let kept = ran.stderr.trim_end().rsplit("the releases are in ").next().unwrap();
    assert_near(&String::from_utf8(place.read(kept)).unwrap(), &[1.0, 3.0, 6.0]);
}

/// A disk that is full while the table is written, by a limit on the size of files.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_a_clear_line_and_leaves_no_file() {
    let place = Place::new();
    place.write("in.csv", format!("n\n{}", "1\n".repeat(4000)));
    let program = env!("CARGO_BIN_EXE_evertally");
    for (options, name) in [("--output out.csv", "out.csv"), ("--output out.parquet", "out.parquet")] {
        let script =
            format!("trap '' XFSZ; ulimit -f 8; exec {program} count in.csv {ROWS} {options} --plot out.svg");
        let mut shell = std::process::Command::new("sh");
        let ran = Ran::of(shell.current_dir(place.path("")).args(["-c", &script]).output().unwrap());
        assert_eq!((ran.code, ran.stderr.lines().count()), (Some(1), 1), "{}", ran.stderr);
        assert!(ran.stderr.contains(&format!("{name} cannot be written: file too large")), "{}", ran.stderr);
        assert_eq!(place.files(), ["in.csv"]);
    }
}
