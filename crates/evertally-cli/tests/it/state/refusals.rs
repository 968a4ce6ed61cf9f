//! States and options that a run does not go on with. Nothing is written, and nothing is spent.

use super::{HOURS, KEY, clock, place};
use crate::common::{Place, Ran, header, numbers, only_for_its_owner};

fn run(place: &Place, options: &str, end: u32) -> Ran {
    place.run(&format!("count {end}.csv {HOURS} {options} {KEY} --until {}", clock(end)))
}

fn started() -> Place {
    let place = place();
    run(&place, "", 1).ok();
    place
}

#[test]
fn other_options_are_named() {
    let place = place();
    let options = "--group-by region --groups north,south --id id";
    run(&place, options, 1).ok();
    let before = place.read("s.state");
    for (other, parts) in [
        ("--group-by region --groups south,north --id id", ["keys north,south,other", "south,north,other"]),
        ("--group-by region --groups north --id id", ["keys north,south,other", "got north,other"]),
        ("--group-by region --groups north,south", ["--id id", "got none"]),
        ("--group-by region --groups north,south --id person", ["--id id", "got person"]),
        ("--group-by region --groups north,south --id id --where amount>0", ["where none", "amount"]),
        ("--group-by region --groups north,south --id id --round", ["post_processing none", "got round"]),
        ("--group-by region --groups north,south --id id --simultaneous", ["interval 95 %", "at once"]),
        ("--group-by region --groups north,south --id id --report 2", ["report none", "got 2"]),
        ("--group-by region --groups north,south --id id --window 2", ["workload", "window"]),
        ("--group-by region --groups north,south --id id --arithmetic float", ["arithmetic exact", "float"]),
        ("--group-by region --groups north,south --id id --grid 2", ["grid 0.125", "got 2.0"]),
        ("--group-by region --groups north,south --id id --skip-bad-rows", ["bad_rows none", "left out"]),
        (
            "--group-by region --groups north,south --id id --value amount --clamp 0,1",
            ["--value none", "amount"],
        ),
    ] {
        run(&place, other, 5).refused(&["s.state belongs to other options: expected", parts[0], parts[1]]);
    }
    for (from, to, part) in [
        ("--epsilon 1", "--epsilon 2", "epsilon 1"),
        ("--delta 1e-6", "--delta 1e-7", "delta 1e-6"),
        ("--horizon 12", "--horizon 13", "horizon 12, got 13"),
        ("--horizon 12", "--horizon unbounded", "horizon 12, got unbounded"),
        ("--every 1h", "--every 30m", "every 1h, got 30m"),
        ("--from 2026-01-05", "--from 2026-01-04T22:00:00Z", "from 2026-01-05"),
    ] {
        let hours = HOURS.replace(from, to);
        let line = format!("count 5.csv {hours} {options} {KEY} --until {}", clock(5));
        place.run(&line).refused(&["s.state belongs to other options: expected", part]);
    }
    assert_eq!(place.read("s.state"), before);
    run(&place, options, 5).ok();
}

/// The default grid follows the noise, and was one before. A state goes on with its own.
#[test]
fn a_grid_that_is_not_named_stays() {
    let place = place();
    run(&place, "--whole", 1).ok();
    run(&place, "", 5).ok();
    let text = String::from_utf8(place.read("out.csv")).unwrap();
    assert_eq!(header(&text, "grid"), "1.0");
    assert!(numbers(&text, "estimate").len() > 1);
    assert!(numbers(&text, "estimate").iter().all(|estimate| estimate.fract() == 0.0), "{text}");
    // What is named is compared, and floats have none.
    for (options, got) in [("--grid 0.125", "got 0.125"), ("--arithmetic float", "got float")] {
        run(&place, options, 9).refused(&["s.state belongs to other options: expected", got]);
    }
}

#[test]
fn another_key_is_refused() {
    let place = started();
    place.write("other.key", "6b".repeat(32));
    only_for_its_owner(&place.path("other.key"));
    let line = format!("count 5.csv {HOURS} {KEY} --until {}", clock(5)).replace("noise.key", "other.key");
    place.run(&line).refused(&["s.state is no state to go on from: it belongs to another key"]);
    assert!(!place.files().contains(&"other.key.uses".to_owned()));
}

