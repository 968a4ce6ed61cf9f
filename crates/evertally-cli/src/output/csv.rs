//! Releases as CSV, with the header in lines that start with `#`.

use super::{Destination, Header, Period, ReleaseWriter, ReleasedRow, Shape};
use crate::error::{CliError, Result};
use csv::{Writer, WriterBuilder};
use std::io::Write;

pub(crate) struct CsvReleases {
    name: String,
    writer: Writer<Destination>,
}

impl CsvReleases {
    pub(crate) fn start(mut destination: Destination, header: &Header, shape: Shape) -> Result<Self> {
        let name = destination.name();
        let mut lines = String::from("# evertally: private running totals\n");
        for (fact, text) in header.as_text() {
            lines.push_str(&format!("# {fact}: {text}\n"));
        }
        destination.write_all(lines.as_bytes()).map_err(|error| CliError::writing(&name, &error))?;
        let mut columns = Vec::new();
        columns.extend(shape.periods.then_some(Period::COLUMNS).into_iter().flatten());
        columns.push("step");
        columns.extend(shape.timed.then_some("start"));
        columns.extend(shape.keyed.then_some("key"));
        columns.extend(shape.measures.columns().iter().map(|(name, _)| *name));
        let mut started = Self::go_on(destination);
        let written = started.writer.write_record(columns);
        written.map_err(|error| CliError::writing(&started.name, &error.into()))?;
        Ok(started)
    }

    /// A table whose header stands there already.
    pub(crate) fn go_on(destination: Destination) -> Self {
        Self { name: destination.name(), writer: WriterBuilder::new().from_writer(destination) }
    }
}

impl ReleaseWriter for CsvReleases {
    fn write(&mut self, row: &ReleasedRow<'_>) -> Result<()> {
        let numbers: Vec<String> = row
            .measured
            .numbers()
            .map(|number| number.map_or_else(String::new, |number| number.to_string()))
            .collect();
        let step = row.step.to_string();
        let first = row.period.map(|period| period.first.to_string());
        let period = row.period.iter().map(|period| period.kind).chain(first.as_deref());
        let cells = period
            .chain([step.as_str()])
            .chain(row.start.map(|start| start.text))
            .chain(row.key)
            .chain(numbers.iter().map(String::as_str));
        let written = self.writer.write_record(cells);
        written.map_err(|error| CliError::writing(&self.name, &error.into()))
    }

    fn flush(&mut self) -> Result<()> {
        self.writer.flush().map_err(|error| CliError::writing(&self.name, &error))
    }

    fn finish(self: Box<Self>) -> Result<Destination> {
        let name = self.name;
        self.writer.into_inner().map_err(|error| CliError::writing(&name, error.error()))
    }
}
