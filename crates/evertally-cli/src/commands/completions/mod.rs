//! `evertally completions`: scripts by which shells complete the command line, and manual pages.
//!
//! Both are made from the definitions that parse the command line. They contain every command and
//! option that the help shows, and no older spelling.

mod documented;
mod manual;

use crate::error::{CliError, Result};
use crate::output::{Destination, Existing, write_whole_file};
use clap::Args;
use clap_complete::Shell;
use documented::documented;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  Complete commands and options in this shell:
    source <(evertally completions bash)

  Install everything for this user. Start a new shell, and try
  man evertally-count:
    evertally completions --into ~/.local/share

zsh reads a directory only if fpath lists it:
  fpath+=(~/.local/share/zsh/site-functions), before compinit.";

/// The directories below `--into`. They are those of system packages below `/usr/share`.
const BASH: &str = "bash-completion/completions/evertally";
const ZSH: &str = "zsh/site-functions/_evertally";
const FISH: &str = "fish/vendor_completions.d/evertally.fish";
const MANUAL: &str = "man/man1";

/// Print the completions of a shell, or install them with the manual pages
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
#[group(required = true, multiple = false)]
pub(crate) struct CompletionsArgs {
    /// The shell whose completions are printed
    shell: Option<Shell>,
    /// Write the completions of bash, zsh and fish and all manual pages below DIR, each where shells
    /// and man look for them
    #[arg(long, value_name = "DIR")]
    into: Option<PathBuf>,
}

/// Prints or writes what the options ask for. `program` is the complete command line.
pub(crate) fn run(args: &CompletionsArgs, program: &clap::Command) -> Result<()> {
    let program = documented(program);
    if let Some(shell) = args.shell {
        Destination::open(None, Existing::Replaced)?.write_whole(&script(shell, &program))?;
    }
    args.into.as_deref().map_or(Ok(()), |directory| install(&program, directory))
}

/// The script that completes this command line in a shell.
fn script(shell: Shell, program: &clap::Command) -> Vec<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut program.clone(), "evertally", &mut script);
    script
}

fn install(program: &clap::Command, directory: &Path) -> Result<()> {
    for (shell, path) in [(Shell::Bash, BASH), (Shell::Zsh, ZSH), (Shell::Fish, FISH)] {
        write(&directory.join(path), &script(shell, program))?;
    }
    for (name, page) in manual::pages(program) {
        write(&directory.join(MANUAL).join(name), &page)?;
    }
    Ok(())
}

/// Writes a file, and makes its directory.
fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    if let Some(directory) = path.parent() {
        let made = std::fs::create_dir_all(directory);
        made.map_err(|error| CliError::writing(&directory.display().to_string(), &error))?;
    }
    // These files are this program's own: a new version replaces them.
    write_whole_file(path, Existing::Replaced, bytes)
}
