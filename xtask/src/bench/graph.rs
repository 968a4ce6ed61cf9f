//! `cargo xtask bench graph`: the error on public graphs, and ten million edges beside DuckDB.

use std::fs;

use serde_json::Value;

use super::{Machine, number, write_results};
use crate::Outcome;
use crate::process::{cargo, command, output_with_progress, root, run as run_command};
use crate::venv;

const PACKAGES: [&str; 2] = ["duckdb==2.0.0", "networkx==3.6.1"];

/// A quick run shows that the benchmark works. Its figures are not for publication and are not written.
pub(crate) fn run(is_quick: bool) -> Outcome {
    let python = venv::python("bench-graph", &PACKAGES)?;
    run_command(cargo().args(["build", "--release"]))?;
    let (edges, rounds) = if is_quick { ("300000", "1") } else { ("10000000", "2") };
    let directory = root().join("target/bench-graph");
    fs::create_dir_all(&directory).map_err(|error| format!("cannot make target/bench-graph: {error}"))?;
    let mut measure = command(&python);
    measure.arg("bench/graph.py").arg(root().join("target/release/evertally")).arg(&directory);
    let measured = output_with_progress(measure.args([edges, rounds]));
    // The files take hundreds of megabytes.
    let _ = fs::remove_dir_all(&directory);
    let figures: Value =
        serde_json::from_str(&measured?).map_err(|error| format!("bench/graph.py: {error}"))?;
    let machine = Machine::with_packages(PACKAGES)?;
    let text = report(&figures, &machine);
    if is_quick {
        println!("{text}");
        return Ok(());
    }
    let mut document = machine.document("graph");
    document["graph"] = figures;
    write_results("graph", &document, &text)
}

fn report(figures: &Value, machine: &Machine) -> String {
    let large = &figures["large"];
    let of = |name: &str| number(&large[name]);
    format!(
        "# Graphs\n\n\
         Written by `cargo xtask bench graph`.\n\n\
         ## Ten million edges\n\n\
         {rows} rows, {edges} distinct edges, over {steps} days, as Parquet of {size:.0} MB; `evertally graph` at ε = 1 and δ = 10⁻⁶ with \
         `--max-degree {bound}`. DuckDB counts the distinct edges of every day and the degrees after the last one, without noise and \
         without triangles: the best of {rounds} rounds. The CPU time of evertally is that of the whole process. That of DuckDB is \
         measured around the query.\n\n\
         | | CPU | elapsed | peak memory |\n|:--|--:|--:|--:|\n{alike}{duckdb}{all}\n\
         The numbers after the last day, from one run. Every edge count of every day, and every degree, was within six standard errors \
         of that of DuckDB.\n\n\
         | | true | released | standard error |\n|:--|--:|--:|--:|\n{last}\n\
         ## Public graphs\n\n\
         From networkx, with an eighth of the edges in each of 8 steps, and `--max-degree {public_bound}`; four statistics share ε. The \
         numbers after the last step, from one run: the truth, what the bound on degrees leaves of it, and the release. At ε = 1 the \
         noise on such small graphs is larger than most of what is counted; it does not grow with the graph.\n\n\
         | graph | ε | | true | within the bound | released | standard error |\n|:--|--:|:--|--:|--:|--:|--:|\n{public}\n{line}",
        rows = of("rows"),
        edges = of("edges"),
        steps = of("steps"),
        size = of("bytes") / 1e6,
        bound = of("bound"),
        rounds = of("rounds"),
        alike = side(large, "alike", "**evertally**, edges and degrees"),
        duckdb = side(large, "duckdb", "DuckDB, edges and degrees"),
        all = side(large, "all", "**evertally**, edges, degrees, pairs and triangles"),
        last = each(&large["last"]).map(last).collect::<String>(),
        public_bound = number(&figures["public_bound"]),
        public = each(&figures["public"]).map(public).collect::<String>(),
        line = machine.line(""),
    )
}

fn each(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

fn side(large: &Value, side: &str, name: &str) -> String {
    let [cpu, wall, peak] =
        ["cpu_s", "wall_s", "peak_bytes"].map(|name| number(&large["results"][side][name]));
    format!("| {name} | {cpu:.2} s | {wall:.2} s | {:.0} MiB |\n", peak / 1048576.0)
}

/// A number that may be missing, because the peer does not count it.
fn known(value: &Value) -> String {
    value.as_f64().map_or_else(|| "–".to_owned(), |truth| format!("{truth:.0}"))
}

fn last(row: &Value) -> String {
    format!(
        "| {} | {} | {:.0} | {:.1} |\n",
        row["key"].as_str().unwrap_or_default(),
        known(&row["truth"]),
        number(&row["estimate"]),
        number(&row["error"])
    )
}

fn public(graph: &Value) -> String {
    let name = graph["name"].as_str().unwrap_or_default();
    let row = |row: &Value| {
        format!(
            "| {name} | {} | {} | {} | {:.0} | {:.0} | {:.1} |\n",
            number(&row["epsilon"]),
            row["key"].as_str().unwrap_or_default(),
            known(&row["truth"]),
            number(&row["bounded"]),
            number(&row["estimate"]),
            number(&row["error"])
        )
    };
    each(&graph["rows"]).map(row).collect()
}
