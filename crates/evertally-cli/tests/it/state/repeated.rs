//! Rows as steps: a row counts once, whichever command is repeated.

use super::KEY;
use crate::common::{Place, Ran, rows};

const ROWS: &str = "--value n --clamp 0,99 --horizon 40 --epsilon 1 --delta 1e-6";

fn place() -> Place {
    let place = Place::new();
    place.with_key();
    place
}

fn run(place: &Place, numbers: &str, options: &str) -> Ran {
    place.write("in.csv", format!("n\n{}\n", numbers.replace(' ', "\n")));
    place.run(&format!("count in.csv {ROWS} {KEY} {options}"))
}

fn releases(place: &Place) -> Vec<Vec<String>> {
    rows(&String::from_utf8(place.read("out.csv")).unwrap())
}

/// What one run over these rows releases.
fn in_one_run(numbers: &str) -> Vec<Vec<String>> {
    let place = place();
    run(&place, numbers, "").ok();
    releases(&place)
}

/// A finished command that was repeated once counted its rows again, as further steps, without a word.
#[test]
fn the_rows_of_the_last_run_are_refused() {
    let place = place();
    run(&place, "4 5", "").ok();
    let before = [place.read("s.state"), place.read("out.csv")];
    // The same file, and one that has grown.
    for numbers in ["4 5", "4 5 6"] {
        run(&place, numbers, "").refused(&[
            "in.csv starts with the rows of the last run",
            "--after 0 leaves them out",
            "--after 2 counts them as further steps",
        ]);
        assert_eq!([place.read("s.state"), place.read("out.csv")], before);
    }
    // Other rows count, and the rows of an earlier run than the last may come again.
    run(&place, "4 6", "").ok();
    run(&place, "4 5", "").ok();
    assert_eq!(releases(&place), in_one_run("4 5 4 6 4 5"));
}

#[test]
fn numbered_rows_count_once_however_often_they_are_given() {
    let place = place();
    run(&place, "4 5", "--after 0").ok();
    let ran = run(&place, "4 5", "--after 0");
    assert_eq!(ran.code, Some(0));
    assert_eq!(
        ran.stderr,
        "evertally: note: nothing to release: s.state has released 2 steps, and there is no further row\n"
    );
    // A file that grows, the same rows as further steps, and a repetition of that.
    run(&place, "4 5 6", "--after 0").ok();
    run(&place, "4 5 6", "").refused(&["--after 0 leaves them out", "--after 3 counts them"]);
    run(&place, "4 5 6", "--after 3").ok();
    assert!(run(&place, "4 5 6", "--after 3").stderr.contains("nothing to release"));
    run(&place, "6 7", "--after 5").ok();
    assert_eq!(releases(&place), in_one_run("4 5 6 4 5 6 7"));
    run(&place, "1", "--after 8").refused(&["--after", "the 7 steps that are released", "8"]);
}

#[test]
fn after_is_for_states_whose_steps_are_rows() {
    let place = place();
    place.write("in.csv", "n\n1\n");
    place.run(&format!("count in.csv {ROWS} --after 1")).refused(&["--state"]);
    let timed =
        "--time n --every 1d --from 2026-01-05 --horizon 3 --until 2026-01-06 --epsilon 1 --delta 1e-6";
    place.run(&format!("count in.csv {timed} {KEY} --after 1")).refused(&["--after", "--time"]);
}
