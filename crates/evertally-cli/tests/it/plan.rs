//! `plan`: every mechanism side by side.

use crate::common::Place;

#[test]
fn json_has_the_promised_shape() {
    let text = Place::new().run("plan --horizon 64 --epsilon 1 --delta 1e-6 --json").ok().stdout;
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (json["horizon"].as_u64(), json["epsilon"].as_f64(), json["delta"].as_f64()),
        (Some(64), Some(1.0), Some(1e-6))
    );
    let sigma = json["noise_multiplier"].as_f64().unwrap();
    assert!((sigma - 4.2247).abs() < 1e-4, "{sigma}");
    let (lower, upper) =
        (json["optimal"]["lower"].as_f64().unwrap(), json["optimal"]["upper"].as_f64().unwrap());
    assert!(lower <= upper && upper <= lower * (1.0 + 1e-6));
    let worst = &json["optimal_worst"];
    let (worst_lower, worst_upper) = (worst["lower"].as_f64().unwrap(), worst["upper"].as_f64().unwrap());
    assert!(lower < worst_lower && worst_lower <= worst_upper && worst_upper <= worst_lower * (1.0 + 1e-6));
    let mechanisms = json["mechanisms"].as_array().unwrap();
    for mechanism in mechanisms.iter().filter(|mechanism| mechanism["skipped"].is_null()) {
        let number = |name: &str| mechanism[name].as_f64().unwrap();
        assert!(number("mean_error") >= lower * (1.0 - 1e-6), "{mechanism}");
        let rounded = mechanism["grid"].as_f64().map_or(0.0, |grid| grid * grid / 12.0);
        assert_eq!(rounded > 0.0, mechanism["arithmetic"] == "exact");
        for (rmse, ratio, lower) in [("rmse", "ratio", lower), ("worst_rmse", "worst_ratio", worst_lower)] {
            let expected = (number(rmse) / sigma).powi(2) / lower;
            assert!((number(ratio) / expected - 1.0).abs() < 1e-12 && expected > 0.999_999, "{mechanism}");
        }
        let expected = (sigma.powi(2) * number("mean_error") + rounded).sqrt();
        assert!((number("rmse") / expected - 1.0).abs() < 1e-7, "{mechanism}");
        assert!(number("max_error") >= number("mean_error") * (1.0 - 1e-12));
        assert_eq!(mechanism.as_object().unwrap().len(), 11);
    }
    assert!(mechanisms.iter().any(|mechanism| mechanism["name"] == "square-root"));
}

/// The table once said 1.0006 here, where the rounding to whole numbers made it 1.198.
#[test]
fn ratios_are_of_what_is_released() {
    let place = Place::new();
    let line = "plan --horizon 64 --epsilon 20 --delta 1e-6";
    let ratio = |extra: &str| {
        let table = place.run(&format!("{line} {extra}")).ok().stdout;
        let chosen = table.lines().find(|line| line.starts_with('→')).unwrap().to_owned();
        let cells: Vec<&str> = chosen.split_whitespace().collect();
        assert_eq!(cells[..3], ["→", "markov", "exact"], "{table}");
        (cells[4].to_owned(), table)
    };
    let (fine, table) = ratio("");
    assert!(fine.starts_with("1.000"), "{table}");
    assert!(
        table.contains("multiples of 0.0") && table.contains("--whole releases whole numbers"),
        "{table}"
    );
    let (whole, table) = ratio("--whole");
    assert!(whole.starts_with("1.19"), "{table}");
    assert!(table.contains("Its releases are whole numbers") && table.contains("with exact numbers"));
    assert_eq!(ratio("--grid 1").1, table);
    place.run(&format!("{line} --whole --grid 0.5")).refused(&["--whole", "--grid"]);
    place.run(&format!("{line} --whole --arithmetic float")).refused(&["grid", "floating point"]);
}

