//! `cargo xtask tidy`: what formatters and the compiler do not check.
//!
//! - rustfmt limits the width of code and ignores comments. This check applies the same limit to
//!   comments, in Rust, in the sources of the page, and in the comments and docstrings of the Python
//!   package. Rows of tables are exempt, because Markdown cannot break them. So are lines of Python
//!   sessions, because they are tests.
//! - The README stays short.
//! - The modules of the library depend on each other in one direction (`modules`).
//! - Everything that the tests build has one set of features (`features`).

mod features;
mod modules;

use std::path::Path;

use crate::Outcome;
use crate::process::{self, command};

/// The width of code in `rustfmt.toml`.
const MAX_COLUMNS: usize = 110;

/// The files whose comments are checked, as patterns of git.
const FILES: [&str; 5] = ["*.rs", "python/**/*.py", "web/*.ts", "web/*.mjs", "web/src/*.css"];

/// A newcomer reads the README in a few minutes. Everything else is in the book.
const README_WORDS: usize = 900;

/// How comment lines of Rust, TypeScript and CSS start.
const MARKS: [&str; 3] = ["//", "/*", "* "];

/// Fails if the README is too long, a comment is wider than the limit, modules of the library form a
/// cycle, or the tests would compile a dependency twice.
pub(crate) fn run() -> Outcome {
    readme()?;
    comments()?;
    modules::run()?;
    features::run()
}

fn readme() -> Outcome {
    let readme = process::root().join("README.md");
    let text = std::fs::read_to_string(&readme).map_err(|error| format!("cannot read README.md: {error}"))?;
    match text.split_whitespace().count() {
        words if words > README_WORDS => {
            Err(format!("README.md has {words} words, more than {README_WORDS}: move something to the book"))
        }
        _ => Ok(()),
    }
}

fn comments() -> Outcome {
    let files = process::output(command("git").args(["ls-files", "--"]).args(FILES))?;
    let mut wide = Vec::new();
    for file in files.lines() {
        // Git lists a removed file until the removal is committed.
        let Ok(text) = std::fs::read_to_string(process::root().join(file)) else { continue };
        let lines = if file.ends_with(".py") { python_comments(&text) } else { marked_comments(&text) };
        wide.extend(wide_comments(Path::new(file), &lines));
    }
    if wide.is_empty() {
        return Ok(());
    }
    Err(format!("comments wider than {MAX_COLUMNS} columns:\n{}", wide.join("\n")))
}

/// A line of prose: its index, the line, and the words in it without the marks of a comment.
type Prose<'a> = (usize, &'a str, &'a str);

/// The comments of Rust, TypeScript and CSS.
fn marked_comments(text: &str) -> Vec<Prose<'_>> {
    let lines = text.lines().enumerate();
    let comments = lines.filter_map(|(index, line)| {
        let start = line.trim_start();
        let comment = MARKS.iter().find_map(|mark| start.strip_prefix(mark))?;
        Some((index, line, comment.trim_start_matches(['/', '!', '*']).trim_start()))
    });
    comments.collect()
}

/// The comments and docstrings of Python. A docstring is a string in three quotes that starts a line.
fn python_comments(text: &str) -> Vec<Prose<'_>> {
    const QUOTES: &str = "\"\"\"";
    // Whether the string that is open at the start of a line is a docstring; None outside of strings.
    let (mut found, mut open) = (Vec::new(), None);
    for (index, line) in text.lines().enumerate() {
        let words = line.trim_start();
        let is_docstring = open.unwrap_or(words.starts_with(QUOTES));
        if is_docstring || (open.is_none() && words.starts_with('#')) {
            found.push((index, line, words));
        }
        if line.matches(QUOTES).count() % 2 == 1 {
            open = if open.is_none() { Some(is_docstring) } else { None };
        }
    }
    found
}

/// The locations of lines that are too wide, as `file:line`.
fn wide_comments(file: &Path, lines: &[Prose<'_>]) -> Vec<String> {
    let is_wide = |line: &str, words: &str| {
        line.chars().count() > MAX_COLUMNS && !words.starts_with(['|', '>']) && !words.starts_with("...")
    };
    let wide = lines.iter().filter(|(_, line, words)| is_wide(line, words));
    wide.map(|(index, ..)| format!("  {}:{}", file.display(), index + 1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_may_be_as_wide_as_code_and_no_wider() {
        let line = |columns: usize| format!("    /// {}", "x".repeat(columns - 8));
        let found = |text: &str| wide_comments(Path::new("lib.rs"), &marked_comments(text));
        assert!(found(&line(MAX_COLUMNS)).is_empty());
        assert_eq!(found(&format!("\n{}\n", line(MAX_COLUMNS + 1))), ["  lib.rs:2"]);
        assert_eq!(found(&format!("// {}", "é".repeat(MAX_COLUMNS - 2))).len(), 1);
        for mark in ["/** ", " * "] {
            assert_eq!(found(&format!("{mark}{}", "x".repeat(MAX_COLUMNS))).len(), 1);
        }
        assert!(found(&format!("//! | {} |", "x".repeat(MAX_COLUMNS))).is_empty());
        assert!(found(&format!("let text = \"{}\";", "x".repeat(MAX_COLUMNS))).is_empty());
    }

    #[test]
    fn docstrings_and_comments_of_python_are_held_to_the_same_width() {
        let wide = "x".repeat(MAX_COLUMNS + 1);
        let found = |text: &str| wide_comments(Path::new("a.py"), &python_comments(text)).len();
        assert_eq!(found(&format!("\"\"\"{wide}\"\"\"\nname = '{wide}'")), 1);
        assert_eq!(found(&format!("    \"\"\"Short.\n\n    {wide}\n    \"\"\"\n    name = '{wide}'")), 1);
        assert_eq!(found(&format!("    # {wide}")), 1);
        assert_eq!(found(&format!("\"\"\"Short.\n\n>>> {wide}\n... {wide}\n| {wide} |\n\"\"\"")), 0);
        assert_eq!(found(&format!("text = \"\"\"\n{wide}\n\"\"\"\nname = '{wide}'")), 0);
    }
}
