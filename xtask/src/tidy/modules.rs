//! Refuses cycles between the modules of the library.
//!
//! A module is a file or directory in `crates/evertally/src`; those of `research` count one by one.
//! Module a depends on module b if code of a names `crate::b`. Tests may depend on anything, so
//! files of tests and what follows `#[cfg(test)]` are left out.

use std::collections::{BTreeMap, BTreeSet};

use crate::Outcome;
use crate::process::{self, command};

const SOURCE: &str = "crates/evertally/src/";

type Dependencies = BTreeMap<String, BTreeSet<String>>;

pub(super) fn run() -> Outcome {
    let files = process::output(command("git").args(["ls-files", "--", &format!("{SOURCE}*.rs")]))?;
    let mut sources = Vec::new();
    for file in files.lines() {
        // A file that was removed is still listed until the removal is committed.
        let Ok(text) = std::fs::read_to_string(process::root().join(file)) else { continue };
        sources.push((file.trim_start_matches(SOURCE).to_owned(), text));
    }
    let dependencies = dependencies(&sources);
    match cycle(&dependencies) {
        None => Ok(()),
        Some(path) => Err(format!("modules of the library form a cycle: {}", path.join(" → "))),
    }
}

/// The module of a path below the source directory.
fn module(path: &str) -> String {
    let path = path.strip_prefix("research/").unwrap_or(path);
    path.split('/').next().unwrap_or(path).trim_end_matches(".rs").to_owned()
}

fn dependencies(sources: &[(String, String)]) -> Dependencies {
    let is_code = |path: &str| !path.ends_with("tests.rs") && !path.contains("/statistics/");
    let names: BTreeSet<String> = sources.iter().map(|(path, _)| module(path)).collect();
    let mut dependencies = Dependencies::new();
    // The face of the crate re-exports all of them.
    let is_face = |name: &str| matches!(name, "lib" | "internals" | "research");
    for (path, text) in sources.iter().filter(|(path, _)| is_code(path) && !is_face(&module(path))) {
        let of = dependencies.entry(module(path)).or_default();
        let code = text.split("\n#[cfg(test)]\nmod ").next().unwrap_or(text);
        let is_comment = |line: &&str| line.trim_start().starts_with("//");
        let code = code.lines().filter(|line| !is_comment(line)).collect::<Vec<_>>().join(" ");
        of.extend(named(&code).into_iter().filter(|name| names.contains(*name)).map(str::to_owned));
        of.remove(&module(path));
    }
    dependencies
}

/// The names that follow `crate::`, those in braces included.
fn named(code: &str) -> Vec<&str> {
    let is_other = |c: char| !(c.is_ascii_lowercase() || c == '_');
    let mut names = Vec::new();
    for rest in code.split("crate::").skip(1) {
        let rest = rest.strip_prefix("research::").unwrap_or(rest);
        match rest.strip_prefix('{').and_then(|braced| braced.split(';').next()) {
            Some(braced) => names.extend(braced.split(is_other)),
            None => names.extend(rest.split(is_other).next()),
        }
    }
    names
}

/// A path of modules that ends where it begins, if there is one.
fn cycle(dependencies: &Dependencies) -> Option<Vec<String>> {
    fn walk(
        at: &str,
        dependencies: &Dependencies,
        path: &mut Vec<String>,
        done: &mut BTreeSet<String>,
    ) -> bool {
        if path.iter().any(|earlier| earlier == at) {
            path.push(at.to_owned());
            return true;
        }
        if done.contains(at) {
            return false;
        }
        path.push(at.to_owned());
        for next in dependencies.get(at).into_iter().flatten() {
            if walk(next, dependencies, path, done) {
                return true;
            }
        }
        path.pop();
        done.insert(at.to_owned());
        false
    }
    let mut done = BTreeSet::new();
    dependencies.keys().find_map(|start| {
        let mut path = Vec::new();
        walk(start, dependencies, &mut path, &mut done).then(|| {
            let end = path.last().cloned().unwrap_or_default();
            path.split_off(path.iter().position(|name| *name == end).unwrap_or(0))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(sources: &[(&str, &str)]) -> Option<Vec<String>> {
        let sources: Vec<_> = sources.iter().map(|(p, t)| ((*p).to_owned(), (*t).to_owned())).collect();
        cycle(&dependencies(&sources))
    }

    #[test]
    fn a_cycle_is_named_wherever_it_is_closed() {
        let plan = ("plan/builder.rs", "use crate::noise::Key;\n");
        let noise = ("noise/mod.rs", "use crate::{\n    Error,\n    plan::Plan,\n};\n");
        assert_eq!(found(&[plan, noise]).unwrap(), ["noise", "plan", "noise"]);
        assert_eq!(found(&[plan, ("noise/mod.rs", "use crate::Error;\n")]), None);
        // A single use in the middle of code counts.
        assert!(found(&[plan, ("noise/mod.rs", "    let x = crate::plan::f();\n")]).is_some());
    }

    #[test]
    fn comments_and_tests_do_not_count() {
        let noise =
            "/// See `crate::plan`.\nfn f() {}\n#[cfg(test)]\nmod tests {\n    use crate::plan::Plan;\n}\n";
        assert_eq!(found(&[("plan.rs", "use crate::noise::f;\n"), ("noise.rs", noise)]), None);
        assert_eq!(
            found(&[("plan.rs", "use crate::noise::f;\n"), ("noise/tests.rs", "use crate::plan::P;\n")]),
            None
        );
    }

    #[test]
    fn modules_of_research_count_one_by_one() {
        let gamma = ("research/gamma/mod.rs", "use crate::matrix::Matrix;\n");
        let plan = ("plan.rs", "use crate::research::gamma::f;\n");
        let batch = ("research/batch/mod.rs", "use crate::plan::Plan;\n");
        assert_eq!(found(&[gamma, plan, batch, ("matrix.rs", "")]), None);
        assert!(found(&[("research/gamma/mod.rs", "use crate::plan::Plan;\n"), plan]).is_some());
    }
}
