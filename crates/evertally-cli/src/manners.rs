//! How the program speaks: colour, silence, and what it says besides its results.
//!
//! Results go to standard output, everything else to standard error. The options of this module are
//! the same for every command. They are settled once, before a command runs, and never change what
//! is released.
//!
//! **What `--quiet` leaves.** Errors, warnings about events that were left out of a count, and notes
//! about noise keys: what was counted and what was spent are part of the result. Progress, advice
//! about budgets and the closing summary are silent.

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use clap::{Args, ValueEnum};
use evertally::Budget;
use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU8, Ordering};

#[derive(Debug, Args)]
#[command(next_help_heading = "Every command")]
pub(crate) struct MannersArgs {
    /// When to use colour
    ///
    /// auto uses it on a terminal, unless NO_COLOR is set. CLICOLOR_FORCE=1 turns it on for pipes and
    /// files too.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: Color,
    /// Show no progress and no advice
    ///
    /// Errors are still shown, and so are warnings about events that were left out of a count.
    #[arg(long, short, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Say more: which configuration file is used, and a summary after a count
    #[arg(long, short, global = true)]
    pub(crate) verbose: bool,
    /// Take options from this TOML file [default: evertally.toml in the working directory, if there
    /// is one]
    ///
    /// The file has a table per command, with the names of the long options, such as [count] with
    /// epsilon = 0.2. Flags are true or false, and lists may be arrays. Options on the command line
    /// take precedence.
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Do not read evertally.toml
    #[arg(long, global = true, conflicts_with = "config")]
    no_config: bool,
}

/// When output is coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

impl Color {
    /// Settles the colour of everything that is written from now on.
    pub(crate) fn adopt(self) {
        match self {
            Self::Auto => ColorChoice::Auto,
            Self::Always => ColorChoice::Always,
            Self::Never => ColorChoice::Never,
        }
        .write_global();
    }
}

const QUIET: u8 = 0;
const NORMAL: u8 = 1;
const VERBOSE: u8 = 2;

/// How much is said. One program runs one command, so one value is enough.
static VERBOSITY: AtomicU8 = AtomicU8::new(NORMAL);

impl MannersArgs {
    /// Settles colour and verbosity.
    pub(crate) fn adopt(&self) {
        self.color.adopt();
        let verbosity = match (self.quiet, self.verbose) {
            (true, _) => QUIET,
            (_, true) => VERBOSE,
            _ => NORMAL,
        };
        VERBOSITY.store(verbosity, Ordering::Relaxed);
    }
}

pub(crate) fn is_quiet() -> bool {
    VERBOSITY.load(Ordering::Relaxed) == QUIET
}

fn is_verbose() -> bool {
    VERBOSITY.load(Ordering::Relaxed) == VERBOSE
}

/// Whether progress may be shown: somebody watches, and has not asked for silence.
pub(crate) fn shows_progress() -> bool {
    !is_quiet() && io::stderr().is_terminal()
}

/// Whether a command closes with a summary.
pub(crate) fn shows_summary() -> bool {
    is_verbose() || shows_progress()
}

/// The heads of tables and of sections of the help.
pub(crate) const HEAD: Style = Style::new().bold();

/// What the program would choose.
pub(crate) const CHOSEN: Style = AnsiColor::Green.on_default().bold();

/// Words to type.
pub(crate) const LITERAL: Style = AnsiColor::Cyan.on_default();

/// What went wrong.
pub(crate) const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();

/// The text between the codes of a style. Streams remove the codes where there is no colour.
pub(crate) fn styled(style: Style, text: impl Display) -> String {
    format!("{style}{text}{style:#}")
}

/// Reports why the program stops.
pub(crate) fn tell_error(error: impl Display) {
    say(&styled(ERROR, "evertally:"), error);
}

/// Reports what was left out, or what else is part of the result. `--quiet` does not silence it.
pub(crate) fn warn(warning: impl Display) {
    say(&format!("evertally: {}", styled(WARNING, "warning:")), warning);
}

/// Reports what a run spends beyond what its options say. `--quiet` does not silence it.
pub(crate) fn note(note: impl Display) {
    say("evertally: note:", note);
}

/// Reports what only `--verbose` asks for.
pub(crate) fn mention(detail: impl Display) {
    if is_verbose() {
        say("evertally:", detail);
    }
}

/// Shows the closing summary of a command, if somebody watches or asked for it.
pub(crate) fn summarise(summary: impl Display) {
    if shows_summary() {
        say("evertally:", summary);
    }
}

/// Gives advice about a budget that promises little. `units` is how many rows it protects, if their
/// number is public.
pub(crate) fn advise(budget: Budget, units: Option<u64>) {
    if !is_quiet() {
        budget.warnings(units).into_iter().for_each(warn);
    }
}

/// Writes a line for the operator. If standard error is closed, the program continues without it.
fn say(prefix: &str, message: impl Display) {
    // A message is one line, whatever the names of files in it. Colours begin with an escape.
    let message = message.to_string().replace(|c: char| c.is_control() && c != '\u{1b}', "\u{fffd}");
    let _ = writeln!(anstream::stderr().lock(), "{prefix} {message}");
}

/// A text for standard output, with colour if it may have any.
pub(crate) fn for_stdout(text: &str) -> String {
    match AutoStream::choice(&io::stdout()) {
        ColorChoice::Never => anstream::adapter::strip_str(text).to_string(),
        _ => text.to_owned(),
    }
}

/// A table with its first line as its head, and with every other line in the style that it calls for.
pub(crate) fn with_head(table: &str, style_of: impl Fn(&str) -> Option<Style>) -> String {
    let style = |(at, line)| if at == 0 { Some(HEAD) } else { style_of(line) };
    let line = |(at, line)| style((at, line)).map_or_else(|| line.to_owned(), |style| styled(style, line));
    table.lines().enumerate().map(|numbered| line(numbered) + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn styles_add_nothing_but_codes() {
        let table = "a  b\n→  1\n   2\n";
        let coloured = with_head(table, |line| line.starts_with('→').then_some(CHOSEN));
        assert_eq!(coloured, "\u{1b}[1ma  b\u{1b}[0m\n\u{1b}[1m\u{1b}[32m→  1\u{1b}[0m\n   2\n");
        assert_eq!(anstream::adapter::strip_str(&coloured).to_string(), table);
    }
}
