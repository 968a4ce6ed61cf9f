//! `count --quantiles` and `--cumulative`: what is read from the bins of a histogram.

use crate::common::{Place, TIMED, assert_near, column, header, rows};

const HISTOGRAM: &str = "--histogram amount --bins 0,10,20,30,40,50,60";

/// The counts below the edges 0 to 60, of all, and of events without a value, after the first and after the
/// last hour. Then amounts from 0 to 39 are as frequent as each other, and 20 events have none.
const FIRST: [f64; 9] = [0.0, 100.0, 200.0, 300.0, 400.0, 400.0, 400.0, 400.0, 0.0];
const LAST: [f64; 9] = [0.0, 100.0, 200.0, 300.0, 400.0, 800.0, 800.0, 800.0, 20.0];

/// Ten events of each amount from 0 to 39 in the first hour. In the third hour, forty of each amount from 40
/// to 49, and twenty events without an amount.
fn events() -> String {
    let mut csv = "time,amount,who\n".to_owned();
    let mut person = 0;
    let mut add = |hour: u32, amount: &str, times: u32| {
        for _ in 0..times {
            person += 1;
            csv.push_str(&format!("2026-01-05T{hour:02}:10:00Z,{amount},p{person}\n"));
        }
    };
    (0..40).for_each(|amount| add(0, &amount.to_string(), 10));
    (40..50).for_each(|amount| add(2, &amount.to_string(), 40));
    add(2, "", 20);
    csv
}

fn place() -> Place {
    let place = Place::new();
    place.with_key().write("in.csv", events());
    place
}

/// The estimate, lower and upper end of each row of a step.
fn of_step(csv: &str, step: usize, rows_per_step: usize) -> Vec<[String; 3]> {
    let columns = ["estimate", "lower", "upper"].map(|name| column(csv, name));
    let of_row = |row: usize| [0, 1, 2].map(|number: usize| columns[number][row].clone());
    (step * rows_per_step..(step + 1) * rows_per_step).map(of_row).collect()
}

#[test]
fn quantiles_are_in_their_bins_at_every_step() {
    let place = place();
    for ranges in ["auto", "none", "2", "3"] {
        let line = format!("count in.csv {TIMED} {HISTOGRAM} --quantiles 0.1,0.5,0.99 --ranges {ranges}");
        let ran = place.run(&line).ok().stdout;
        assert_eq!(column(&ran, "key")[..3], ["quantile 0.1", "quantile 0.5", "quantile 0.99"]);
        assert_eq!(rows(&ran).len(), 4 * 3);
        for (step, expected) in [
            (0, [(4.0, "0", "10"), (20.0, "10", "30"), (39.6, "30", "40")]),
            (3, [(8.0, "0", "10"), (40.0, "30", "50"), (49.8, "40", "50")]),
        ] {
            for ([estimate, lower, upper], (value, low, high)) in of_step(&ran, step, 3).iter().zip(expected)
            {
                let estimate: f64 = estimate.parse().unwrap();
                assert!((estimate - value).abs() < 0.6, "{ranges}: {estimate} {value}");
                // A median at an edge is in either of two bins, or in both.
                let [lower, upper, low, high]: [f64; 4] =
                    [lower.as_str(), upper.as_str(), low, high].map(|end| end.parse().unwrap());
                assert!(low <= lower && lower < upper && upper <= high, "{ranges}: {lower} {upper}");
            }
        }
        assert!(column(&ran, "standard_error").iter().all(String::is_empty));
    }
}

#[test]
fn cumulative_counts_are_consistent_and_near_the_truth() {
    let place = place();
    for ranges in ["auto", "none", "2", "5"] {
        let ran = place.run(&format!("count in.csv {TIMED} {HISTOGRAM} --cumulative --ranges {ranges}")).ok();
        let keys = ["below 0", "below 10", "below 20", "below 30", "below 40", "below 50", "below 60", "all"];
        assert_eq!(column(&ran.stdout, "key")[..8], keys);
        assert_eq!(column(&ran.stdout, "key")[8], "other");
        assert_near(&ran.stdout, &[FIRST, FIRST, LAST, LAST].concat());
    }
}

