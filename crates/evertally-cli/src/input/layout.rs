//! How an input is written: its format, and what is between values.

use crate::error::{CliError, Result, name_of, shown};
use clap::ValueEnum;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The first and the last bytes of an Arrow file.
pub(super) const ARROW_MAGIC: &[u8] = b"ARROW1";

/// The formats that are read. Text may be compressed with gzip or zstd.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum InputFormat {
    /// Comma-separated values with a header line
    Csv,
    /// Values between tabs, with a header line
    Tsv,
    /// One JSON object per line
    Jsonl,
    /// A JSON array of objects, or one object per line
    Json,
    /// Apache Parquet
    Parquet,
    /// Apache Arrow: a file (Feather) or a stream
    Arrow,
}

/// What the user says about the layout of an input.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Layout {
    /// The format; by default it is recognised from the name.
    pub(crate) format: Option<InputFormat>,
    /// What is between values, if it is not that of the format.
    pub(crate) delimiter: Option<u8>,
}

impl From<Option<InputFormat>> for Layout {
    fn from(format: Option<InputFormat>) -> Self {
        Self { format, ..Self::default() }
    }
}

impl Layout {
    /// The format of a file: the given one, or the one of its ending. An ending of a compression
    /// stands behind it. A file with another ending may say by itself what it is. Standard input is CSV by
    /// default.
    pub(super) fn format_of(self, path: &Path) -> Result<InputFormat> {
        if let Some(format) = self.format {
            return Ok(format);
        }
        if path.as_os_str() == "-" {
            return Ok(InputFormat::Csv);
        }
        let ending =
            |path: &Path| path.extension().and_then(|ending| ending.to_str()).map(str::to_ascii_lowercase);
        let packed = ending(path).is_some_and(|ending| ["gz", "gzip", "zst", "zstd"].contains(&&*ending));
        let inner = if packed { path.with_extension("") } else { path.to_owned() };
        match ending(&inner).as_deref() {
            Some("csv") => Ok(InputFormat::Csv),
            Some("tsv" | "tab") => Ok(InputFormat::Tsv),
            Some("jsonl" | "ndjson") => Ok(InputFormat::Jsonl),
            Some("json") => Ok(InputFormat::Json),
            Some("parquet" | "pq" | "arrow" | "feather" | "ipc" | "arrows") if packed => {
                Err(CliError::bad(format!(
                    "{}: Parquet and Arrow are compressed inside; unpack the file first",
                    name_of(path)
                )))
            }
            Some("parquet" | "pq") => Ok(InputFormat::Parquet),
            Some("arrow" | "feather" | "ipc" | "arrows") => Ok(InputFormat::Arrow),
            _ => format_by_content(path).ok_or_else(|| {
                CliError::bad(format!(
                    "the format of {} cannot be recognised from its name: expected .csv, .tsv, .jsonl, .json, .parquet or .arrow, perhaps with .gz or .zst for text, or --input-format",
                    name_of(path)
                ))
            }),
        }
    }

    /// What is between the values of a text with a header.
    pub(super) fn delimiter_of(self, format: InputFormat) -> Result<u8> {
        match (format, self.delimiter) {
            (InputFormat::Csv, None) => Ok(b','),
            (InputFormat::Tsv, None) => Ok(b'\t'),
            (InputFormat::Csv | InputFormat::Tsv, Some(delimiter)) => Ok(delimiter),
            (_, None) => Ok(b','),
            (_, Some(_)) => Err(CliError::bad("--delimiter is for CSV: other formats have none")),
        }
    }
}

/// The format that the first bytes of a file name. Text names none. Only a file can be read twice.
fn format_by_content(path: &Path) -> Option<InputFormat> {
    let mut first = [0; ARROW_MAGIC.len()];
    let is_file = path.metadata().is_ok_and(|metadata| metadata.is_file());
    File::open(path).ok().filter(|_| is_file)?.read_exact(&mut first).ok()?;
    match &first {
        first if first == ARROW_MAGIC => Some(InputFormat::Arrow),
        [b'P', b'A', b'R', b'1', ..] => Some(InputFormat::Parquet),
        _ => None,
    }
}

/// Parses a delimiter: one character of ASCII that is neither a quote nor a line end.
pub(crate) fn parse_delimiter(text: &str) -> std::result::Result<u8, String> {
    match text.as_bytes() {
        _ if text == "\\t" || text == "tab" => Ok(b'\t'),
        [byte] if byte.is_ascii() && !matches!(byte, b'"' | b'\n' | b'\r') => Ok(*byte),
        _ => Err(format!("expected one character of ASCII, such as ; or \\t for a tab, got {}", shown(text))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_give_the_format_behind_a_compression_too() {
        let format = |name: &str| Layout::default().format_of(Path::new(name)).ok();
        for (name, expected) in [
            ("-", Some(InputFormat::Csv)),
            ("a.csv", Some(InputFormat::Csv)),
            ("a.b.CSV.GZ", Some(InputFormat::Csv)),
            ("a.tab", Some(InputFormat::Tsv)),
            ("a.tsv.zst", Some(InputFormat::Tsv)),
            ("a.jsonl.zstd", Some(InputFormat::Jsonl)),
            ("a.json", Some(InputFormat::Json)),
            ("a.pq", Some(InputFormat::Parquet)),
            ("a.feather", Some(InputFormat::Arrow)),
            ("a.ARROWS", Some(InputFormat::Arrow)),
            ("a.parquet.gz", None),
            ("a.arrow.zst", None),
            ("a.gz", None),
            ("a.txt", None),
        ] {
            assert_eq!(format(name), expected, "{name}");
        }
    }

    #[test]
    fn a_delimiter_is_one_character() {
        assert_eq!(
            [";", "\\t", "tab", "\t", "|"].map(parse_delimiter),
            [Ok(b';'), Ok(9), Ok(9), Ok(9), Ok(b'|')]
        );
        for text in ["", ",,", "é", "\"", "\n"] {
            assert!(parse_delimiter(text).is_err(), "{text:?}");
        }
    }
}
