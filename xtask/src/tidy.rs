//! `cargo xtask tidy`: what formatting and the compiler do not check.
//!
//! - rustfmt keeps code to its width and leaves comments alone. This check holds comments to the
//!   same width. Rows of tables are exempt, because Markdown cannot break them, and so are lines of
//!   Python sessions, which are tests.
//! - The modules of the library depend on each other in one direction (`modules`).

mod modules;

use std::path::Path;

use crate::Outcome;
use crate::process::{self, command};

/// The width of code in `rustfmt.toml`.
const MAX_COLUMNS: usize = 110;

/// Refuses comments that are wider than the code, and cycles between modules of the library.
pub(crate) fn run() -> Outcome {
    comments()?;
    modules::run()
}

fn comments() -> Outcome {
    let files = process::output(command("git").args(["ls-files", "--", "*.rs"]))?;
    let mut wide = Vec::new();
    for file in files.lines() {
        let path = process::root().join(file);
        // A file that was removed is still listed until the removal is committed.
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        wide.extend(wide_comments(Path::new(file), &text));
    }
    if wide.is_empty() {
        return Ok(());
    }
    Err(format!("comments wider than {MAX_COLUMNS} columns:\n{}", wide.join("\n")))
}

/// The places of comment lines that are too wide, as `file:line`.
fn wide_comments(file: &Path, text: &str) -> Vec<String> {
    let is_wide = |line: &str| {
        let Some(comment) = line.trim_start().strip_prefix("//") else { return false };
        let words = comment.trim_start_matches(['/', '!']).trim_start();
        line.chars().count() > MAX_COLUMNS && !words.starts_with(['|', '>'])
    };
    let numbered = text.lines().enumerate();
    numbered
        .filter(|(_, line)| is_wide(line))
        .map(|(index, _)| format!("  {}:{}", file.display(), index + 1))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_may_be_as_wide_as_code_and_no_wider() {
        let line = |columns: usize| format!("    /// {}", "x".repeat(columns - 8));
        let found = |text: &str| wide_comments(Path::new("lib.rs"), text);
        assert!(found(&line(MAX_COLUMNS)).is_empty());
        assert_eq!(found(&format!("\n{}\n", line(MAX_COLUMNS + 1))), ["  lib.rs:2"]);
        assert_eq!(found(&format!("// {}", "é".repeat(MAX_COLUMNS - 2))).len(), 1);
        assert!(found(&format!("//! | {} |", "x".repeat(MAX_COLUMNS))).is_empty());
        assert!(found(&format!("let text = \"{}\";", "x".repeat(MAX_COLUMNS))).is_empty());
    }
}
