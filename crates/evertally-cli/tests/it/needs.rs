//! Options that decide what is counted are never ignored: without what they need they are refused, also
//! where what they need conflicts with another option that is given.

use crate::common::Place;

const COUNT: &str =
    "count in.csv --time time --every 1h --from 2026-01-05 --horizon 6 --epsilon 1 --delta 1e-6";

#[test]
fn options_without_what_they_need_are_refused_before_anything_is_read() {
    let place = Place::new();
    for (options, parts) in [
        (
            "--person who --max-steps 2 --operation what",
            &["--operation cannot be used without --distinct COLUMN"][..],
        ),
        (
            "--person who --max-steps 2 --max-flips 2",
            &["--max-flips cannot be used without --distinct COLUMN"],
        ),
        (
            "--group-by g --groups a --person who --max-steps 2 --discover-floor 5",
            &["--discover-floor cannot be used without --discover"],
        ),
        (
            "--group-by g --groups a --person who --max-steps 2 --discover-share 0.2",
            &["--discover-share cannot be used without --discover"],
        ),
        (
            "--group-by g --groups a --person who --max-steps 2 --discover-delta 1e-9",
            &["--discover-delta cannot be used without --discover"],
        ),
        ("--group-by g --bins 0,5", &["--histogram"]),
        (
            "--group-by g --person who --max-steps 2 --discover --per size",
            &["--per cannot be used without --groups FILE"],
        ),
        ("--histogram amount --bins 0,5 --groups a,b", &["--groups cannot be used with --histogram"]),
        ("--histogram amount --bins 0,5 --groups t.csv --per size", &["--groups cannot be used"]),
        (
            "--histogram amount --bins 0,5 --discover --person who --max-steps 2",
            &["--discover cannot be used with --histogram"],
        ),
        (
            "--histogram amount --bins 0,5 --groups a,b --distinct who --groups-per-person 2",
            &["--groups cannot be used with --histogram"],
        ),
    ] {
        // There is no input, so a refusal that names anything else came before reading.
        place.run(&format!("{COUNT} {options}")).refused(parts);
    }
}

#[test]
fn options_of_a_configuration_file_are_held_to_the_same() {
    let place = Place::new();
    place.write("evertally.toml", "[count]\nmax-flips = 2\n");
    place
        .run(&format!("{COUNT} --config evertally.toml --person who --max-steps 2"))
        .refused(&["--max-flips cannot be used without --distinct COLUMN"]);
}

#[test]
fn the_header_of_a_histogram_says_that_one_bin_of_a_person_counts() {
    let place = Place::new();
    place.write("in.csv", "time,who,amount\n2026-01-05T00:10:00Z,ann,1\n");
    let line = "--histogram amount --bins 0,5 --person who --max-steps 2 --per-person-events 3";
    let ran = place.run(&format!("{COUNT} {line}")).ok();
    assert!(
        ran.stdout.contains("# per_step: the sum of the first 3 events in the first group\n"),
        "{}",
        ran.stdout
    );
}
