//! `evertally graph`: statistics of a stream of edges.

use crate::common::{Place, assert_near, column, header, rows};

const GRAPH: &str = "graph in.csv --time time --nodes one,other --every 1h --from 2026-01-05 --horizon 4 \
    --epsilon 20 --delta 1e-3";

const ALL: &str = "--count triangles,edges,stars:2,degrees --max-degree 3";

/// A triangle in the first hour, a star at `a` in the second, and nothing in the last. Rows are not sorted,
/// one edge has three rows, and two of them in turned order.
const EDGES: &str = "\
2026-01-05T01:30:00Z,a,e
2026-01-05T00:10:00Z,a,b
2026-01-05T00:20:00Z,b,c
2026-01-05T00:30:00Z,c,a
2026-01-05T02:30:00Z,b,a
2026-01-05T00:40:00Z,b,a
2026-01-05T01:10:00Z,a,d
2026-01-05T02:10:00Z,d,b
";

/// So many copies of it, each with nodes of its own, are far above the noise.
const COPIES: usize = 500;

/// All copies, and more rows.
fn edges(more: &str) -> String {
    let mut text = "time,one,other\n".to_owned();
    for copy in 0..COPIES {
        for line in EDGES.lines() {
            let cells: Vec<_> = line.split(',').collect();
            text += &format!("{},{}{copy},{}{copy}\n", cells[0], cells[1], cells[2]);
        }
    }
    text + more
}

/// The line after the last of all copies.
const NEXT_LINE: usize = 8 * COPIES + 2;

fn truths() -> Vec<f64> {
    TRUTHS.as_flattened().iter().map(|truth| truth * COPIES as f64).collect()
}

fn place() -> Place {
    let place = Place::new();
    place.with_key().write("in.csv", edges(""));
    place
}

/// After each hour: edges, nodes with 1, 2, and 3 or more edges, pairs of edges at a node among its first
/// 3, and triangles among edges that are the first three of both ends. In the second hour `a` has edges to
/// b, c, d and e. In the third, b and d have their third and second edge, which close a triangle with `a`.
const TRUTHS: [[f64; 6]; 4] = [
    [3.0, 0.0, 3.0, 0.0, 3.0, 1.0],
    [5.0, 2.0, 2.0, 1.0, 5.0, 1.0],
    [6.0, 1.0, 2.0, 2.0, 8.0, 2.0],
    [6.0, 1.0, 2.0, 2.0, 8.0, 2.0],
];

#[test]
fn statistics_are_near_the_truth_at_every_step() {
    let csv = place().run(&format!("{GRAPH} {ALL}")).ok().stdout;
    let names = ["edges", "degree 1", "degree 2", "degree 3 or more", "stars:2", "triangles"];
    let expected: Vec<_> = (0..4).flat_map(|_| names).collect();
    assert_eq!(column(&csv, "key"), expected);
    assert_near(&csv, &truths());
    assert_eq!(column(&csv, "start")[6], "2026-01-05T01:00:00Z");
}

#[test]
fn the_header_says_what_an_edge_can_change() {
    let csv = place().run(&format!("{GRAPH} {ALL}")).ok().stdout;
    assert_eq!(header(&csv, "unit"), "one edge with all of its rows");
    assert_eq!(header(&csv, "max_degree"), "3, enforced: the first edges of a node count");
    assert_eq!(
        header(&csv, "change"),
        "edges by 1 in one step,degrees by up to 2 up and 2 down in each of 3 counts (squares of 24),\
         stars:2 by up to 4 up and 4 down (squares of 32),triangles by up to 2 up and 4 down (squares of 20)"
    );
    assert_eq!(header(&csv, "share"), "edges 1,degrees 1,stars:2 1,triangles 1");
    assert_eq!(header(&csv, "arithmetic"), "exact");
    assert_eq!(header(&csv, "horizon"), "4");
}

