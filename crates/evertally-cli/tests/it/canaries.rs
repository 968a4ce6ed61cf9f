//! No true count and no key reaches a file, standard output or a message, whatever is run and
//! however it fails.
//!
//! A distinctive count and a distinctive key are planted, every command is run on them, well and
//! badly, and all bytes that come out are searched for them in many forms. That the search finds
//! what is there is shown on messages that repeat a cell.

#[path = "../../../evertally/tests/common/canary.rs"]
mod canary;

use crate::common::{Place, Ran, only_for_its_owner};
use canary::{COUNT, Canary, KEY};

/// Noise of thousands: a release that happens to be the true count would be no leak, and hardly ever happens.
const BUDGET: &str = "--epsilon 0.001 --delta 1e-6";

/// Files that are planted, and hold the canaries. A state holds true totals, and no key.
const PLANTED: [&str; 10] = [
    "in.csv",
    "in.jsonl",
    "timed.csv",
    "noise.key",
    "queries.csv",
    "cells.csv",
    "table.csv",
    "bad.key",
    "rows.csv",
    "s.state",
];

/// A place with secrets in it.
struct Planted {
    place: Place,
    secrets: [Canary; 2],
}

impl Planted {
    fn new() -> Self {
        let place = Place::new();
        place.write("in.csv", format!("n\n{COUNT}\n0\n0\n"));
        place.write("in.jsonl", format!("{{\"n\":{COUNT}}}\n{{\"n\":0}}\n{{\"n\":0}}\n"));
        let timed =
            "time,region,amount\n2026-01-05T00:10:00Z,north,918273645\n2026-01-05T02:10:00Z,south,0\n";
        place.write("timed.csv", timed);
        place.write("queries.csv", "1,1,1\n1,0,0\n");
        place.write("cells.csv", format!("{COUNT},0,0\n"));
        place.write("table.csv", format!("a,b,c\n{}", "1,0,1\n".repeat(3000)));
        place.write("rows.csv", format!("a,b,y\n{COUNT},1,1\n{}", "1,-1,-1\n".repeat(30)));
        let digits: String = KEY.iter().map(|byte| format!("{byte:02x}")).collect();
        place.write("noise.key", &digits);
        // One digit too many.
        place.write("bad.key", digits + "f");
        for key in ["noise.key", "bad.key"] {
            only_for_its_owner(&place.path(key));
        }
        Self { place, secrets: [Canary::number(COUNT), Canary::key(KEY)] }
    }

    /// Runs a command, and searches all that it wrote.
    #[track_caller]
    fn run(&self, line: &str) -> Ran {
        let ran = self.place.run(line);
        self.search(line, &ran);
        ran
    }

    #[track_caller]
    fn search(&self, line: &str, ran: &Ran) {
        for secret in &self.secrets {
            secret.must_not_be_in(&ran.bytes, &format!("what `{line}` wrote"));
            secret.must_not_be_in(ran.stderr.as_bytes(), &format!("what `{line}` said"));
            for file in self.place.all_files().iter().filter(|file| !PLANTED.contains(&file.as_str())) {
                secret.must_not_be_in(&self.place.read(file), &format!("{file}, which `{line}` wrote"));
            }
        }
        assert!(!ran.stderr.contains("panicked"), "{line}: {}", ran.stderr);
    }

    #[track_caller]
    fn succeeds(&self, line: &str) {
        let ran = self.run(line);
        assert_eq!(ran.code, Some(0), "{line}: {}", ran.stderr);
    }

    #[track_caller]
    fn fails(&self, line: &str) {
        let ran = self.run(line);
        assert!(matches!(ran.code, Some(1..=3)) && !ran.stderr.is_empty(), "{line}: {:?}", ran.code);
    }
}

