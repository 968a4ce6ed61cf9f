//! `cargo xtask bench …`: side-by-side runs against peers, in one run on one machine.
//!
//! Each side is a worker process that answers a line `task length` with the seconds the task took.
//! Requests alternate between the sides, so that a busy or throttled machine slows both.

pub(crate) mod exact;
pub(crate) mod gamma;
pub(crate) mod learn;
pub(crate) mod noise;
pub(crate) mod service;
pub(crate) mod spark;
pub(crate) mod stream;

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::process::name;
use crate::venv;

/// What the benchmarks beside jax_privacy run on.
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

    /// The seconds that the worker says the task took.
    fn time(&mut self, task: &str, n: usize) -> Result<f64, String> {
        self.ask(&format!("{task} {n}"))
    }

    /// The number that the worker answers a request with.
    fn ask(&mut self, request: &str) -> Result<f64, String> {
        let answer = self.text(request)?;
        answer.parse().map_err(|error| format!("{} on {request}: {error}", self.name))
    }

    /// The line that the worker answers a request with.
    fn text(&mut self, request: &str) -> Result<String, String> {
        let fail = |error: &dyn std::fmt::Display| format!("{} on {request}: {error}", self.name);
        let input = self.input.as_mut().ok_or_else(|| fail(&"already closed"))?;
        writeln!(input, "{request}").map_err(|error| fail(&error))?;
        let mut line = String::new();
        self.output.read_line(&mut line).map_err(|error| fail(&error))?;
        Ok(line.trim().to_owned())
    }
}

/// Three digits and a unit a reader can take in.
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

/// Writes the figures for programs and the text for people, as `bench/<name>.json` and `bench/<name>.md`.
pub(crate) fn write_results(name: &str, document: &serde_json::Value, text: &str) -> crate::Outcome {
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
    /// A worker ends when its input does; it is waited for so that no process is left behind.
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.wait();
    }
}

/// The model of the processor, where the system tells it: a speed says little without.
pub(crate) fn processor() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    model.map_or_else(|| "unknown".to_owned(), |(_, model)| model.trim().to_owned())
}
