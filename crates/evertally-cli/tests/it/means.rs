//! `count --mean`: the mean of a column, with the count and the sum from one budget.

use crate::common::{Place, TIMED, column, rows};

/// Four hours of events. Nothing happens in the first.
const EVENTS: &str = "time,region,amount,who
2026-01-05T01:10:00Z,north,20,p1
2026-01-05T01:20:00Z,north,40,p2
2026-01-05T01:30:00Z,south,-7,p3
2026-01-05T02:30:00Z,north,90,p1
2026-01-05T02:40:00Z,west,10,p1
2026-01-05T03:40:00Z,south,50,p2
2026-01-05T03:50:00Z,south,1e9,p4
";

const MEAN: &str = "--mean amount --clamp 0,100";

const COLUMNS: &str = "mean,mean_lower,mean_upper,count,count_standard_error,count_lower,count_upper,sum,\
     sum_standard_error,sum_lower,sum_upper";

fn place() -> Place {
    let place = Place::new();
    place.with_key().write("in.csv", EVENTS);
    place
}

fn run(extra: &str) -> String {
    place().run(&format!("count in.csv {TIMED} --noise-key noise.key {MEAN} {extra}")).ok().stdout
}

fn numbers(csv: &str, name: &str) -> Vec<Option<f64>> {
    column(csv, name).iter().map(|cell| (!cell.is_empty()).then(|| cell.parse().unwrap())).collect()
}

/// Compares counts and sums with the true ones, to six of their standard errors, and means with their
/// intervals. There is no mean where nothing has happened.
#[track_caller]
fn assert_means(csv: &str, expected: &[(f64, f64)]) {
    let all = |name: &str| numbers(csv, name);
    let (counts, sums) = (all("count"), all("sum"));
    assert_eq!(counts.len(), expected.len(), "{csv}");
    for (row, (count, sum)) in expected.iter().enumerate() {
        let at = |name: &str| all(name)[row].unwrap();
        assert!((counts[row].unwrap() - count).abs() <= 6.0 * at("count_standard_error"), "row {row}: {csv}");
        assert!((sums[row].unwrap() - sum).abs() <= 6.0 * at("sum_standard_error"), "row {row}: {csv}");
        let (lower, upper) = (at("mean_lower"), at("mean_upper"));
        assert!(0.0 <= lower && lower < upper && upper <= 100.0, "row {row}: {csv}");
        // Noise alone can tell a count of zero from zero, in one row of forty.
        let is_told_from_zero = at("count_lower") > 0.0;
        match all("mean")[row] {
            Some(mean) => assert!(is_told_from_zero && lower <= mean && mean <= upper, "row {row}: {csv}"),
            None => {
                assert!(!is_told_from_zero, "row {row}: {csv}");
                assert_eq!((lower, upper), (0.0, 100.0), "row {row}: {csv}");
            }
        }
    }
}

const TOTALS: [(f64, f64); 4] = [(0.0, 0.0), (3.0, 60.0), (5.0, 160.0), (7.0, 310.0)];

#[test]
fn a_mean_stands_beside_its_count_and_sum() {
    let csv = run("");
    assert_means(&csv, &TOTALS);
    assert!(csv.contains(&format!("\nstep,start,{COLUMNS}\n")), "{csv}");
    for line in [
        "# mean: of amount, from two totals: the distances of its values from 0 and from 100",
        "# contribution: 0,100, split between 2 totals",
        "# clamp: 0,100",
        "# unit: one event",
        "# interval: 95 %; of means by Fieller's method, and empty means where the count cannot be told from zero",
    ] {
        assert!(csv.contains(&format!("\n{line}\n")), "{line} is missing from\n{csv}");
    }
    // The noise is small enough for the means to be seen.
    let means = numbers(&csv, "mean");
    for (mean, (count, sum)) in means[1..].iter().zip(&TOTALS[1..]) {
        assert!((mean.unwrap() - sum / count).abs() < 10.0, "{csv}");
    }
}

/// The count has √2 of the error of a plain count, whatever the clamp; and a replaced event costs √2.
#[test]
fn the_noise_is_that_of_one_total() {
    let fact = |csv: &str, name: &str| -> f64 {
        csv.lines().find_map(|line| line.strip_prefix(&format!("# {name}: "))).unwrap().parse().unwrap()
    };
    let budget = "--time time --every 1h --from 2026-01-05 --horizon 4 --epsilon 0.01 --delta 1e-6";
    let of = |extra: &str| place().run(&format!("count in.csv {budget} {extra}")).ok().stdout;
    let plain = fact(&of(""), "rmse");
    for clamp in ["0,100", "-3,1", "1000,1001", "0.1,0.9"] {
        let csv = of(&format!("--mean amount --clamp={clamp}"));
        let ratio = fact(&csv, "rmse_of_count") / plain / 2.0_f64.sqrt();
        assert!((0.999_99..1.001).contains(&ratio), "{clamp}: {ratio}");
        let replaced =
            fact(&of(&format!("--mean amount --clamp={clamp} --neighbours replace")), "rmse_of_count");
        let ratio = replaced / fact(&csv, "rmse_of_count") / 2.0_f64.sqrt();
        assert!((0.999..1.001).contains(&ratio), "{clamp}: {ratio}");
    }
}

