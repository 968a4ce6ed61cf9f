//! `count --report` and `plan --report`: sums over periods, from one stream of noise.

use crate::common::{Place, assert_near, column, rows};

/// Four weeks of days with as many events as the day of the month, from 5 January 2026.
fn days() -> String {
    let mut text = "time,region\n".to_owned();
    for day in 0..56_u32 {
        let date = if day < 27 { format!("2026-01-{:02}", day + 5) } else { february(day - 26) };
        (0..=day % 7).for_each(|_| text.push_str(&format!("{date}T08:00:00Z,north\n")));
    }
    text
}

fn february(day: u32) -> String {
    if day <= 28 { format!("2026-02-{day:02}") } else { format!("2026-03-{:02}", day - 28) }
}

const DAYS: &str =
    "--time time --every 1d --from 2026-01-05 --horizon 56 --epsilon 1000 --delta 0.4 --noise-key noise.key";

fn place() -> Place {
    let place = Place::new();
    place.with_key().write("in.csv", days());
    place
}

/// The rows of one kind, as (first step, last step, start, estimate, error).
fn kind(csv: &str, name: &str) -> Vec<(u64, u64, String, f64, f64)> {
    let cell = |column_name: &str| column(csv, column_name);
    let (periods, firsts, steps, starts) = (cell("period"), cell("first_step"), cell("step"), cell("start"));
    let (estimates, errors) = (cell("estimate"), cell("standard_error"));
    let at = |i: usize| {
        let numbers = (estimates[i].parse().unwrap(), errors[i].parse().unwrap());
        (firsts[i].parse().unwrap(), steps[i].parse().unwrap(), starts[i].clone(), numbers.0, numbers.1)
    };
    (0..periods.len()).filter(|i| periods[*i] == name).map(at).collect()
}

#[test]
fn every_period_that_ends_has_a_row_and_sums_its_steps() {
    let place = place();
    let csv = place.run(&format!("count in.csv {DAYS} --report steps,7d,1mo,total")).ok().stdout;
    let (steps, weeks, months, totals) =
        (kind(&csv, "steps"), kind(&csv, "7d"), kind(&csv, "1mo"), kind(&csv, "total"));
    assert_eq!((steps.len(), weeks.len(), months.len(), totals.len()), (56, 8, 1, 56));
    // February: the only month whose days are all counted.
    assert_eq!((months[0].0, months[0].1, months[0].2.as_str()), (27, 54, "2026-02-01T00:00:00Z"));
    assert!((months[0].3 - 112.0).abs() < 6.0 * months[0].4);
    for (week, row) in weeks.iter().enumerate() {
        assert_eq!((row.0, row.1), (7 * week as u64, 7 * week as u64 + 6));
        assert!((row.3 - 28.0).abs() < 6.0 * row.4);
    }
    // All rows are differences of the totals, to the unit.
    for row in steps.iter().chain(&weeks).chain(&months) {
        let before = row.0.checked_sub(1).map_or(0.0, |before| totals[before as usize].3);
        assert_eq!(row.3, totals[row.1 as usize].3 - before);
    }
    assert!(csv.contains("\n# report: steps,7d,1mo,total\n# weights: 1,1,1,1\n"), "{csv}");
    assert!(csv.contains("\n# objective: report\n"));
}

/// Without the option nothing changes, and with only totals in it the numbers are those of the same
/// objective.
#[test]
fn rows_without_a_report_are_what_they_were() {
    let place = place();
    let csv = place.run(&format!("count in.csv {DAYS}")).ok().stdout;
    assert!(csv.contains("\nstep,start,estimate,standard_error,lower,upper\n"));
    assert!(!csv.contains("report"));
    let unbounded = DAYS.replace("--horizon 56", "--horizon unbounded --until 2026-03-02");
    let plain = place.forget_uses().run(&format!("count in.csv {unbounded}")).ok().stdout;
    let report = place.run(&format!("count in.csv {unbounded} --report 7d,total")).ok().stdout;
    // A report without a known end adds rows to the same noise.
    let totals: Vec<f64> = kind(&report, "total").into_iter().map(|row| row.3).collect();
    let plain: Vec<f64> = column(&plain, "estimate").iter().map(|cell| cell.parse().unwrap()).collect();
    assert_eq!(totals, plain);
    assert_eq!(kind(&report, "7d").len(), 8);
}