/// An open end is an empty cell, null and a missing number.
#[test]
fn open_ends_are_empty_in_every_format() {
    let place = place();
    let line =
        format!("count in.csv {TIMED} --histogram amount --bins 20,39.5 --quantiles 0.1,0.9 --cumulative");
    let csv = place.run(&line).ok().stdout;
    let first = of_step(&csv, 0, 6);
    assert_eq!(first[0], ["", "", "20"], "the first bin has no lower end");
    assert_eq!([first[1][1].as_str(), &first[1][2]], ["20", "39.5"]);
    assert!(first[2..].iter().flatten().all(|cell| !cell.is_empty()), "counts have all numbers");
    let last = of_step(&csv, 3, 6);
    assert_eq!(last[1], ["", "39.5", ""], "the last bin has no upper end");
    let json = place.run(&format!("{line} --format jsonl")).ok().stdout;
    let row: serde_json::Value = serde_json::from_str(json.lines().nth(1).unwrap()).unwrap();
    assert_eq!((row["key"].as_str(), row["upper"].as_f64()), (Some("quantile 0.1"), Some(20.0)));
    assert!(row["lower"].is_null() && row["estimate"].is_null() && row["standard_error"].is_null());
    place.run(&format!("{line} --output out.parquet")).ok();
    assert!(place.read("out.parquet").starts_with(b"PAR1"));
}

#[test]
fn few_events_give_wide_intervals_and_no_nonsense() {
    let place = Place::new();
    place.write("none.csv", "time,amount\n");
    place.write("one.csv", "time,amount\n2026-01-05T01:10:00Z,15\n");
    let strict = TIMED.replace("--epsilon 1000 --delta 0.4", "--epsilon 0.01 --delta 1e-6");
    for file in ["none.csv", "one.csv"] {
        for delta in ["--delta 1e-6", "--delta 0"] {
            let budget = strict.replace("--delta 1e-6", delta);
            // All 95 % intervals at once, so that a false alarm takes twenty runs of this test, and then
            // one that shows an interval that is narrower than the line.
            let line = format!("count {file} {budget} {HISTOGRAM} --quantiles 0.5 --simultaneous");
            let ran = place.run(&line).ok().stdout;
            let is_open = |row: &[String; 3]| row.iter().all(String::is_empty);
            let open = (0..4).filter(|step| of_step(&ran, *step, 1).iter().all(is_open)).count();
            assert!(open >= 2, "{ran}");
        }
    }
}

/// The noise is that of the bins and ranges. What is read from them is not part of its name.
#[test]
fn the_strategy_is_part_of_the_noise_and_the_quantiles_are_not() {
    let place = place();
    let strict = TIMED.replace("--epsilon 1000 --delta 0.4", "--epsilon 1 --delta 1e-6");
    let run = |options: &str| {
        let line = format!("count in.csv {strict} {HISTOGRAM} {options} --noise-key noise.key");
        place.forget_uses().run(&line).ok().stdout
    };
    let numbers = |csv: &str| -> Vec<f64> {
        column(csv, "estimate").iter().map(|cell| cell.parse().unwrap()).collect()
    };
    // Plain bins, and their sums.
    let bins = numbers(&run(""));
    let counts = numbers(&run("--cumulative --ranges none"));
    for (bins, counts) in bins.chunks(9).zip(counts.chunks(9)) {
        let sums: Vec<f64> = (1..=8).map(|edge| bins[..edge].iter().sum()).collect();
        assert_eq!((&sums[..], bins[8]), (&counts[..8], counts[8]));
    }
    let ranges = run("--cumulative");
    let beside = run("--cumulative --quantiles 0.2,0.7");
    let counts_beside = rows(&beside).into_iter().filter(|row| !row[2].starts_with("quantile"));
    assert_eq!(counts_beside.collect::<Vec<_>>(), rows(&ranges));
    assert_ne!(numbers(&ranges), counts);
    let other = numbers(&run("--cumulative --ranges 3"));
    assert_ne!(numbers(&ranges), other);
}

