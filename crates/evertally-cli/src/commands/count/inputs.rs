//! The options that say what is read.

use super::filter::Filter;
use crate::error::{CliError, Result};
use crate::input::{InputFormat, Inputs, Layout, parse_delimiter};
use clap::Args;
use std::path::{Path, PathBuf};

/// The files, how they are written, and which of their rows count.
#[derive(Debug, Args)]
pub(crate) struct InputArgs {
    /// The events: a .csv, .tsv, .jsonl, .json, .parquet, .arrow or .feather file, or - for standard
    /// input. Text may be compressed with gzip or zstd
    ///
    /// Compression is recognised by content. A quoted pattern such as 'visits-*.csv' stands for all
    /// files that match it. In JSON, Parquet and Arrow, user.id is the member id of user; a dot that
    /// belongs to a name is written \., and a column with the whole name wins.
    pub(crate) file: PathBuf,
    /// More files with the same columns. Their order does not matter with --time
    #[arg(value_name = "FILE")]
    pub(super) more_files: Vec<PathBuf>,
    /// The format of the input [default: by the name of the file]
    #[arg(long, value_name = "FORMAT")]
    pub(super) input_format: Option<InputFormat>,
    /// The character between the values of CSV, such as ; or \t for a tab [default: , and a tab for TSV]
    #[arg(long, value_name = "CHARACTER", value_parser = parse_delimiter)]
    pub(super) delimiter: Option<u8>,
    /// Count only rows for which a condition holds, such as "status = 'paid' and amount > 0"
    ///
    /// Columns are compared with numbers or with 'texts' by = != < <= > >=, in (…) and is null, joined
    /// by and, or, not and parentheses. A column whose name is not a plain word is written in "double
    /// quotes". A comparison with a missing cell does not hold. A cell that is no number cannot be
    /// compared with one. The condition looks at one row at a time. It is part of what is counted, so
    /// another condition has other noise, and it is published in the header.
    #[arg(long = "where", value_name = "CONDITION", requires = "time", help_heading = "What counts")]
    pub(super) condition: Option<String>,
    /// Leave out rows that cannot be read, instead of stopping at the first
    ///
    /// Such a row has a time or value that is none, the wrong number of columns, or is no JSON object.
    /// How many there were is private: it is shown to you, and not written to the output.
    #[arg(long, requires = "time", help_heading = "What counts")]
    pub(crate) skip_bad_rows: bool,
}

impl InputArgs {
    /// The files, with patterns expanded.
    pub(crate) fn expand(&self) -> Result<Inputs> {
        let more = self.more_files.iter().map(PathBuf::as_path);
        Inputs::expand(std::iter::once::<&Path>(&self.file).chain(more))
    }

    pub(crate) fn layout(&self) -> Layout {
        Layout { format: self.input_format, delimiter: self.delimiter }
    }

    pub(crate) fn filter(&self) -> Result<Option<Filter>> {
        let parse =
            |text: &String| Filter::parse(text).map_err(|error| CliError::bad(format!("--where: {error}")));
        self.condition.as_ref().map(parse).transpose()
    }
}