#[test]
fn keys_formats_and_post_processing() {
    let place = place();
    let line = format!("count in.csv {DAYS} --group-by region --groups north,south --report 7d,total");
    let csv = place.run(&line).ok().stdout;
    assert_eq!(rows(&csv).len(), 2 * 3 * (8 + 56) / 2);
    let json = place.run(&format!("{line} --format jsonl")).ok().stdout;
    for (line, row) in json.lines().skip(1).zip(rows(&csv)) {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!((line["period"].as_str(), line["key"].as_str()), (Some(&*row[0]), Some(&*row[4])));
        assert_eq!(
            (line["first_step"].to_string(), line["step"].to_string()),
            (row[1].clone(), row[2].clone())
        );
        assert_eq!(line["estimate"].as_f64(), row[5].parse().ok());
    }
    place.run(&format!("{line} --output out.parquet")).ok();
    // Read back: the steps and keys of all rows.
    let read = "--value estimate --epsilon 1 --delta 1e-6 --horizon 200";
    place.run(&format!("count out.parquet {read}")).ok();
    let cut = place.run(&format!("{line} --non-negative --monotone --round --simultaneous")).ok().stdout;
    for row in rows(&cut) {
        let number = |at: usize| row[at].parse::<f64>().unwrap();
        assert!(number(5) >= 0.0 && number(7) >= 0.0 && number(7) <= number(5) && number(5) <= number(8));
        assert_eq!(number(5).fract(), 0.0);
    }
}

#[test]
fn rows_as_steps_have_periods_of_steps() {
    let place = Place::new();
    place.write("in.csv", "n\n1\n2\n3\n4\n5\n");
    let line = "count in.csv --value n --epsilon 1000 --delta 0.4 --report 2,total";
    let csv = place.run(line).ok().stdout;
    assert_eq!(column(&csv, "period"), ["total", "2", "total", "total", "2", "total", "total"]);
    assert_near(&csv, &[1.0, 3.0, 3.0, 6.0, 7.0, 10.0, 15.0]);
    let followed = place.run_with_input(
        "count - --value n --horizon 4 --follow --epsilon 1000 --delta 0.4 --report 2",
        "n\n1\n2\n3\n4\n",
    );
    assert_near(&followed.ok().stdout, &[3.0, 7.0]);
}

/// Readers can compute the error of every row from the covariance of the totals.
#[test]
fn the_covariance_gives_the_error_of_every_row() {
    let place = place();
    let line = format!("count in.csv {DAYS} --report steps,7d,1mo,total --covariance c.npy");
    let csv = place.run(&line).ok().stdout;
    let file = place.read("c.npy");
    let numbers: Vec<f64> = file[file.len() - 8 * 56 * 56..]
        .chunks(8)
        .map(|b| f64::from_le_bytes(b.try_into().unwrap()))
        .collect();
    let c = |s: u64, t: u64| numbers[(56 * s + t) as usize];
    for name in ["steps", "7d", "1mo", "total"] {
        for (first, last, _, _, error) in kind(&csv, name) {
            let variance = match first.checked_sub(1) {
                Some(before) => c(last, last) + c(before, before) - 2.0 * c(before, last),
                None => c(last, last),
            };
            assert!((variance.sqrt() / error - 1.0).abs() < 1e-7, "{name} {first} {last}");
        }
    }
    place.run(&line).refused(&["c.npy", "--force"]);
    let other = place.run(&line.replace("c.npy", "c.csv"));
    other.refused(&["--covariance", ".npy", "c.csv"]);
}

#[test]
fn reports_that_make_no_sense_are_refused() {
    let place = place();
    let refused = |options: &str, parts: &[&str]| {
        place.run(&format!("count in.csv {DAYS} {options}")).refused(parts);
    };
    refused("--report 36h", &["--report 36h", "whole steps of 1d", "2026-01-06T12:00:00Z"]);
    refused("--report 1y", &["--report 1y", "no such period"]);
    refused("--report fortnight", &["--report", "7d, 1mo", "fortnight"]);
    refused("--report 7d,7d", &["7d", "twice"]);
    refused("--report 0,total", &["--report", "at least one step"]);
    refused("--report 57,total", &["report", "horizon of 56 steps"]);
    refused("--report total,", &["--report"]);
    refused("--report 7d,total --weights 1", &["--weights", "each of the 2 kinds", "got 1"]);
    refused("--report 7d,total --weights 1,-1", &["--weights", "1,-1"]);
    refused("--report 7d,total --weights 0,0", &["weights", "above zero"]);
    refused("--report 7d,total --weights 1,1 --objective worst", &["--weights", "--objective worst"]);
    refused("--report 7d,total --window 7", &["--report", "running totals"]);
    refused("--objective report", &["report"]);
    let unbounded = DAYS.replace("--horizon 56", "--horizon unbounded --until 2026-03-02");
    let line = format!("count in.csv {unbounded} --report 7d,total --weights 1,1");
    place.run(&line).refused(&["--weights", "known end"]);
    let rows = "count in.csv --value region --epsilon 1 --delta 1e-6 --report 7d";
    place.run(rows).refused(&["--report", "rows are steps"]);
    assert_eq!(place.files(), ["in.csv", "noise.key"]);
}

