//! Releases as JSON lines; the first line is `{"evertally":{…}}` with the header.

use super::{Destination, Header, ReleaseWriter, ReleasedRow};
use crate::error::{CliError, Result};
use crate::time;
use serde::Serialize;
use std::io::{BufWriter, Write};

pub(crate) struct JsonReleases {
    name: String,
    writer: BufWriter<Destination>,
}

#[derive(Serialize)]
struct HeaderLine<'a> {
    evertally: &'a Header,
}

#[derive(Serialize)]
struct ReleaseLine<'a> {
    step: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    start: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<&'a str>,
    estimate: f64,
    standard_error: f64,
    lower: f64,
    upper: f64,
}

impl JsonReleases {
    pub(crate) fn start(destination: Destination, header: &Header) -> Result<Self> {
        let mut started = Self { name: destination.name(), writer: BufWriter::new(destination) };
        started.line(&HeaderLine { evertally: header })?;
        Ok(started)
    }

    fn line(&mut self, value: &impl Serialize) -> Result<()> {
        let written = serde_json::to_writer(&mut self.writer, value).map_err(std::io::Error::from);
        written
            .and_then(|()| self.writer.write_all(b"\n"))
            .map_err(|error| CliError::writing(&self.name, &error))
    }
}

impl ReleaseWriter for JsonReleases {
    fn write(&mut self, row: &ReleasedRow<'_>) -> Result<()> {
        self.line(&ReleaseLine {
            step: row.step,
            start: row.start.and_then(time::format),
            key: row.key,
            estimate: row.estimate,
            standard_error: row.standard_error,
            lower: row.lower,
            upper: row.upper,
        })
    }

    fn flush(&mut self) -> Result<()> {
        self.writer.flush().map_err(|error| CliError::writing(&self.name, &error))
    }

    fn finish(self: Box<Self>) -> Result<()> {
        let name = self.name;
        let destination =
            self.writer.into_inner().map_err(|error| CliError::writing(&name, error.error()))?;
        destination.commit()
    }
}
