//! The tests of the Python package, installed as a user would install it.
//!
//! The tests use one environment, and a cache of packages outside it, because PyTorch takes
//! gigabytes and Spark half a gigabyte:
//! - `target/venv/package` is created again every time, to show that `pip install ./python`
//!   suffices. It also has the tools of the tests;
//! - PyTorch and the packages of its tests are in a directory outside the clone. It is named by
//!   their versions, and never changes once it is complete. Spark is in another one. `PYTHONPATH`
//!   adds one of them to the processes of its tests. All others must pass without it.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Outcome;
use crate::process::{build_as_tested, command, output, root, run};
use crate::spark;
use crate::venv::{self, pip};

/// The environment of the tests, in `target/venv`.
const ENVIRONMENT: &str = "package";

/// The tools of the tests. The package itself requires numpy.
const TOOLS: [&str; 4] = ["numpy==2.4.6", "pytest==9.2.0", "mypy==2.4.1", "matplotlib==3.11.2"];

/// The additional packages of the tests of `evertally.torch`.
pub(crate) const TORCH: [&str; 3] = ["torch==2.15.0", "numpy==2.4.6", "scikit-learn==1.9.1"];

/// Installs the package into a clean environment and runs all of its tests.
pub(crate) fn test() -> Outcome {
    install()?;
    core()?;
    torch()?;
    spark::test()
}

/// Creates the environment again, with the package and the tools.
pub(crate) fn install() -> Outcome {
    let python = venv::fresh(ENVIRONMENT)?;
    install_package(pip(&python).arg("./python"))?;
    run(pip(&python).args(TOOLS))
}

/// The tests of the package without PyTorch and Spark, its types and its stubs.
pub(crate) fn core() -> Outcome {
    // The tests compare the package with the noise of the command line.
    build_as_tested()?;
    let (python, tests) = (environment(), tests());
    core_tests(&python)?;
    run(mypy(&python, "core").args([
        "-m",
        "evertally",
        "-m",
        "evertally.__main__",
        "-m",
        "evertally.plots",
    ]))?;
    run(mypy(&python, "core").args(["--exclude", "tests/(torch|spark)"]).arg(&tests))?;
    run(command(&python)
        .args(["-m", "mypy.stubtest", "evertally._native"])
        .current_dir(python.with_file_name("")))
}

/// The tests and types of `evertally.torch`.
pub(crate) fn torch() -> Outcome {
    let python = environment();
    let packages = cached(&python, &TORCH)?;
    run(pytest(&python).arg(tests().join("torch")).env("PYTHONPATH", &packages))?;
    run(mypy(&python, "torch").args(["-p", "evertally.torch"]).env("PYTHONPATH", &packages))
}

/// The tests of the package without PyTorch and Spark, in an environment that is kept.
pub(crate) fn quick() -> Outcome {
    let python = venv::python("quick", &TOOLS)?;
    install_package(pip(&python).args(["--no-deps", "--force-reinstall", "./python"]))?;
    core_tests(&python)
}

fn core_tests(python: &Path) -> Outcome {
    let tests = tests();
    let beside = ["torch", "spark"].map(|name| format!("--ignore={}", tests.join(name).display()));
    run(pytest(python).arg(&tests).args(beside))
}

/// The interpreter of the environment that `install` has created.
pub(crate) fn environment() -> PathBuf {
    venv::interpreter(ENVIRONMENT)
}

fn tests() -> PathBuf {
    root().join("python/tests")
}

/// The interpreter of an environment for a benchmark: the release build of the package, with pinned
/// packages of the cache.
pub(crate) fn release_environment(name: &str, pins: &[&str]) -> Result<PathBuf, String> {
    let python = venv::fresh(name)?;
    run(pip(&python).arg("./python").env("CARGO_TARGET_DIR", root().join("target")))?;
    add_cached_packages(&python, pins)?;
    Ok(python)
}

/// Adds these packages of the cache to an environment, and removes all others of the cache.
pub(crate) fn add_cached_packages(python: &Path, pins: &[&str]) -> Outcome {
    let packages = cached(python, pins)?;
    let paths = site_packages(python)?.join("packages-of-the-cache.pth");
    fs::write(&paths, format!("{}\n", packages.display()))
        .map_err(|error| format!("cannot write {}: {error}", paths.display()))
}

/// Runs `pip install ./python` with the profile, features, program and artifacts of the other tests,
/// so that nothing is compiled again.
fn install_package(install: &mut Command) -> Outcome {
    run(install
        .env("CARGO_TARGET_DIR", root().join("target"))
        .env("EVERTALLY_PROGRAM", root().join("target/debug/evertally"))
        .env("MATURIN_PEP517_ARGS", "--profile dev --features as-tested --compression-method stored"))
}

pub(crate) fn pytest(python: &Path) -> Command {
    let mut pytest = command(python);
    pytest
        .args(["-m", "pytest", "--quiet", "-p", "no:cacheprovider"])
        .env("EVERTALLY_BINARY", root().join("target/debug/evertally"))
        .env("MPLBACKEND", "agg");
    pytest
}

/// Types are checked in another directory, so that mypy finds the installed package and not its
/// sources. Tests that run side by side have different packages, so each has a cache of its own.
pub(crate) fn mypy(python: &Path, cache: &str) -> Command {
    let mut mypy = command(python);
    mypy.args(["-m", "mypy", "--strict", "--config-file"])
        .arg(root().join("python/pyproject.toml"))
        .env("MYPY_CACHE_DIR", root().join("target/mypy").join(cache))
        .current_dir(python.with_file_name(""));
    mypy
}

/// The directory of pinned packages and their dependencies. It is created if it does not exist.
///
/// Nothing under test is installed into it, so clones can share it. It gets its name once it is
/// complete, so an interrupted installation is repeated.
pub(crate) fn cached(python: &Path, pins: &[&str]) -> Result<PathBuf, String> {
    let version = output(command(python).args(["-c", "import sys; print(*sys.version_info[:2], sep='.')"]))?;
    let name = format!("{}+python-{version}", pins.join("+").replace("==", "-"));
    let (cache, process) = (cache()?, std::process::id());
    let (packages, growing) = (cache.join(&name), cache.join(format!("{name}.{process}")));
    if packages.is_dir() {
        return Ok(packages);
    }
    eprintln!("installing {} into {}: this takes minutes, once", pins.join(", "), cache.display());
    run(pip(python).args(pins).arg("--target").arg(&growing))?;
    match fs::rename(&growing, &packages) {
        Ok(()) => Ok(packages),
        // Another run created it first.
        Err(_) if packages.is_dir() => fs::remove_dir_all(&growing)
            .map(|()| packages)
            .map_err(|error| format!("cannot remove {}: {error}", growing.display())),
        Err(error) => Err(format!("cannot rename {}: {error}", growing.display())),
    }
}

/// The cache that clones share.
fn cache() -> Result<PathBuf, String> {
    let given = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    given("EVERTALLY_CACHE")
        .or_else(|| given("XDG_CACHE_HOME").map(|cache| cache.join("evertally")))
        .or_else(|| given("HOME").map(|home| home.join(".cache/evertally")))
        .ok_or_else(|| "there is no HOME to keep a cache in: set EVERTALLY_CACHE".to_owned())
}

fn site_packages(python: &Path) -> Result<PathBuf, String> {
    output(command(python).args(["-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]))
        .map(PathBuf::from)
}
