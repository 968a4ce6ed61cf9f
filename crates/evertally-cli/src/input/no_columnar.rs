//! Parquet and Arrow in a program that was built without the feature `columnar`: no reader exists, and
//! opening a file says why.

use super::{Row, RowReader};
use crate::error::{CliError, NO_COLUMNAR, Result, name_of};
use std::path::Path;

pub(super) enum ParquetReader {}
pub(super) use ParquetReader as ArrowReader;

fn refused(name: &str) -> CliError {
    CliError::bad(format!("{name} cannot be read: {NO_COLUMNAR}"))
}

impl ParquetReader {
    pub(super) fn names(path: &Path) -> Result<Vec<String>> {
        Err(refused(&name_of(path)))
    }

    pub(super) fn open(path: &Path, _: &[String]) -> Result<Self> {
        Err(refused(&name_of(path)))
    }

    pub(super) fn held(name: &str, _: Vec<u8>, _: &[String]) -> Result<Self> {
        Err(refused(name))
    }
}

impl RowReader for ParquetReader {
    fn read(&mut self, _: &mut Row) -> Result<bool> {
        match *self {}
    }

    fn fraction_read(&self) -> Option<f64> {
        match *self {}
    }

    fn holds_names(&self, _: usize) -> bool {
        match *self {}
    }
}
