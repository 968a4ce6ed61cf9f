//! `noise`: the file holds the noise that was asked for, and nothing is lost or shown on the way.

use crate::common::Place;
use evertally::{Budget, Contribution, Mechanism, Plan};

/// A file as NumPy lays it out: the type, the shape and the numbers.
struct Npy {
    descr: String,
    shape: String,
    values: Vec<f64>,
}

fn parse(bytes: &[u8]) -> Npy {
    assert_eq!(&bytes[..8], b"\x93NUMPY\x01\x00");
    let length = usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    assert_eq!((10 + length) % 64, 0, "the numbers are not aligned");
    let header = std::str::from_utf8(&bytes[10..10 + length]).unwrap();
    let (descr, rest) = header.strip_prefix("{'descr': '").unwrap().split_once('\'').unwrap();
    let shape = rest.strip_prefix(", 'fortran_order': False, 'shape': ").unwrap();
    let shape = shape.split_once(", }").unwrap().0;
    let data = &bytes[10 + length..];
    let values = match descr {
        "<f4" => data.as_chunks().0.iter().map(|cell| f64::from(f32::from_le_bytes(*cell))).collect(),
        "<f8" => data.as_chunks().0.iter().map(|cell| f64::from_le_bytes(*cell)).collect(),
        other => panic!("{other}"),
    };
    Npy { descr: descr.to_owned(), shape: shape.to_owned(), values }
}

fn made(place: &Place, options: &str) -> Npy {
    let line = format!("research noise --noise-key noise.key {options} --output -");
    parse(&place.forget_uses().run(&line).ok().bytes)
}

#[test]
fn the_file_has_the_shape_that_was_asked_for() {
    let place = Place::new();
    place.with_key();
    for (options, descr, shape, count) in [
        ("--horizon 100 --sigma 1", "<f8", "(100,)", 100),
        ("--horizon 100 --sigma 1 --dtype f32", "<f4", "(100,)", 100),
        ("--horizon 20 --dim 3 --sigma 1", "<f4", "(20, 3)", 60),
        ("--horizon 20 --dim 3 --epsilon 1 --delta 1e-6 --dtype f64", "<f8", "(20, 3)", 60),
        ("--horizon 20 --dim 3 --sigma 1 --from-step 15", "<f4", "(5, 3)", 15),
        ("--horizon 2 --dim 70000 --sigma 1", "<f4", "(2, 70000)", 140_000),
        ("--horizon unbounded --dim 2 --sigma 1 --rows 7", "<f4", "(7, 2)", 14),
    ] {
        let file = made(&place, options);
        assert_eq!((file.descr.as_str(), file.shape.as_str()), (descr, shape), "{options}");
        assert_eq!(file.values.len(), count, "{options}");
        assert!(file.values.iter().all(|value| value.is_finite() && *value != 0.0), "{options}");
    }
}

#[test]
fn the_summary_says_what_was_written() {
    let place = Place::new();
    let line = "research noise --horizon 64 --dim 5 --sigma 1.25 --norm 3 --mechanism square-root --max-steps 2 --min-gap 8 --from-step 4";
    let json = place.run(&format!("{line} --output z.npy --json")).ok().stdout;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let number = |name: &str| json[name].as_f64().unwrap();
    assert_eq!(json["mechanism"], "square-root");
    assert_eq!((json["dtype"].as_str(), json["shape"].to_string().as_str()), (Some("f32"), "[60,5]"));
    assert_eq!(json["bytes"].as_u64(), Some(place.read("z.npy").len() as u64));
    assert_eq!((json["first_step"].as_u64(), json["steps"].as_u64()), (Some(4), Some(60)));
    assert!((number("noise_multiplier") / 1.25 - 1.0).abs() < 1e-12);
    assert!((number("scale") / (1.25 * 3.0 * number("sensitivity")) - 1.0).abs() < 1e-12);
    let rmse = 1.25 * 3.0 * number("mean_error").sqrt();
    assert!((number("rmse") / rmse - 1.0).abs() < 1e-12, "{json}");
    let text = place.run(&format!("{line} --output again.npy")).ok().stdout;
    for part in [
        "again.npy",
        "60 steps × 5 coordinates as f32",
        "steps 4 to 63 of 64",
        "keep it as you keep the data",
    ] {
        assert!(text.contains(part), "{part:?} is missing from {text}");
    }
    // If the noise itself goes to standard output, the summary does not.
    let ran = place.run(&format!("{line} --output - --json"));
    assert_eq!(ran.code, Some(0));
    assert_eq!(parse(&ran.bytes).values.len(), 300);
    let json: serde_json::Value = serde_json::from_str(&ran.stderr).unwrap();
    assert_eq!(json["file"], "standard output");
}