/// An objective that was asked for is kept, and weights that shaped nothing are not written.
#[test]
fn the_objective_that_was_asked_for_is_kept() {
    let place = place();
    for objective in ["mean", "worst"] {
        let line = format!("count in.csv {DAYS} --report 7d,total --objective {objective}");
        let csv = place.forget_uses().run(&line).ok().stdout;
        assert!(csv.contains(&format!("\n# objective: {objective}\n")), "{csv}");
        assert!(csv.contains("\n# report: 7d,total\n") && !csv.contains("# weights"), "{csv}");
        let weighted = place.run(&format!("{line} --weights 1,1"));
        weighted.refused(&["--weights", &format!("--objective {objective}")]);
        let plan = format!("plan --horizon 60 --epsilon 1 --delta 1e-6 --report 7 --objective {objective}");
        place.run(&format!("{plan} --curve")).refused(&["--curve", &format!("--objective {objective}")]);
        let text = place.run(&plan).ok().stdout;
        assert!(text.contains(&format!("not computed, because the objective is {objective}")), "{text}");
        assert!(!text.contains("least weighted error of those"), "{text}");
    }
    let line = format!("count in.csv {DAYS} --report 7d,total --objective report");
    assert!(place.forget_uses().run(&line).ok().stdout.contains("\n# weights: 1,1\n"));
}

/// Weeks alone do not determine every day. The plan reaches their optimum all the same, up to a
/// hundredth, and the optimum is certified for the weeks themselves.
#[test]
fn a_plan_of_weeks_alone_is_near_its_optimum() {
    let place = Place::new();
    let line = "plan --horizon 56 --epsilon 1 --delta 1e-6 --report 7";
    let json: serde_json::Value =
        serde_json::from_str(&place.run(&format!("{line} --json")).ok().stdout).unwrap();
    let mechanisms = json["mechanisms"].as_array().unwrap();
    let optimal = mechanisms.iter().find(|entry| entry["name"] == "optimal").unwrap();
    let ratio = optimal["weighted_error"].as_f64().unwrap() / json["optimal"]["lower"].as_f64().unwrap();
    assert!((1.0..1.02).contains(&ratio), "{ratio}");
    let text = place.run(line).ok().stdout;
    assert!(text.contains("would take optimal") && !text.contains("not certified"), "{text}");
}

/// A curve of another mechanism than the optimum says so, and so does an optimum that is unknown.
#[test]
fn a_curve_names_its_mechanism() {
    let place = Place::new();
    let line = "plan --horizon 1100 --epsilon 1 --delta 1e-6 --report 7,total --curve --plot curve.svg";
    let text = place.run(&format!("{line} --mechanism graded-square-root")).ok().stdout;
    assert!(text.contains("what can be had together from graded-square-root, with"), "{text}");
    let picture = String::from_utf8(place.read("curve.svg")).unwrap();
    assert!(picture.contains("graded-square-root, other weights") && !picture.contains("least weighted"));
    let many = "plan --horizon 3000 --epsilon 1 --delta 1e-6 --report steps --mechanism binary";
    let text = place.run(many).ok().stdout;
    assert!(
        text.contains("more than 2,048 periods are about") && text.contains("not certified for"),
        "{text}"
    );
}

#[test]
fn a_plan_shows_the_errors_of_a_report_beside_the_optimum() {
    let place = Place::new();
    let line =
        "plan --horizon 60 --epsilon 1 --delta 1e-6 --every 1d --from 2026-01-01 --report steps,7d,1mo,total";
    let text = place.run(line).ok().stdout;
    for part in ["best possible weighted error factor: between", "would take optimal", "7d", "1mo"] {
        assert!(text.contains(part), "{part:?} is missing from\n{text}");
    }
    let json = place.run(&format!("{line} --json --curve --plot curve.svg")).ok().stdout;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["report"], serde_json::json!(["steps", "7d", "1mo", "total"]));
    let optimal =
        json["mechanisms"].as_array().unwrap().iter().find(|entry| entry["name"] == "optimal").unwrap();
    let ratio = optimal["weighted_error"].as_f64().unwrap() / json["optimal"]["lower"].as_f64().unwrap();
    assert!((1.0..1.000_001).contains(&ratio), "{ratio}");
    // More weight on single days makes them more accurate, all along the curve.
    let curve = json["curve"].as_array().unwrap();
    let of_days: Vec<f64> = curve.iter().map(|point| point["errors"][0].as_f64().unwrap()).collect();
    assert!(of_days.is_sorted_by(|a, b| a >= b) && of_days.len() == 13, "{of_days:?}");
    assert!(String::from_utf8(place.read("curve.svg")).unwrap().contains("error of steps"));
    place.run("plan --horizon 60 --epsilon 1 --delta 1e-6 --report 7d").refused(&["--every"]);
    place.run("plan --horizon 60 --epsilon 1 --delta 1e-6 --every 1d --report 1mo").refused(&["--from"]);
    place.run("plan --horizon unbounded --epsilon 1 --delta 1e-6 --report 7").refused(&["--horizon N"]);
    let plot = "plan --horizon 60 --epsilon 1 --delta 1e-6 --report 7,total --plot p.svg";
    place.run(plot).refused(&["--curve"]);
}
