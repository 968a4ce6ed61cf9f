//! Several files as one input.
//!
//! **Definition.** The rows of all files, one file after another in the order given. A pattern with
//! `*`, `?`, `[…]` or `**` stands for the files that match it, in order of their names. A file whose
//! name is the pattern itself wins. **Guarantee.** No file is read twice: that would count its events
//! twice. How rows are divided among files, and in which order the files are given, is no part of the
//! noise's name, because it does not change what is counted.
//! **Cost.** One file is open at a time.

use super::bulk::Bulk;
use super::{FileOfRow, Layout, Row, RowReader, open};
use crate::error::{CliError, Result, name_of, shown};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The files of an input, in order. There is at least one.
#[derive(Debug, Clone)]
pub(crate) struct Inputs {
    paths: Vec<PathBuf>,
}

impl Inputs {
    /// Expands patterns, and refuses a file that is there twice.
    pub(crate) fn expand<'a>(given: impl IntoIterator<Item = &'a Path>) -> Result<Self> {
        let mut paths = Vec::new();
        for path in given {
            expand(path, &mut paths)?;
        }
        let mut seen = HashSet::new();
        for path in &paths {
            if !seen.insert(identity(path)) {
                return Err(CliError::bad(format!(
                    "{} is given twice: its events would count twice",
                    name_of(path)
                )));
            }
        }
        Ok(Self { paths })
    }

    pub(crate) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.paths.iter().map(PathBuf::as_path)
    }

    /// The name of the input, for messages and records: that of the first file and how many more
    /// there are.
    pub(crate) fn name(&self) -> String {
        let first = self.paths.first().map(|path| name_of(path)).unwrap_or_default();
        match self.paths.len() - 1 {
            0 => first,
            1 => format!("{first} and 1 more file"),
            more => format!("{first} and {more} more files"),
        }
    }

    /// Opens the input.
    pub(crate) fn open(
        &self,
        layout: Layout,
        columns: &[String],
        follow: bool,
    ) -> Result<Box<dyn RowReader>> {
        match &self.paths[..] {
            [path] => open(path, layout, columns, follow),
            _ if follow => Err(CliError::bad("--follow reads one file: a second one would never be reached")),
            paths => ManyReader::open(paths, layout, columns).map(|reader| Box::new(reader) as _),
        }
    }
}

fn expand(path: &Path, paths: &mut Vec<PathBuf>) -> Result<()> {
    let pattern = path.to_str().filter(|text| text.contains(['*', '?', '[']));
    let Some(pattern) = pattern.filter(|_| path.symlink_metadata().is_err()) else {
        paths.push(path.to_owned());
        return Ok(());
    };
    let found = glob::glob(pattern).map_err(|error| {
        CliError::bad(format!("{} is no pattern of files: {}", shown(pattern), error.msg))
    })?;
    let before = paths.len();
    for path in found {
        let path = path.map_err(|error| CliError::reading(error.path(), error.error()))?;
        if !path.is_dir() {
            paths.push(path);
        }
    }
    if paths.len() == before {
        return Err(CliError::bad(format!("no file matches {}", shown(pattern))));
    }
    Ok(())
}

/// What two names of one file have in common.
fn identity(path: &Path) -> PathBuf {
    if path.as_os_str() == "-" {
        return path.to_owned();
    }
    #[cfg(unix)]
    if let Ok(metadata) = path.metadata() {
        use std::os::unix::fs::MetadataExt;
        return PathBuf::from(format!("//{}:{}", metadata.dev(), metadata.ino()));
    }
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

struct ManyReader {
    layout: Layout,
    columns: Vec<String>,
    paths: Vec<PathBuf>,
    /// The number of the file that is open.
    at: usize,
    reader: Box<dyn RowReader>,
    file: Arc<FileOfRow>,
    holds_names: Vec<bool>,
}

impl ManyReader {
    /// Opens every file once, so that a missing file or column is known before a row is read.
    fn open(paths: &[PathBuf], layout: Layout, columns: &[String]) -> Result<Self> {
        let mut holds_names = vec![true; columns.len()];
        for path in paths.iter().filter(|path| path.as_os_str() != "-") {
            let reader = open(path, layout, columns, false)?;
            for (column, holds) in holds_names.iter_mut().enumerate() {
                *holds &= reader.holds_names(column);
            }
        }
        let (reader, file) = open_one(&paths[0], layout, columns)?;
        let (columns, paths) = (columns.to_vec(), paths.to_vec());
        Ok(Self { layout, columns, paths, at: 0, reader, file, holds_names })
    }

    /// Opens the next file; `false` if there is none.
    fn next_file(&mut self) -> Result<bool> {
        let Some(path) = self.paths.get(self.at + 1) else { return Ok(false) };
        (self.reader, self.file) = open_one(path, self.layout, &self.columns)?;
        self.at += 1;
        Ok(true)
    }
}

fn open_one(path: &Path, layout: Layout, columns: &[String]) -> Result<(Box<dyn RowReader>, Arc<FileOfRow>)> {
    let reader = open(path, layout, columns, false)?;
    let file = Arc::new(FileOfRow { name: name_of(path), unit: reader.unit() });
    Ok((reader, file))
}

impl RowReader for ManyReader {
    fn read(&mut self, row: &mut Row) -> Result<bool> {
        while !self.reader.read(row)? {
            if !self.next_file()? {
                return Ok(false);
            }
        }
        row.file = Some(Arc::clone(&self.file));
        Ok(true)
    }

    fn fraction_read(&self) -> Option<f64> {
        let share = self.reader.fraction_read().unwrap_or_default();
        Some(((self.at as f64 + share) / self.paths.len() as f64).min(1.0))
    }

    fn holds_names(&self, column: usize) -> bool {
        self.holds_names.get(column).copied().unwrap_or(true)
    }

    fn unit(&self) -> &'static str {
        self.file.unit
    }

    fn add_in_bulk(&mut self, bulk: &mut Bulk<'_>) -> Result<bool> {
        self.reader.add_in_bulk(bulk)
    }
}
