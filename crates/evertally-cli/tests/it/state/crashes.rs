//! A run that ends between any two of its writes can be repeated, and nothing is released twice with
//! other data.

use super::{ENDS, HOURS, KEY, assert_equal, clock, in_one_run, place};
use crate::common::{Place, only_for_its_owner};

const OPTIONS: &str = "--person person --max-steps 3 --id id";

fn run(place: &Place, file: &str, end: u32) -> crate::common::Ran {
    place.run(&format!("count {file} {HOURS} {OPTIONS} {KEY} --until {}", clock(end)))
}

/// The files that a run changes, as they are.
fn copies(place: &Place) -> [Option<Vec<u8>>; 2] {
    ["s.state", "out.csv"].map(|name| std::fs::read(place.path(name)).ok())
}

fn bring_back(place: &Place, name: &str, bytes: Option<&Vec<u8>>) {
    let _ = std::fs::remove_file(place.path(name));
    if let Some(bytes) = bytes {
        place.write(name, bytes);
        if name == "s.state" {
            only_for_its_owner(&place.path(name));
        }
    }
}

/// The name under which the output of a state waited, as the state says it.
fn waiting_name(place: &Place) -> String {
    let state = String::from_utf8_lossy(&place.read("s.state")).into_owned();
    let start = state.find("/.evertally-").unwrap() + 1;
    let end = start + state[start..].find(".tmp").unwrap() + 4;
    state[start..end].to_owned()
}

/// Before the state was replaced: the record, and perhaps the output of an older state, are ahead.
#[test]
fn an_older_state_makes_the_same_releases() {
    let whole = in_one_run(OPTIONS);
    for crashed in 0..ENDS.len() {
        for output_stays in [false, true] {
            let place = place();
            for (number, end) in ENDS.into_iter().enumerate() {
                let [state, output] = copies(&place);
                run(&place, &format!("{end}.csv"), end).ok();
                if number != crashed {
                    continue;
                }
                bring_back(&place, "s.state", state.as_ref());
                if output_stays && state.is_none() {
                    // Without a state, nothing says whose the output is.
                    run(&place, &format!("{end}.csv"), end).refused(&["out.csv exists already"]);
                }
                if !output_stays || state.is_none() {
                    bring_back(&place, "out.csv", output.as_ref());
                }
                run(&place, "all.csv", end).code.filter(|code| *code == 0).unwrap();
            }
            assert_equal(&whole, &place.read("out.csv"), OPTIONS);
        }
    }
}

/// An older state with other data would put the same noise on both.
#[test]
fn an_older_state_with_other_data_is_refused() {
    let place = place();
    run(&place, "1.csv", 1).ok();
    let [state, output] = copies(&place);
    run(&place, "5.csv", 5).ok();
    let after = copies(&place);
    for state in [state, None] {
        place.write("other.csv", super::hours(if state.is_some() { 1 } else { 0 }, 4));
        bring_back(&place, "s.state", state.as_ref());
        bring_back(&place, "out.csv", output.as_ref().filter(|_| state.is_some()));
        let before = copies(&place);
        run(&place, "other.csv", 5)
            .refused(&["noise.key was used before with the same options and other data"]);
        assert!(copies(&place) == before);
    }
    bring_back(&place, "s.state", after[0].as_ref());
    bring_back(&place, "out.csv", after[1].as_ref());
    run(&place, "6.csv", 6).ok();
}

/// After the state was replaced and before the output has its name.
#[test]
fn the_next_run_names_the_output() {
    let whole = in_one_run(OPTIONS);
    for crashed in 0..ENDS.len() {
        for repeats in [false, true] {
            let place = place();
            for (number, end) in ENDS.into_iter().enumerate() {
                let [_, output] = copies(&place);
                run(&place, &format!("{end}.csv"), end).ok();
                if number != crashed {
                    continue;
                }
                std::fs::rename(place.path("out.csv"), place.path(&waiting_name(&place))).unwrap();
                bring_back(&place, "out.csv", output.as_ref());
                if repeats || end == 12 {
                    let ran = run(&place, &format!("{end}.csv"), end);
                    let said = [
                        "note: s.state: the output of an interrupted run is complete now",
                        "note: nothing to release: s.state has released",
                    ];
                    assert!(said.iter().all(|part| ran.stderr.contains(part)), "{}", ran.stderr);
                    assert_eq!((ran.code, ran.stderr.lines().count()), (Some(0), 2), "{}", ran.stderr);
                } else {
                    let next = ENDS[number + 1];
                    let ran = run(&place, &format!("{next}.csv"), next);
                    assert!(ran.stderr.contains("is complete now"), "{}", ran.stderr);
                    assert_eq!((ran.code, ran.stderr.lines().count()), (Some(0), 1), "{}", ran.stderr);
                }
                assert!(!place.files().iter().any(|name| name.ends_with(".tmp")));
                if !repeats && end < 12 {
                    break;
                }
            }
            if repeats || crashed == ENDS.len() - 1 {
                assert_equal(&whole, &place.read("out.csv"), OPTIONS);
            }
        }
    }
}

