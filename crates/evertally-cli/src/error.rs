//! How the program fails: one clear line, and an exit code that says whose fault it was.

use evertally::ErrorClass;
use evertally_ledger::Class;
use std::io::{self, Write};
use std::path::Path;

/// Why the program stops.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CliError {
    /// The command line or the input cannot be used: exit code 2.
    #[error("{0}")]
    BadInput(String),
    /// The privacy budget of a population does not allow it: exit code 3.
    #[error("{0}")]
    BudgetSpent(String),
    /// The machine or the program failed: exit code 1.
    #[error("{0}")]
    Failure(String),
    /// Whoever read the output has closed it: nothing to report.
    #[error("the output was closed")]
    ClosedPipe,
}

pub(crate) type Result<T> = std::result::Result<T, CliError>;

impl CliError {
    pub(crate) fn bad(message: impl Into<String>) -> Self {
        Self::BadInput(message.into())
    }

    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::BadInput(_) => 2,
            Self::Failure(_) => 1,
            Self::BudgetSpent(_) => 3,
            Self::ClosedPipe => 0,
        }
    }

    /// An input that cannot be opened or read. What is missing was named by the user, so it is bad
    /// input; the rest is not.
    pub(crate) fn reading(path: &Path, error: &io::Error) -> Self {
        let message = format!("{} cannot be read: {}", name_of(path), plain(error));
        match error.kind() {
            io::ErrorKind::NotFound
            | io::ErrorKind::PermissionDenied
            | io::ErrorKind::IsADirectory
            | io::ErrorKind::InvalidData
            | io::ErrorKind::UnexpectedEof => Self::BadInput(message),
            _ => Self::Failure(message),
        }
    }

    /// An output that cannot be written.
    pub(crate) fn writing(target: &str, error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::ClosedPipe,
            _ => Self::Failure(format!("{target} cannot be written: {}", plain(error))),
        }
    }

    /// The same about a file that the message does not name.
    pub(crate) fn in_file(self, path: &Path) -> Self {
        let named = |message: String| format!("{}: {message}", name_of(path));
        match self {
            Self::BadInput(message) => Self::BadInput(named(message)),
            Self::BudgetSpent(message) => Self::BudgetSpent(named(message)),
            other => other,
        }
    }

    fn classed(class: ErrorClass, message: String) -> Self {
        match class {
            ErrorClass::BadParameter | ErrorClass::Unsupported | ErrorClass::HorizonSpent => {
                Self::BadInput(message)
            }
            ErrorClass::BudgetSpent => Self::BudgetSpent(message),
            _ => Self::Failure(message),
        }
    }
}

impl From<evertally::Error> for CliError {
    fn from(error: evertally::Error) -> Self {
        Self::classed(error.class(), error.to_string())
    }
}

impl From<evertally_ledger::Error> for CliError {
    fn from(error: evertally_ledger::Error) -> Self {
        match error.class() {
            Class::Library(class) => Self::classed(class, error.to_string()),
            Class::NotFound | Class::Conflict => Self::BadInput(error.to_string()),
            _ => Self::Failure(error.to_string()),
        }
    }
}

impl From<evertally_keys::Error> for CliError {
    fn from(error: evertally_keys::Error) -> Self {
        let message = error.to_string();
        if error.is_bad_input() { Self::BadInput(message) } else { Self::Failure(message) }
    }
}

impl From<evertally_stream::Error> for CliError {
    fn from(error: evertally_stream::Error) -> Self {
        Self::classed(error.class(), error.to_string())
    }
}

/// A line for the operator. Where nobody can read it, the program goes on without.
pub(crate) fn tell(message: impl std::fmt::Display) {
    let _ = writeln!(io::stderr(), "evertally: {message}");
}

/// The name of an input as the user knows it.
pub(crate) fn name_of(path: &Path) -> String {
    if path.as_os_str() == "-" { "standard input".to_owned() } else { path.display().to_string() }
}

/// The system's words without Rust's "(os error 2)".
fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error") {
        Some(end) => text[..end].to_lowercase(),
        None => text,
    }
}

/// The command line's own complaint on one line: its first paragraph and its first tip, without usage.
pub(crate) fn one_line(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let paragraph = text.lines().take_while(|line| !line.trim().is_empty()).map(str::trim);
    let line = paragraph.collect::<Vec<_>>().join(" ");
    let line = line.strip_prefix("error: ").unwrap_or(&line);
    let line = match text.lines().find_map(|line| line.trim().strip_prefix("tip: ")) {
        Some(tip) => format!("{line}: {tip}"),
        None => line.to_owned(),
    };
    // Words of the command line are repeated in it, and a terminal would obey what some characters command.
    line.replace(char::is_control, "\u{fffd}")
}

/// A cell as an error may show it: quoted, without control characters, and never long. What could
/// be a key, read in place of the data by mistake, is not shown at all.
pub(crate) fn shown(cell: &str) -> String {
    const LONGEST: usize = 60;
    const COULD_BE_A_KEY: usize = 48;
    if cell.split(|c: char| !c.is_ascii_hexdigit()).any(|digits| digits.len() >= COULD_BE_A_KEY) {
        return "(many hexadecimal digits)".to_owned();
    }
    // As it will look: characters that command a terminal are written out.
    let mut length = 0;
    let start: String = cell
        .chars()
        .take_while(|c| {
            length += c.escape_debug().count();
            length <= LONGEST
        })
        .collect();
    if start.len() == cell.len() { format!("{cell:?}") } else { format!("{start:?}…") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_is_short_and_no_key() {
        assert_eq!(shown("north"), "\"north\"");
        assert_eq!(shown(&"x".repeat(60)), format!("\"{}\"", "x".repeat(60)));
        assert_eq!(shown(&"x".repeat(61)), format!("\"{}\"…", "x".repeat(60)));
        // Found by fuzzing: sixty such characters were shown as four hundred.
        assert!(shown(&"\u{1b}".repeat(60)).chars().count() <= 63);
        assert!(!shown(&format!(" key={}", "5a".repeat(32))).contains("5a5a"));
        assert_eq!(shown("0123456789abcdef0123456789abcdef"), "\"0123456789abcdef0123456789abcdef\"");
    }
}
