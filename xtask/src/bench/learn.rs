//! `cargo xtask bench learn`: compares a step of private training with a step of plain SGD, and
//! with jax_privacy.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::{JAX_PACKAGES, Machine, Worker, duration, python_with_jax, spread, write_results};
use crate::Outcome;
use crate::process::command;
use crate::python;

/// The measurements at one number of parameters.
struct Width {
    parameters: u64,
    /// The steps of one run. It is a multiple of eight, because noise is made eight steps ahead.
    steps: u64,
}

/// The extent of a measurement.
struct Extent {
    rounds: usize,
    widths: &'static [Width],
}

const FULL: Extent = Extent {
    rounds: 9,
    widths: &[Width { parameters: 100_000, steps: 80 }, Width { parameters: 10_000_000, steps: 16 }],
};
const QUICK: Extent = Extent { rounds: 2, widths: &[Width { parameters: 100_000, steps: 16 }] };

/// The program that a row measures.
#[derive(Clone, Copy, PartialEq)]
enum Side {
    Ours,
    Torch,
    Jax,
}

/// A row: its name, its side, the request for a step, and the request for its error.
type Kind = (&'static str, Side, &'static str, Option<&'static str>);

/// `{}` stands for the numbers of parameters and steps.
const STEPS: [Kind; 11] = [
    ("`torch.optim.SGD`", Side::Torch, "sgd {}", None),
    ("`torch.optim.SGD(fused=True)`", Side::Torch, "fused {}", None),
    (
        "`DPSGD`, graded-square-root",
        Side::Ours,
        "dpsgd graded-square-root {}",
        Some("error graded-square-root"),
    ),
    (
        "`DPFTRL`, graded-square-root",
        Side::Ours,
        "dpftrl graded-square-root {}",
        Some("error graded-square-root"),
    ),
    ("the noise of both alone", Side::Ours, "noise graded-square-root {}", Some("error graded-square-root")),
    ("`DPSGD`, blt:4", Side::Ours, "dpsgd blt:4 {}", Some("error blt:4")),
    ("`DPFTRL`, blt:4", Side::Ours, "dpftrl blt:4 {}", Some("error blt:4")),
    ("jax_privacy, BLT with 4 buffers", Side::Jax, "jax step blt:4 {}", Some("jax error blt:4")),
    (
        "`DPSGD`, banded-square-root:8",
        Side::Ours,
        "dpsgd banded-square-root:8 {}",
        Some("error banded-square-root:8"),
    ),
    (
        "`DPFTRL`, banded-square-root:8",
        Side::Ours,
        "dpftrl banded-square-root:8 {}",
        Some("error banded-square-root:8"),
    ),
    ("jax_privacy, square root with 8 bands", Side::Jax, "jax step banded:8 {}", Some("jax error banded:8")),
];

const NETWORK: [Kind; 4] = [
    ("plain SGD", Side::Torch, "network plain", None),
    ("per-example clipping alone", Side::Ours, "network clipped", None),
    ("clipping and `DPSGD`, graded-square-root", Side::Ours, "network private", None),
    ("jax_privacy: `clipped_grad` and BLT with 4 buffers", Side::Jax, "jax network blt:4", None),
];

/// One row of a table, with the seconds of every round.
struct Row {
    kind: Kind,
    request: String,
    error: Option<f64>,
    seconds: Vec<f64>,
}

impl Row {
    fn spread(&self) -> [f64; 3] {
        spread(self.seconds.iter().copied())
    }

    fn median(&self) -> f64 {
        self.spread()[0]
    }
}

/// Rows that were measured alternately.
struct Table {
    title: String,
    parameters: Option<u64>,
    rows: Vec<Row>,
}

/// The programs that are timed.
struct Sides {
    torch: Worker,
    jax: Worker,
}

impl Sides {
    fn start() -> Result<Self, String> {
        let jax = python_with_jax()?;
        eprintln!("installing the release build of the package");
        let torch = python::release_environment("bench-learn", &python::TORCH)?;
        let worker = |python: &std::path::Path| Worker::start(command(python).arg("bench/learn.py"));
        Ok(Self { torch: worker(&torch)?, jax: worker(&jax)? })
    }

    fn ask(&mut self, request: &str) -> Result<f64, String> {
        if request.starts_with("jax ") { self.jax.ask(request) } else { self.torch.ask(request) }
    }
}

/// A quick run shows that the benchmark works. Its figures are not for publication and are not written.
pub(crate) fn run(is_quick: bool) -> Outcome {
    let extent = if is_quick { &QUICK } else { &FULL };
    let tables = measure(extent)?;
    let (text, document) = results(&tables, extent)?;
    if is_quick {
        println!("{text}");
        return Ok(());
    }
    write_results("learn", &document, &text)
}

fn measure(extent: &Extent) -> Result<Vec<Table>, String> {
    let mut sides = Sides::start()?;
    let mut tables = Vec::new();
    for Width { parameters, steps } in extent.widths {
        let title = format!("The optimiser's own step at {parameters} parameters");
        let length = format!("{parameters} {steps}");
        tables.push(table(&mut sides, extent, title, Some(*parameters), &STEPS, &length)?);
    }
    let title = "A whole step of training".to_owned();
    tables.push(table(&mut sides, extent, title, None, &NETWORK, "")?);
    Ok(tables)
}

/// Measures all rows alternately, so that a busy minute does not affect only one of them.
fn table(
    sides: &mut Sides,
    extent: &Extent,
    title: String,
    parameters: Option<u64>,
    kinds: &[Kind],
    length: &str,
) -> Result<Table, String> {
    let mut rows = Vec::new();
    for kind in kinds {
        let error = kind.3.map(|request| sides.ask(request)).transpose()?;
        rows.push(Row { kind: *kind, request: kind.2.replace("{}", length), error, seconds: Vec::new() });
    }
    for round in 0..extent.rounds {
        for row in &mut rows {
            row.seconds.push(sides.ask(&row.request)?);
            eprintln!("round {round}: {} in {}", row.kind.0, duration(row.median()));
        }
    }
    Ok(Table { title, parameters, rows })
}

fn results(tables: &[Table], extent: &Extent) -> Result<(String, Value), String> {
    let mut text = format!(
        "# A step of private training compared with its peers\n\n\
         Single precision, two cores for each side, alternately in one run: medians of {} runs, with the minimum and maximum. Written by \
         `cargo xtask bench learn`.\n",
        extent.rounds
    );
    let mut figures = Vec::new();
    for Table { title, parameters, rows } in tables {
        // Plain SGD is the first row.
        let plain = rows[0].median();
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "\n## {title}\n\n| | per step | min – max | plain SGD's steps | mean error |\n|:--|--:|--:|--:|--:|\n"
        );
        for row in rows {
            let (name, side, ..) = row.kind;
            let shown = if side == Side::Ours { format!("**{name}**") } else { name.to_owned() };
            let [median, least, largest] = row.spread();
            let error = row.error.map_or_else(String::new, |error| format!("{error:.3}"));
            let _ = writeln!(
                text,
                "| {shown} | {} | {} – {} | {:.1} | {error} |",
                duration(median),
                duration(least),
                duration(largest),
                median / plain,
            );
            figures.push(json!({
                "table": title,
                "parameters": parameters,
                "name": name,
                "is_peer": side != Side::Ours,
                "seconds": row.seconds,
                "median_seconds": median,
                "over_plain_sgd": median / plain,
                "mean_error": row.error,
            }));
        }
    }
    // Both sides have numpy.
    let others = JAX_PACKAGES.iter().filter(|package| !python::TORCH.contains(package));
    let machine = Machine::with_packages(python::TORCH.iter().chain(others).copied())?;
    let _ = write!(
        text,
        "\n- **The optimiser's own step**: gradients are given, in four tensors; momentum 0.9. Private steps additionally take noise and a few passes over \
         the parameters. One pass over the data of 2048 steps.\n\
         - **plain SGD's steps**: the time relative to a step of plain SGD.\n\
         - **mean error**: the mean squared error of prefix sums at a noise multiplier of one; for jax_privacy by its own formulas. Less is better at the same budget. \
         Bands are for many epochs, and are compared here for their speed: both sides run the same matrix.\n\
         - **jax_privacy**: `matrix_factorization_privatizer` chained with `optax.sgd`, compiled in one, its state donated, called step by step as in a training loop. It uses Threefry with 23 bits per draw. Evertally uses ChaCha20, with \
         correct tails down to 2^-64.\n\
         - **A whole step**: 784 – 128 – 10 with tanh, 101770 parameters, 256 examples, every gradient clipped separately.\n\n{}",
        machine.line("")
    );
    let mut document = machine.document("steps of private training");
    document["results"] = figures.into();
    Ok((text, document))
}