#[test]
fn the_key_decides_the_noise() {
    let place = Place::new();
    place.with_key();
    let line = "research noise --horizon 50 --dim 3 --sigma 1 --noise-key noise.key";
    place.run(&format!("{line} --output one.npy")).ok();
    place.run(&format!("{line} --output two.npy")).ok();
    assert_eq!(place.read("one.npy"), place.read("two.npy"));
    assert_eq!(place.run(&format!("{line} --output -")).ok().bytes, place.read("one.npy"));
    let fresh = || place.run("research noise --horizon 50 --dim 3 --sigma 1 --output -").ok().bytes;
    assert_ne!(fresh(), fresh());
    // Singles are not rounded doubles: what one file gives away the other does not.
    let single = made(&place, "--horizon 50 --dim 3 --sigma 1 --dtype f32");
    let double = made(&place, "--horizon 50 --dim 3 --sigma 1 --dtype f64");
    assert!(single.values.iter().zip(&double.values).all(|(a, b)| (a - b).abs() > 1e-6));
}

#[test]
fn any_piece_is_that_of_the_whole() {
    let place = Place::new();
    place.with_key();
    for options in [
        "--horizon 1000 --sigma 1",
        "--horizon 1000 --sigma 1 --dtype f32",
        "--horizon 1000 --dim 3 --sigma 1",
        "--horizon 1000 --dim 3 --sigma 1 --dtype f64 --mechanism square-root",
        "--horizon 1000 --dim 2 --sigma 1 --mechanism binary",
        "--horizon 1000 --sigma 1 --mechanism banded-square-root:16",
        "--horizon 1000 --dim 2 --sigma 1 --decay 0.9",
        "--horizon 1000 --dim 2 --sigma 1 --window 7",
        "--horizon 1000 --sigma 1 --objective worst",
    ] {
        let whole = made(&place, options).values;
        let width = whole.len() / 1000;
        for (from, steps) in [(0, 1), (0, 1000), (1, 9), (7, 9), (499, 2), (512, 488), (999, 1)] {
            let piece = made(&place, &format!("{options} --from-step {from} --rows {steps}"));
            assert_eq!(
                piece.values,
                whole[from * width..(from + steps) * width],
                "{options}: {from}+{steps}"
            );
        }
    }
    for workload in ["", "--decay 0.9", "--window 7"] {
        let unbounded = format!("--horizon unbounded --dim 2 --sigma 1 {workload}");
        let whole = made(&place, &format!("{unbounded} --rows 300")).values;
        let piece = made(&place, &format!("{unbounded} --from-step 100 --rows 50")).values;
        assert_eq!(piece, whole[200..300], "{workload}");
    }
}

/// Every covariance of two rows, as L and R from their definition say, in either precision.
///
/// With D coordinates the mean of z_s·z_t has a standard deviation of √((C_ss C_tt + C_st²)/D).
/// There are 78 pairs of rows in four files, and a normal deviate exceeds 5.5 with probability
/// 4·10⁻⁸: a right program fails with probability below 2·10⁻⁵ for a random key. Noise that is 15 %
/// short is 12 standard deviations away in every variance.
#[test]
fn rows_have_the_covariance_of_the_mechanism_in_both_precisions() {
    const STEPS: usize = 12;
    const COORDINATES: usize = 4000;
    const DEVIATIONS: f64 = 5.5;
    let place = Place::new();
    place.with_key();
    for mechanism in ["graded-square-root", "square-root"] {
        let expected = covariance(mechanism, STEPS);
        for dtype in ["f32", "f64"] {
            let options = format!("--horizon {STEPS} --dim {COORDINATES} --sigma 1.5 --norm 2");
            let file = made(&place, &format!("{options} --mechanism {mechanism} --dtype {dtype}"));
            let farthest = |factor: f64| farthest_covariance(&file.values, factor, &expected);
            let away = farthest(1.0);
            assert!(away < DEVIATIONS, "{mechanism} in {dtype}: {away} standard deviations");
            assert!(farthest(0.85) > DEVIATIONS && farthest(1.15) > DEVIATIONS, "the test has no power");
        }
    }
}

