//! `evertally answer`: the right answers, with the stated errors, and nothing for input that cannot be used.

use crate::common::{Place, rows};

const BUDGET: &str = "--epsilon 1 --delta 1e-6";
/// A budget that hides nothing, so that an answer that is wrong by one is seen through the noise.
const OPEN: &str = "--epsilon 1000 --delta 0.4";

fn example() -> Place {
    let place = Place::new();
    place.write("queries.csv", "1,1,1,1\n1,1,0,0\n0,0,1,1\n0,0,0,0\n").write("x.csv", "120\n340\n80\n15\n");
    place
}

#[test]
fn answers_are_those_of_the_queries() {
    let place = example();
    let text = place.run(&format!("research answer --queries queries.csv --data x.csv {OPEN}")).ok().stdout;
    assert!(text.contains("\nquery,answer,standard_error,lower,upper\n"), "{text}");
    for (row, truth) in rows(&text).iter().zip([555.0, 460.0, 95.0, 0.0]) {
        let numbers: Vec<f64> = row.iter().map(|cell| cell.parse().unwrap()).collect();
        let [_, answer, error, lower, upper] = numbers[..] else { panic!("{row:?}") };
        assert!((answer - truth).abs() <= 6.0 * error + 1e-9, "{row:?}");
        assert!((answer - lower - 1.959_964 * error).abs() < 1e-6 * (1.0 + error), "{row:?}");
        assert!((upper - answer - 1.959_964 * error).abs() < 1e-6 * (1.0 + error), "{row:?}");
    }
    assert_eq!(rows(&text).len(), 4);
}

#[test]
fn the_header_says_what_a_reader_needs() {
    let place = example();
    let line = format!("research answer --queries queries.csv --data x.csv {BUDGET} --json --output a.json");
    place.run(&line).ok();
    let whole: serde_json::Value = serde_json::from_slice(&place.read("a.json")).unwrap();
    let header = &whole["header"];
    assert_eq!(header["neighbours"], "add-remove");
    assert_eq!((header["queries"].as_u64(), header["cells"].as_u64()), (Some(4), Some(4)));
    let error = header["mean_squared_error"].as_f64().unwrap();
    let least = header["least_mean_squared_error"].as_f64().unwrap();
    assert!(least <= error && error < 1.000_01 * least, "{header}");
    let answers = whole["answers"].as_array().unwrap();
    let squares = answers.iter().map(|answer| answer["standard_error"].as_f64().unwrap().powi(2));
    assert!((squares.sum::<f64>() / 4.0 / error - 1.0).abs() < 1e-9);
    // It contains none of the data.
    assert!(!header.to_string().contains("555") && !header.to_string().contains("340"));
}

#[test]
fn keys_decide_the_noise() {
    let place = example();
    place.with_key();
    let run = |extra: &str| {
        let line = format!("research answer --queries queries.csv --data x.csv {BUDGET} {extra}");
        rows(&place.forget_uses().run(&line).ok().stdout)
    };
    assert_eq!(run("--noise-key noise.key"), run("--noise-key noise.key"));
    assert_ne!(run(""), run(""));
    assert_ne!(run("--noise-key noise.key"), run("--noise-key noise.key --neighbours replace"));
}

#[test]
fn bad_input_is_refused_without_traces() {
    let place = example();
    let complex_header = format!("{:<117}\n", "{'descr': '<c16', 'fortran_order': False, 'shape': (1, 1), }");
    let mut complex = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    complex.extend(complex_header.as_bytes());
    complex.extend([0; 16]);
    place.write("complex.npy", &complex).write("cut.npy", &complex[..140]);
    place.write("short.csv", "1,2,3\n").write("nan.csv", "1,2,NaN,4\n").write("table.csv", "1,2\n3,4\n");
    place.write("zeros.csv", "0,0,0,0\n").write("huge.csv", "1,2,3,1e15\n").write("empty.csv", "");
    let before = place.files();
    let cases: &[(&str, &str, &str, &[&str])] = &[
        ("queries.csv", "short.csv", BUDGET, &["short.csv has 3 numbers", "4 columns of queries.csv"]),
        ("queries.csv", "nan.csv", BUDGET, &["nan.csv, line 1, column 3"]),
        ("nan.csv", "x.csv", BUDGET, &["nan.csv, line 1, column 3"]),
        ("queries.csv", "table.csv", BUDGET, &["one row or one column", "2 × 2"]),
        ("queries.csv", "complex.npy", BUDGET, &["complex"]),
        ("complex.npy", "x.csv", BUDGET, &["complex.npy holds complex numbers", "real queries"]),
        ("cut.npy", "x.csv", BUDGET, &["ends before"]),
        ("empty.csv", "x.csv", BUDGET, &["empty.csv is empty"]),
        ("queries.csv", "empty.csv", BUDGET, &["empty.csv is empty"]),
        ("zeros.csv", "x.csv", BUDGET, &["zero"]),
        ("queries.csv", "huge.csv", BUDGET, &["2^48"]),
        ("queries.csv", "x.csv", "--epsilon 1 --delta 0", &["pure"]),
        ("queries.csv", "x.csv", "--epsilon 0 --delta 1e-6", &["epsilon"]),
        ("queries.csv", "x.csv", "--epsilon 1", &["--delta"]),
    ];
    for (workload, data, budget, parts) in cases {
        let line = format!("research answer --queries {workload} --data {data} {budget} --output out.csv");
        place.run(&line).refused(parts);
    }
    let line = format!("research answer --queries queries.csv --data x.csv {BUDGET} --output x.csv");
    place.run(&line).refused(&["cannot be an output"]);
    assert_eq!(place.files(), before);
}
