//! The `evertally` program: private running totals on the command line. It holds no mathematics.
//!
//! The program is a library so that the code that reads files can be fuzzed. None of it is a public
//! interface. The library for other programs is the crate `evertally`.

mod budget_file;
mod commands;
mod config;
mod draws;
mod error;
#[doc(hidden)]
pub mod fuzz;
mod help;
mod input;
mod interrupt;
mod manners;
mod mechanism;
mod memory;
mod noise_key;
mod output;
mod panic_guard;
mod plot;
mod progress;

use clap::error::ErrorKind;
use clap::{FromArgMatches, Parser, Subcommand, ValueEnum};
use commands::research::Research;
use config::{Configured, Given};
use error::CliError;
use manners::{Color, MannersArgs};
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

/// Publish running totals of a sensitive stream under differential privacy
#[derive(Debug, Parser)]
#[command(name = "evertally", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    manners: MannersArgs,
}

#[derive(Debug, Subcommand)]
enum Command {
    Count(Box<commands::count::CountArgs>),
    Graph(Box<commands::graph::GraphArgs>),
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
    fn parse_words<Word>(
        program: clap::Command,
        words: impl IntoIterator<Item = Word>,
    ) -> Result<Self, clap::Error>
    where
        Word: Into<OsString> + Clone,
    {
        Self::from_arg_matches(&program.try_get_matches_from(words)?)
    }
}

/// What the words of the command line and the configuration file ask for, or the exit code of a
/// program that stops here.
fn asked(words: Vec<OsString>) -> Result<Cli, ExitCode> {
    let program = help::program();
    let given = Given::new(&program, &words);
    // Help and errors of the parser are coloured too.
    given.color.as_deref().and_then(|color| Color::from_str(color, true).ok()).unwrap_or(Color::Auto).adopt();
    let configured = Configured::new(&program, words, &given).map_err(|error| fail(&error))?;
    let cli = Cli::parse_words(program, &configured.words).map_err(|error| stopped(&error, &configured))?;
    cli.manners.adopt();
    if let Some(file) = &configured.file {
        manners::mention(format_args!("options from {}", file.display()));
    }
    Ok(cli)
}

/// Shows the help, the version or the error with which parsing ended.
fn stopped(error: &clap::Error, configured: &Configured) -> ExitCode {
    if error.use_stderr() && error.kind() != ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        let line = error::one_line(error);
        let place = configured.origin(error).map(|place| format!("{place}: ")).unwrap_or_default();
        return fail(&CliError::bad(format!("{place}{line}")));
    }
    // Without a command, the help is an error. A closed pipe is not.
    let text = error.render();
    let _ = if error.use_stderr() {
        write!(anstream::stderr(), "{}", text.ansi())
    } else {
        write!(anstream::stdout(), "{}", text.ansi())
    };
    if error.use_stderr() { ExitCode::from(2) } else { ExitCode::SUCCESS }
}

/// Runs the command line of this process and returns the exit code.
#[must_use]
pub fn run() -> ExitCode {
    let cli = match asked(std::env::args_os().collect()) {
        Ok(cli) => cli,
        Err(code) => return code,
    };
    if let Err(error) = start_threads() {
        return fail(&error);
    }
    let done = match &cli.command {
        Command::Count(args) => commands::count::run(args),
        Command::Graph(args) => commands::graph::run(args),
        Command::Plan(args) => commands::plan::run(args),
        Command::Serve(args) => commands::serve::run(args),
        Command::Audit(args) => commands::audit::run(args),
        Command::Budget(args) => commands::budget::run(args),
        Command::Learn(args) => commands::learn::run(args),
        Command::Predict(args) => commands::learn::predict::run(args),
        Command::Demo(args) => commands::demo::run(args),
        Command::Completions(args) => commands::completions::run(args, &help::program()),
        Command::Research(research) | Command::Ungrouped(research) => research.run(),
    };
    done.map_or_else(|error| fail(&error), |()| ExitCode::SUCCESS)
}

/// Starts the threads that share long work. They would start by themselves where they are first
/// needed, and panic there if the system has no room for them (`ulimit -v`, `ulimit -u`).
fn start_threads() -> error::Result<()> {
    rayon::ThreadPoolBuilder::new()
        .build_global()
        .map_err(|error| CliError::Failure(format!("cannot start threads: {error}")))
}

fn fail(error: &CliError) -> ExitCode {
    if !matches!(error, CliError::ClosedPipe) {
        manners::tell_error(error);
    }
    ExitCode::from(error.exit_code())
}

#[cfg(test)]
mod tests;
