//! Runs the built program in a directory of its own.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// Options of a small timed count: four one-hour steps on 5 January 2026. The budget hides nothing,
/// so that a total that is wrong by one is seen through the noise.
pub(crate) const TIMED: &str =
    "--time time --every 1h --from 2026-01-05 --horizon 4 --epsilon 1000 --delta 0.4";

/// Options of a count by rows, with the same budget.
pub(crate) const ROWS: &str = "--value n --epsilon 1000 --delta 0.4";

pub(crate) struct Place {
    directory: TempDir,
}

pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    /// Everything on standard error, except advice about the budget.
    pub(crate) stderr: String,
    /// Advice about the budget, line by line. The budgets of many tests hide nothing on purpose.
    pub(crate) advice: Vec<String>,
    pub(crate) bytes: Vec<u8>,
}

/// How advice about a budget begins.
const ADVICE: [&str; 2] = ["evertally: warning: ε = ", "evertally: warning: δ = "];

impl Ran {
    pub(crate) fn of(output: Output) -> Self {
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        let is_advice = |line: &str| ADVICE.iter().any(|start| line.starts_with(start));
        let (advice, others): (Vec<&str>, Vec<&str>) =
            stderr.split_inclusive('\n').partition(|line| is_advice(line));
        Self {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: others.concat(),
            advice: advice.iter().map(|line| line.trim_end().to_owned()).collect(),
            bytes: output.stdout,
        }
    }

    /// The run succeeded in silence.
    pub(crate) fn ok(self) -> Self {
        assert_eq!((self.code, self.stderr.as_str()), (Some(0), ""), "stdout: {}", self.stdout);
        self
    }

    /// The run refused its input with one line that holds every part, and wrote nothing.
    pub(crate) fn refused(self, parts: &[&str]) -> Self {
        self.refused_with(2, parts)
    }

    /// The budget did not allow the run: the same, with an exit code of its own.
    pub(crate) fn over_budget(self, parts: &[&str]) -> Self {
        self.refused_with(3, parts)
    }

    fn refused_with(self, code: i32, parts: &[&str]) -> Self {
        assert_eq!(self.code, Some(code), "stderr: {}", self.stderr);
        assert_eq!(self.stderr.lines().count(), 1, "stderr: {}", self.stderr);
        assert_eq!(self.stdout, "");
        for part in parts {
            assert!(self.stderr.contains(part), "{part:?} is missing from {}", self.stderr);
        }
        self
    }
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { directory: TempDir::new().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, contents: impl AsRef<[u8]>) -> &Self {
        std::fs::write(self.path(name), contents).unwrap();
        self
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    /// The names of all files, and those inside records of keys with the name of the record.
    pub(crate) fn all_files(&self) -> Vec<String> {
        let mut names = Vec::new();
        for name in self.files() {
            match std::fs::read_dir(self.path(&name)) {
                Ok(inside) => names
                    .extend(inside.map(|entry| {
                        format!("{name}/{}", entry.unwrap().file_name().into_string().unwrap())
                    })),
                Err(_) => names.push(name),
            }
        }
        names
    }

    pub(crate) fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.directory.path()).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// A key file, for runs that must give the same releases twice.
    pub(crate) fn with_key(&self) -> &Self {
        self.write("noise.key", "5a".repeat(32));
        only_for_its_owner(&self.path("noise.key"));
        self
    }

    /// Forgets what the key was used for: for tests that compare runs under one key which the
    /// record would refuse, or remark on.
    pub(crate) fn forget_uses(&self) -> &Self {
        let _ = std::fs::remove_dir_all(self.path("noise.key.uses"));
        self
    }

    pub(crate) fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_evertally"));
        command.current_dir(self.directory.path()).args(line.split_whitespace());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub(crate) fn run(&self, line: &str) -> Ran {
        Ran::of(self.command(line).output().unwrap())
    }

    pub(crate) fn run_with_input(&self, line: &str, input: impl AsRef<[u8]>) -> Ran {
        let mut child = self.command(line).stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // A program that refuses its options may be gone before it reads; that is not the test's concern.
        let _ = stdin.write_all(input.as_ref());
        drop(stdin);
        Ran::of(child.wait_with_output().unwrap())
    }
}

#[cfg(unix)]
pub(crate) fn only_for_its_owner(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
}

#[cfg(not(unix))]
pub(crate) fn only_for_its_owner(_path: &Path) {}

/// The rows of a CSV output as cells, without the header.
pub(crate) fn rows(csv: &str) -> Vec<Vec<String>> {
    let lines = csv.lines().filter(|line| !line.starts_with('#')).skip(1);
    lines.map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

/// One column of a CSV output, by name.
pub(crate) fn column(csv: &str, name: &str) -> Vec<String> {
    let names = csv.lines().find(|line| !line.starts_with('#')).unwrap();
    let at = names.split(',').position(|column| column == name).unwrap();
    rows(csv).into_iter().map(|row| row[at].clone()).collect()
}

/// The same as numbers.
pub(crate) fn numbers(csv: &str, name: &str) -> Vec<f64> {
    column(csv, name).iter().map(|cell| cell.parse().unwrap()).collect()
}

/// The value of a field of the header of a CSV output; empty if there is none.
pub(crate) fn header<'a>(csv: &'a str, name: &str) -> &'a str {
    let start = format!("# {name}: ");
    csv.lines().find_map(|line| line.strip_prefix(&start)).unwrap_or_default()
}

/// The estimates of a CSV output as whole numbers. The noise must be far smaller than one half, as with the
/// budget of [`TIMED`], and so must be the rounding to integers.
pub(crate) fn totals(csv: &str) -> Vec<i64> {
    assert!(numbers(csv, "standard_error").iter().all(|error| *error < 0.35), "{csv}");
    numbers(csv, "estimate").iter().map(|estimate| estimate.round() as i64).collect()
}

/// Asserts that every estimate of a CSV output lies near the true total: within six standard errors of its
/// noise, and half of the grid that it is rounded to. The standard error contains both.
pub(crate) fn assert_near(csv: &str, totals: &[f64]) {
    let (estimates, errors) = (numbers(csv, "estimate"), numbers(csv, "standard_error"));
    assert_eq!(estimates.len(), totals.len(), "{csv}");
    let grid = csv.lines().find_map(|line| line.strip_prefix("# grid: ")?.parse::<f64>().ok()).unwrap_or(0.0);
    for ((estimate, error), total) in estimates.iter().zip(&errors).zip(totals) {
        let noise = (error * error - grid * grid / 12.0).max(0.0).sqrt();
        assert!(
            (estimate - total).abs() <= 6.0 * noise + grid / 2.0 + 1e-9,
            "{estimate} ± {error} is far from {total}"
        );
        assert!(*error > 0.0);
    }
}
