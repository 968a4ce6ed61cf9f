//! The Python package, installed as anybody would install it, and tested there.
//!
//! Two environments, because PyTorch takes gigabytes:
//! - `target/venv/package` is made afresh every time, so that `pip install ./python` is shown to be enough, and holds the tools of the tests;
//! - PyTorch and what its tests need are kept outside the clone, in a directory that is named by their versions and never changed once it is
//!   whole. A path file lets the first environment see it, after the tests that must pass without it.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Outcome;
use crate::process::{cargo, command, output, root, run};

/// What the tests are run with; the package itself brings numpy.
const TOOLS: [&str; 4] = ["numpy==2.4.6", "pytest==9.2.0", "mypy==2.4.1", "matplotlib==3.11.2"];

/// What the tests of `evertally.torch` are run with besides.
pub(crate) const TORCH: [&str; 3] = ["torch==2.15.0", "numpy==2.4.6", "scikit-learn==1.9.1"];

/// Installs the package into a clean environment and runs all of its tests.
pub(crate) fn test() -> Outcome {
    // The command line program makes the noise that the package is compared with.
    run(cargo().args(["build", "--workspace"]))?;
    let home = root().join("target/venv/package");
    let python = home.join("bin").join("python");
    run(command("python3").args(["-m", "venv", "--clear"]).arg(&home))?;
    install_package(&python)?;
    run(pip(&python).args(TOOLS))?;
    let tests = root().join("python/tests");
    run(pytest(&python).arg(&tests).arg("--ignore").arg(tests.join("torch")))?;
    run(mypy(&python).args(["-m", "evertally", "-m", "evertally.plots"]))?;
    run(mypy(&python).args(["--exclude", "tests/torch"]).arg(&tests))?;
    run(command(&python).args(["-m", "mypy.stubtest", "evertally._native"]).current_dir(home.join("bin")))?;
    if !tests.join("torch").is_dir() {
        return Ok(());
    }
    let_see_torch(&python)?;
    run(pytest(&python).arg(tests.join("torch")))?;
    run(mypy(&python).args(["-p", "evertally.torch"]))
}

/// The interpreter of an environment for a benchmark: the package as it is released, beside PyTorch.
pub(crate) fn released_with_torch(name: &str) -> Result<PathBuf, String> {
    let home = root().join("target/venv").join(name);
    let python = home.join("bin").join("python");
    run(command("python3").args(["-m", "venv", "--clear"]).arg(&home))?;
    run(pip(&python).arg("./python").env("CARGO_TARGET_DIR", root().join("target")))?;
    let_see_torch(&python)?;
    Ok(python)
}

/// Lets an environment see the cached PyTorch, behind its own packages.
fn let_see_torch(python: &Path) -> Outcome {
    let packages = torch_packages(python)?;
    let paths = site_packages(python)?.join("torch-of-the-cache.pth");
    fs::write(&paths, format!("{}\n", packages.display()))
        .map_err(|error| format!("cannot write {}: {error}", paths.display()))
}

/// `pip install ./python`, with the artifacts and the profile that the other tests have built, so that the library is not compiled once more for release.
fn install_package(python: &Path) -> Outcome {
    run(pip(python)
        .arg("./python")
        .env("CARGO_TARGET_DIR", root().join("target"))
        .env("MATURIN_PEP517_ARGS", "--profile dev"))
}

fn pip(python: &Path) -> Command {
    let mut pip = command(python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    pip
}

fn pytest(python: &Path) -> Command {
    let mut pytest = command(python);
    pytest
        .args(["-m", "pytest", "--quiet", "-p", "no:cacheprovider"])
        .env("EVERTALLY_BINARY", root().join("target/debug/evertally"))
        .env("MPLBACKEND", "agg");
    pytest
}

/// Types are checked from elsewhere, so that the package that is installed is meant and not its sources.
fn mypy(python: &Path) -> Command {
    let mut mypy = command(python);
    mypy.args(["-m", "mypy", "--strict"]).current_dir(python.with_file_name(""));
    mypy
}

/// The directory of PyTorch and its companions, made if it is not there.
///
/// Nothing that is tested is installed into it, so that clones can share it; it takes its name when it is whole, so that an interrupted
/// installation is done again.
fn torch_packages(python: &Path) -> Result<PathBuf, String> {
    let version = output(command(python).args(["-c", "import sys; print(*sys.version_info[:2], sep='.')"]))?;
    let name = format!("{}+python-{version}", TORCH.join("+").replace("==", "-"));
    let (cache, process) = (cache()?, std::process::id());
    let (packages, growing) = (cache.join(&name), cache.join(format!("{name}.{process}")));
    if packages.is_dir() {
        return Ok(packages);
    }
    eprintln!("installing {} into {}: this takes minutes, once", TORCH.join(", "), cache.display());
    run(pip(python).args(TORCH).arg("--target").arg(&growing))?;
    match fs::rename(&growing, &packages) {
        Ok(()) => Ok(packages),
        // Another run was quicker.
        Err(_) if packages.is_dir() => fs::remove_dir_all(&growing)
            .map(|()| packages)
            .map_err(|error| format!("cannot remove {}: {error}", growing.display())),
        Err(error) => Err(format!("cannot rename {}: {error}", growing.display())),
    }
}

/// Where large things are kept between clones.
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
