//! From a TOML file to options.

use super::given::{has_name, takes_value};
use crate::error::{CliError, Result, shown};
use clap::{Arg, Command, Id};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Options that say which file is read, or that end the program.
const NOT_IN_A_FILE: [&str; 4] = ["config", "no-config", "help", "version"];

/// The group of the commands for research.
const RESEARCH: &str = "research";

/// An option that a file sets.
#[derive(Debug)]
pub(super) struct Setting {
    pub(super) id: Id,
    /// The long name of the option.
    pub(super) name: String,
    value: Value,
    /// The line of the file, counted from 1.
    pub(super) line: usize,
    /// How far inside other tables its table is. Inner ones take precedence.
    pub(super) depth: usize,
}

#[derive(Debug)]
enum Value {
    Flag(bool),
    Text(String),
}

impl Setting {
    /// The word of the command line that means the same. A flag that is false needs none.
    pub(super) fn word(&self) -> Option<String> {
        match &self.value {
            Value::Flag(is_set) => is_set.then(|| format!("--{}", self.name)),
            Value::Text(text) => Some(format!("--{}={text}", self.name)),
        }
    }
}

/// Whether at most one of two options can be given: they are the same, or one excludes the other.
pub(super) fn clash(command: &Command, one: &Id, other: &Id) -> bool {
    let excludes = |one: &Id, other: &Id| {
        let arg = command.get_arguments().find(|arg| arg.get_id() == one);
        arg.is_some_and(|arg| command.get_arg_conflicts_with(arg).iter().any(|arg| arg.get_id() == other))
    };
    one == other || excludes(one, other) || excludes(other, one)
}

/// The settings for every command and for the given one, in this order. The whole file is checked.
pub(super) fn read(program: &Command, command: &[String], file: &str, text: &str) -> Result<Vec<Setting>> {
    let table = DeTable::parse(text).map_err(|error| {
        let line = error.span().map_or(1, |span| line_of(text, span.start));
        CliError::bad(format!("{file}, line {line}: {}", error.message()))
    })?;
    // A command for research may be called by its name alone, and has one table all the same.
    let is_alone = command.first().is_some_and(|name| tables(program).all(|it| it.get_name() != name));
    let group = is_alone.then_some(RESEARCH);
    let wanted = group.into_iter().chain(command.iter().map(String::as_str)).collect();
    let mut reading = Reading { file, text, wanted, settings: Vec::new() };
    reading.table(program, &mut Vec::new(), table.get_ref())?;
    Ok(reading.settings)
}

struct Reading<'a> {
    file: &'a str,
    text: &'a str,
    /// The command whose settings are wanted.
    wanted: Vec<&'a str>,
    settings: Vec<Setting>,
}

impl Reading<'_> {
    /// Reads the table of a command, whose names are the path.
    fn table(&mut self, command: &Command, path: &mut Vec<String>, table: &DeTable<'_>) -> Result<()> {
        let is_wanted = path.len() <= self.wanted.len() && path.iter().zip(&self.wanted).all(|(a, b)| a == b);
        let mut inner = Vec::new();
        for (key, value) in table {
            let (name, line) = (key.get_ref().as_ref(), line_of(self.text, key.span().start));
            let file = self.file;
            let refuse = |reason: String| CliError::bad(format!("{file}, line {line}: {reason}"));
            if let DeValue::Table(content) = value.get_ref() {
                let found = tables(command).find(|inner| inner.get_name() == name);
                let found = found.ok_or_else(|| {
                    let near = nearest(name, tables(command).map(Command::get_name));
                    refuse(format!("there is no command {}{near}", shown(name)))
                })?;
                inner.push((found, content));
                continue;
            }
            let setting = option(command, name)
                .and_then(|option| Setting::new(option, value, line, path.len()))
                .map_err(|reason| refuse(format!("{}: {reason}", place(path, name))))?;
            if is_wanted {
                self.settings.push(setting);
            }
        }
        // After the options of this table, because those of an inner one take precedence.
        for (found, content) in inner {
            path.push(found.get_name().to_owned());
            self.table(found, path, content)?;
            path.pop();
        }
        Ok(())
    }
}