/// The ends of edges are secret, in whatever a run writes and however it fails.
#[test]
fn graphs_show_no_edge_and_no_key() {
    let planted = Planted::new();
    let [one, other] = ["canaryone", "canaryother"];
    let edges = format!("time,one,other\n2026-01-05T00:10:00Z,{one},{other}\n2026-01-05T01:10:00Z,{one},c\n");
    planted.place.write("edges.csv", &edges);
    planted.place.write("loop.csv", edges + "2026-01-05T01:10:00Z,d,d\n");
    let graph = |file: &str| {
        format!(
            "graph {file} --time time --nodes one,other --every 1h --from 2026-01-05 --horizon 4 \
             --count edges,degrees,stars:2,triangles --max-degree 3 {BUDGET} --noise-key noise.key"
        )
    };
    let search = |ran: Ran| {
        for name in [one, other] {
            assert!(!ran.stdout.contains(name) && !ran.stderr.contains(name), "{}", ran.stderr);
            for file in ["graph.csv", "graph.jsonl", "graph.svg"] {
                let bytes = std::fs::read(planted.place.path(file)).unwrap_or_default();
                assert!(!String::from_utf8_lossy(&bytes).contains(name), "{file}");
            }
        }
        ran.code
    };
    for (number, more) in
        ["--output graph.csv --plot graph.svg", "--output graph.jsonl", "--verbose"].iter().enumerate()
    {
        assert_eq!(search(planted.run(&format!("{} {more}", graph("edges.csv")))), Some(0), "{number}");
    }
    let of_nodes =
        |file: &str| graph(file).replace(",stars:2,triangles", " --protect node").replace("0.001", "1");
    for more in ["--output graph.csv --plot graph.svg --force", "--output graph.jsonl --force", "--verbose"] {
        assert_eq!(search(planted.run(&format!("{} {more}", of_nodes("edges.csv")))), Some(0), "{more}");
    }
    for bad in [
        of_nodes("loop.csv"),
        graph("loop.csv"),
        format!("{} --memory-limit 1000", graph("edges.csv")),
        graph("edges.csv").replace("--horizon 4", "--horizon 1"),
        graph("edges.csv").replace("noise.key", "bad.key"),
        graph("edges.csv").replace("one,other", "one,nobody"),
    ] {
        assert!(matches!(search(planted.run(&bad)), Some(1..=3)), "{bad}");
    }
}

#[test]
fn releases_and_pictures_show_no_count_and_no_key() {
    let planted = Planted::new();
    for (number, extra) in [
        "",
        "--window 2",
        "--decay 0.9",
        "--arithmetic float",
        "--round --non-negative",
        "--grid 0.25",
        "--report steps,2,total",
    ]
    .iter()
    .enumerate()
    {
        for format in ["csv", "jsonl", "parquet"] {
            let out = format!("out{number}.{format}");
            planted.succeeds(&format!(
                "count in.csv --value n {BUDGET} --noise-key noise.key {extra} --output {out}"
            ));
        }
        let pictures = format!("--plot out{number}.svg");
        planted
            .succeeds(&format!("count in.jsonl --value n {BUDGET} --noise-key noise.key {extra} {pictures}"));
    }
    planted.succeeds(&format!("count in.csv --value n {BUDGET} --noise-key noise.key --plot out.png"));
    planted.succeeds(&format!("count in.csv --value n {BUDGET} --noise-key noise.key --covariance c.npy"));
    let timed =
        format!("--time time --every 1h --from 2026-01-05 --horizon 4 {BUDGET} --noise-key noise.key");
    planted.succeeds(&format!(
        "count timed.csv {timed} --value amount --clamp 0,1000000000 --group-by region --groups north,south"
    ));
    planted.succeeds(&format!(
        "count timed.csv {timed} --value amount --clamp 0,1000000000 --output follow.csv"
    ));
    // Means, and rates per public denominators.
    for extra in
        ["--plot means.svg --output means.csv", "--window 2 --format jsonl", "--output means.parquet"]
    {
        planted.succeeds(&format!("count timed.csv {timed} --mean amount --clamp 0,1000000000 {extra}"));
    }
    planted.fails(&format!("count timed.csv {timed} --mean amount --clamp 0,1000000000 --round"));
    planted.place.write("per.csv", "region,size\nnorth,100000\nsouth,100000\n");
    let rates = "--group-by region --groups per.csv --per size --output rates.csv";
    planted.succeeds(&format!("count timed.csv {timed} --value amount --clamp 0,1000000000 {rates}"));
    // Bins, and what is read from them.
    for extra in
        ["--quantiles 0.5 --plot quantiles.svg --output quantiles.csv", "--cumulative --output sums.parquet"]
    {
        planted.succeeds(&format!("count timed.csv {timed} --histogram amount --bins 0,900000000 {extra}"));
    }
    planted.fails(&format!("count timed.csv {timed} --histogram region --bins 0,5 --quantiles 0.5"));
    planted.succeeds("research ranges --bin-counts 4");
    // Rows that are chosen, and rows that cannot be read.
    planted.succeeds(&format!("count timed.csv {timed} --where amount>1"));
    planted.succeeds(&format!("count timed.csv {timed} --value region --clamp 0,9 --skip-bad-rows"));
    planted.fails(&format!("count timed.csv timed.csv {timed}"));
    // The closing summary and advice, in colour or not.
    for color in ["always", "never"] {
        let ran = planted.run(&format!("count timed.csv {timed} --verbose --color {color}"));
        assert!(ran.code == Some(0) && ran.stderr.contains("typical error"), "{}", ran.stderr);
    }
}

