//! Releases as JSON lines; the first line is `{"evertally":{…}}` with the header.

use super::{Destination, Header, ReleaseWriter, ReleasedRow};
use crate::error::{CliError, Result};
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

impl JsonReleases {
    pub(crate) fn start(destination: Destination, header: &Header) -> Result<Self> {
        let mut started = Self::go_on(destination);
        started.line(&HeaderLine { evertally: header })?;
        Ok(started)
    }

    /// A table whose header stands there already.
    pub(crate) fn go_on(destination: Destination) -> Self {
        Self { name: destination.name(), writer: BufWriter::new(destination) }
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
        self.line(row)
    }

    fn flush(&mut self) -> Result<()> {
        self.writer.flush().map_err(|error| CliError::writing(&self.name, &error))
    }

    fn finish(self: Box<Self>) -> Result<Destination> {
        let name = self.name;
        self.writer.into_inner().map_err(|error| CliError::writing(&name, error.error()))
    }
}
