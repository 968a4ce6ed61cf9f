//! `cargo xtask book`: builds the book of `docs` and checks what it says.
//!
//! MkDocs builds it into `target/book`. The checks:
//! - the scripts find faults that are planted (`book/test_checks.py`);
//! - the tables and pictures are those that the program computes (`book/figures.py`);
//! - every link of the Markdown leads to a page and a heading (`mkdocs build --strict`);
//! - every link of the pages does too, and no page loads anything from another machine
//!   (`book/check_site.py`);
//! - the commands of the tutorial chapters run as printed (`book/check_blocks.py`).

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Outcome;
use crate::process::{build_as_tested, command, root, run};
use crate::venv;

/// MkDocs, its theme, and what turns formulas into MathML. The two others decide how Markdown is
/// read.
const PACKAGES: [&str; 5] = [
    "mkdocs==1.6.1",
    "mkdocs-material==9.8.1",
    "markdown==3.11.3",
    "pymdown-extensions==13.0",
    "latex2mathml==3.81.1",
];

/// The pages whose console blocks are run.
const TUTORIALS: [&str; 17] = [
    "README.md",
    "docs/index.md",
    "docs/first-count.md",
    "docs/persons.md",
    "docs/distinct.md",
    "docs/histograms.md",
    "docs/periods.md",
    "docs/means.md",
    "docs/discovery.md",
    "docs/graphs.md",
    "docs/files.md",
    "docs/going-on.md",
    "docs/service.md",
    "docs/learning.md",
    "docs/how-good.md",
    "docs/audit.md",
    "docs/keys.md",
];

/// Builds the book and runs every check, with the program of the tests.
pub(crate) fn test() -> Outcome {
    build_as_tested()?;
    with_program(&root().join("target/debug/evertally"))
}

/// The same with a program that exists already.
pub(crate) fn with_program(program: &Path) -> Outcome {
    let program =
        program.canonicalize().map_err(|error| format!("cannot find {}: {error}", program.display()))?;
    let python = venv::python("book", &PACKAGES)?;
    run(command(&python).args(["-B", "-m", "unittest", "discover", "--quiet", "--start-directory", "book"]))?;
    run(script(&python, "figures.py").arg(&program).arg("--check"))
        .map_err(|error| format!("{error}; `cargo xtask book update` makes the figures again"))?;
    let site = build(&python, &program)?;
    run(script(&python, "check_site.py").arg(&site))?;
    run(script(&python, "check_blocks.py").arg(&program).args(TUTORIALS))?;
    eprintln!("the book is in {}", site.display());
    Ok(())
}

/// Makes the tables and pictures again.
pub(crate) fn update() -> Outcome {
    build_as_tested()?;
    let python = venv::python("book", &PACKAGES)?;
    run(script(&python, "figures.py").arg(root().join("target/debug/evertally")))
}

/// Builds the site and returns its directory. Warnings, such as a link that leads nowhere, are
/// errors. (With `--quiet`, MkDocs would not notice them.)
fn build(python: &Path, program: &Path) -> Result<PathBuf, String> {
    let site = root().join("target/book");
    run(command(python)
        .args(["-m", "mkdocs", "build", "--strict", "--config-file", "book/mkdocs.yml"])
        .arg("--site-dir")
        .arg(&site)
        .env("EVERTALLY", program)
        // The theme would print news about itself.
        .env("NO_MKDOCS_2_WARNING", "1"))?;
    Ok(site)
}

fn script(python: &Path, name: &str) -> Command {
    let mut script = command(python);
    // Without this, Python would write its compiled modules into the tree.
    script.arg("-B").arg(root().join("book").join(name));
    script
}