#[test]
fn runs_of_a_state_show_no_count_and_no_key() {
    let planted = Planted::new();
    let timed = format!(
        "--time time --every 1h --from 2026-01-05 --horizon 4 {BUDGET} --noise-key noise.key --value amount \
         --clamp 0,1000000000 --person region --max-steps 2 --id region --state s.state --output grown.csv"
    );
    let until = |hour: u32| format!("--until 2026-01-05T{hour:02}:00:00Z");
    planted.succeeds(&format!("count timed.csv {timed} {} --verbose", until(1)));
    planted.secrets[1].must_not_be_in(&planted.place.read("s.state"), "a state");
    planted.succeeds(&format!("count timed.csv {timed} {}", until(1)));
    planted.fails(&format!("count timed.csv {timed} {} --round", until(2)));
    planted.place.write("changed.csv", "time,region,amount\n");
    planted.succeeds(&format!("count timed.csv {timed} {}", until(3)));
    let state = planted.place.read("s.state");
    planted.place.write("s.state", &state[..state.len() - 1]);
    planted.fails(&format!("count timed.csv {timed} {}", until(4)));
    std::fs::remove_file(planted.place.path("s.state")).unwrap();
    std::fs::remove_file(planted.place.path("grown.csv")).unwrap();
    planted.fails(&format!("count changed.csv {timed} {}", until(1)));
}

#[test]
fn releases_that_are_followed_show_no_count_and_no_key() {
    let planted = Planted::new();
    let line = format!("count - --value n {BUDGET} --noise-key noise.key --follow --horizon 3");
    for (input, code) in [
        (format!("n\n{COUNT}\n0\n0\n"), 0),
        // A row that cannot be read is left out, with a warning.
        (format!("n\n{COUNT}\nx\n0\n"), 0),
        (format!("n\n{}", "1\n".repeat(4)), 2),
    ] {
        let ran = planted.place.run_with_input(&line, input);
        assert_eq!(ran.code, Some(code), "{}", ran.stderr);
        planted.search(&line, &ran);
    }
}

/// Raw noise goes into the requested file and nowhere else.
#[test]
fn a_summary_of_noise_holds_none() {
    let planted = Planted::new();
    for (number, extra) in ["", "--json", "--json --dim 3"].iter().enumerate() {
        let line = format!(
            "research noise --horizon 64 --sigma 1 --noise-key noise.key --output {number}.npy {extra}"
        );
        let ran = planted.run(&line);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let file = planted.place.read(&format!("{number}.npy"));
        let numbers = file[128..].as_chunks::<8>().0.iter().map(|bytes| f64::from_le_bytes(*bytes));
        let noise: Vec<f64> = numbers.filter(|value| value.is_normal()).collect();
        assert!(noise.len() >= 64);
        for value in noise {
            Canary::real(value).must_not_be_in(&ran.bytes, "a summary");
            Canary::real(value).must_not_be_in(ran.stderr.as_bytes(), "a summary");
        }
    }
}