#[test]
fn groups_have_means_of_their_own() {
    let csv = run("--group-by region --groups north,south");
    assert_eq!(column(&csv, "key"), ["north", "south", "other"].repeat(4));
    let zero = (0.0, 0.0);
    let expected = [
        [zero; 3],
        [(2.0, 60.0), (1.0, 0.0), zero],
        [(3.0, 150.0), (1.0, 0.0), (1.0, 10.0)],
        [(3.0, 150.0), (3.0, 150.0), (1.0, 10.0)],
    ];
    assert_means(&csv, expected.as_flattened());
    // The order of groups changes the order of rows alone, and the key's record knows it.
    let place = place();
    let line = |groups: &str| {
        format!("count in.csv {TIMED} --noise-key noise.key {MEAN} --group-by region --groups {groups}")
    };
    place.run(&line("north,south")).ok();
    let turned = place.run(&line("south,north")).ok().stdout;
    for group in ["north", "south", "other"] {
        let of = |csv: &str| rows(csv).into_iter().filter(|row| row[2] == group).collect::<Vec<_>>();
        assert_eq!(of(&turned), of(&csv));
    }
}

#[test]
fn formats_say_the_same() {
    let place = place();
    let line = format!(
        "count in.csv {TIMED} --noise-key noise.key {MEAN} --group-by region --groups north,south --report 2,total"
    );
    let csv = place.run(&line).ok().stdout;
    assert_eq!(rows(&csv).len(), 3 * (2 + 4));
    let json = place.run(&format!("{line} --format jsonl")).ok().stdout;
    let names: Vec<&str> = COLUMNS.split(',').collect();
    let mut empty = 0;
    for (line, row) in json.lines().skip(1).zip(rows(&csv)) {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        for (name, cell) in names.iter().zip(&row[5..]) {
            assert_eq!(line[name].as_f64(), cell.parse().ok(), "{name} {line}");
            empty += usize::from(line[name].is_null());
        }
    }
    assert!((4..18).contains(&empty), "{empty}");
    // Read back from Parquet: empty cells are nulls, which a condition can ask for.
    place.run(&format!("{line} --output out.parquet")).ok();
    let back = |condition: &str| {
        let mut command = place.command(
            "count out.parquet --time start --every 1d --from 2026-01-05 --horizon 1 --epsilon 1000 --delta 0.4",
        );
        let ran = crate::common::Ran::of(command.args(["--where", condition]).output().unwrap());
        column(&ran.ok().stdout, "estimate")[0].parse::<f64>().unwrap()
    };
    let error = 3.0;
    assert!((back("mean is null") - empty as f64).abs() <= error);
    assert!((back("sum is null")).abs() <= error);
}

#[test]
fn windows_decays_and_periods_have_means() {
    assert_means(&run("--window 2"), &[(0.0, 0.0), (3.0, 60.0), (5.0, 160.0), (4.0, 250.0)]);
    assert_means(&run("--decay 0.5"), &[(0.0, 0.0), (3.0, 60.0), (3.5, 130.0), (3.75, 215.0)]);
    let csv = run("--report steps,2,total");
    let expected = [
        (0.0, 0.0),
        (0.0, 0.0),
        (3.0, 60.0),
        (3.0, 60.0),
        (3.0, 60.0),
        (2.0, 100.0),
        (5.0, 160.0),
        (2.0, 150.0),
        (4.0, 250.0),
        (7.0, 310.0),
    ];
    assert_means(&csv, &expected);
    assert!(csv.contains("\n# rmse_of_count_of_periods: ["), "{csv}");
    // Counts of periods are differences of the counts, as their sums are.
    for name in ["count", "sum"] {
        let numbers = numbers(&csv, name);
        let difference = numbers[9].unwrap() - numbers[6].unwrap();
        assert!((numbers[7].unwrap() - difference).abs() < 1e-9, "{name}: {csv}");
    }
}

#[test]
fn followed_streams_and_columns_by_bulk_give_the_same() {
    let whole = run("");
    let table = |csv: &str| csv.lines().skip_while(|line| line.starts_with('#')).count();
    let place = place();
    let line = format!("{TIMED} --follow {MEAN}");
    let followed = place.run_with_input(&format!("count - {line}"), EVENTS).ok().stdout;
    assert_means(&followed, &TOTALS);
    let lagged = place.run_with_input(&format!("count - {line} --lag 1h"), EVENTS);
    // All events are long past, so the clock has closed their steps.
    assert_eq!((lagged.code, table(&lagged.stdout)), (Some(0), table(&whole)));
    // With a condition that always holds, rows are read one by one.
    let condition = format!("count in.csv {TIMED} {MEAN} --where amount>-100");
    assert_means(&place.run(&condition).ok().stdout, &TOTALS);
    assert_eq!(run("--arithmetic float").lines().filter(|line| !line.starts_with('#')).count(), 5);
}