#[test]
fn the_header_states_the_strategy_and_its_price() {
    let place = place();
    let ran = place.run(&format!("count in.csv {TIMED} {HISTOGRAM} --quantiles 0.5")).ok().stdout;
    assert_eq!(
        header(&ran, "ranges"),
        "15 totals: ranges of 1, 2, 4, 8 bins, in which an event counts 3, 2, 2, 2 times"
    );
    // The root of 9 + 4 + 4 + 4.
    assert!(header(&ran, "contribution").starts_with("norms over ranges of at most 4.58257"), "{ran}");
    let words = "mean squared error of cumulative counts at most 1.126 times the least possible over bins, ";
    assert!(header(&ran, "optimality").starts_with(words), "{ran}");
    assert_eq!(
        header(&ran, "quantiles"),
        "0.5, interpolated within a bin; intervals from edge to edge, and an empty end has no bound"
    );
    let plain =
        place.run(&format!("count in.csv {TIMED} {HISTOGRAM} --cumulative --ranges none")).ok().stdout;
    assert_eq!(header(&plain, "ranges"), "none: 8 bins count alone");
    assert_eq!(header(&plain, "contribution"), "1");
    let error = |csv: &str| header(csv, "rmse_of_cumulative_counts").parse::<f64>().unwrap();
    assert!(error(&ran) < error(&plain));
    // With δ = 0, sums count instead of norms.
    let pure = TIMED.replace("--delta 0.4", "--delta 0");
    let ran = place.run(&format!("count in.csv {pure} {HISTOGRAM} --quantiles 0.5 --ranges 2")).ok().stdout;
    assert!(header(&ran, "ranges").starts_with("none"), "few bins are better alone: {ran}");
}

/// Whatever is linear over time works: the least squares are over bins.
#[test]
fn persons_windows_periods_and_runs_work_as_for_bins() {
    let place = place();
    let works = |options: &str| place.run(&format!("count in.csv {TIMED} {HISTOGRAM} {options}")).ok().stdout;
    for options in ["--person who --max-steps 4", "--distinct who", "--simultaneous"] {
        let ran = works(&format!("--cumulative {options}"));
        let errors = column(&ran, "standard_error");
        assert!(!errors.is_empty());
        assert_near(&ran, &[FIRST, FIRST, LAST, LAST].concat());
    }
    let window = works("--cumulative --window 1");
    let third: Vec<f64> = LAST.iter().zip(FIRST).map(|(last, first)| last - first).collect();
    assert_near(&window, &[&FIRST[..], &[0.0; 9], &third, &[0.0; 9]].concat());
    assert_near(&works("--cumulative --decay 0.5")[..], &{
        let first = FIRST.map(|count| 0.5 * count);
        let third: Vec<f64> = third.iter().zip(FIRST).map(|(new, old)| new + 0.25 * old).collect();
        let fourth: Vec<f64> = third.iter().map(|count| 0.5 * count).collect();
        [&FIRST[..], &first, &third, &fourth].concat()
    });
    // The quantiles of a period are those of its events.
    let ran = works("--quantiles 0.5 --report 2,total");
    let medians: Vec<_> = rows(&ran).into_iter().filter(|row| row[0] == "2").collect();
    assert_eq!((medians.len(), &medians[1][7..]), (2, &["40".to_owned(), "50".to_owned()][..]), "{ran}");
    // Who is present changes one total at a time.
    let ran = works("--cumulative --distinct who --window 2 --max-flips 2");
    assert!(header(&ran, "ranges").starts_with("none"), "{ran}");
}

/// A stream that is followed, and two runs of a state, release what one run over all does.
#[test]
fn streams_and_runs_of_a_state_release_what_one_run_does() {
    let place = place();
    // A followed count has other noise, which whole numbers hide at this budget.
    let parts = "--quantiles 0.3,0.5 --cumulative --whole --noise-key noise.key";
    let followed = format!("count - {TIMED} {HISTOGRAM} {parts} --follow");
    let ran = place.run_with_input(&followed, events()).ok().stdout;
    assert_eq!(rows(&ran).len(), 4 * 11);
    assert_eq!(column(&ran, "lower")[0], "10");
    let all = format!("count in.csv {TIMED} {HISTOGRAM} {parts}");
    place.forget_uses();
    let whole = place.run(&all).ok().stdout;
    assert_eq!(column(&whole, "lower"), column(&ran, "lower"));
    place.forget_uses();
    let until = |hour: u32| format!("{all} --state s --until 2026-01-05T{hour:02}:00:00Z --output out.csv");
    let run = |line: &str| assert_eq!(place.run(line).code, Some(0), "{line}");
    run(&until(2));
    place.run(&until(4).replace("0.3,0.5", "0.3")).refused(&["quantiles"]);
    place.run(&until(4).replace("--cumulative", "--cumulative --ranges 4")).refused(&["s"]);
    run(&until(4));
    let grown = String::from_utf8(place.read("out.csv")).unwrap();
    assert_eq!(rows(&grown).len(), 4 * 11);
}

