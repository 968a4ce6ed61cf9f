//! `count --histogram`: a total for each declared bin of a column.

use crate::common::{Place, TIMED, column, rows, totals};

const BINS: &str = "--histogram amount --bins 0,10,20.5";

/// A value in each bin, two at edges, and one event without a value.
const CSV: &str = "time,amount,who\n\
    2026-01-05T00:10:00Z,9.99,ann\n\
    2026-01-05T00:20:00Z,10,ann\n\
    2026-01-05T01:10:00Z,-3,bob\n\
    2026-01-05T01:20:00Z,20.5,bob\n\
    2026-01-05T02:10:00Z,,cid\n\
    2026-01-05T03:10:00Z,1e9,cid\n";

#[test]
fn each_event_is_in_the_bin_of_its_number() {
    let place = Place::new();
    place.write("in.csv", CSV);
    let ran = place.run(&format!("count in.csv {TIMED} {BINS}")).ok().stdout;
    let names = ["below 0", "0 to 10", "10 to 20.5", "20.5 and above", "other"];
    assert_eq!(column(&ran, "key")[..5], names);
    let expected = [[0, 1, 1, 0, 0], [1, 1, 1, 1, 0], [1, 1, 1, 1, 1], [1, 1, 1, 2, 1]];
    assert_eq!(totals(&ran), expected.as_flattened());
    for line in ["# key_column: amount\n", "# bins: edges 0,10,20.5, each in the bin above it\n"] {
        assert!(ran.contains(line), "{ran}");
    }
    // The first event of a person in a step counts, and so one bin does.
    let line = format!("count in.csv {TIMED} {BINS} --person who --max-steps 4");
    let ran = place.run(&line).ok().stdout;
    let expected = [[0, 1, 0, 0, 0], [1, 1, 0, 0, 0], [1, 1, 0, 0, 1], [1, 1, 0, 1, 1]];
    assert_eq!(totals(&ran), expected.as_flattened());
    // A person counts in the bin of their first event.
    let ran = place.run(&format!("count in.csv {TIMED} {BINS} --distinct who")).ok().stdout;
    let expected = [[0, 1, 0, 0, 0], [1, 1, 0, 0, 0], [1, 1, 0, 0, 1], [1, 1, 0, 0, 1]];
    assert_eq!(totals(&ran), expected.as_flattened());
    // Values of another column are added up in each bin.
    let ran = place.run(&format!(
        "count in.csv {TIMED} --histogram amount --bins 10 --where amount<100 --value amount --clamp 0,1"
    ));
    assert_eq!(totals(&ran.ok().stdout), [1, 1, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0]);
}

/// Bins have the names of groups, and edges that differ in the last bit have different ones.
#[test]
fn edges_are_part_of_the_noise() {
    let place = Place::new();
    place.with_key().write("in.csv", CSV);
    let strict = TIMED.replace("--epsilon 1000 --delta 0.4", "--epsilon 1 --delta 1e-6");
    let first_row = |options: &str| {
        let line = format!("count in.csv {strict} {options} --noise-key noise.key");
        rows(&place.forget_uses().run(&line).ok().stdout).swap_remove(0)
    };
    // No event is below zero in the first step, and none has a name of a bin.
    let one = first_row("--histogram amount --bins 0");
    let other = first_row("--histogram amount --bins 0,1");
    assert_ne!(one, other);
    place.write("groups.txt", "below 0\n0 and above\n");
    assert_ne!(one, first_row("--group-by amount --groups groups.txt"));
}

#[test]
fn bins_that_make_no_sense_are_refused_before_anything_is_read() {
    let place = Place::new();
    for (options, parts) in [
        ("--histogram amount", &["--bins"][..]),
        ("--bins 1,2", &["--histogram"]),
        ("--histogram amount --bins 1,1", &["--bins: expected edges in ascending order", "\"1,1\""]),
        ("--histogram amount --bins 2,1", &["--bins: expected edges in ascending order"]),
        ("--histogram amount --bins 1,,2", &["--bins: expected finite numbers"]),
        ("--histogram amount --bins 1,inf", &["--bins: expected finite numbers"]),
        ("--histogram amount --bins NaN", &["--bins: expected finite numbers"]),
        ("--histogram amount --bins 1 --group-by who --groups a", &["--group-by"]),
    ] {
        place.run(&format!("count missing.csv {TIMED} {options} --output out.csv")).refused(parts);
    }
    assert!(place.files().is_empty());
    for cell in ["many", "nan", "inf"] {
        place.write("in.csv", format!("{CSV}2026-01-05T03:10:00Z,{cell},dan\n"));
        place
            .run(&format!("count in.csv {TIMED} {BINS} --output out.csv"))
            .refused(&["in.csv, line 8, column \"amount\": expected an integer"]);
        assert_eq!(place.files(), ["in.csv"]);
    }
}

/// Parquet has numbers, and needs no names in the column of a histogram.
#[test]
fn numbers_of_parquet_are_in_bins() {
    let place = Place::new();
    place.write("in.parquet", include_bytes!("../../../../fuzz/seeds/parquet/two-groups"));
    let timed = TIMED.replace("--time time", "--time seconds");
    // Two of the four rows have no finite number.
    let line = format!("count in.parquet {timed} --histogram decimal --bins 0");
    place.run(&line).refused(&["row 2, column \"decimal\": expected an integer", "NaN"]);
    let ran = place.run(&format!("{line} --skip-bad-rows"));
    assert_eq!((ran.code, totals(&ran.stdout).len()), (Some(0), 4 * 3), "{}", ran.stderr);
    let all = totals(&place.run(&format!("count in.parquet {timed}")).ok().stdout)[3];
    assert_eq!(totals(&ran.stdout)[9..].iter().sum::<i64>(), 2, "of {all}");
}