/// The noise is a function of the options, and not of how the input is written.
#[test]
fn the_order_and_the_format_of_rows_do_not_matter() {
    let place = place();
    let line = format!("{GRAPH} {ALL} --noise-key noise.key");
    let csv = place.run(&line).ok().stdout;
    let text = edges("");
    let mut lines: Vec<&str> = text.lines().skip(1).collect();
    lines.reverse();
    let turned = lines.iter().map(|line| {
        let cells: Vec<_> = line.split(',').collect();
        format!("{{\"time\":\"{}\",\"one\":\"{}\",\"other\":\"{}\"}}\n", cells[0], cells[2], cells[1])
    });
    place.write("in.jsonl", turned.collect::<String>());
    // The same input under the same key, so the record agrees.
    let again = place.run(&line.replace("in.csv", "in.jsonl")).ok().stdout;
    assert_eq!(rows(&csv), rows(&again));
    let reordered =
        place.run(&line.replace("triangles,edges,stars:2,degrees", "degrees,edges,stars:2,triangles"));
    assert_eq!(rows(&csv), rows(&reordered.ok().stdout));
}

#[test]
fn another_input_under_the_same_key_is_refused() {
    let place = place();
    let line = format!("{GRAPH} {ALL} --noise-key noise.key");
    place.run(&line).ok();
    place.write("in.csv", edges("2026-01-05T03:10:00Z,x,y\n"));
    place.run(&line).refused(&["noise.key"]);
}

/// Standard errors follow shares and bounds: four times the share is half the error.
#[test]
fn the_budget_is_shared() {
    let place = place();
    let errors = |options: &str| -> Vec<f64> {
        let line =
            format!("{GRAPH} {options}").replace("--epsilon 20 --delta 1e-3", "--epsilon 0.01 --delta 1e-6");
        let csv = place.run(&line).ok().stdout;
        column(&csv, "standard_error").iter().take(3).map(|error| error.parse().unwrap()).collect()
    };
    let ratio = |one: f64, other: f64, expected: f64| {
        assert!((one / other / expected - 1.0).abs() < 1e-3, "{one}, {other}");
    };
    let alone = errors("--count edges")[0];
    let two = errors("--count edges,triangles --max-degree 5");
    ratio(two[0], alone, 2.0_f64.sqrt());
    ratio(two[1], two[0], 80.0_f64.sqrt());
    let four = errors("--count edges,triangles --max-degree 5 --share triangles=4,edges=1");
    ratio(four[0], alone, 5.0_f64.sqrt());
    ratio(four[1], four[0], 80.0_f64.sqrt() / 2.0);
    // A degree is the difference of two counts.
    let degrees = errors("--count degrees --max-degree 2");
    ratio(degrees[0], alone, 32.0_f64.sqrt());
    ratio(degrees[1], alone, 16.0_f64.sqrt());
    // A replacement takes away one edge, and adds another.
    let replaced = errors("--count triangles --max-degree 5 --neighbours replace")[0];
    ratio(replaced, alone, 2.0 * 80.0_f64.sqrt());
}

/// Whole runs, with noise that is far from zero: about one in 10⁴ would fail by chance.
#[test]
fn noise_has_the_size_that_is_stated() {
    let place = place();
    let (mut sum, mut count) = (0.0, 0.0);
    for _ in 0..12 {
        let line = format!("{GRAPH} --count triangles,degrees --max-degree 120")
            .replace("--epsilon 20", "--epsilon 1");
        let csv = place.run(&line).ok().stdout;
        let [estimates, errors] = ["estimate", "standard_error"].map(|name| column(&csv, name));
        for (row, (estimate, error)) in estimates.iter().zip(&errors).enumerate().take(121) {
            // In the first step, each copy has three nodes of two edges, and a triangle.
            let truth = match row {
                1 => 3.0 * COPIES as f64,
                120 => COPIES as f64,
                _ => 0.0,
            };
            let (estimate, error): (f64, f64) = (estimate.parse().unwrap(), error.parse().unwrap());
            sum += ((estimate - truth) / error).powi(2);
            count += 1.0;
        }
    }
    // A square has the variance 2. The noise of neighbouring degrees has the correlation -1/2, and its
    // squares 1/4, on both sides, so the mean has the variance of two thirds as many.
    let (mean, most) = (sum / count, 3.9 * (3.0_f64 / count).sqrt());
    assert!((mean - 1.0).abs() < most, "{mean}");
    // Noise that is 15 % short would be found.
    assert!((0.85 * 0.85 * mean - 1.0).abs() > most, "{mean}");
}

