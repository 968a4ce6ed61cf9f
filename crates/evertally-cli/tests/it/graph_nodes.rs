//! `evertally graph --protect node`.

use crate::common::{Place, assert_near, column, header, rows};

const GRAPH: &str = "graph in.csv --time time --nodes one,other --every 1h --from 2026-01-05 --horizon 4 \
    --protect node --max-degree 4 --max-over 5 --epsilon 20 --delta 1e-3";

const BOTH: &str = "--count degrees,edges";

/// In the second hour `a` has edges to b, c, d and e, and in the third b and d have one.
const EDGES: [(&str, &str); 6] =
    [("00", "a,b"), ("00", "b,c"), ("00", "c,a"), ("01", "a,d"), ("01", "a,e"), ("02", "b,d")];

/// So many copies of it, each with nodes of its own, are far above the noise.
const COPIES: usize = 500;

fn edges(copies: usize) -> String {
    let mut text = "time,one,other\n".to_owned();
    for copy in 0..copies {
        for (hour, ends) in EDGES {
            let (one, other) = ends.split_once(',').unwrap();
            text += &format!("2026-01-05T{hour}:10:00Z,{one}{copy},{other}{copy}\n");
        }
    }
    text
}

/// Sixty nodes with thirty edges each, in this hour.
fn crowd(hour: &str) -> String {
    let pairs = (0..30).flat_map(|one| (0..30).map(move |other| (one, other)));
    pairs.map(|(one, other)| format!("2026-01-05T{hour}:20:00Z,x{one},y{other}\n")).collect()
}

fn place(input: String) -> Place {
    let place = Place::new();
    place.with_key().write("in.csv", input);
    place
}

/// After each hour: edges, and nodes with 1, 2, 3, and 4 or more edges.
const TRUTHS: [[f64; 5]; 4] = [
    [3.0, 0.0, 3.0, 0.0, 0.0],
    [5.0, 2.0, 2.0, 0.0, 1.0],
    [6.0, 1.0, 2.0, 1.0, 1.0],
    [6.0, 1.0, 2.0, 1.0, 1.0],
];

fn truths(hours: [usize; 4]) -> Vec<f64> {
    hours.iter().flat_map(|hour| TRUTHS[*hour]).map(|truth| truth * COPIES as f64).collect()
}

#[test]
fn numbers_are_near_the_truth_and_the_header_says_what_a_node_can_change() {
    let csv = place(edges(COPIES)).run(&format!("{GRAPH} {BOTH}")).ok().stdout;
    assert_near(&csv, &truths([0, 1, 2, 3]));
    assert_eq!(column(&csv, "key")[..5], ["edges", "degree 1", "degree 2", "degree 3", "degree 4 or more"]);
    assert_eq!(header(&csv, "unit"), "one node with all of its edges");
    assert_eq!(header(&csv, "stopped"), "never, all steps are counted");
    assert!(header(&csv, "split").starts_with("test ε = 10 and δ = "), "{}", header(&csv, "split"));
    assert!(header(&csv, "split").ends_with("counts ε = 10 and δ = 5e-4"), "{}", header(&csv, "split"));
    // The test needs seven nodes above the five, or a few more, at this ε. Each number changes as proved.
    let bound = header(&csv, "max_degree");
    let kept: u64 = bound.split(' ').nth(6).unwrap().parse().unwrap();
    assert!(bound.starts_with("4, declared; edges among the first ") && (11..15).contains(&kept), "{bound}");
    let (limit, pushed) = (kept - 4, kept - 5);
    assert!(
        header(&csv, "test").contains(&format!("before {limit} have {kept}")),
        "{}",
        header(&csv, "test")
    );
    let edges = kept * kept + pushed * pushed;
    let (up, down) = (1 + kept + 2 * pushed, kept + 2 * pushed);
    let degrees = 4 * (up * up + down * down);
    assert_eq!(
        header(&csv, "change"),
        format!(
            "edges by up to {kept} up and {pushed} down (squares of {edges}),\
             degrees by up to {up} up and {down} down in each of 4 counts (squares of {degrees})"
        )
    );
}

/// The edges of the step with the crowd and of all later ones are not counted, and everybody is told.
#[test]
fn a_crowd_stops_the_count_before_its_step() {
    let place = place(edges(COPIES) + &crowd("02"));
    let ran = place.run(&format!("{GRAPH} {BOTH} --output out.csv"));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let csv = String::from_utf8(place.read("out.csv")).unwrap();
    assert_near(&csv, &truths([0, 1, 1, 1]));
    let stopped = "step 2 (2026-01-05T02:00:00Z) and all later ones are not counted";
    assert!(header(&csv, "stopped").starts_with(stopped), "{}", header(&csv, "stopped"));
    assert!(ran.stderr.contains(stopped) && ran.stderr.contains("--max-over"), "{}", ran.stderr);
    // A larger bound lets it go on.
    let more = place.run(&format!("{GRAPH} --count edges").replace("--max-degree 4", "--max-degree 40"));
    assert_eq!(header(&more.ok().stdout, "stopped"), "never, all steps are counted");
}