#[test]
fn quantiles_that_make_no_sense_are_refused_before_anything_is_read() {
    let place = Place::new();
    for (options, parts) in [
        ("--quantiles 0.5", &["--histogram"][..]),
        ("--cumulative", &["--histogram"]),
        ("--histogram amount --quantiles 0.5", &["--bins"]),
        (
            &format!("{HISTOGRAM} --ranges 2"),
            &["--ranges cannot be used without --quantiles or --cumulative"],
        ),
        (&format!("{HISTOGRAM} --quantiles 0"), &["--quantiles: expected numbers between 0 and 1", "\"0\""]),
        (&format!("{HISTOGRAM} --quantiles 1"), &["--quantiles: expected numbers between 0 and 1"]),
        (&format!("{HISTOGRAM} --quantiles 50"), &["--quantiles: expected numbers between 0 and 1"]),
        (&format!("{HISTOGRAM} --quantiles nan"), &["--quantiles: expected numbers between 0 and 1"]),
        (&format!("{HISTOGRAM} --quantiles=-0.5"), &["--quantiles: expected numbers between 0 and 1"]),
        (&format!("{HISTOGRAM} --quantiles 0.5,half"), &["--quantiles: expected numbers", "half"]),
        (&format!("{HISTOGRAM} --quantiles 0.9,0.5"), &["--quantiles: expected numbers in ascending order"]),
        (&format!("{HISTOGRAM} --quantiles 0.5,0.5"), &["--quantiles: expected numbers in ascending order"]),
        (&format!("{HISTOGRAM} --quantiles 0.5 --ranges 1"), &["--ranges: expected auto, none, or how many"]),
        (&format!("{HISTOGRAM} --quantiles 0.5 --ranges many"), &["--ranges: expected auto"]),
        (
            "--histogram amount --bins 0..1:1000000 --quantiles 0.5",
            &["--bins: expected at most 100000 edges"],
        ),
        ("--histogram amount --bins 0..1 --quantiles 0.5", &["--bins: expected LO..HI:N"]),
        (&format!("{HISTOGRAM} --quantiles 0.5 --round"), &["--round cannot be used with --quantiles"]),
        (&format!("{HISTOGRAM} --cumulative --monotone"), &["--monotone cannot be used with --cumulative"]),
        (&format!("{HISTOGRAM} --cumulative --non-negative"), &["--non-negative cannot be used"]),
        (
            &format!("{HISTOGRAM} --quantiles 0.5 --mean amount --clamp 0,9"),
            &["--mean cannot be used with --quantiles"],
        ),
        (
            &format!("{HISTOGRAM} --quantiles 0.5 --value amount --clamp=-1,9"),
            &["--value cannot be used with --quantiles"],
        ),
        (
            &format!("{HISTOGRAM} --cumulative --covariance c.npy"),
            &["--covariance cannot be used with --cumulative"],
        ),
        (
            &format!("{HISTOGRAM} --cumulative --ranges 2 --distinct who --window 2 --max-flips 2"),
            &["--ranges cannot be used where persons come and go"],
        ),
    ] {
        place.run(&format!("count missing.csv {TIMED} {options} --output out.csv")).refused(parts);
    }
    assert!(place.files().is_empty());
}

/// One edge makes two bins, both open: the interval says on which side a quantile is.
#[test]
fn one_edge_is_enough() {
    let place = place();
    let ran =
        place.run(&format!("count in.csv {TIMED} --histogram amount --bins 30 --quantiles 0.5,0.9")).ok();
    let first = of_step(&ran.stdout, 0, 2);
    assert_eq!(first, [["", "", "30"], ["", "30", ""]]);
}

/// What is drawn has bands that may reach to the end of the panel.
#[test]
fn quantiles_are_drawn() {
    let place = place();
    for (number, options) in
        ["--quantiles 0.5,0.9", "--quantiles 0.1 --cumulative", "--cumulative"].iter().enumerate()
    {
        let line = format!(
            "count in.csv {TIMED} {HISTOGRAM} {options} --plot {number}.svg --plot-truth-not-private"
        );
        assert_eq!(place.run(&line).code, Some(0));
        let picture = String::from_utf8(place.read(&format!("{number}.svg"))).unwrap();
        assert!(!picture.contains("NaN") && !picture.contains("inf\"") && picture.contains("NOT PRIVATE"));
    }
}
