//! CSV: a header, and one row per release.

use super::Encoder;
use crate::error::{Problem, Result};
use crate::model::release::of_step;
use evertally_ledger::{Published, StepRelease};

const COLUMNS: [&str; 8] = ["step", "time", "epoch", "key", "value", "standard_error", "lower", "upper"];

/// Writes CSV.
#[derive(Default)]
pub(super) struct Csv {
    has_started: bool,
}

impl Encoder for Csv {
    fn rows(&mut self, counter: &Published, steps: &[StepRelease], lane: Option<usize>) -> Result<Vec<u8>> {
        let failed = |_| Problem::system("a release cannot be written");
        let mut writer = csv::WriterBuilder::new().has_headers(false).from_writer(Vec::new());
        if !self.has_started {
            self.has_started = true;
            writer.write_record(COLUMNS).map_err(failed)?;
        }
        for release in steps.iter().flat_map(|step| of_step(counter, step, lane)) {
            writer.serialize(release).map_err(failed)?;
        }
        writer.into_inner().map_err(|_| Problem::system("a release cannot be written"))
    }

    fn end(&mut self) -> Result<Vec<u8>> {
        Ok(Vec::new())
    }
}