#[test]
fn persons_are_bounded_and_pure_budgets_work() {
    // p1 counts in the hours 1 and 2 with one event each; in hour 2 the first by time counts.
    let csv = run("--person who --max-steps 2");
    assert_means(&csv, &[(0.0, 0.0), (3.0, 60.0), (4.0, 150.0), (6.0, 300.0)]);
    assert!(csv.contains("\n# unit: one person with all of their events\n"), "{csv}");
    let pure = TIMED.replace("--delta 0.4", "--delta 0");
    let csv = place().run(&format!("count in.csv {pure} {MEAN}")).ok().stdout;
    assert!(csv.contains("\n# mechanism: laplace-tree\n"), "{csv}");
    assert_means(&csv, &TOTALS);
}

#[test]
fn other_options_have_other_noise() {
    let place = place();
    let line = |extra: &str| format!("count in.csv {TIMED} --noise-key noise.key {extra}");
    place.run(&line(MEAN)).ok();
    // Other noise means another use of the key, which the program remarks on.
    for other in ["--value amount --clamp 0,100", "--mean amount --clamp 0,101"] {
        let ran = place.run(&line(other));
        assert_eq!(ran.code, Some(0));
        assert!(ran.stderr.contains("was used before with other options or data"), "{}", ran.stderr);
    }
    // The same options with other data are refused.
    place.write("in.csv", EVENTS.replace(",90,", ",91,"));
    place.run(&line(MEAN)).refused(&["noise.key"]);
    // A value that the clamp makes equal is no other data.
    place.write("in.csv", EVENTS.replace("1e9", "100"));
    place.run(&line(MEAN)).ok();
}

/// All intervals of all rows hold at once, so they are wider, and hold more.
#[test]
fn simultaneous_intervals_are_wider() {
    let (alone, all) = (run(""), run("--simultaneous"));
    for (lower, upper) in
        [("mean_lower", "mean_upper"), ("count_lower", "count_upper"), ("sum_lower", "sum_upper")]
    {
        let ends = |csv: &str| {
            let pairs = numbers(csv, lower).into_iter().zip(numbers(csv, upper));
            pairs.map(|(lower, upper)| (lower.unwrap(), upper.unwrap())).collect::<Vec<_>>()
        };
        for (one, other) in ends(&alone).into_iter().zip(ends(&all)) {
            assert!(other.0 <= one.0 && one.1 <= other.1, "{lower}: {one:?} {other:?}");
        }
    }
    assert!(all.contains("\n# interval: 95 %, for all estimates at once; of means by"), "{all}");
}

#[test]
fn a_plot_draws_the_means() {
    let place = place();
    let line = format!("count in.csv {TIMED} {MEAN} --group-by region --groups north,south");
    place.run(&format!("{line} --plot p.svg --plot-truth-not-private --output o.csv")).ok();
    let picture = String::from_utf8(place.read("p.svg")).unwrap();
    for part in ["Private running mean of amount in in by region", "NOT PRIVATE", "north", "other"] {
        assert!(picture.contains(part), "{part}");
    }
    // A stream in which nothing happens has intervals and no curve.
    place.write("in.csv", "time,region,amount,who\n");
    place.run(&format!("{line} --plot empty.svg --output empty.csv")).ok();
}

#[test]
fn what_a_mean_does_not_have_is_refused() {
    let place = place();
    let refused = |options: &str, parts: &[&str]| {
        place.run(&format!("count in.csv {TIMED} {options}")).refused(parts);
    };
    refused("--mean amount", &["--mean needs --clamp LO,HI"]);
    refused("--mean amount --clamp 5,5", &["--clamp"]);
    refused("--mean cost --clamp 0,1", &["cost"]);
    refused("--mean region --clamp 0,1", &["line 2, column \"region\"", "north"]);
    refused(&format!("{MEAN} --value amount"), &["--mean", "--value"]);
    refused(&format!("{MEAN} --round"), &["--round cannot be used with --mean", "--grid"]);
    refused(&format!("{MEAN} --non-negative"), &["--non-negative cannot be used with --mean"]);
    refused(&format!("{MEAN} --monotone"), &["--monotone cannot be used with --mean", "can fall"]);
    for more in ["--per-person-sum 0,9", "--per-person-events 2"] {
        let (option, _) = more.split_once(' ').unwrap();
        let reason = format!("{option} cannot be used with --mean: a mean is over events");
        refused(&format!("{MEAN} --person who --max-steps 2 {more}"), &[&reason]);
    }
    refused(&format!("{MEAN} --covariance c.npy"), &["--covariance cannot be used with --mean"]);
    let rows = "count in.csv --mean amount --clamp 0,100 --epsilon 1 --delta 1e-6";
    place.run(rows).refused(&["--mean needs --time COLUMN"]);
    assert_eq!(place.files(), ["in.csv", "noise.key"]);
}
