//! How the program fails: one clear line, and an exit code for the kind of failure.

use evertally::ErrorClass;
#[cfg(feature = "service")]
use evertally_ledger::Class;
use std::io;
use std::path::Path;

/// Why the program stops.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CliError {
    /// The command line or the input cannot be used: exit code 2.
    #[error("{0}")]
    BadInput(String),
    /// One row of the input cannot be used, and the rows after it can: exit code 2. A followed run leaves
    /// the row out and goes on.
    #[error("{0}")]
    BadRow(String),
    /// The privacy budget of a population does not allow it: exit code 3.
    #[error("{0}")]
    BudgetSpent(String),
    /// The machine or the program failed: exit code 1.
    #[error("{0}")]
    Failure(String),
    /// The reader of the output has closed it. There is nothing to report.
    #[error("the output was closed")]
    ClosedPipe,
}

/// What is said of a file of Parquet, Arrow or zstd in a program without the feature `columnar`.
#[cfg(not(feature = "columnar"))]
pub(crate) const NO_COLUMNAR: &str = "this program was built without Parquet, Arrow and zstd: build it with the feature \"columnar\", which is on by default";

pub(crate) type Result<T> = std::result::Result<T, CliError>;

impl CliError {
    pub(crate) fn bad(message: impl Into<String>) -> Self {
        Self::BadInput(message.into())
    }

    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::BadInput(_) | Self::BadRow(_) => 2,
            Self::Failure(_) => 1,
            Self::BudgetSpent(_) => 3,
            Self::ClosedPipe => 0,
        }
    }

    /// An input that cannot be opened or read. A missing file is bad input, because the user named
    /// it. A failing disk is not.
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

    /// The same error with the name of its file in front.
    pub(crate) fn in_file(self, path: &Path) -> Self {
        let named = |message: String| format!("{}: {message}", name_of(path));
        match self {
            Self::BadInput(message) => Self::BadInput(named(message)),
            Self::BadRow(message) => Self::BadRow(named(message)),
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

#[cfg(feature = "service")]
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

/// The name of an input as the user knows it.
pub(crate) fn name_of(path: &Path) -> String {
    if path.as_os_str() == "-" {
        return "standard input".to_owned();
    }
    // A name may contain line ends and other control characters. A message is one line.
    path.display().to_string().replace(char::is_control, "\u{fffd}")
}

/// The message of the system without Rust's "(os error 2)".
fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error") {
        Some(end) => text[..end].to_lowercase(),
        None => text,
    }
}

/// An error of the argument parser on one line: its first paragraph and its first tip, without usage.
pub(crate) fn one_line(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let paragraph = text.lines().take_while(|line| !line.trim().is_empty()).map(str::trim);
    let line = paragraph.collect::<Vec<_>>().join(" ");
    let line = line.strip_prefix("error: ").unwrap_or(&line);
    let line = match text.lines().find_map(|line| line.trim().strip_prefix("tip: ")) {
        Some(tip) => format!("{line}: {tip}"),
        None => line.to_owned(),
    };
    // It repeats words of the command line, which may contain control characters for a terminal.
    line.replace(char::is_control, "\u{fffd}")
}

/// A cell as an error may show it: quoted, without control characters, and short. Anything that
/// could be a key, read instead of the data by mistake, is not shown.
pub(crate) fn shown(cell: &str) -> String {
    const MAX_LENGTH: usize = 60;
    const COULD_BE_A_KEY: usize = 48;
    if cell.split(|c: char| !c.is_ascii_hexdigit()).any(|digits| digits.len() >= COULD_BE_A_KEY) {
        return "(many hexadecimal digits)".to_owned();
    }
    // Measured as it will look: control characters are escaped.
    let mut length = 0;
    let start: String = cell
        .chars()
        .take_while(|c| {
            length += c.escape_debug().count();
            length <= MAX_LENGTH
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