#[test]
fn the_limit_of_certificates_is_named() {
    let place = Place::new();
    let summary = |options: &str| {
        let line = format!("plan --epsilon 1 --delta 1e-6 --mechanism square-root {options}");
        place.run(&line).ok().stdout
    };
    for (options, parts) in [
        ("--horizon 70000", &["best possible mean error factor: between", "up to 65,536 steps"][..]),
        ("--horizon 2000000", &["best possible mean error factor: between", "up to 65,536 steps", "unknown"]),
        ("--horizon 2000 --window 5", &["factor: unknown: for window:5", "short horizons only"]),
        ("--horizon 64 --max-steps 2", &["factor: unknown: it is known for one step per person only"]),
    ] {
        let text = summary(options);
        parts.iter().for_each(|part| assert!(text.contains(part), "{part:?} is missing from\n{text}"));
    }
}

#[test]
fn one_mechanism_can_be_picked_and_drawn() {
    let place = Place::new();
    let line = "plan --horizon 100 --epsilon 1 --delta 1e-6 --mechanism square-root";
    let text = place.run(&format!("{line} --json")).ok().stdout;
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["mechanisms"].as_array().map(Vec::len), Some(1));
    let table = place.run(&format!("{line} --plot errors.svg")).ok().stdout;
    assert!(table.contains("square-root") && table.contains("rmse"), "{table}");
    assert!(String::from_utf8(place.read("errors.svg")).unwrap().contains("standard error"));
}

#[test]
fn a_named_mechanism_that_cannot_serve_is_an_error() {
    let place = Place::new();
    for (options, parts) in [
        ("--horizon 64 --delta 1e-6 --mechanism laplace-tree", &["laplace-tree", "pure ε"]),
        ("--horizon 64 --delta 0 --mechanism square-root", &["square-root", "laplace-tree"]),
        ("--horizon 100000 --delta 1e-6 --mechanism optimal", &["optimal", "too costly"]),
        ("--horizon 64 --delta 1e-6 --window 8 --mechanism binary", &["binary", "prefix sum"]),
    ] {
        for extra in ["", "--json", "--plot errors.svg"] {
            place.run(&format!("plan --epsilon 1 {options} {extra}")).refused(parts);
        }
    }
    assert_eq!(place.files(), Vec::<String>::new());
}

#[test]
fn memory_is_that_of_all_keys_or_coordinates() {
    let place = Place::new();
    let bytes = |extra: &str| {
        let line = format!("plan --horizon 64 --epsilon 1 --delta 1e-6 --mechanism binary --json {extra}");
        let json: serde_json::Value = serde_json::from_str(&place.run(&line).ok().stdout).unwrap();
        json["mechanisms"][0]["state_bytes"].as_u64().unwrap()
    };
    // The tree shares nothing between coordinates; a key has a tag of twelve bytes besides.
    let one = bytes("");
    assert_eq!(bytes("--group-count 50"), 50 * (one + 12));
    assert_eq!(bytes("--dim 1000000"), 1_000_000 * bytes("--arithmetic float"));
    let table = place.run("plan --horizon 64 --epsilon 1 --delta 1e-6 --dim 1000").ok().stdout;
    assert!(table.contains("64 steps of 1000 coordinates at"), "{table}");
    let line = "plan --horizon 4096 --epsilon 1 --delta 1e-6 --group-count 1000 --memory-limit 1M";
    let table = place.run(line).ok().stdout;
    assert!(table.contains("of 1000 keys") && table.contains("more than the limit of 1048576"), "{table}");
    let line = "plan --horizon 64 --epsilon 1 --delta 1e-6";
    place.run(&format!("{line} --group-count 0")).refused(&["--group-count", "got 0"]);
    place.run(&format!("{line} --group-count 100001")).refused(&["--group-count", "100000", "--dim"]);
    place.run(&format!("{line} --dim 0")).refused(&["--dim", "got 0"]);
    place.run(&format!("{line} --dim 2 --group-count 2")).refused(&["--dim", "--group-count"]);
}

#[test]
fn horizons_that_few_mechanisms_reach_are_planned() {
    let place = Place::new();
    for horizon in ["281474976710656", "1152921504606846976"] {
        let table = place.run(&format!("plan --horizon {horizon} --epsilon 1 --delta 1e-6")).ok().stdout;
        for part in ["would take blt", "graded-square-root", "told apart up to 2^40 steps"] {
            assert!(table.contains(part), "{part:?} is missing from {table}");
        }
    }
}