/// σ²Δ²C²·L Lᵀ from dense factors, with Δ the longest column of R.
fn covariance(mechanism: &str, steps: usize) -> Vec<Vec<f64>> {
    let plan = Plan::prefix_sum(steps as u64)
        .budget(Budget::zcdp(0.5).unwrap())
        .mechanism(mechanism.parse::<Mechanism>().unwrap())
        .dimension(1)
        .contribution(Contribution::norm(1.0).unwrap())
        .build()
        .unwrap();
    let factors = plan.dense().unwrap();
    let rows = |i: usize| factors.encoder.row(i);
    let column = |j: usize| (0..factors.encoder.rows()).map(|i| rows(i)[j].powi(2)).sum::<f64>();
    let sensitivity = (0..steps).map(column).fold(0.0, f64::max);
    let scale = (1.5_f64 * 2.0).powi(2) * sensitivity;
    let product = |s: usize, t: usize| {
        let (a, b) = (factors.decoder.row(s), factors.decoder.row(t));
        scale * a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>()
    };
    (0..steps).map(|s| (0..steps).map(|t| product(s, t)).collect()).collect()
}

/// How many standard deviations the farthest covariance of two rows is from what is expected, for
/// the values times a factor.
fn farthest_covariance(values: &[f64], factor: f64, expected: &[Vec<f64>]) -> f64 {
    let width = values.len() / expected.len();
    let rows: Vec<&[f64]> = values.chunks(width).collect();
    let mut farthest = 0.0_f64;
    for s in 0..rows.len() {
        for t in 0..=s {
            let mean =
                rows[s].iter().zip(rows[t]).map(|(a, b)| factor * factor * a * b).sum::<f64>() / width as f64;
            let variance = expected[s][s] * expected[t][t] + expected[s][t].powi(2);
            farthest = farthest.max((mean - expected[s][t]).abs() / (variance / width as f64).sqrt());
        }
    }
    farthest
}

#[cfg(unix)]
#[test]
fn nobody_else_may_read_it_and_nothing_is_overwritten() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    place.with_key().write("data.csv", "kept");
    let line = "research noise --horizon 8 --sigma 1 --noise-key noise.key";
    place.run(&format!("{line} --output z.npy")).ok();
    let mode = std::fs::metadata(place.path("z.npy")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let before = place.read("z.npy");
    for name in ["z.npy", "data.csv"] {
        place.run(&format!("{line} --output {name}")).refused(&[name, "exists already"]);
    }
    // A key is not overwritten even if asked.
    for name in ["noise.key", "./noise.key"] {
        place.run(&format!("{line} --output {name} --force")).refused(&[name, "cannot be an output"]);
    }
    assert_eq!(place.read("z.npy"), before);
    assert_eq!(place.read("data.csv"), b"kept");
    assert_eq!(place.files(), ["data.csv", "noise.key", "noise.key.uses", "z.npy"]);
    // A device takes what is written, and nothing else is said there.
    place.run(&format!("{line} --output /dev/null")).ok();
    let ran = place.run(&format!("{line} --output absent/z.npy"));
    assert_eq!((ran.code, ran.stderr.lines().count()), (Some(1), 1), "{}", ran.stderr);
}

#[test]
fn a_reader_that_goes_away_ends_it_quietly() {
    let place = Place::new();
    let mut child = place.command("research noise --horizon 1000000 --sigma 1 --output -").spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
}

