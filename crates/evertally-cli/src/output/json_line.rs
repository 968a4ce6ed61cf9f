//! One JSON object on one line, as every command prints it with `--json`.

use crate::error::{CliError, Result};
use serde::Serialize;

pub(crate) fn json_line(value: &impl Serialize) -> Result<String> {
    let text = serde_json::to_string(value);
    text.map(|text| text + "\n")
        .map_err(|error| CliError::Failure(format!("the result cannot be printed as JSON: {error}")))
}
