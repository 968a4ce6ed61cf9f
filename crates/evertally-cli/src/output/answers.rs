//! Private answers to a set of queries, as CSV with a header in lines that start with `#`, or as
//! one JSON object.

use super::{Destination, Header};
use crate::error::Result;
use serde::Serialize;
use std::io::{self, Write};

/// One answer with its 95 % interval.
#[derive(Serialize)]
pub(crate) struct AnswerRow {
    /// The number or name of its query.
    pub(crate) query: serde_json::Value,
    pub(crate) answer: f64,
    pub(crate) standard_error: f64,
    pub(crate) lower: f64,
    pub(crate) upper: f64,
}

/// Writes answers one at a time, because there may be millions. A file appears once it is complete.
pub(crate) fn write_answers(
    destination: Destination,
    header: &Header,
    rows: impl Iterator<Item = AnswerRow>,
    as_json: bool,
) -> Result<()> {
    destination
        .write_with(|out| if as_json { write_json(out, header, rows) } else { write_csv(out, header, rows) })
}

fn write_json(
    out: &mut impl Write,
    header: &Header,
    rows: impl Iterator<Item = AnswerRow>,
) -> io::Result<()> {
    out.write_all(b"{\"header\":")?;
    serde_json::to_writer(&mut *out, header)?;
    out.write_all(b",\"answers\":[")?;
    for (index, row) in rows.enumerate() {
        if index > 0 {
            out.write_all(b",")?;
        }
        serde_json::to_writer(&mut *out, &row)?;
    }
    out.write_all(b"]}\n")
}

fn write_csv(out: &mut impl Write, header: &Header, rows: impl Iterator<Item = AnswerRow>) -> io::Result<()> {
    writeln!(out, "# evertally: private answers to linear queries")?;
    for (fact, text) in header.as_text() {
        writeln!(out, "# {fact}: {text}")?;
    }
    let mut writer = csv::Writer::from_writer(out);
    writer.write_record(["query", "answer", "standard_error", "lower", "upper"])?;
    for row in rows {
        let query = match &row.query {
            serde_json::Value::String(name) => name.clone(),
            other => other.to_string(),
        };
        let numbers = [row.answer, row.standard_error, row.lower, row.upper].map(|number| number.to_string());
        writer.write_record(std::iter::once(&query).chain(&numbers))?;
    }
    writer.flush()
}