/// A model holds no cell of a row, whatever is told beside it; nor does a message that says what is
/// wrong with another row.
#[test]
fn models_show_no_row_and_no_key() {
    let planted = Planted::new();
    let run = format!(
        "learn rows.csv --label y --batch-size 8 {BUDGET} --noise-key noise.key --model model.json --force"
    );
    for (number, extra) in [
        "",
        "--json",
        "--regret-not-private",
        "--regret-not-private --json",
        "--feature-norm 1 --intercept --epochs 3",
    ]
    .iter()
    .enumerate()
    {
        planted.succeeds(&format!("{run} --loss logistic {extra}"));
        planted.succeeds(&format!("{run} --loss logistic {extra} --holdout 4 --plot {number}.svg"));
    }
    planted.succeeds(&format!("{run} --loss squared --clip 0.1"));
    planted.fails(&format!("{run} --loss squared:2 --label b --features y,c"));
    planted.fails(&format!("{run} --loss softmax:2"));
    planted.fails(&format!("{run} --loss logistic --batch-size 99"));
    planted.fails(&run.replace("--noise-key noise.key", "--noise-key bad.key --loss logistic"));
    planted.fails(&run.replace("rows.csv", "noise.key --input-format csv --loss logistic"));
    planted.place.write("rows.csv", format!("a,b,y\n{COUNT},1,1\n1,x,-1\n"));
    planted.fails(&format!("{run} --loss logistic"));
}

#[test]
fn failures_say_no_count_and_no_key() {
    let planted = Planted::new();
    let rows = format!("--value n {BUDGET} --noise-key noise.key");
    planted.fails(&format!("count in.csv {rows} --horizon 2"));
    planted.fails(&format!("count in.csv {rows} --output absent/out.csv"));
    planted.fails(&format!("count in.csv {rows} --output in.csv"));
    planted.fails(&format!("count in.csv {rows} --output noise.key"));
    planted.fails(&format!("count in.csv {rows} --plot out.pdf"));
    planted.fails(&format!("count in.csv {rows} --grid 0"));
    planted.fails(&format!("count in.csv --value n {BUDGET} --noise-key bad.key"));
    planted.fails(&format!("count in.csv --value n {BUDGET} --noise-key in.csv"));
    for file in ["noise.key", "bad.key", "in.csv"] {
        planted.fails(&format!("count in.csv {rows} --config {file}"));
    }
    planted.fails(&format!("count noise.key --input-format csv {rows}"));
    planted.fails(&format!("count cells.csv {rows}"));
    planted.fails(&format!("count noise.key --input-format jsonl {rows}"));
    planted.fails(&format!("count noise.key --input-format parquet {rows}"));
    // Rows that cannot be used after one that can.
    for (number, bad) in ["x", "nan", "1e999", "9007199254740993", "1,2", "\"", "\u{fffd}"].iter().enumerate()
    {
        planted.place.write("in.csv", format!("n\n{COUNT}\n{bad}\n"));
        planted.fails(&format!("count in.csv {rows} --output out{number}.csv"));
        planted.fails(&format!("count in.csv {rows} --horizon 9 --follow --window 1 --mechanism absent"));
    }
    planted.place.write("in.csv", format!("n\n{COUNT}\n{}", "9007199254740990\n".repeat(3)));
    planted.succeeds(&format!("count in.csv {rows}"));
    let timed =
        format!("--time time --every 1h --from 2026-01-05 {BUDGET} --noise-key noise.key --value amount");
    // No double holds the total of the step, and it is counted.
    let event = "2026-01-05T00:10:00Z,north,9007199254740990\n";
    planted.place.write(
        "timed.csv",
        format!("time,region,amount\n2026-01-05T00:10:00Z,north,{COUNT}\n{event}{event}"),
    );
    planted.succeeds(&format!("count timed.csv {timed} --horizon 4 --clamp 0,9007199254740991"));
    planted.fails(&format!(
        "count timed.csv {timed} --horizon 4 --clamp 0,10 --group-by region --groups north,north"
    ));
    planted.fails(&format!("count timed.csv {timed} --horizon 4 --clamp 0,10 --memory-limit 1"));
    planted.place.write(
        "timed.csv",
        format!("time,region,amount\n2026-01-05T00:10:00Z,north,{COUNT}\n2027-01-05,north,1\n"),
    );
    planted.fails(&format!("count timed.csv {timed} --horizon 4 --clamp 0,1000000000"));
}

