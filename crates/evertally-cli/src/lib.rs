//! The `evertally` program: private running totals on the command line. It holds no mathematics.
//!
//! The program is a library so that the code that reads files can be fuzzed. None of it is a public
//! interface. The library for other programs is the crate `evertally`.

mod budget_file;
mod commands;
mod draws;
mod error;
#[doc(hidden)]
pub mod fuzz;
mod input;
mod mechanism;
mod noise_key;
mod output;
mod plot;
mod progress;

use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use commands::research::Research;
use error::CliError;
use std::ffi::OsString;
use std::process::ExitCode;

/// The first screen of the help: what the program is for, how to start, and the two groups.
const HELP_TEMPLATE: &str = "\
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
";

/// Publish running totals of a sensitive stream under differential privacy
#[derive(Debug, Parser)]
#[command(name = "evertally", version, help_template = HELP_TEMPLATE)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Count(Box<commands::count::CountArgs>),
    Plan(Box<commands::plan::PlanArgs>),
    Serve(Box<commands::serve::ServeArgs>),
    Audit(Box<commands::audit::AuditArgs>),
    Budget(commands::budget::BudgetArgs),
    Learn(Box<commands::learn::LearnArgs>),
    Predict(commands::learn::predict::PredictArgs),
    Demo(commands::demo::DemoArgs),
    Completions(commands::completions::CompletionsArgs),
    /// Commands for people who study mechanisms
    #[command(subcommand, hide = true)]
    Research(Research),
    /// The research commands under the names that they had before there were groups.
    #[command(flatten)]
    Ungrouped(Research),
}

impl Cli {
    /// The words of the command line, program name first.
    fn parse_words<Word>(words: impl IntoIterator<Item = Word>) -> Result<Self, clap::Error>
    where
        Word: Into<OsString> + Clone,
    {
        Self::from_arg_matches(&Self::program().try_get_matches_from(words)?)
    }

    /// All commands, with those for research listed in a group of their own.
    fn program() -> clap::Command {
        let research = Research::augment_subcommands(clap::Command::new("research"));
        let mut all = Self::command();
        let mut listed = "Research:".to_owned();
        for command in research.get_subcommands() {
            let (name, about) = (command.get_name(), command.get_about().cloned().unwrap_or_default());
            listed.push_str(&format!("\n  research {name:<7} {about}"));
            all = all.mut_subcommand(name, |command| command.hide(true));
        }
        all.after_help(listed)
    }
}

/// Runs the command line of this process and returns the exit code.
#[must_use]
pub fn run() -> ExitCode {
    let cli = match Cli::parse_words(std::env::args_os()) {
        Ok(cli) => cli,
        // No command was given: show the help.
        Err(help) if help.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = help.print();
            return ExitCode::from(2);
        }
        Err(error) if error.use_stderr() => return fail(&CliError::bad(error::one_line(&error))),
        Err(help) => {
            // Help and version. A closed pipe is not an error.
            let _ = help.print();
            return ExitCode::SUCCESS;
        }
    };
    let done = match &cli.command {
        Command::Count(args) => commands::count::run(args),
        Command::Plan(args) => commands::plan::run(args),
        Command::Serve(args) => commands::serve::run(args),
        Command::Audit(args) => commands::audit::run(args),
        Command::Budget(args) => commands::budget::run(args),
        Command::Learn(args) => commands::learn::run(args),
        Command::Predict(args) => commands::learn::predict::run(args),
        Command::Demo(args) => commands::demo::run(args),
        Command::Completions(args) => commands::completions::run(args, &Cli::program()),
        Command::Research(research) | Command::Ungrouped(research) => research.run(),
    };
    done.map_or_else(|error| fail(&error), |()| ExitCode::SUCCESS)
}

fn fail(error: &CliError) -> ExitCode {
    if !matches!(error, CliError::ClosedPipe) {
        error::tell(error);
    }
    ExitCode::from(error.exit_code())
}

#[cfg(test)]
mod tests;
