//! The help: its first screen, its groups, and its colours.

use crate::Cli;
use crate::commands::research::Research;
use crate::manners::{HEAD, LITERAL, styled};
use clap::builder::{StyledStr, Styles};
use clap::{Command, CommandFactory, Subcommand};

/// The first screen of the help: what the program is for, how to start, and the two groups.
pub(crate) const HELP_TEMPLATE: &str = "\
Evertally publishes running totals of a sensitive stream (visits, cases,
clicks) at every step under differential privacy, and says how large the
error of every number is.

{usage-heading} {usage}

Start here:
  Make some events, and publish hourly totals of them with a picture:
    evertally demo --output visits.csv
    evertally count visits.csv --time time --every 1h \\
      --from 2026-01-05 --horizon 1344 --epsilon 1 --delta 1e-6 \\
      --plot visits.svg
  Ask what error to expect, before any data is read:
    evertally plan --horizon 1344 --epsilon 1 --delta 1e-6
  Run counters for years, with a page to watch them:
    evertally serve --demo

Counting:
{subcommands}
{after-help}

Options:
{options}

Exit codes: 0 done, 1 something failed, 2 the command line or the input
cannot be used, 3 the privacy budget does not allow it.
Run evertally COMMAND --help for the options and examples of a command.
Options may also stand in evertally.toml: see --config there.
";

/// All commands, with those for research listed in a group of their own.
pub(crate) fn program() -> Command {
    let research = Research::augment_subcommands(Command::new("research"));
    let mut all = Cli::command();
    let mut listed = "Research:".to_owned();
    for command in research.get_subcommands() {
        let (name, about) = (command.get_name(), command.get_about().cloned().unwrap_or_default());
        listed.push_str(&format!("\n  research {name:<7} {about}"));
        all = all.mut_subcommand(name, |command| command.hide(true));
    }
    let styles = Styles::styled().header(HEAD).usage(HEAD).literal(LITERAL).placeholder(LITERAL);
    with_coloured_examples(all.after_help(listed).styles(styles).help_template(coloured(HELP_TEMPLATE)))
}

/// Colours the text behind the options of a command and of the commands inside it.
fn with_coloured_examples(command: Command) -> Command {
    let of = |text: Option<&StyledStr>| text.map(|text| coloured(&text.to_string()));
    let (short, long) = (of(command.get_after_help()), of(command.get_after_long_help()));
    let command = if let Some(text) = short { command.after_help(text) } else { command };
    let command = if let Some(text) = long { command.after_long_help(text) } else { command };
    command.mut_subcommands(with_coloured_examples)
}

/// A text in which the heads of paragraphs stand out, and commands to type.
fn coloured(text: &str) -> StyledStr {
    let mut is_continued = false;
    let line = |line: &str| {
        let is_command = is_continued || line.starts_with("    evertally ");
        is_continued = is_command && line.ends_with('\\');
        match line.split_once(':') {
            // clap forgets how far a line has come only at a line break that plain text follows. So the
            // indentation stays plain; otherwise clap would wrap the command.
            _ if is_command => {
                let command = line.trim_start();
                format!("{}{}", &line[..line.len() - command.len()], styled(LITERAL, command))
            }
            Some((head, rest)) if is_head(head) => format!("{}{rest}", styled(HEAD, format_args!("{head}:"))),
            _ => line.to_owned(),
        }
    };
    StyledStr::from(text.split('\n').map(line).collect::<Vec<_>>().join("\n"))
}

/// Whether words before a colon are the head of a paragraph, as in `How to read it`.
fn is_head(words: &str) -> bool {
    const LONGEST: usize = 24;
    words.starts_with(char::is_uppercase) && words.len() <= LONGEST && !words.contains(['.', ',', '{'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colour_adds_nothing_but_codes() {
        let plain =
            "Examples:\n  One:\n    evertally count a \\\n      --every 1h\n\nHow to read it: as words.";
        let styled = coloured(plain);
        assert_eq!(styled.to_string(), plain);
        let codes = styled.ansi().to_string();
        for part in [
            "\u{1b}[1mExamples:\u{1b}[0m\n  One:\n",
            "    \u{1b}[36mevertally count a \\\u{1b}[0m\n",
            "      \u{1b}[36m--every 1h\u{1b}[0m\n",
            "\u{1b}[1mHow to read it:\u{1b}[0m as words.",
        ] {
            assert!(codes.contains(part), "{part:?} is missing from {codes:?}");
        }
    }
}