#[test]
fn bad_input_is_refused_without_traces() {
    let place = Place::new();
    let cases: &[(&str, &[&str])] = &[
        ("--sigma 1", &["--horizon"]),
        ("--horizon 0 --sigma 1", &["horizon", "got 0"]),
        ("--horizon 1e3 --sigma 1", &["--horizon", "1e3", "unbounded"]),
        ("--horizon -1 --sigma 1", &["--horizon"]),
        ("--horizon 1152921504606846977 --sigma 1", &["horizon", "2^60"]),
        ("--horizon 10 --dim 0 --sigma 1", &["--dim", "got 0"]),
        ("--horizon 10 --dim -3 --sigma 1", &["--dim"]),
        ("--horizon 10", &["--epsilon", "--sigma"]),
        ("--horizon 10 --epsilon 1", &["--delta"]),
        ("--horizon 10 --epsilon 1 --delta 0", &["--delta", "Gaussian"]),
        ("--horizon 10 --epsilon 0 --delta 1e-6", &["epsilon"]),
        ("--horizon 10 --sigma 1 --epsilon 1 --delta 1e-6", &["--sigma", "--epsilon"]),
        ("--horizon 10 --sigma 1 --calibration zcdp", &["--sigma", "--calibration"]),
        ("--horizon 10 --sigma 0", &["--sigma", "got 0"]),
        ("--horizon 10 --sigma -1", &["--sigma"]),
        ("--horizon 10 --sigma NaN", &["--sigma"]),
        ("--horizon 10 --sigma 1 --norm 0", &["norm"]),
        ("--horizon 10 --sigma 1 --norm inf", &["norm"]),
        ("--horizon 10 --sigma 1 --norm 1e40 --dtype f32", &["single precision", "--dtype f64"]),
        ("--horizon 10 --sigma 1 --norm 1e-40 --dtype f32", &["single precision", "--dtype f64"]),
        ("--horizon 10 --sigma 1 --dtype f16", &["--dtype", "f32"]),
        ("--horizon 10 --sigma 1 --rows 0", &["--rows", "got 0"]),
        ("--horizon 10 --sigma 1 --rows 11", &["--rows", "at most the 10"]),
        ("--horizon 10 --sigma 1 --from-step 5 --rows 6", &["--rows", "at most the 5"]),
        ("--horizon 10 --sigma 1 --from-step 10", &["--from-step", "below the horizon of 10"]),
        ("--horizon 10 --sigma 1 --from-step 18446744073709551615 --rows 2", &["--from-step"]),
        ("--horizon unbounded --sigma 1", &["--rows"]),
        ("--horizon unbounded --sigma 1 --rows 1099511627777", &["--rows", "at most"]),
        ("--horizon 1152921504606846976 --sigma 1", &["do not fit into any file", "--rows"]),
        ("--horizon 10 --dim 18446744073709551615 --sigma 1", &["too costly"]),
        ("--horizon 10000 --dim 50000000 --sigma 1", &["markov", "GiB", "--memory-limit"]),
        ("--horizon 10 --sigma 1 --mechanism cubic-root", &["cubic-root", "square-root"]),
        ("--horizon 10 --sigma 1 --mechanism laplace-tree", &["laplace-tree"]),
        ("--horizon 10 --sigma 1 --max-steps 0", &["--max-steps"]),
        ("--horizon 10 --sigma 1 --min-gap 2", &["--max-steps"]),
        ("--horizon 10 --sigma 1 --decay 2", &["decay"]),
        ("--horizon 10 --sigma 1 --window 0", &["window"]),
        ("--horizon 10 --sigma 1 --objective median", &["--objective", "median"]),
        ("--horizon 10 --sigma 1 --noise-key absent.key", &["absent.key"]),
    ];
    for (options, parts) in cases {
        place.run(&format!("research noise {options} --output z.npy")).refused(parts);
    }
    place.run("research noise --horizon 10 --sigma 1").refused(&["--output"]);
    assert_eq!(place.files(), Vec::<String>::new());
}
