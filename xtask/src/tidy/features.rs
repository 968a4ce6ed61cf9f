//! One set of features: the tests compile every dependency once.
//!
//! Cargo enables the features that the packages of one command ask for. The tests compile the
//! workspace, then the Python package alone (maturin does), and before both `xtask`. If a package
//! alone asks for fewer features of a dependency, cargo compiles that dependency again with
//! everything that is built on it, up to the library. So those two packages ask for the features
//! that the workspace has (`as-tested` in `python/Cargo.toml`), and this check compares what they
//! get.

use std::collections::BTreeSet;

use crate::Outcome;
use crate::process::{cargo, output};

/// The packages that are compiled alone, with the options that enable their features.
const ALONE: [&[&str]; 2] =
    [&["--package", "xtask"], &["--package", "evertally-python", "--features", "as-tested"]];

/// One platform, so that the outcome is the same on all.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Fails if a package alone has a dependency with features that it does not have in the workspace.
pub(crate) fn run() -> Outcome {
    let workspace = dependencies(&["--workspace", "--edges", "normal,build,dev"])?;
    for package in ALONE {
        let alone = dependencies(&[package, &["--edges", "normal,build"]].concat())?;
        let other: Vec<String> = differences(&alone, &workspace);
        if !other.is_empty() {
            return Err(format!(
                "cargo compiles these twice, because `{}` alone has other features than the workspace: \
                 name the missing features in its Cargo.toml\n{}",
                package[1],
                other.join("\n")
            ));
        }
    }
    Ok(())
}

/// The dependencies from other places, as lines of name, version and features.
fn dependencies(options: &[&str]) -> Result<BTreeSet<String>, String> {
    let format = ["--prefix", "none", "--no-dedupe", "--format", "{p} [{f}]", "--target", TARGET];
    let tree = output(cargo().arg("tree").args(format).args(options))?;
    // Packages of the workspace have their path after the version.
    let lines = tree.lines().map(|line| line.replace(" (proc-macro)", ""));
    Ok(lines.filter(|line| !line.contains(" (/")).collect())
}

/// The dependencies of a package alone that the workspace does not have, and what it has instead.
fn differences(alone: &BTreeSet<String>, workspace: &BTreeSet<String>) -> Vec<String> {
    let in_the_workspace = |line: &str| {
        let package = line.split(" [").next().unwrap_or(line);
        let found = workspace.iter().filter(|other| other.split(" [").next() == Some(package));
        found.map(|other| other[package.len()..].trim().to_owned()).collect::<Vec<_>>().join(" and ")
    };
    let other = alone.difference(workspace);
    other.map(|line| format!("  {line}, in the workspace {}", in_the_workspace(line))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_feature_is_named_with_what_the_workspace_has() {
        let set = |lines: &[&str]| lines.iter().map(|&line| line.to_owned()).collect::<BTreeSet<_>>();
        let workspace = set(&["memchr v2.8.3 [alloc,default,std]", "rand v0.9.0 []", "rand v0.10.0 [std]"]);
        assert!(differences(&set(&["rand v0.9.0 []"]), &workspace).is_empty());
        assert_eq!(
            differences(&set(&["memchr v2.8.3 [alloc,std]", "rand v0.10.0 [std]"]), &workspace),
            ["  memchr v2.8.3 [alloc,std], in the workspace [alloc,default,std]"]
        );
    }
}