/// A file that another program made where the output was to be.
#[test]
fn an_output_that_cannot_have_its_name_is_named() {
    let place = place();
    run(&place, "1.csv", 1).ok();
    let waiting = waiting_name(&place);
    std::fs::rename(place.path("out.csv"), place.path(&waiting)).unwrap();
    place.write("out.csv", "precious");
    let ran = run(&place, "5.csv", 5);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("out.csv changed while a run was to write it"), "{}", ran.stderr);
    assert!(ran.stderr.contains(&waiting), "{}", ran.stderr);
    assert_eq!(place.read("out.csv"), b"precious");
    // The waiting file can be moved to where it belongs, and grows there.
    std::fs::rename(place.path(&waiting), place.path("out.csv")).unwrap();
    ENDS[1..].iter().for_each(|end| drop(run(&place, &format!("{end}.csv"), *end).ok()));
    assert_equal(&in_one_run(OPTIONS), &place.read("out.csv"), OPTIONS);
}

/// A command that is repeated after such a crash must not count its rows again, and further rows count.
#[test]
fn rows_of_an_interrupted_run_do_not_count_again() {
    let place = Place::new();
    place.with_key().write("in.csv", "n\n1\n2\n");
    let line = format!("count in.csv --value n --horizon 9 --epsilon 1 --delta 1e-6 {KEY}");
    place.run(&line).ok();
    let output = place.read("out.csv");
    std::fs::rename(place.path("out.csv"), place.path(&waiting_name(&place))).unwrap();
    let ran = place.run(&line);
    assert_eq!(ran.code, Some(0));
    assert!(
        ran.stderr.contains("s.state had released 2 steps when its last run was stopped"),
        "{}",
        ran.stderr
    );
    assert_eq!(place.read("out.csv"), output);
    place.run(&line).refused(&["starts with the rows of the last run"]);
    std::fs::rename(place.path("out.csv"), place.path(&waiting_name(&place))).unwrap();
    place.write("in.csv", "n\n3\n");
    let ran = place.run(&line);
    assert!(ran.code == Some(0) && ran.stderr.contains("is complete now"), "{}", ran.stderr);
    assert!(place.read("out.csv").len() > output.len());
}

/// Nothing is lost if the output cannot be written.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_leaves_the_state_as_it_was() {
    let place = place();
    run(&place, "1.csv", 1).ok();
    let before = copies(&place);
    let full = format!(
        "count 5.csv {HOURS} {OPTIONS} --noise-key noise.key --state s.state --until {} --output /dev/full",
        clock(5)
    );
    let ran = place.run(&full);
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains("the same command makes the same releases again"), "{}", ran.stderr);
    assert!(copies(&place) == before);
    ENDS[1..].iter().for_each(|end| drop(run(&place, &format!("{end}.csv"), *end).ok()));
    assert_equal(&in_one_run(OPTIONS), &place.read("out.csv"), OPTIONS);
}

/// Killed at moments that are spread over a run, and repeated until it ends.
#[cfg(unix)]
#[test]
fn a_run_that_is_killed_is_completed_by_the_next() {
    let whole = in_one_run(OPTIONS);
    let place = place();
    for end in ENDS {
        let line = format!("count {end}.csv {HOURS} {OPTIONS} {KEY} --until {}", clock(end));
        for wait in 0..12 {
            let mut child = place.command(&line).spawn().unwrap();
            std::thread::sleep(std::time::Duration::from_millis(3 * wait));
            let _ = child.kill();
            child.wait().unwrap();
        }
        assert_eq!(place.run(&line).code, Some(0));
    }
    assert_equal(&whole, &place.read("out.csv"), OPTIONS);
}
