//! Tests of the service from outside: its answers against its OpenAPI document by schemathesis, and
//! its page in a browser.

use std::fs;
use std::path::PathBuf;

use crate::Outcome;
use crate::process::{self, command, fresh_directory, root, works};
use crate::venv;

const PACKAGES: [&str; 1] = ["schemathesis==4.32.5"];

/// The number of requests per route and phase. It suffices for a check of every change, not for
/// rare faults.
const EXAMPLES: &str = "40";

/// Sends requests that the document allows and requests that it forbids, and compares the answers
/// with the document: once for any counters, most of which do not exist, and once for one that
/// exists.
pub(crate) fn schemathesis() -> Outcome {
    let python = venv::python("schemathesis", &PACKAGES)?;
    process::build_as_tested()?;
    for (name, settings) in [("any", ""), ("one", "[parameters]\n\"path.name\" = \"hand\"\n")] {
        let directory = fresh_directory(&format!("schemathesis-{name}"))?;
        let config = directory.join("schemathesis.toml");
        fs::write(&config, settings)
            .map_err(|error| format!("cannot write {}: {error}", config.display()))?;
        process::run(
            command(root().join("target/debug/trial-with-service"))
                .arg(root().join("target/debug/evertally"))
                .arg(directory.join("ledger"))
                .arg(python.with_file_name("st"))
                .arg("--config-file")
                .arg(&config)
                .args(["run", "{url}/openapi.json", "--header", "Authorization: Bearer {token}"])
                .args(["--max-examples", EXAMPLES, "--seed", "1", "--generation-database", "none"])
                .args(["--request-timeout", "10", "--no-color", "--warnings", "off"])
                // A stream of events does not end, so its body cannot be checked. The tests of the
                // server follow it.
                .args(["--exclude-path-regex", "/live$"])
                // A schema cannot say whether a start is too long ago or a budget is spent.
                .args(["--checks", "all", "--exclude-checks", "positive_data_acceptance"])
                .current_dir(&directory),
        )?;
    }
    Ok(())
}

/// Tests the page in a headless browser against the program, and checks that the served page is
/// built from its sources.
pub(crate) fn page() -> Outcome {
    let web = root().join("web");
    if !web.join("package.json").is_file() {
        eprintln!("page skipped: there is no page");
        return Ok(());
    }
    if !["node", "npm"].iter().all(|program| works(command(program).arg("--version"))) {
        eprintln!("page skipped: there is no Node.js with npm");
        return Ok(());
    }
    process::build_as_tested()?;
    let npm = |arguments: &[&str]| {
        let mut npm = command("npm");
        npm.args(arguments).current_dir(&web).env("EVERTALLY_BIN", root().join("target/debug/evertally"));
        npm
    };
    process::run(&mut npm(&["ci", "--no-audit", "--no-fund"]))?;
    process::run(&mut npm(&["run", "check-page"]))?;
    let Some(chromium) = chromium() else {
        eprintln!("tests of the page skipped: there is no Chromium, and it could not be installed");
        return Ok(());
    };
    process::run(npm(&["test"]).env("CHROMIUM", chromium))
}

/// Debian's Chromium. It is installed if that is possible without a prompt.
fn chromium() -> Option<PathBuf> {
    let find = || {
        ["/usr/bin/chromium", "/usr/bin/chromium-browser"]
            .map(PathBuf::from)
            .into_iter()
            .find(|path| path.is_file())
    };
    find().or_else(|| {
        eprintln!("installing Chromium");
        let install = ["install", "-y", "--no-install-recommends", "chromium"];
        works(command("apt-get").args(install)).then(find)?
    })
}