#[test]
fn a_stream_without_an_end_is_planned_and_drawn() {
    let place = Place::new();
    let line = "plan --horizon unbounded --epsilon 1 --delta 1e-6";
    let table = place.run(&format!("{line} --plot ahead.svg")).ok().stdout;
    for part in ["a cap of 2^40 = 1,099,511,627,776 steps", "34.8 years", "sensitivity Δ", "known horizon"] {
        assert!(table.contains(part), "{part:?} is missing from {table}");
    }
    let svg = String::from_utf8(place.read("ahead.svg")).unwrap();
    for part in ["end unknown", "end known in advance", "10⁹"] {
        assert!(svg.contains(part), "{part:?} is missing from the picture");
    }
    let json: serde_json::Value =
        serde_json::from_str(&place.run(&format!("{line} --json")).ok().stdout).unwrap();
    assert_eq!((json["horizon"].as_str(), json["cap"].as_u64()), (Some("unbounded"), Some(1 << 40)));
    let milestones = json["milestones"].as_array().unwrap();
    let steps: Vec<u64> = milestones.iter().map(|moment| moment["steps"].as_u64().unwrap()).collect();
    assert_eq!(steps, (0..=40).map(|power| 1_u64 << power).collect::<Vec<_>>());
    for moment in milestones {
        let number = |name: &str| moment[name].as_f64().unwrap();
        let squared = (number("standard_error") / number("known_horizon")).powi(2);
        assert!((number("ratio") / squared - 1.0).abs() < 1e-12);
        // Not knowing the end costs little at every step, and never pays.
        assert!(number("ratio") < 1.62 && number("ratio") > 1.45, "{moment}");
        assert!(number("ratio_to_optimum") < 1.62 && number("ratio_so_far") < 1.6, "{moment}");
        let squared = (number("rmse_so_far") / number("standard_error")).powi(2);
        assert!((number("ratio_so_far") / number("ratio_to_optimum") / squared - 1.0).abs() < 1e-12);
        // The optimum is proved for short horizons, and no plan is better.
        match moment["optimum"].as_f64() {
            Some(optimum) => assert!(optimum <= number("known_horizon") && number("steps") <= 4096.0),
            None => assert!(number("steps") > 4096.0 && number("ratio_to_optimum") == number("ratio")),
        }
    }
    let square_root = place.run(&format!("{line} --mechanism square-root --json")).ok().stdout;
    assert!(square_root.contains("\"ratio_so_far\":null"), "{square_root}");
    // The mean over the steps so far has a shape of its own, which is worse at some steps.
    let anytime = place.run(&format!("{line} --objective anytime --json")).ok().stdout;
    let anytime: serde_json::Value = serde_json::from_str(&anytime).unwrap();
    for moment in anytime["milestones"].as_array().unwrap() {
        assert!(moment["ratio_so_far"].as_f64().unwrap() < 1.32, "{moment}");
    }
    assert!(anytime["milestones"][4]["ratio"].as_f64().unwrap() > 1.7);
    place
        .run("plan --horizon 9 --epsilon 1 --delta 1e-6 --objective anytime")
        .refused(&["objective", "unless the end is unknown"]);
}

#[test]
fn what_forgets_runs_for_ever() {
    let place = Place::new();
    let line = "plan --horizon unbounded --epsilon 1 --delta 1e-6";
    let table = place.run(&format!("{line} --decay 0.99")).ok().stdout;
    assert!(table.contains("runs for ever at a finite sensitivity") && table.contains("2^60"), "{table}");
    let table = place.run(&format!("{line} --window 100")).ok().stdout;
    assert!(table.contains("sums over the last 100 steps") && table.contains("runs for ever"), "{table}");
    let json = place.run(&format!("{line} --decay 0.99 --json --group-count 3")).ok().stdout;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let last = &json["milestones"][40];
    assert!((last["ratio"].as_f64().unwrap() - 1.0).abs() < 1e-4, "{last}");
    // A named mechanism is held to the cap as well, or refused in words.
    let json = place.run(&format!("{line} --mechanism binary --json")).ok().stdout;
    assert!(json.contains("\"mechanism\":\"binary\""), "{json}");
    place.run(&format!("{line} --mechanism optimal")).refused(&["optimal", "too costly"]);
}
