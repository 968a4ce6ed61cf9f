//! `learn` on what cannot be used: one clear line, exit code 2, and nothing written.

use crate::common::Place;

const DATA: &str = "a,b,y\n1,2,1\n0.5,-1,-1\n-2,0,1\n0.25,1,-1\n";
const RUN: &str =
    "learn d.csv --label y --loss logistic --batch-size 2 --epsilon 2 --delta 1e-6 --model m.json";

#[test]
fn cells_are_named_by_line_and_column() {
    for (data, parts) in [
        (
            DATA.replace("0.5,", "many,"),
            &["d.csv, line 3, column \"a\"", "expected an integer", "got \"many\""][..],
        ),
        (DATA.replace("0.5,", ","), &["d.csv, line 3, column \"a\"", "got nothing"]),
        (DATA.replace("0.5,", "nan,"), &["line 3, column \"a\"", "got \"nan\""]),
        (DATA.replace("0.5,", "1e999,"), &["line 3, column \"a\""]),
        (
            DATA.replace(",-1,-1", ",-1,0"),
            &["line 3, column \"y\"", "expected -1 or +1 (--classes", "got \"0\""],
        ),
        (DATA.replace(",-1,-1", ",-1,"), &["line 3, column \"y\"", "got nothing"]),
        (DATA.replace(",-1,-1", ",-1"), &["line 3", "expected 3 columns"]),
        ("a,b,y\n".to_owned(), &["d.csv has no rows"]),
        (String::new(), &["d.csv is empty"]),
        ("y\n1\n".to_owned(), &["no column to learn from"]),
        (DATA.replace("a,b", "a,a"), &["more than one column \"a\""]),
        (DATA.replace("y\n", "z\n"), &["no column \"y\""]),
        ("a,b,y\n1,2,1\n".to_owned(), &["--batch-size", "at most the 1 rows", "got 2"]),
    ] {
        let place = Place::new();
        place.write("d.csv", data);
        place.run(RUN).refused(parts);
        assert_eq!(place.files(), ["d.csv"]);
    }
}

#[test]
fn options_that_make_no_sense_are_refused_without_traces() {
    let place = Place::new();
    place.write("d.csv", DATA).write("d.jsonl", "{\"a\":1,\"y\":1}\n").write("t.csv", "a,y\n1,1\n");
    place
        .write("s.csv", "feature,mean,scale\na,0,1\n")
        .write("zero.csv", "feature,mean,scale\na,0,0\nb,0,1\n");
    place.write("twice.csv", "feature,mean,scale\na,0,1\nb,0,1\na,0,1\n");
    let files = place.files();
    for (extra, parts) in [
        ("--epochs 0", &["--epochs: expected at least 1"][..]),
        ("--clip 0", &["clip"]),
        ("--clip nan", &["clip"]),
        ("--momentum 1", &["momentum"]),
        ("--radius -1", &["--radius"]),
        ("--box 1", &["--box", "LO,HI"]),
        ("--box 2,1", &["--box"]),
        ("--box 1,2", &["--box: expected a range that holds 0"]),
        ("--radius 1 --box -1,1", &["--box"]),
        ("--lambda 0", &["--lambda: expected a positive number, got 0"]),
        ("--lambda 1 --learning-rate 0.1", &["--learning-rate"]),
        ("--expected-norm 0", &["--expected-norm: expected a positive number"]),
        ("--learning-rate fast", &["--learning-rate", "cosine:0.5"]),
        ("--restart-every soon", &["--restart-every", "epoch"]),
        ("--restart-every 0", &["--restart-every"]),
        ("--mechanism magic", &["magic"]),
        ("--feature-norm 0", &["--feature-norm"]),
        ("--features a,a", &["--features: \"a\" is named twice"]),
        ("--features a,y", &["--features: \"y\" is the label"]),
        ("--features a,,b", &["--features", "nothing"]),
        ("--features a,c", &["no column \"c\""]),
        ("--classes a,b", &["line 2, column \"y\"", "one of the classes \"a\", \"b\""]),
        ("--classes a", &["--classes: expected 2 names"]),
        ("--holdout 1", &["--holdout"]),
        ("--holdout 9", &["--holdout 9: d.csv has fewer rows"]),
        ("--holdout 2 --test t.csv", &["--test"]),
        ("--test t.csv", &["t.csv has no column \"b\""]),
        ("--test absent.csv", &["absent.csv cannot be read"]),
        ("--scale s.csv", &["s.csv has no mean and scale for \"b\""]),
        ("--scale zero.csv", &["zero.csv, line 2, column \"scale\"", "positive"]),
        ("--scale twice.csv", &["twice.csv, line 4", "\"a\" is there twice"]),
        ("--scale d.csv", &["d.csv has no column \"feature\""]),
        ("--state d.csv", &["d.csv is there already"]),
        ("--plot p.pdf", &["--plot", ".svg or .png"]),
        ("--save-every 3", &["--state"]),
        ("--save-every 0 --state s", &["--save-every"]),
        ("--json --quiet", &["--quiet"]),
        ("--memory-limit 0", &["--memory-limit"]),
        ("--rho 1", &["--rho"]),
        ("--population p", &["--budget-file"]),
    ] {
        place.run(&format!("{RUN} {extra}")).refused(parts);
        assert_eq!(place.files(), files, "{extra}");
    }
    for (was, is, parts) in [
        ("--batch-size 2", "--batch-size 0", &["--batch-size: expected at least 1"][..]),
        ("--batch-size 2", "--batch-size 5", &["at most the 4 rows"]),
        ("logistic", "magic", &["--loss", "softmax:K"]),
        ("logistic", "softmax:1", &["--loss"]),
        ("logistic", "softmax:3", &["line 3, column \"y\"", "from 0 to 2"]),
        ("logistic", "squared:0.5", &["line 2, column \"y\""]),
        ("d.csv", "d.jsonl", &["name the columns with --features"]),
        ("d.csv", "d.txt", &["format"]),
        ("d.csv", "absent.csv", &["absent.csv cannot be read"]),
        ("--model m.json", "--model d.csv", &["d.csv cannot be an output"]),
        ("--model m.json", "", &["--model"]),
        ("--delta 1e-6", "--delta 0", &["--delta: expected more than 0"]),
        ("--delta 1e-6", "", &["--epsilon with --delta"]),
        ("--epsilon 2", "", &["--epsilon with --delta"]),
        ("--epsilon 2", "--epsilon -1", &["epsilon"]),
        ("--epsilon 2 --delta 1e-6", "--rho 0", &["rho"]),
        ("--epsilon 2 --delta 1e-6", "--rho 1 --delta 2", &["delta"]),
    ] {
        place.run(&RUN.replace(was, is)).refused(parts);
        assert_eq!(place.files(), files, "{is}");
    }
    let unwritable = place.run(&RUN.replace("m.json", "absent/m.json"));
    assert_eq!((unwritable.code, unwritable.stderr.lines().count()), (Some(1), 1), "{}", unwritable.stderr);
}

/// Gradients beyond all numbers end a run with a line that shows none of them.
#[test]
fn gradients_that_are_no_numbers_are_told_without_their_value() {
    let place = Place::new();
    place.write("d.csv", "a,y\n1e300,1\n1e300,1e300\n");
    let ran = place.run(&RUN.replace("logistic", "squared"));
    assert_eq!((ran.code, ran.stderr.lines().count()), (Some(2), 1), "{}", ran.stderr);
    assert!(ran.stderr.contains("gradient") && !ran.stderr.contains("e300"), "{}", ran.stderr);
    assert_eq!(place.files(), ["d.csv"]);
}
