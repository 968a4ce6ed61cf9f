//! `evertally audit`: true mechanisms pass, the report has its shape, and what cannot be audited is refused.
//!
//! Seeds are fixed, so that green stays green; a fresh seed would fail once in 10⁴ times. Timing is
//! left out: tests assert no times.

use crate::common::Place;

fn report(line: &str) -> serde_json::Value {
    let text = Place::new().run(&format!("audit {line} --seed 1 --no-timing --json")).ok().stdout;
    serde_json::from_str(&text).unwrap()
}

#[test]
fn the_default_plan_passes_and_its_noise_is_not_much_more_than_it_must_be() {
    let report = report("--runs 1000");
    assert_eq!((report["passed"].as_bool(), report["horizon"].as_u64()), (Some(true), Some(64)));
    assert_eq!((report["epsilon"].as_f64(), report["delta"].as_f64()), (Some(1.0), Some(1e-6)));
    // The noise is as small as the budget allows, so that the sharpest attack comes close to it.
    let bound = report["epsilon_at_least"].as_f64().unwrap();
    assert!((0.8..1.0).contains(&bound), "{report}");
}

#[test]
fn json_has_exactly_the_promised_shape() {
    let report = report("--horizon 8 --runs 200");
    let keys = |value: &serde_json::Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let mut expected = vec![
        "mechanism",
        "workload",
        "horizon",
        "keys",
        "open_keys",
        "dim",
        "epsilon",
        "delta",
        "neighbours",
        "runs",
        "length",
        "round",
        "seed",
        "false_alarm",
        "passed",
        "epsilon_at_least",
        "confidence",
        "power",
        "findings",
    ];
    expected.sort_unstable();
    assert_eq!(keys(&report), expected);
    let findings = report["findings"].as_array().unwrap();
    let of = |name: &str| findings.iter().map(|finding| finding[name].clone()).collect::<Vec<_>>();
    let attacks =
        ["one run", "error rates", "separation", "replay", "covariance", "low bits", "timing", "admission"];
    assert_eq!(of("attack"), attacks);
    let verdicts = ["skipped", "passed", "passed", "passed", "passed", "passed", "skipped", "passed"];
    assert_eq!(of("verdict"), verdicts, "{report}");
    let parts = ["allowed", "attack", "confidence", "epsilon_at_least", "measured", "tried", "verdict"];
    assert!(findings.iter().all(|finding| keys(finding) == parts), "{report}");
    assert_eq!(keys(&report["power"]), ["percent_short", "probability"]);
}

/// The number of runs that `--power` picks finds what was asked for, and the report says so.
#[test]
fn power_picks_the_runs_and_is_stated() {
    for (line, percent) in
        [("--horizon 8", 10.0), ("--horizon 8 --delta 0", 40.0), ("--horizon 4 --group-count 3", 12.5)]
    {
        let picked = report(&format!("{line} --power {percent}"));
        let stated = picked["power"]["percent_short"].as_f64().unwrap();
        assert!(stated <= percent && stated > 0.98 * percent, "{line}: {picked}");
        assert_eq!(picked["power"]["probability"], 0.99);
        // As many runs, asked for by their number, find the same.
        let runs = picked["runs"].as_u64().unwrap();
        assert_eq!(report(&format!("{line} --runs {runs}"))["power"], picked["power"], "{line}");
    }
    let text = Place::new().run("audit --horizon 8 --runs 2000 --seed 1 --no-timing").ok().stdout;
    assert!(text.contains("At these settings noise 7.5 % short is found with probability 0.99."), "{text}");
}

#[test]
fn other_plans_pass_too() {
    for line in [
        "--horizon 40 --mechanism honaker-streaming",
        "--horizon 30 --window 7",
        "--horizon 30 --decay 0.9 --neighbours replace",
        "--horizon 30 --max-steps 3 --min-gap 5 --mechanism blt",
        "--horizon 16 --delta 0",
        "--horizon 12 --group-count 40",
        "--horizon 12 --group-count 3 --neighbours replace",
        "--horizon 12 --group-count 3 --max-steps 2 --min-gap 3",
        "--horizon 12 --group-count 3 --open-groups --max-steps 2",
        "--horizon 12 --dim 5",
        "--horizon 16 --calibration zcdp",
        "--horizon 16 --epsilon 0.5 --calibration paper",
        "--horizon unbounded --length 32",
        "--horizon 2000 --length 300",
        "--horizon 16 --epsilon 8 --delta 1e-3 --grid 0.125",
        "--horizon 16 --epsilon 8 --delta 1e-3",
    ] {
        let report = report(&format!("--runs 400 {line}"));
        assert_eq!(report["passed"], true, "{line}: {report}");
    }
}

