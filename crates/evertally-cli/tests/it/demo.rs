//! `demo`: the example file, and the help that leads to it.

use crate::common::Place;

#[test]
fn the_same_seed_gives_the_same_file() {
    let place = Place::new();
    let first = place.run("demo --days 7").ok().stdout;
    assert_eq!(place.run("demo --days 7 --output visits.csv").ok().stdout, "");
    assert_eq!(place.read("visits.csv"), first.as_bytes());
    assert_ne!(place.run("demo --days 7 --seed 2").ok().stdout, first);
    // More days only add to the end.
    assert!(place.run("demo --days 8").ok().stdout.starts_with(&first));
}

#[test]
fn the_example_is_small_sorted_and_varied() {
    let csv = Place::new().run("demo").ok().stdout;
    assert!(csv.len() <= 1_500_000, "{} bytes", csv.len());
    let events: Vec<Vec<&str>> = csv.lines().skip(1).map(|line| line.split(',').collect()).collect();
    assert!((30_000..60_000).contains(&events.len()), "{} events", events.len());
    assert!(events.is_sorted_by(|a, b| a[0] <= b[0]));
    assert!(events.first().is_some_and(|event| event[0].starts_with("2026-01-05T")));
    assert!(events.last().is_some_and(|event| event[0].starts_with("2026-03-01T")));
    let of = |region: &str| events.iter().filter(|event| event[2] == region).count();
    assert!(of("north") > 5 * of("harbour") && of("harbour") > 1_000);
    let weekend = events.iter().filter(|event| event[0].starts_with("2026-01-10")).count();
    let monday = events.iter().filter(|event| event[0].starts_with("2026-01-05")).count();
    assert!(weekend > monday);
}

#[test]
fn customers_are_labelled_and_their_number_is_kept() {
    let place = Place::new();
    let csv = place.run("demo --kind customers --rows 2000").ok().stdout;
    assert!(csv.starts_with("recency,frequency,basket,distance,age,newsletter,returns\n"));
    assert_eq!(csv.lines().count(), 2001);
    let mean = |label: &str| {
        let rows = csv.lines().skip(1).filter(|line| line.ends_with(label));
        let values: Vec<f64> = rows.filter_map(|row| row.split(',').nth(1)?.parse().ok()).collect();
        values.iter().sum::<f64>() / values.len() as f64
    };
    // Those who came often come back.
    assert!(mean(",yes") > 0.1 && mean(",no") < -0.1, "{} {}", mean(",yes"), mean(",no"));
    assert_eq!(place.run("demo --kind customers --rows 2000").ok().stdout, csv);
    assert_ne!(place.run("demo --kind customers --rows 2000 --seed 2").ok().stdout, csv);
}

#[test]
fn help_teaches_by_example() {
    let place = Place::new();
    for line in ["--help", "count --help", "plan --help", "demo --help"] {
        let help = place.run(line).ok().stdout;
        assert!(help.contains("evertally count") || help.contains("evertally plan"), "{line}: {help}");
    }
    // Who asks for nothing is shown what there is; who mistypes, what was meant.
    let bare = place.run("");
    assert!(
        bare.code == Some(2) && bare.stdout.is_empty() && bare.stderr.contains("Usage:"),
        "{}",
        bare.stderr
    );
    place.run("count in.csv --valu n --epsilon 1 --delta 1e-6").refused(&["'--valu'", "'--value'"]);
    assert!(place.run("--version").ok().stdout.starts_with("evertally "));
}