/// What is not counted after the stop is input all the same: the stop depends on it.
#[test]
fn the_record_of_a_key_sees_edges_after_the_stop() {
    let place = place(edges(5) + &crowd("01"));
    let line = format!("{GRAPH} {BOTH} --noise-key noise.key");
    let first = place.run(&line).stdout;
    assert!(header(&first, "stopped").starts_with("step 1 "));
    assert_eq!(rows(&first), rows(&place.run(&line).stdout));
    place.write("in.csv", edges(5) + &crowd("01") + "2026-01-05T03:10:00Z,m,n\n");
    place.run(&line).refused(&["noise.key"]);
}

/// Nothing but the rows depends on the graph, if the count goes on.
#[test]
fn the_header_shows_no_count_and_no_height() {
    let told = |input: String| {
        let ran = place(input).run(&format!("{GRAPH} {BOTH} --output out.csv --verbose"));
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        ran.stderr
    };
    assert_eq!(told(edges(0)), told(edges(40)));
    let header_of = |input: String| {
        let csv = place(input).run(&format!("{GRAPH} {BOTH}")).ok().stdout;
        csv.lines().filter(|line| line.starts_with('#')).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(header_of(edges(0)), header_of(edges(40)));
}

/// All of it is charged: the pure part and the part of δ of the test, and the counts.
#[test]
fn a_budget_file_is_charged_for_the_counts_and_the_test() {
    let place = place(edges(5));
    let new = "budget new b.jsonl --epsilon 1 --delta 1e-6 --unit node --pure-part 0.5 --groups-part 5e-7";
    place.run(new).ok();
    let line = format!("{GRAPH} {BOTH} --noise-key noise.key --budget-file b.jsonl --output out.csv --force");
    let line = line.replace("--epsilon 20 --delta 1e-3", "--epsilon 1 --delta 1e-6");
    let first = place.run(&line);
    assert_eq!(first.code, Some(0), "{}", first.stderr);
    let record = String::from_utf8(place.read("b.jsonl")).unwrap();
    let spent = record.lines().find(|line| line.contains("mu_squared")).unwrap();
    assert!(spent.contains("\"pure_epsilon\":0.5") && spent.contains("\"key_delta\":"), "{spent}");
    // The same run again costs nothing, and another finds nothing left.
    assert_eq!(place.run(&line).code, Some(0));
    let other = place.run(&line.replace("--max-degree 4", "--max-degree 5"));
    assert_eq!(other.code, Some(3), "{}", other.stderr);
    for (parts, code, part) in [("--pure-part 0.5", 2, "--groups-part"), ("--groups-part 5e-7", 3, "")] {
        place.run(&format!("budget new c.jsonl --epsilon 1 --delta 1e-6 --unit node {parts}")).ok();
        let refused = place.run(&line.replace("b.jsonl", "c.jsonl"));
        assert!(refused.code == Some(code) && refused.stderr.contains(part), "{parts}: {}", refused.stderr);
        std::fs::remove_file(place.path("c.jsonl")).unwrap();
    }
}

#[test]
fn bad_options_are_refused_before_anything_is_read() {
    let place = Place::new();
    for (from, to, part) in [
        ("--count edges", "--count edges,triangles", "--protect node is for --count edges and degrees"),
        ("--count edges", "--count stars:2", "--protect node is for --count edges and degrees"),
        ("--max-degree 4", "", "--protect node needs --max-degree"),
        ("--max-degree 4", "--max-degree 0", "--max-degree: expected at least 1"),
        ("--max-degree 4", "--max-degree 4000000000", "counted exactly"),
        ("--max-over 5", "--max-over 4294967295", "fewer"),
        ("--protect node", "--protect person", "person"),
        ("--protect node --max-degree 4", "", "--max-over is for --protect node"),
        ("--epsilon 20", "--epsilon 1e-6", "--epsilon of at least 2e-6"),
        ("--delta 1e-3", "--delta 0", "--delta above 0"),
        ("--count edges", "--count edges --neighbours replace", "--neighbours add-remove"),
    ] {
        let line = format!("{GRAPH} --count edges").replace(from, to);
        place.run(&line).refused(&[part]);
    }
}