/// The commands that have a table inside the table of a command.
fn tables(command: &Command) -> impl Iterator<Item = &Command> {
    let research = command.find_subcommand(RESEARCH);
    let is_grouped = move |name| research.is_some_and(|group| group.find_subcommand(name).is_some());
    command.get_subcommands().filter(move |inner| {
        let name = inner.get_name();
        name != "help" && !is_grouped(name)
    })
}

/// The option of a command that a file may set by this name.
fn option<'a>(command: &'a Command, name: &str) -> std::result::Result<&'a Arg, String> {
    let option = command.get_arguments().find(|option| has_name(option, name)).ok_or_else(|| {
        let owner = tables(command).find(|inner| inner.get_arguments().any(|option| has_name(option, name)));
        if let Some(owner) = owner {
            return format!(
                "this is an option of a command: put it below a line such as [{}]",
                owner.get_name()
            );
        }
        let known = command.get_arguments().filter(|option| !option.is_hide_set());
        let known = known.filter_map(Arg::get_long).filter(|known| !NOT_IN_A_FILE.contains(known));
        format!("there is no such option{}", nearest(name, known))
    })?;
    match option.get_long() {
        Some(long) if NOT_IN_A_FILE.contains(&long) => Err("this cannot be set in a file".to_owned()),
        Some(long) if long.ends_with("-not-private") => {
            Err("this cannot be set in a file: give it on the command line, where it is seen".to_owned())
        }
        _ => Ok(option),
    }
}

impl Setting {
    fn new(
        option: &Arg,
        value: &Spanned<DeValue<'_>>,
        line: usize,
        depth: usize,
    ) -> std::result::Result<Self, String> {
        let value = match (value.get_ref(), takes_value(option)) {
            (DeValue::Boolean(is_set), false) => Value::Flag(*is_set),
            (_, false) => return Err("expected true or false".to_owned()),
            (DeValue::Array(items), true) if is_list(option) => {
                let items: Option<Vec<String>> = items
                    .iter()
                    .map(|item| text_of(item.get_ref()).filter(|text| !text.contains(',')))
                    .collect();
                Value::Text(items.ok_or("expected strings or numbers without commas in the array")?.join(","))
            }
            (DeValue::Array(_), true) => return Err("expected one value, got an array".to_owned()),
            (value, true) => Value::Text(text_of(value).ok_or("expected a string or a number")?),
        };
        let name = option.get_long().unwrap_or_default().to_owned();
        Ok(Self { id: option.get_id().clone(), name, value, line, depth })
    }
}

/// Whether the value of an option is a list with commas, as in `A,B,C` or `LO,HI`.
fn is_list(option: &Arg) -> bool {
    option.get_value_names().is_some_and(|names| names.iter().any(|name| name.contains(',')))
}

/// A value as it would be typed.
fn text_of(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) => {
            Some(i128::from_str_radix(number.as_str(), number.radix()).ok()?.to_string())
        }
        DeValue::Float(number) => Some(number.as_str().to_owned()),
        DeValue::Datetime(time) => Some(time.to_string()),
        DeValue::Boolean(_) | DeValue::Array(_) | DeValue::Table(_) => None,
    }
}

/// The name of an option with its table.
fn place(path: &[String], name: &str) -> String {
    // What stands there may be something else than an option, read by mistake.
    let name = shown(name);
    if path.is_empty() { name } else { format!("{name} in [{}]", path.join(".")) }
}

/// Names the known name that is most like another.
fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    let nearest = known.min_by_key(|known| strsim::damerau_levenshtein(name, known));
    nearest.map(|nearest| format!("; the nearest name is {nearest}")).unwrap_or_default()
}

fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count() + 1
}