/// A copy of the key without its record would accept other data for the same noise.
#[test]
fn the_record_of_the_key_must_be_there() {
    let place = started();
    let before = [place.read("s.state"), place.read("out.csv")];
    place.forget_uses();
    run(&place, "", 5)
        .refused(&["noise.key.uses does not know the steps of the state", "bring back the record"]);
    // A record of other data.
    let other = super::place();
    other.write(
        "1.csv",
        super::hours(0, 1).lines().skip(1).fold(super::HEAD.to_owned(), |all, line| {
            if all.len() < 100 { format!("{all}{line}\n") } else { all }
        }),
    );
    run(&other, "", 1).ok();
    std::fs::rename(other.path("noise.key.uses"), place.path("noise.key.uses")).unwrap();
    run(&place, "", 5).refused(&["noise.key.uses and the state hold different data before step 1"]);
    assert_eq!([place.read("s.state"), place.read("out.csv")], before);
}

/// A state is further than the record: an old copy of the record was brought back.
#[test]
fn a_record_that_ends_earlier_is_refused() {
    let place = started();
    let name = place.all_files().into_iter().find(|name| name.starts_with("noise.key.uses/")).unwrap();
    let old = place.read(&name);
    run(&place, "", 5).ok();
    place.write(&name, old);
    run(&place, "", 6).refused(&["the record of noise.key ends at step 1 and the state at step 5"]);
}

#[test]
fn damaged_states_are_refused() {
    let place = started();
    let state = place.read("s.state");
    let mut flipped = state.clone();
    flipped[state.len() / 2] ^= 1;
    for bytes in [
        &b""[..],
        b"EVTR",
        &state[..state.len() - 1],
        &state[..40],
        &flipped,
        b"time\n2026-01-05\n",
        &place.read("out.csv"),
    ] {
        place.write("s.state", bytes);
        run(&place, "", 5).refused(&["s.state is no state to go on from: it is "]);
        assert_eq!(place.read("s.state"), bytes);
    }
}

#[test]
fn what_is_no_file_of_its_own_is_refused() {
    let place = place();
    let line = |state: &str| {
        format!(
            "count 1.csv {HOURS} --noise-key noise.key --state {state} --output out.csv --until {}",
            clock(1)
        )
    };
    std::fs::create_dir(place.path("d")).unwrap();
    place.run(&line("d")).refused(&["d is no file: a state must be one"]);
    place.run(&line("-")).refused(&["--state is a file: expected its name, got -"]);
    place.run(&line("out.csv")).refused(&["cannot be an output: it is used for something else"]);
    let before = place.read("1.csv");
    only_for_its_owner(&place.path("1.csv"));
    place.run(&line("1.csv")).refused(&["1.csv is no state to go on from: it is another kind of file"]);
    assert_eq!(place.read("1.csv"), before);
    let ran = place.run(&line("nowhere/s.state"));
    assert_eq!(
        (ran.code, ran.stderr.contains("s.state cannot be written")),
        (Some(1), true),
        "{}",
        ran.stderr
    );
    assert!(!place.files().contains(&"noise.key.uses".to_owned()));
}

#[cfg(unix)]
#[test]
fn a_state_that_others_can_read_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let place = started();
    std::fs::set_permissions(place.path("s.state"), std::fs::Permissions::from_mode(0o644)).unwrap();
    run(&place, "", 5).refused(&["s.state: users other than its owner can read it", "chmod 600"]);
}

#[cfg(unix)]
#[test]
fn a_link_stays_a_link() {
    let place = place();
    std::fs::create_dir(place.path("d")).unwrap();
    std::os::unix::fs::symlink("d/real.state", place.path("s.state")).unwrap();
    place.write("d/real.state", "");
    std::fs::remove_file(place.path("d/real.state")).unwrap();
    // A link that leads nowhere is not replaced.
    assert_ne!(run(&place, "", 1).code, Some(0));
    std::fs::remove_file(place.path("s.state")).unwrap();
    place
        .run(&format!("count 1.csv {HOURS} {KEY} --until {}", clock(1)).replace("s.state", "d/real.state"))
        .ok();
    std::os::unix::fs::symlink("d/real.state", place.path("s.state")).unwrap();
    run(&place, "", 5).ok();
    assert!(std::fs::symlink_metadata(place.path("s.state")).unwrap().is_symlink());
}

#[cfg(unix)]
#[test]
fn one_run_at_a_time() {
    let place = started();
    let held = std::fs::File::open(place.path("s.state")).unwrap();
    held.lock().unwrap();
    run(&place, "", 5).refused(&["s.state is in use: another run goes on from it"]);
    drop(held);
    run(&place, "", 5).ok();
}

