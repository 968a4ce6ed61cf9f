//! The configuration file: options that need not be typed each time.
//!
//! **Definition.** `evertally.toml` in the working directory, or the file of `--config`, has a table
//! for each command (`[count]`, `[budget.new]`, `[research.gamma]`) and names options by their long
//! names. Options that every command has may stand before the first table.
//!
//! **Guarantee.** The settings become words of the command line before anything is parsed. An option
//! from the file therefore means exactly what it means when it is typed: it is checked in the same
//! place, stands in the same header and is part of the same noise name. A typed option takes
//! precedence over the same option in the file, and over every option of the file that conflicts
//! with it. An unknown name is an error, even in the table of another command.
//!
//! Options whose names end in `-not-private` are not read from a file: they must be asked for where
//! they take effect. The file holds no secrets; a noise key is the path of another file.

mod given;
mod settings;

pub(crate) use given::Given;

use crate::error::{CliError, Result, name_of};
use clap::Command;
use clap::error::{ContextKind, ContextValue};
use settings::Setting;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The file that is read without being named.
const FILE_NAME: &str = "evertally.toml";

/// The words of a command line together with those that the configuration file adds.
pub(crate) struct Configured {
    pub(crate) words: Vec<OsString>,
    /// The file, if one was read.
    pub(crate) file: Option<PathBuf>,
    settings: Vec<Setting>,
}

impl Configured {
    /// Reads the file that applies to a command line, if there is one.
    pub(crate) fn new(program: &Command, words: Vec<OsString>, given: &Given) -> Result<Self> {
        let Some(file) = file_for(given) else { return Ok(Self { words, file: None, settings: Vec::new() }) };
        let text = std::fs::read_to_string(&file).map_err(|error| CliError::reading(&file, &error))?;
        let settings = in_force(program, given, &name_of(&file), &text)?;
        let mut words = words;
        let added = settings.iter().filter_map(Setting::word).map(OsString::from);
        words.splice(given.options_start..given.options_start, added);
        Ok(Self { words, file: Some(file), settings })
    }

    /// Where the option that an error complains about was set, if it was set in the file.
    pub(crate) fn origin(&self, error: &clap::Error) -> Option<String> {
        let named = |kind| match error.get(kind) {
            Some(ContextValue::String(name)) => vec![name.clone()],
            Some(ContextValue::Strings(names)) => names.clone(),
            _ => Vec::new(),
        };
        let complaints = [named(ContextKind::InvalidArg), named(ContextKind::PriorArg)].concat();
        let is_meant = |setting: &&Setting| {
            let option = format!("--{}", setting.name);
            complaints.iter().any(|words| words.split([' ', '=']).any(|word| word == option))
        };
        let setting = self.settings.iter().find(is_meant)?;
        Some(format!("{}, line {}", self.file.as_ref()?.display(), setting.line))
    }
}

fn file_for(given: &Given) -> Option<PathBuf> {
    match &given.config {
        // A file with a mistake must not keep the help away.
        _ if given.is_question || given.command.is_empty() || given.is_set("no_config") => None,
        Some(path) => Some(path.clone()),
        None => Some(PathBuf::from(FILE_NAME)).filter(|path| Path::is_file(path)),
    }
}

/// The settings of a file that apply to a command line: those for every command, then those for this
/// one, without those that a typed option replaces.
fn in_force(program: &Command, given: &Given, file: &str, text: &str) -> Result<Vec<Setting>> {
    let mut program = program.clone();
    // Building gives every command the options that all commands have.
    program.build();
    let command = given.command.iter().try_fold(&program, |command, name| command.find_subcommand(name));
    let Some(command) = command else { return Ok(Vec::new()) };
    let mut settings: Vec<Setting> = Vec::new();
    for setting in settings::read(&program, &given.command, file, text)? {
        // Two that exclude each other in one table are a mistake, which the parser finds.
        settings.retain(|outer| {
            outer.depth == setting.depth || !settings::clash(command, &outer.id, &setting.id)
        });
        settings.push(setting);
    }
    settings.retain(|setting| !given.ids.iter().any(|id| settings::clash(command, &setting.id, id)));
    Ok(settings)
}

#[cfg(test)]
mod tests;
