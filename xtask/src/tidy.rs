//! `cargo xtask tidy`: checks the width of comments.
//!
//! rustfmt limits the width of code and ignores comments. This check applies the same limit to
//! comments. Rows of tables are exempt, because Markdown cannot break them. So are lines of Python
//! sessions, because they are tests.

use std::path::Path;

use crate::Outcome;
use crate::process::{self, command};

/// The width of code in `rustfmt.toml`.
const MAX_COLUMNS: usize = 110;

/// Fails if a comment is wider than the limit.
pub(crate) fn run() -> Outcome {
    let files = process::output(command("git").args(["ls-files", "--", "*.rs"]))?;
    let mut wide = Vec::new();
    for file in files.lines() {
        let path = process::root().join(file);
        // Git lists a removed file until the removal is committed.
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        wide.extend(wide_comments(Path::new(file), &text));
    }
    if wide.is_empty() {
        return Ok(());
    }
    Err(format!("comments wider than {MAX_COLUMNS} columns:\n{}", wide.join("\n")))
}

/// The locations of comment lines that are too wide, as `file:line`.
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
