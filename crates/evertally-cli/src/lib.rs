//! The `evertally` program: private running totals on the command line. It holds no mathematics.
//!
//! All of it is here and not in `main`, so that what reads files can be fuzzed. It is a program,
//! not a library: nothing in it is promised to stay. The library is the crate `evertally`.

mod commands;
mod draws;
mod error;
#[doc(hidden)]
pub mod fuzz;
mod input;
mod key;
mod ledger;
mod mechanism;
mod output;
mod plot;
mod progress;

use clap::error::ErrorKind;
use clap::{Parser, Subcommand};
use error::CliError;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Start here:
  evertally demo --out visits.csv
  evertally count visits.csv --time time --every 1h \\
    --from 2026-01-05 --steps 1344 \\
    --key region --keys north,south,east,west,harbour \\
    --epsilon 1 --delta 1e-6 --plot visits.svg
  evertally plan --horizon 1344 --epsilon 1 --delta 1e-6
  evertally learn --help
  evertally serve --demo

Exit codes: 0 done, 1 something failed, 2 the command line or the input
cannot be used, 3 the privacy budget does not allow it.";

/// Publish running totals of a sensitive stream under differential privacy, with the error of every number
#[derive(Debug, Parser)]
#[command(name = "evertally", version, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Count(Box<commands::count::CountArgs>),
    Plan(Box<commands::plan::PlanArgs>),
    Noise(Box<commands::noise::NoiseArgs>),
    Learn(Box<commands::learn::LearnArgs>),
    Budget(commands::budget::BudgetArgs),
    Audit(Box<commands::audit::AuditArgs>),
    Bounds(commands::bounds::BoundsArgs),
    Paper(commands::paper::PaperArgs),
    Gamma(commands::gamma::GammaArgs),
    Answer(Box<commands::answer::AnswerArgs>),
    Parity(Box<commands::parity::ParityArgs>),
    Predict(commands::learn::predict::PredictArgs),
    Serve(Box<commands::serve::ServeArgs>),
    Demo(commands::demo::DemoArgs),
}

/// Does what the command line asks for, and answers with the exit code.
#[must_use]
pub fn run() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        // Nothing was asked for: the help says what could be.
        Err(help) if help.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = help.print();
            return ExitCode::from(2);
        }
        Err(error) if error.use_stderr() => return fail(&CliError::bad(error::one_line(&error))),
        Err(help) => {
            // Help and version; a closed pipe is no reason to complain.
            let _ = help.print();
            return ExitCode::SUCCESS;
        }
    };
    let done = match &cli.command {
        Command::Count(args) => commands::count::run(args),
        Command::Plan(args) => commands::plan::run(args),
        Command::Noise(args) => commands::noise::run(args),
        Command::Learn(args) => commands::learn::run(args),
        Command::Budget(args) => commands::budget::run(args),
        Command::Audit(args) => commands::audit::run(args),
        Command::Bounds(args) => commands::bounds::run(args),
        Command::Paper(args) => commands::paper::run(args),
        Command::Gamma(args) => commands::gamma::run(args),
        Command::Answer(args) => commands::answer::run(args),
        Command::Parity(args) => commands::parity::run(args),
        Command::Predict(args) => commands::learn::predict::run(args),
        Command::Serve(args) => commands::serve::run(args),
        Command::Demo(args) => commands::demo::run(args),
    };
    done.map_or_else(|error| fail(&error), |()| ExitCode::SUCCESS)
}

fn fail(error: &CliError) -> ExitCode {
    if !matches!(error, CliError::ClosedPipe) {
        error::tell(error);
    }
    ExitCode::from(error.exit_code())
}
