//! Completions and manual pages are complete, and contain nothing that the help does not show.

use super::*;
use crate::help;
use clap::{Command, ValueEnum};

/// Spellings that still work and are no longer shown.
const OLDER: [&str; 8] = [
    "--steps",
    "--worst",
    "--key-file",
    "--ledger",
    "--noise-multiplier",
    "--regret ",
    "--rate ",
    "--open-keys",
];

/// Every command that does something, with its name in full.
fn commands(command: &Command, name: &str) -> Vec<(String, Command)> {
    let inner: Vec<_> = command.get_subcommands().collect();
    if inner.is_empty() {
        return vec![(name.to_owned(), command.clone())];
    }
    inner.iter().flat_map(|inner| commands(inner, &format!("{name} {}", inner.get_name()))).collect()
}

/// The names of the long options that a command shows.
fn options(command: &Command) -> Vec<String> {
    command.get_arguments().filter_map(|option| Some(format!("--{}", option.get_long()?))).collect()
}

#[test]
fn every_shown_command_is_documented_and_no_older_one() {
    let program = help::program();
    let names: Vec<String> = commands(&documented(&program), "").into_iter().map(|(name, _)| name).collect();
    for expected in [" count", " budget new", " budget check", " research gamma", " completions"] {
        assert!(names.iter().any(|name| name == expected), "{expected} is missing from {names:?}");
    }
    // The research commands have an older name each.
    assert_eq!(names.iter().filter(|name| name.ends_with(" gamma")).count(), 1, "{names:?}");
    let shown = program.get_subcommands().filter(|command| !command.is_hide_set()).count();
    assert_eq!(documented(&program).get_subcommands().count(), shown + 1, "and research");
}

#[test]
fn every_script_offers_every_option_and_no_older_spelling() {
    let program = documented(&help::program());
    for shell in Shell::value_variants() {
        let script = String::from_utf8(script(*shell, &program)).expect("text");
        // fish writes `-l horizon`.
        let spelled = |option: &str| match shell {
            Shell::Fish => option.replacen("--", "-l ", 1),
            _ => option.to_owned(),
        };
        for (name, command) in commands(&program, "evertally") {
            assert!(script.contains(command.get_name()), "{shell} lacks {name}");
            for option in options(&command) {
                assert!(script.contains(&spelled(&option)), "{shell} lacks {option} of {name}");
            }
        }
        for older in OLDER {
            assert!(!script.contains(&spelled(older)), "{shell} offers {older}");
        }
    }
}

#[test]
fn every_command_has_a_manual_page_with_its_options_and_examples() {
    let program = documented(&help::program());
    let pages = manual::pages(&program);
    for (name, command) in commands(&program, "evertally") {
        let file = format!("{}.1", name.replace(' ', "-"));
        let Some((_, page)) = pages.iter().find(|(name, _)| *name == file) else { panic!("no {file}") };
        let page = String::from_utf8(page.clone()).expect("text").replace("\\-", "-");
        for option in options(&command) {
            assert!(page.contains(&option), "{file} lacks {option}");
        }
        assert_eq!(page.contains(".SH EXAMPLES\n.nf\n"), name_has_examples(&command), "{file}");
        for older in OLDER {
            assert!(!page.contains(older), "{file} speaks of {older}");
        }
    }
    let (_, first) = &pages[0];
    let first = String::from_utf8_lossy(first).replace("\\-", "-");
    for part in ["evertally serve --demo", ".SH EXIT STATUS\n.nf\n 0 done", "evertally-research(1)"] {
        assert!(first.contains(part), "{part} is missing from {first}");
    }
}

fn name_has_examples(command: &Command) -> bool {
    command.get_after_help().is_some_and(|text| text.to_string().starts_with("Examples:\n"))
}
