//! `{"counter":…,"releases":[…],"next":…}`.

use super::Encoder;
use crate::error::{Problem, Result};
use crate::model::release::of_step;
use evertally_ledger::{Published, StepRelease};

/// Writes JSON.
pub(super) struct Json {
    name: String,
    next: Option<u64>,
    has_started: bool,
    has_rows: bool,
}

impl Json {
    pub(super) fn new(name: &str, next: Option<u64>) -> Self {
        Self { name: name.to_owned(), next, has_started: false, has_rows: false }
    }
}

impl Encoder for Json {
    fn rows(&mut self, counter: &Published, steps: &[StepRelease], lane: Option<usize>) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        if !self.has_started {
            self.has_started = true;
            // Names hold no character that JSON escapes.
            bytes.extend_from_slice(format!("{{\"counter\":\"{}\",\"releases\":[", self.name).as_bytes());
        }
        for release in steps.iter().flat_map(|step| of_step(counter, step, lane)) {
            if self.has_rows {
                bytes.push(b',');
            }
            self.has_rows = true;
            serde_json::to_writer(&mut bytes, &release)
                .map_err(|_| Problem::system("a release cannot be written"))?;
        }
        Ok(bytes)
    }

    fn end(&mut self) -> Result<Vec<u8>> {
        let next = self.next.map_or_else(|| "null".to_owned(), |next| next.to_string());
        Ok(format!("],\"next\":{next}}}").into_bytes())
    }
}
