//! Manual pages: one for the program, and one for every command.
//!
//! `clap_mangen` writes the sections about options and commands. It would fill the lines of the
//! examples into paragraphs, so this file writes the remaining sections itself.

use crate::help::HELP_TEMPLATE;
use clap::Command;
use clap_mangen::Man;
use std::io::{self, Write};

/// The names and contents of all pages.
pub(super) fn pages(program: &Command) -> Vec<(String, Vec<u8>)> {
    let mut program = program.clone().disable_help_subcommand(true);
    program.build();
    let mut pages = Vec::new();
    add(&program, &introduction(), &mut pages);
    pages
}

/// A titled section whose lines stay as they are.
struct Section {
    title: &'static str,
    text: String,
}

/// Adds the page of a command and those of its subcommands.
fn add(command: &Command, last: &[Section], pages: &mut Vec<(String, Vec<u8>)>) {
    // An empty date would be left out, and the version would take its place.
    let version = concat!("evertally ", env!("CARGO_PKG_VERSION"));
    let manual = Man::new(command.clone()).date(" ").source(version).manual("Evertally");
    let mut page = Vec::new();
    render(command, &manual, last, &mut page).expect("a vector takes every byte");
    pages.push((manual.get_filename(), page));
    for inner in command.get_subcommands() {
        add(inner, &examples(inner), pages);
    }
}

fn render(command: &Command, manual: &Man, last: &[Section], page: &mut Vec<u8>) -> io::Result<()> {
    manual.render_title(page)?;
    manual.render_name_section(page)?;
    manual.render_synopsis_section(page)?;
    manual.render_description_section(page)?;
    manual.render_options_section(page)?;
    if command.has_subcommands() {
        manual.render_subcommands_section(page)?;
    }
    for section in last {
        writeln!(page, ".SH {}\n.nf\n{}\n.fi", section.title, verbatim(&section.text))?;
    }
    Ok(())
}

/// The text after the options of a command: its examples, or notes.
fn examples(command: &Command) -> Vec<Section> {
    let Some(text) = command.get_after_help().map(ToString::to_string) else { return Vec::new() };
    vec![match text.strip_prefix("Examples:\n") {
        Some(examples) => Section { title: "EXAMPLES", text: examples.to_owned() },
        None => Section { title: "NOTES", text },
    }]
}

/// How to start, and the exit codes: the first screen of the help has both between its lists.
fn introduction() -> Vec<Section> {
    let between = |start: &str, end: &str| {
        let (_, rest) = HELP_TEMPLATE.split_once(start)?;
        rest.split_once(end).map(|(text, _)| text.trim_matches('\n').to_owned())
    };
    let parts = [
        ("EXAMPLES", between("Start here:", "\n\nCounting:")),
        ("EXIT STATUS", between("\nExit codes:", "\nRun evertally")),
    ];
    parts.into_iter().filter_map(|(title, text)| Some(Section { title, text: text? })).collect()
}

/// Text as roff shows it unchanged.
fn verbatim(text: &str) -> String {
    let character = |c: char| match c {
        '\\' => "\\e".to_owned(),
        '-' => "\\-".to_owned(),
        '\'' => "\\(aq".to_owned(),
        c if c.is_ascii() => c.to_string(),
        c => format!("\\[u{:04X}]", u32::from(c)),
    };
    let lines = text.lines().map(|line| {
        let line: String = line.chars().map(character).collect();
        // A dot at the start of a line would be a request.
        if line.starts_with('.') { format!("\\&{line}") } else { line }
    });
    lines.collect::<Vec<_>>().join("\n")
}
