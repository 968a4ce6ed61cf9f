//! The service tested from outside: its document against its answers by schemathesis, and its page
//! in a browser.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::Outcome;
use crate::crosscheck;
use crate::process::{self, command, fresh_directory, root};
use crate::venv;

const PACKAGES: [&str; 1] = ["schemathesis==4.32.5"];

/// Requests for each route in each phase: enough for a check on every change, and not for finding
/// what is rare.
const EXAMPLES: &str = "40";

/// Both, as far as what they need is there.
pub(crate) fn test() -> Outcome {
    if crosscheck::python_is_installed() {
        schemathesis()?;
    } else {
        eprintln!("schemathesis skipped: there is no python3 with venv to install it into");
    }
    page()
}

/// Posts whatever the document of the service allows, and what it forbids, and compares answers
/// with what it says: once about any counters, most of which are not there, and once about one that
/// is.
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
                // A stream of events has no end, so that nothing can be said of its body; the tests
                // of the server follow it.
                .args(["--exclude-path-regex", "/live$"])
                // Whether a start is too long ago, or a budget spent, is not for a schema to say.
                .args(["--checks", "all", "--exclude-checks", "positive_data_acceptance"])
                .current_dir(&directory),
        )?;
    }
    Ok(())
}

/// The tests of the page, in a headless browser against the program, and whether what is served is
/// what its sources make.
pub(crate) fn page() -> Outcome {
    let web = root().join("web");
    if !web.join("package.json").is_file() {
        eprintln!("page skipped: there is no page");
        return Ok(());
    }
    if !works("node") || !works("npm") {
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
    process::run(&mut npm(&["run", "check-dist"]))?;
    let Some(chromium) = chromium() else {
        eprintln!("tests of the page skipped: there is no Chromium, and it could not be installed");
        return Ok(());
    };
    process::run(npm(&["test"]).env("CHROMIUM", chromium))
}

/// Debian's browser; it is installed where that is possible without asking.
fn chromium() -> Option<PathBuf> {
    let find = || {
        ["/usr/bin/chromium", "/usr/bin/chromium-browser"]
            .map(PathBuf::from)
            .into_iter()
            .find(|path| path.is_file())
    };
    find().or_else(|| {
        eprintln!("installing Chromium");
        let mut install = Command::new("apt-get");
        install
            .args(["install", "-y", "--no-install-recommends", "chromium"])
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        install.status().is_ok_and(|status| status.success()).then(find)?
    })
}

fn works(program: &str) -> bool {
    let mut command = Command::new(program);
    command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
