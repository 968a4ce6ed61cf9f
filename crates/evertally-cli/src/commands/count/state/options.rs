//! The options that all runs of a state have in common.
//!
//! **Definition.** Everything that the header of the output says about the options, and the columns.
//! **Guarantee.** A run with another one is refused by its name before anything is read. What decides the
//! noise is also part of the count's own fingerprint, so nothing rests on this list alone: it holds what
//! the rows of one table must share, and makes the error clear.

use super::StateFile;
use super::form::Saved;
use crate::commands::count::release::describe;
use crate::commands::count::task::Task;
use crate::error::{CliError, Result};
use crate::mechanism::Prepared;
use crate::output::Header;

/// What a header says that follows from the options, or from the version of the program.
const COMPUTED: [&str; 9] = [
    "version",
    "noise_multiplier",
    "rho",
    "sensitivity",
    "rmse",
    "rmse_of_periods",
    "rmse_of_cumulative_counts",
    "rmse_of_cumulative_counts_of_periods",
    "optimality",
];

/// The options by name, those that a user types first.
pub(super) fn facts(task: &Task<'_>, prepared: &Prepared) -> Vec<(String, String)> {
    let mut header = Header::new();
    describe(task, prepared.plan.horizon(), &mut header);
    prepared.describe(&mut header);
    let args = task.args;
    let columns = [
        ("--time", &args.time),
        ("--value", &args.value),
        ("--group-by", &args.group_by),
        ("--histogram", &args.histogram.column),
        ("--person", &args.person),
        ("--distinct", &args.distinct.column),
        ("--id", &args.id),
    ];
    let columns = columns.into_iter().filter_map(|(name, column)| Some((name, column.clone()?)));
    let told = header.as_text().filter(|(name, _)| !COMPUTED.contains(name));
    let mut facts: Vec<_> = columns.chain(told).map(|(name, text)| (name.to_owned(), text)).collect();
    // It is chosen by all others, and is the last that a user would look for.
    facts.sort_by_key(|(name, _)| name == "mechanism");
    facts
}

/// Refuses a state of another key or of other options.
pub(super) fn check(
    state: &StateFile,
    saved: &Saved,
    facts: &[(String, String)],
    key_tag: Option<[u8; 8]>,
) -> Result<()> {
    if Some(saved.key_tag) != key_tag {
        return Err(state.refused("it belongs to another key"));
    }
    let of = |facts: &[(String, String)], name: &str| {
        facts.iter().find(|(other, _)| other == name).map(|(_, text)| text.clone())
    };
    let differs = |name: &str| of(&saved.facts, name) != of(facts, name);
    let is_missing = |name: &str| of(&saved.facts, name).is_none() || of(facts, name).is_none();
    // An option that one side lacks may have changed the others, such as the mechanism. Only the grid
    // follows from another option, the arithmetic.
    let names =
        || saved.facts.iter().chain(facts).map(|(name, _)| name.as_str()).filter(|name| differs(name));
    let Some(name) = names().find(|name| *name != "grid" && is_missing(name)).or_else(|| names().next())
    else {
        return Ok(());
    };
    let words = |text: Option<String>| text.map_or("none".to_owned(), |text| shortened(&text));
    Err(CliError::bad(format!(
        "{} belongs to other options: expected {name} {}, got {}",
        state.name(),
        words(of(&saved.facts, name)),
        words(of(facts, name))
    )))
}

/// A text that fits into a message.
fn shortened(text: &str) -> String {
    const MAX_LETTERS: usize = 80;
    let mut short: String = text.chars().take(MAX_LETTERS).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}
