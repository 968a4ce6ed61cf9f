//! `cargo xtask bench …`: side-by-side runs against peers, in one run on one machine.
//!
//! Each side is a worker process that answers a line `task length` with the seconds the task took. Requests alternate
//! between the sides, so that a busy or throttled machine slows both.

pub(crate) mod noise;

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::process::name;

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
        let fail = |error: &dyn std::fmt::Display| format!("{} on {task} {n}: {error}", self.name);
        let input = self.input.as_mut().ok_or_else(|| fail(&"already closed"))?;
        writeln!(input, "{task} {n}").map_err(|error| fail(&error))?;
        let mut line = String::new();
        self.output.read_line(&mut line).map_err(|error| fail(&error))?;
        line.trim().parse().map_err(|error| fail(&error))
    }
}

impl Drop for Worker {
    /// A worker ends when its input does; it is waited for so that no process is left behind.
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.wait();
    }
}

/// The model of the processor, where the system tells it: a speed says little without.
fn processor() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    model.map_or_else(|| "unknown".to_owned(), |(_, model)| model.trim().to_owned())
}