#[test]
fn a_budget_file_is_charged_once() {
    let place = place();
    place.run("budget new b.jsonl --epsilon 1.5 --delta 1e-5 --unit edge").ok();
    let line = format!("{GRAPH} {ALL} --noise-key noise.key --budget-file b.jsonl --output out.csv --force");
    let line = line.replace("--epsilon 20 --delta 1e-3", "--epsilon 1 --delta 1e-6");
    assert_eq!(place.run(&line).code, Some(0));
    let first = place.read("out.csv");
    assert_eq!(place.run(&line).code, Some(0));
    assert_eq!(first, place.read("out.csv"));
    let other = line.replace("--max-degree 3", "--max-degree 4");
    assert_eq!(place.run(&other).code, Some(0));
    let third = place.run(&line.replace("--max-degree 3", "--max-degree 5"));
    assert_eq!(third.code, Some(3), "{}", third.stderr);
}

#[test]
fn outputs_have_all_formats_and_a_picture() {
    let place = place();
    let ran = place.run(&format!("{GRAPH} {ALL} --output out.jsonl --plot out.svg --verbose"));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("4 hours, ε = 20 and δ = 0.001 per edge, typical error: edges ±"),
        "{}",
        ran.stderr
    );
    let text = String::from_utf8(place.read("out.jsonl")).unwrap();
    assert_eq!(text.lines().count(), 1 + 24);
    assert!(text.lines().nth(1).unwrap().contains("\"key\":\"edges\""));
    assert!(String::from_utf8(place.read("out.svg")).unwrap().contains("triangles"));
}

#[test]
fn rows_that_are_no_edges_are_named_or_left_out() {
    let place = place();
    for (row, expected) in [
        ("2026-01-05T03:10:00Z,a,a", ", column \"other\": expected another node than the first"),
        ("2026-01-05T03:10:00Z,a, a ", ", column \"other\": expected another node than the first"),
        ("2026-01-05T03:10:00Z,,b", ", column \"one\": expected the name of a node"),
        ("2026-01-05T03:10:00Z,a,  ", ", column \"other\": expected the name of a node"),
        ("yesterday,a,b", ", column \"time\": expected"),
        ("2026-01-05T03:10:00Z,a", ""),
    ] {
        place.write("in.csv", edges(&format!("{row}\n")));
        place.run(&format!("{GRAPH} {ALL}")).refused(&[&format!("line {NEXT_LINE}"), expected]);
        let ran = place.run(&format!("{GRAPH} {ALL} --skip-bad-rows"));
        assert!(ran.code == Some(0) && ran.stderr.contains("1 row cannot be read"), "{}", ran.stderr);
        assert_near(&ran.stdout, &truths());
    }
    place.write("in.csv", edges("2026-01-05T04:00:00Z,x,y\n"));
    place
        .run(&format!("{GRAPH} {ALL}"))
        .refused(&[&format!("line {NEXT_LINE}, column \"time\""), "--outside drop"]);
    let ran = place.run(&format!("{GRAPH} {ALL} --outside drop"));
    assert!(ran.code == Some(0) && ran.stderr.contains("outside the declared range"), "{}", ran.stderr);
    assert_near(&ran.stdout, &truths());
}