#[test]
fn options_that_do_not_fit_are_refused() {
    let place = place();
    let until = format!("--until {}", clock(1));
    for (options, parts) in [
        (format!("{HOURS} --state s"), &["--state", "--until TIME", "private"][..]),
        (
            format!("{HOURS} --state s {until} --follow"),
            &["--state cannot be used with --follow", "--noise-key"],
        ),
        (format!("{HOURS} --state s {until} --plot p.svg"), &["--state", "--plot", "cannot be used"]),
        (
            format!("{HOURS} --state s {until} --covariance c.npy"),
            &["--state", "--covariance", "cannot be used"],
        ),
        (format!("{HOURS} --state s --until 2026-01-05"), &["--until: expected a time after --from"]),
        (format!("{HOURS} --state s --until 2026-01-04"), &["--until: expected a time after --from"]),
        (
            format!("{HOURS} --state s --until 2026-01-06"),
            &["--until", "the declared range, 2026-01-05T12:00:00Z"],
        ),
        (
            format!("{HOURS} --state s --until 2026-01-05T01:30:00Z"),
            &["--until", "steps of 1h", "2026-01-05T01:00:00Z"],
        ),
        (format!("{HOURS} --state s --until noon"), &["--until", "noon"]),
        ("--value amount --epsilon 1 --delta 1e-6 --state s".to_owned(), &["--state needs --horizon N"]),
    ] {
        place.run(&format!("count 1.csv {options} --noise-key noise.key")).refused(parts);
    }
    place.run(&format!("count 1.csv {HOURS} --state s {until}")).refused(&["--noise-key"]);
    assert!(!place.files().contains(&"s".to_owned()));
}

/// A range that --to ends has a state as well.
#[test]
fn the_range_may_be_declared_by_its_end() {
    let place = place();
    let hours = HOURS.replace("--horizon 12", "--to 2026-01-05T12:00:00Z");
    place.run(&format!("count 1.csv {hours} {KEY} --until {}", clock(1))).ok();
    run(&place, "", 5).ok();
}

#[test]
fn a_run_without_steps_says_so() {
    let place = started();
    let before = [place.read("s.state"), place.read("out.csv")];
    let ran = run(&place, "", 1);
    assert_eq!(ran.code, Some(0));
    assert_eq!(
        ran.stderr,
        "evertally: note: nothing to release: s.state has released 1 step, up to 2026-01-05T01:00:00Z\n"
    );
    assert_eq!([place.read("s.state"), place.read("out.csv")], before);
    [5, 6, 12].into_iter().for_each(|end| drop(run(&place, "", end).ok()));
    let ran = run(&place, "", 12);
    assert!(
        ran.stderr.contains("nothing to release: s.state has released all 12 steps of the horizon"),
        "{}",
        ran.stderr
    );
}

/// An event outside the declared range is refused as ever, and a late one refuses nothing.
#[test]
fn a_bad_row_leaves_the_state_as_it_was() {
    let place = started();
    let before = [place.read("s.state"), place.read("out.csv")];
    place.write("5.csv", format!("{}2026-01-06,p,i,r,1\n", super::hours(1, 5)));
    run(&place, "", 5).refused(&["5.csv, line", "--outside drop"]);
    place.write("5.csv", format!("{}soon,p,i,r,1\n", super::hours(1, 5)));
    run(&place, "", 5).refused(&["5.csv, line", "soon"]);
    assert_eq!([place.read("s.state"), place.read("out.csv")], before);
}

/// Events of persons once were held without a limit.
#[test]
fn events_beyond_the_memory_limit_change_nothing() {
    let place = place();
    place.run("budget new b.ledger --epsilon 1.5 --delta 2e-6 --unit person").ok();
    let people = "--person person --max-steps 3 --budget-file b.ledger";
    let limited = format!("{people} --memory-limit 2000");
    let files = place.files();
    run(&place, &limited, 1).refused(&[
        "bytes of memory",
        "nothing was released",
        "--memory-limit",
        "--until",
    ]);
    let ledger = String::from_utf8(place.read("b.ledger")).unwrap();
    assert!(!ledger.contains("{\"spend\"") && !place.path("s.state").exists(), "{ledger}");
    assert_eq!(place.files(), files);
    // The limit is no option that all runs have in common.
    run(&place, people, 1).ok();
    run(&place, &limited, 5).refused(&["--memory-limit"]);
    run(&place, people, 5).ok();
}
