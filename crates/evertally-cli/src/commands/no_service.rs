//! `evertally serve` in a program that was built without the feature `service`.

use crate::error::{CliError, Result};
use clap::Args;

/// Run the service (this program was built without it)
#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// The options of the service
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    _words: Vec<String>,
}

pub(crate) fn run(_: &ServeArgs) -> Result<()> {
    Err(CliError::bad(
        "this program was built without the service: build it with the feature \"service\", which is on by default",
    ))
}