#[test]
fn a_filter_decides_which_rows_count() {
    let csv = place().run_with_input(
        &format!("{GRAPH} --count edges").replace("in.csv", "- --where ok=1"),
        "time,one,other,ok\n2026-01-05T00:10:00Z,a,b,1\n2026-01-05T00:10:00Z,a,c,0\n2026-01-05T00:10:00Z,a,a,0\n",
    );
    assert_near(&csv.ok().stdout, &[1.0; 4]);
}

#[test]
fn an_empty_graph_is_released_too() {
    let place = place();
    place.write("in.csv", "time,one,other\n");
    let csv = place.run(&format!("{GRAPH} {ALL}")).ok().stdout;
    assert_near(&csv, &[0.0; 24]);
}

#[test]
fn bad_options_are_refused_before_anything_is_read() {
    let place = Place::new();
    for (options, parts) in [
        ("--count edges,nodes", &["--count: expected edges, degrees, stars:K", "nodes"][..]),
        ("--count stars", &["--count"]),
        ("--count stars:0 --max-degree 3", &["stars:0", "from 1 to 3"]),
        ("--count stars:4 --max-degree 3", &["stars:4", "from 1 to 3"]),
        ("--count edges,edges", &["edges twice"]),
        ("--count edges,", &["--count"]),
        ("--count degrees", &["--count degrees needs --max-degree"]),
        ("--count triangles --max-degree 0", &["--max-degree: expected at least 1, got 0"]),
        ("--count edges --max-degree 3", &["--max-degree has no effect"]),
        ("--count triangles --max-degree 4000000000", &["triangles", "the bound on degrees"]),
        ("--count stars:9 --max-degree 100000", &["stars:9", "counted exactly"]),
        ("--count degrees --max-degree 1000000000", &["need", "over the limit"]),
        ("--count edges --share triangles=1", &["--share", "triangles=1"]),
        ("--count edges --share edges=0", &["--share", "edges=0"]),
        ("--count edges --share edges", &["--share"]),
        ("--count edges --share edges=1,edges=2", &["edges twice"]),
        ("--count edges,triangles --max-degree 3 --share edges=1", &["none for triangles"]),
        ("--count edges --window 3", &["--window and --decay"]),
        ("--count edges --mechanism laplace-tree", &["laplace-tree"]),
        ("--count edges --mechanism nonsense", &["nonsense"]),
        ("--count edges --timezone Nowhere", &["--timezone"]),
    ] {
        place.run(&format!("{GRAPH} {options}")).refused(parts);
    }
    for (from, to, part) in [
        ("one,other", "one", "--nodes: expected two columns"),
        ("one,other", "one,one", "two different columns"),
        ("one,other", "one,other,third", "--nodes: expected two columns"),
        ("--horizon 4", "--horizon 0", "--horizon: expected at least 1"),
        ("--horizon 4", "", "--horizon N or --to TIME"),
        ("--every 1h", "--every 0h", "--every"),
        ("--from 2026-01-05", "--from never", "--from"),
        ("--delta 1e-3", "--delta 0", "--delta above 0"),
        ("--epsilon 20", "--epsilon 0", "epsilon"),
    ] {
        place.run(&format!("{GRAPH} --count edges").replace(from, to)).refused(&[part]);
    }
    // Nothing of it needed the file, which is not there.
    let ran = place.run(&format!("{GRAPH} --count edges"));
    assert!(ran.code != Some(0) && ran.stderr.contains("in.csv"), "{}", ran.stderr);
}

#[test]
fn edges_that_do_not_fit_in_memory_are_refused() {
    let place = place();
    let many: String = (0..20_000).map(|i| format!("2026-01-05T00:10:00Z,a,{i}\n")).collect();
    place.write("in.csv", format!("time,one,other\n{many}"));
    place
        .run(&format!("{GRAPH} --count edges --memory-limit 100K"))
        .refused(&["the edges need more", "--memory-limit"]);
}

#[test]
fn columns_without_names_are_refused() {
    let place = place();
    place.run(&format!("{GRAPH} --count edges").replace("one,other", "one,nobody")).refused(&["nobody"]);
}
