//! The tests of `evertally.spark`, and the environment of its benchmarks and crash trials.
//!
//! Spark needs Java, which a Python package cannot install. Without Java the tests are skipped with
//! a message. A Java that is too old is a failure.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Outcome;
use crate::process::{build_as_tested, command, root, run};
use crate::python::{self, cached, mypy, pytest, release_environment};

/// The packages of `evertally.spark`: Spark, and those that it needs to exchange tables with
/// Python.
pub(crate) const SPARK: [&str; 5] =
    ["pyspark==4.3.0", "pandas==2.3.3", "pyarrow==26.0.1", "protobuf==7.36.2", "numpy==2.4.6"];

/// The oldest Java that Spark 4 supports.
const MIN_JAVA: u32 = 17;

/// Runs the tests, with the package and the tools of the environment of the other tests.
pub(crate) fn test() -> Outcome {
    let Some(java) = java()? else {
        eprintln!(
            "skipped: the tests of evertally.spark need Java {MIN_JAVA} or later, and `java -version` finds none; set JAVA_HOME or PATH"
        );
        return Ok(());
    };
    eprintln!("the tests of evertally.spark, on Java {java}");
    build_as_tested()?;
    let python = python::environment();
    let (packages, tests) = (cached(&python, &SPARK)?, root().join("python/tests/spark"));
    run(with_spark(pytest(&python).arg(&tests), &python)?.env("PYTHONPATH", &packages))?;
    run(mypy(&python, "spark").args(["-p", "evertally.spark"]).env("PYTHONPATH", &packages))?;
    run(mypy(&python, "spark").arg(&tests).env("MYPYPATH", &tests).env("PYTHONPATH", &packages))
}

/// The interpreter for benchmarks and crash trials: the release build of the package, with Spark.
pub(crate) fn environment() -> Result<PathBuf, String> {
    match java()? {
        Some(_) => release_environment("spark", &SPARK),
        None => Err(format!("there is no Java: Spark needs {MIN_JAVA} or later, found by JAVA_HOME or PATH")),
    }
}

/// The interpreter with the environment variables of Spark.
pub(crate) fn program(python: &Path) -> Result<Command, String> {
    let mut program = command(python);
    with_spark(&mut program, python)?;
    Ok(program)
}

/// Executors run the same interpreter. The logs of a local cluster are in the clone, not in the
/// cache.
fn with_spark<'a>(command: &'a mut Command, python: &Path) -> Result<&'a mut Command, String> {
    Ok(command
        .env("SPARK_HOME", home(python)?)
        .env("PYSPARK_PYTHON", python)
        .env("PYSPARK_DRIVER_PYTHON", python)
        .env("SPARK_LOCAL_IP", "127.0.0.1"))
}

/// A home directory for Spark, with links to the cached package.
fn home(python: &Path) -> Result<PathBuf, String> {
    let package = cached(python, &SPARK)?.join("pyspark");
    let home = root().join("target/spark/home");
    let fail = |error: std::io::Error| format!("cannot link {} to Spark: {error}", home.display());
    fs::create_dir_all(&home).map_err(fail)?;
    for part in ["bin", "jars", "python"] {
        let (link, wanted) = (home.join(part), package.join(part));
        if fs::read_link(&link).is_ok_and(|found| found == wanted) {
            continue;
        }
        match fs::remove_file(&link) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(fail(error)),
            _ => std::os::unix::fs::symlink(wanted, &link).map_err(fail)?,
        }
    }
    Ok(home)
}

/// The Java of `JAVA_HOME`, or of `PATH` if that is not set.
pub(crate) fn java_program() -> PathBuf {
    let home = env::var_os("JAVA_HOME").filter(|home| !home.is_empty());
    home.map_or_else(|| PathBuf::from("java"), |home| Path::new(&home).join("bin/java"))
}

/// The version of Java that Spark would run on, or `None` without Java. A version that is too old
/// is an error.
pub(crate) fn java() -> Result<Option<u32>, String> {
    let Ok(answer) = command(java_program()).arg("-version").output() else { return Ok(None) };
    if !answer.status.success() {
        return Ok(None);
    }
    let text = String::from_utf8_lossy(&answer.stderr).into_owned();
    match version(&text) {
        Some(found) if found >= MIN_JAVA => Ok(Some(found)),
        Some(found) => Err(format!("Spark needs Java {MIN_JAVA} or later, found {found}")),
        None => Err(format!("`java -version` names no version: {}", text.lines().next().unwrap_or_default())),
    }
}

/// The number in `openjdk version "17.0.15" 2025-04-15`. Versions before 9 are called `1.8.0`.
fn version(text: &str) -> Option<u32> {
    let quoted = text.split('"').nth(1)?;
    let numbers = quoted.strip_prefix("1.").unwrap_or(quoted);
    numbers.split(|character: char| !character.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::version;

    #[test]
    fn versions_of_java_are_read_from_what_it_says() {
        assert_eq!(version("openjdk version \"17.0.15\" 2025-04-15\nOpenJDK Runtime Environment"), Some(17));
        assert_eq!(version("java version \"1.8.0_292\""), Some(8));
        assert_eq!(version("openjdk version \"21\" 2023-09-19"), Some(21));
        assert_eq!(version("openjdk version \"25-ea\" 2025-09-16"), Some(25));
        assert_eq!(version("nothing of the kind"), None);
    }
}
