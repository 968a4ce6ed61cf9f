//! The wheel of a target: built, audited, and tried in a fresh environment.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::target::Target;
use super::{cannot, dist, tool};
use crate::Outcome;
use crate::cpu_time;
use crate::process::{command, fresh_directory, output, root, run};
use crate::venv;

/// Counts with the package, and prints its version as the program does.
const IMPORT: &str = "
import evertally
counter = evertally.Counter(evertally.plan(10, epsilon=1.0, delta=1e-6))
assert counter.step(3.0).step == 0
print('evertally', evertally.__version__)
";

/// Counts the example of the repository, one step per hour of eight weeks.
const COUNT: &str = "count examples/visits.csv --time time --every 1h --from 2026-01-05 --horizon 1344 \
                     --epsilon 1 --delta 1e-6";

/// Prints the names of the licences in a wheel.
const LICENCES: &str = "
import pathlib, sys, zipfile
files = map(pathlib.PurePosixPath, zipfile.ZipFile(sys.argv[1]).namelist())
print(*sorted(file.name for file in files if 'licenses' in file.parts))
";

/// Those of the program, and of the font in it.
const EXPECTED_LICENCES: &str = "LICENSE-APACHE LICENSE-DejaVu.txt LICENSE-MIT";

/// How often each command is started to measure its start.
const STARTS: u32 = 20;

/// The environment that a wheel is installed into, in `target/venv`.
const INSTALLED: &str = "installed";

/// Builds the wheel with this program in it and returns its path.
pub(super) fn build(target: &Target, program: &Path, python: &Path) -> Result<PathBuf, String> {
    let directory = root().join("target/trial/wheel").join(target.triple);
    if directory.exists() {
        fs::remove_dir_all(&directory).map_err(|error| cannot("remove", &directory, &error))?;
    }
    let arguments = match target.linux {
        Some(oldest) => format!("--target {} --zig --compatibility {oldest} --locked", target.triple),
        None => format!("--target {} --locked", target.triple),
    };
    run(tool(python, "pip")?
        .args(["wheel", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-build-isolation"])
        .arg("--wheel-dir")
        .arg(&directory)
        .arg("./python")
        .env("CARGO_TARGET_DIR", root().join("target"))
        .env("EVERTALLY_PROGRAM", program)
        .env("MATURIN_PEP517_ARGS", arguments))?;
    let files = fs::read_dir(&directory).map_err(|error| cannot("read", &directory, &error))?;
    let built = files.filter_map(|file| file.ok().map(|file| file.path())).next();
    let built = built.ok_or("pip built no wheel")?;
    let wheel = dist()?.join(built.file_name().ok_or("a wheel without a name")?);
    fs::copy(&built, &wheel).map_err(|error| cannot("copy", &built, &error))?;
    Ok(wheel)
}

/// Checks what the wheel says of itself: metadata, licences, the oldest system that it runs on, and
/// the one interface of Python that it uses.
pub(super) fn audit(target: &Target, wheel: &Path, python: &Path) -> Outcome {
    run(tool(python, "twine")?.args(["check", "--strict"]).arg(wheel))?;
    run(tool(python, "abi3audit")?.arg("--strict").arg(wheel))?;
    let licences = output(command(python).args(["-c", LICENCES]).arg(wheel))?;
    if licences != EXPECTED_LICENCES {
        return Err(format!("the wheel has the licences {licences} instead of {EXPECTED_LICENCES}"));
    }
    let Some(tag) = target.tag() else { return Ok(()) };
    let mut show = tool(python, "auditwheel")?;
    show.args(["show", "--json"]);
    if target.is_static() {
        // The libraries of this machine are not those of musl, so none is looked up.
        show.arg("--ldpaths").arg(fresh_directory("no-libraries")?);
    }
    let shown = output(show.arg(wheel))?;
    let fields: Value =
        serde_json::from_str(&shown).map_err(|error| format!("auditwheel printed no JSON: {error}"))?;
    let libraries: Vec<&str> =
        fields["external_libs"].as_object().into_iter().flatten().map(|(name, _)| name.as_str()).collect();
    // Zig calls musl libc.so where other linkers name the file. The loader of musl takes both for itself.
    let is_known = |library: &&str| target.is_static() && *library == "libc.so";
    let has_tag = fields["sym_tag"].as_str().is_some_and(|found| found.starts_with(tag));
    if has_tag && libraries.iter().all(is_known) {
        eprintln!("auditwheel: {tag}");
        Ok(())
    } else {
        Err(format!("the wheel is not {tag}: {shown}"))
    }
}

/// Installs the wheel into a fresh environment, uses all that it contains, and compares its start with
/// that of the bare program.
pub(super) fn try_out(target: &Target, wheel: &Path, bare: &Path, python: &Path) -> Outcome {
    if target.is_static() {
        eprintln!(
            "skipped: the wheel is not installed, because the Python of this machine does not use musl"
        );
        return Ok(());
    }
    let interpreter = venv::fresh(INSTALLED)?;
    run(venv::pip(&interpreter).arg(wheel))?;
    let program = interpreter.with_file_name(target.program_name());
    let expected = format!("evertally {}", env!("CARGO_PKG_VERSION"));
    for (way, said) in [
        ("the program", output(command(&program).arg("--version"))?),
        ("python -m evertally", output(as_module(&interpreter).arg("--version"))?),
        ("import evertally", output(command(&interpreter).args(["-c", IMPORT]))?),
        ("uvx", output(uvx(wheel, python)?.arg("--version"))?),
    ] {
        if said != expected {
            return Err(format!("{way} says {said} instead of {expected}"));
        }
    }
    for (way, mut count) in [
        ("the program", command(&program)),
        ("python -m evertally", as_module(&interpreter)),
        ("uvx", uvx(wheel, python)?),
    ] {
        let counted = output(count.args(COUNT.split_whitespace()))?;
        let rows = counted.lines().filter(|line| !line.starts_with('#')).count();
        if rows != 1 + 1344 {
            return Err(format!("a count of 1344 steps by {way} has {rows} rows"));
        }
    }
    for (way, start) in [
        ("the bare program", &mut command(bare)),
        ("the installed program", &mut command(&program)),
        ("python -m evertally", &mut as_module(&interpreter)),
    ] {
        // For information only: machines differ, and some do not tell.
        match milliseconds_to_start(start.arg("--version")) {
            Ok(time) => eprintln!("start of {way}: {time:.1} ms of CPU"),
            Err(reason) => eprintln!("skipped: start of {way}: {reason}"),
        }
    }
    let page = venv::home(INSTALLED).join("share/man/man1/evertally-count.1");
    if page.is_file() { Ok(()) } else { Err(format!("there is no {}", page.display())) }
}

fn as_module(interpreter: &Path) -> Command {
    let mut module = command(interpreter);
    module.args(["-m", "evertally"]);
    module
}

/// The program of the wheel, in an environment of uv.
fn uvx(wheel: &Path, python: &Path) -> Result<Command, String> {
    let mut uvx = tool(python, "uv")?;
    uvx.args(["tool", "run", "--from"]).arg(wheel).arg("evertally");
    Ok(uvx)
}

/// The average CPU time of a command.
fn milliseconds_to_start(start: &mut Command) -> Result<f64, String> {
    let used = cpu_time::of_waited_children()?;
    for _ in 0..STARTS {
        output(start)?;
    }
    Ok((cpu_time::of_waited_children()? - used) * 1e3 / f64::from(STARTS))
}