#[test]
fn every_other_command_shows_no_count_and_no_key() {
    let planted = Planted::new();
    let key = format!("{BUDGET} --noise-key noise.key");
    for json in ["", "--json"] {
        planted.succeeds(&format!("research answer --queries queries.csv --data cells.csv {key} {json}"));
        planted.succeeds(&format!("research parity table.csv --degree 2 {key} {json}"));
        planted.succeeds(&format!("plan --horizon 64 {BUDGET} {json}"));
        planted.succeeds(&format!("research gamma --matrix queries.csv {json}"));
        planted.succeeds(&format!("research bounds --horizon 64 {BUDGET} {json}"));
        planted.succeeds(&format!(
            "research noise --horizon 64 --sigma 1 --noise-key noise.key --output noise{}.npy {json}",
            json.len()
        ));
    }
    planted.succeeds("research paper --json");
    planted.succeeds("research gamma --matrix queries.csv --output certificate.npz");
    planted.succeeds("research gamma --certificate certificate.npz");
    planted.succeeds("demo --days 2 --output demo.csv");
    planted.succeeds("completions bash");
    planted.succeeds("budget new ledger --epsilon 3 --delta 1e-6");
    planted.succeeds(&format!("count in.csv --value n {key} --budget-file ledger"));
    planted.succeeds("budget show ledger");
    planted
        .fails("count in.csv --value n --epsilon 9 --delta 1e-6 --noise-key noise.key --budget-file ledger");
    planted.fails(&format!("research answer --queries queries.csv --data table.csv {key}"));
    planted.fails(&format!("research answer --queries cells.csv --data queries.csv {key}"));
    planted.fails(&format!("research answer --queries queries.csv --data noise.key {key}"));
    planted.fails(&format!("research parity cells.csv --degree 1 {key}"));
    planted.fails(&format!("research parity table.csv --degree 9 {key}"));
    planted.fails("research noise --horizon 64 --sigma 1 --noise-key bad.key --output noise.npy");
    planted.fails("research gamma --certificate noise.key");
    planted.fails("budget show noise.key");
    planted.place.write("cells.csv", format!("{COUNT},0,x\n"));
    planted.fails(&format!("research answer --queries queries.csv --data cells.csv {key}"));
    planted.place.write("cells.csv", format!("{COUNT}000000000,0,0\n"));
    planted.fails(&format!("research answer --queries queries.csv --data cells.csv {key}"));
}

/// The search is not blind: a message that repeats a cell is heard, and so is a key in any of its forms.
#[test]
fn a_leak_would_be_found() {
    let planted = Planted::new();
    planted.place.write("in.csv", format!("n\nroom {COUNT}\n"));
    // Cells that cannot be read are shown to the operator, who is told so in the threat model.
    let line = format!("count in.csv --value n {BUDGET}");
    assert!(std::panic::catch_unwind(|| planted.fails(&line)).is_err());
    // A key among the events, as the name of something.
    planted.place.write("in.csv", "n\nxzqRXuQL2GapH75y\n");
    assert!(std::panic::catch_unwind(|| planted.fails(&line)).is_err());
    planted.place.write("in.csv", "n\nroom 918273646\n");
    planted.fails(&line);
}
