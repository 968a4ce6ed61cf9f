//! `cargo xtask bench …`: comparisons with peers, in one run on one machine.
//!
//! Each side is a worker process. It answers a line `task length` with the seconds that the task
//! took. Requests alternate between the sides, so that a busy or throttled machine slows both.

pub(crate) mod build;
pub(crate) mod count;
pub(crate) mod discover;
pub(crate) mod exact;
pub(crate) mod gamma;
pub(crate) mod graph;
pub(crate) mod learn;
pub(crate) mod noise;
pub(crate) mod optimum;
pub(crate) mod service;
pub(crate) mod spark;
pub(crate) mod stream;
pub(crate) mod unbounded;

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::process::{command, name, output};
use crate::venv;

/// The packages of the comparisons with jax_privacy.
const JAX_PACKAGES: [&str; 4] = ["jax-privacy==2.0.0", "jax==0.10.2", "numpy==2.4.6", "scipy==1.17.1"];

fn python_with_jax() -> Result<PathBuf, String> {
    venv::python("bench-jax", &JAX_PACKAGES)
}

/// One side of a comparison.
struct Worker {
    name: String,
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Worker {
    fn start(command: &mut Command) -> Result<Self, String> {
        let name = name(command);
        let fail = |what: &str| format!("cannot {what} {name}");
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("{}: {error}", fail("start")))?;
        let input = child.stdin.take().ok_or_else(|| fail("write to"))?;
        let output = BufReader::new(child.stdout.take().ok_or_else(|| fail("read from"))?);
        Ok(Self { name, child, input: Some(input), output })
    }

    /// The seconds of a task, as reported by the worker.
    fn time(&mut self, task: &str, n: usize) -> Result<f64, String> {
        self.ask(&format!("{task} {n}"))
    }

    /// Sends a request and returns the worker's answer as a number.
    fn ask(&mut self, request: &str) -> Result<f64, String> {
        let answer = self.text(request)?;
        answer.parse().map_err(|error| format!("{} on {request}: {error}", self.name))
    }

    /// Sends a request and returns the line of the worker's answer.
    fn text(&mut self, request: &str) -> Result<String, String> {
        let fail = |error: &dyn std::fmt::Display| format!("{} on {request}: {error}", self.name);
        let input = self.input.as_mut().ok_or_else(|| fail(&"already closed"))?;
        writeln!(input, "{request}").map_err(|error| fail(&error))?;
        let mut line = String::new();
        self.output.read_line(&mut line).map_err(|error| fail(&error))?;
        Ok(line.trim().to_owned())
    }
}

/// A duration with three digits and a readable unit.
pub(crate) fn duration(seconds: f64) -> String {
    let (value, unit) = match seconds {
        s if s < 1e-6 => (s * 1e9, "ns"),
        s if s < 1e-3 => (s * 1e6, "µs"),
        s if s < 1.0 => (s * 1e3, "ms"),
        s if s < 7200.0 => (s, "s"),
        s if s < 2.0 * 86400.0 => (s / 3600.0, "hours"),
        s => (s / 86400.0, "days"),
    };
    let decimals = (2 - value.max(1.0).log10() as i32).max(0) as usize;
    format!("{value:.decimals$} {unit}")
}

/// Prints the report. Writes the figures to `bench/<name>.json` and the report to `bench/<name>.md`.
pub(crate) fn write_results(name: &str, document: &Value, text: &str) -> crate::Outcome {
    println!("{text}");
    for (name, content) in
        [(format!("{name}.json"), format!("{document:#}\n")), (format!("{name}.md"), text.to_owned())]
    {
        let path = crate::process::root().join("bench").join(&name);
        std::fs::write(&path, content).map_err(|error| format!("cannot write bench/{name}: {error}"))?;
        eprintln!("wrote bench/{name}");
    }
    Ok(())
}

impl Drop for Worker {
    /// A worker ends when its input ends. Waiting for it leaves no process behind.
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.wait();
    }
}

/// The machine and the versions that a result was measured with.
pub(crate) struct Machine {
    processor: String,
    rustc: String,
    /// The version of Python, and the packages of the peers, if there are any.
    python: Option<(String, String)>,
}

impl Machine {
    /// This machine, with the pinned packages (`name==version`) of the peers.
    pub(crate) fn with_packages<'a>(packages: impl IntoIterator<Item = &'a str>) -> Result<Self, String> {
        let packages: Vec<_> = packages.into_iter().map(|package| package.replace("==", " ")).collect();
        let python = output(command("python3").arg("--version"))?;
        Ok(Self { python: Some((python, packages.join(", "))), ..Self::new()? })
    }

    /// This machine, for a result without peers in Python.
    pub(crate) fn new() -> Result<Self, String> {
        let rustc = output(command("rustc").arg("--version"))?;
        Ok(Self { processor: processor(), rustc, python: None })
    }

    /// The last line of a report. `note` follows the processor.
    pub(crate) fn line(&self, note: &str) -> String {
        let Self { processor, rustc, python } = self;
        let (cores, version) = (cores(), env!("CARGO_PKG_VERSION"));
        let python = python.as_ref().map(|(python, packages)| format!(", {python}, {packages}"));
        let python = python.unwrap_or_default();
        format!("{cores} cores ({processor}){note}; evertally {version}, {rustc}{python}.\n")
    }

    /// The fields that every document of results has.
    pub(crate) fn document(&self, benchmark: &str) -> Value {
        let mut versions = json!({ "evertally": env!("CARGO_PKG_VERSION"), "rustc": self.rustc });
        if let Some((python, packages)) = &self.python {
            (versions["python"], versions["packages"]) = (json!(python), json!(packages));
        }
        json!({
            "benchmark": benchmark, "cores": cores(), "processor": self.processor, "versions": versions,
        })
    }
}

/// A number in the report of a worker.
pub(crate) fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(f64::NAN)
}

/// The median, the minimum and the maximum.
pub(crate) fn spread(values: impl IntoIterator<Item = f64>) -> [f64; 3] {
    let mut sorted: Vec<f64> = values.into_iter().collect();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len() - 1;
    [f64::midpoint(sorted[last / 2], sorted[last.div_ceil(2)]), sorted[0], sorted[last]]
}

pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The model of the processor, if the system reports it. A speed says little without it.
pub(crate) fn processor() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    model.map_or_else(|| "unknown".to_owned(), |(_, model)| model.trim().to_owned())
}