#[test]
fn a_seed_repeats_an_audit_and_is_said_not_to_be_private() {
    let place = Place::new();
    let run =
        |seed: u64| place.run(&format!("audit --horizon 8 --runs 200 --no-timing --seed {seed}")).ok().stdout;
    assert_eq!(run(3), run(3));
    assert_ne!(run(3), run(4));
    assert!(run(3).contains("seed 3: repeatable, NOT PRIVATE"));
}

#[test]
fn the_table_and_the_picture_say_what_was_done() {
    let place = Place::new();
    let line = "audit --horizon 16 --runs 300 --seed 2 --no-timing --plot game.svg";
    let table = place.run(line).ok().stdout;
    for part in [
        "prefix-sum over 16 steps, (ε = 1, δ = 1e-6)-DP",
        "2 × 300 runs of 16 steps",
        "all 16 changes under one key",
        "ε at least",
        "PASSED: none of",
        "once in 10000 times",
    ] {
        assert!(table.contains(part), "{part:?} is missing from\n{table}");
    }
    let picture = String::from_utf8(place.read("game.svg")).unwrap();
    for part in ["without the person", "forbidden by the budget", "300 + 300 runs"] {
        assert!(picture.contains(part), "{part:?} is missing");
    }
    // Fresh keys of the system are the default.
    let fresh = place.run("audit --horizon 4 --runs 100 --no-timing").ok().stdout;
    assert!(fresh.contains("under fresh keys"), "{fresh}");
}

/// Open keys failed by the clock: adding to a key takes time, and a key without events takes none.
/// That is known of them, so that the report says so instead of failing.
#[test]
fn open_keys_are_known_to_take_time() {
    let table =
        Place::new().run("audit --horizon 4 --group-count 2 --open-groups --runs 100 --seed 1").ok().stdout;
    assert!(table.contains("adding to an open key takes time, as documented"), "{table}");
    assert!(table.contains("over 4 steps of 2 open keys"), "{table}");
}

#[test]
fn what_cannot_be_audited_is_refused() {
    let place = Place::new();
    let cases: [(&str, &[&str]); 25] = [
        ("--epsilon -1", &["epsilon", "-1"]),
        ("--epsilon nan", &["epsilon"]),
        ("--delta 2", &["delta"]),
        ("--horizon 0", &["horizon"]),
        ("--horizon many", &["--horizon", "many"]),
        ("--runs 5", &["--runs: expected at least 100, got 5"]),
        ("--runs 99999999999", &["--runs: expected at most"]),
        ("--length 0", &["--length: expected a number of steps from 1"]),
        ("--false-alarm 0.5", &["--false-alarm: expected a probability from 1e-12 to 0.1, got 0.5"]),
        ("--round-to 0.3", &["--round-to: expected zero or a power of two, got 0.3"]),
        ("--round-to 64", &["--round-to: expected at most the noise of a step", "got 64"]),
        ("--epsilon 8 --delta 1e-3 --whole", &["--grid: expected at most the noise of a step", "got 1"]),
        ("--group-count 0", &["--group-count: expected from 1"]),
        ("--power 0", &["--power: expected a shortage above 0 % and below 100 %, got 0 %"]),
        ("--power 100", &["--power: expected a shortage above 0 % and below 100 %, got 100 %"]),
        ("--power -3", &["--power", "got -3 %"]),
        ("--power nan", &["--power", "got NaN %"]),
        ("--power some", &["--power", "some"]),
        ("--power 5 --runs 500", &["--power", "--runs"]),
        ("--power 0.01", &["--power: expected at least", "no more fit into memory", "got 0.01 %"]),
        ("--open-groups", &["--group-count"]),
        ("--dim 0", &["--dim: expected from 1"]),
        ("--dim 3 --group-count 3", &["--dim", "--group-count"]),
        ("--mechanism binary --window 5", &["binary", "prefix sum"]),
        ("--plot game.txt", &["--plot", "game.txt"]),
    ];
    for (line, parts) in cases {
        place.run(&format!("audit {line}")).refused(parts);
    }
    assert_eq!(place.files(), Vec::<String>::new());
}
