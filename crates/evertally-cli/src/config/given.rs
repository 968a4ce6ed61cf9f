//! What a command line says before it is parsed in full: the command, and which options were typed.
//!
//! It follows the definitions of the options, so that the value of one option is not taken for
//! another. It checks nothing: the parser does that afterwards.

use clap::{Arg, Command, Id};
use std::ffi::OsString;
use std::path::PathBuf;

#[derive(Debug, Default, PartialEq)]
pub(crate) struct Given {
    /// The names of the command, as in `research gamma`. Empty if there is none.
    pub(super) command: Vec<String>,
    /// The position of the first word after the command.
    pub(super) options_start: usize,
    /// The options that were typed.
    pub(super) ids: Vec<Id>,
    /// The value of `--config`.
    pub(super) config: Option<PathBuf>,
    /// The value of `--color`.
    pub(crate) color: Option<String>,
    /// Whether only the help or the version is asked for.
    pub(super) is_question: bool,
}

/// The words that ask for the help or the version. The parser adds them to every command.
const QUESTIONS: [&str; 5] = ["-h", "--help", "-V", "--version", "help"];

impl Given {
    /// Reads the words of a command line, program name first.
    pub(crate) fn new(program: &Command, words: &[OsString]) -> Self {
        let mut given = Self::default();
        let mut command = program;
        let mut rest = words.iter().enumerate().skip(1);
        while let Some((at, word)) = rest.next() {
            // A word that is not Unicode can only be a value or a file.
            let Some(word) = word.to_str() else { continue };
            let find = |is_it: &dyn Fn(&Arg) -> bool| {
                let shared = program.get_arguments().filter(|arg| arg.is_global_set());
                command.get_arguments().chain(shared).find(|arg| is_it(arg))
            };
            if word == "--" {
                break;
            } else if QUESTIONS.contains(&word) && (word != "help" || command.has_subcommands()) {
                given.is_question = true;
            } else if let Some(name) = word.strip_prefix("--") {
                let (name, value) = name.split_once('=').map_or((name, None), |(name, it)| (name, Some(it)));
                if let Some(arg) = find(&|arg| has_name(arg, name)) {
                    let mut next = || rest.next().map(|(_, word)| word.clone());
                    let value = value.map(OsString::from);
                    let value = if takes_value(arg) { value.or_else(&mut next) } else { None };
                    given.note(arg, value);
                }
            } else if let Some(letters) = word.strip_prefix('-') {
                for (at, letter) in letters.char_indices() {
                    let Some(arg) = find(&|arg| arg.get_short() == Some(letter)) else { break };
                    given.note(arg, None);
                    if takes_value(arg) {
                        if at + letter.len_utf8() == letters.len() {
                            rest.next();
                        }
                        break;
                    }
                }
            } else if let Some(inner) = command.find_subcommand(word) {
                command = inner;
                given.command.push(inner.get_name().to_owned());
                given.options_start = at + 1;
            }
        }
        given
    }

    fn note(&mut self, arg: &Arg, value: Option<OsString>) {
        match arg.get_id().as_str() {
            "config" => self.config = value.map(PathBuf::from),
            "color" => self.color = value.and_then(|value| value.into_string().ok()),
            _ => {}
        }
        self.ids.push(arg.get_id().clone());
    }

    pub(super) fn is_set(&self, id: &str) -> bool {
        self.ids.iter().any(|given| given.as_str() == id)
    }
}

/// Whether an option has this long name, or had it in an earlier version.
pub(super) fn has_name(arg: &Arg, name: &str) -> bool {
    arg.get_long() == Some(name) || arg.get_all_aliases().is_some_and(|aliases| aliases.contains(&name))
}

pub(super) fn takes_value(arg: &Arg) -> bool {
    arg.get_action().takes_values()
}
