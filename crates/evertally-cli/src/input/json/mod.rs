//! JSON: one object per line ([`lines`]), or an array of objects ([`array`]).

mod array;
mod lines;
mod object;

pub(crate) use array::JsonArrayReader;
pub(crate) use lines::JsonLinesReader;

use super::{BYTE_ORDER_MARK, RowReader, Source};
use crate::error::{CliError, Result};
use std::io::{BufRead, BufReader};
use std::path::Path;

const BUFFER_BYTES: usize = 1 << 16;

/// A reader for JSON of either kind: an array if the first character is a bracket.
pub(crate) fn open(source: Source, columns: &[String]) -> Result<Box<dyn RowReader>> {
    let mut source = buffered(source);
    skip_mark(&mut source)?;
    loop {
        let bytes = filled(&mut source)?;
        let Some(first) = bytes.iter().position(|byte| !byte.is_ascii_whitespace()) else {
            let count = bytes.len();
            if count == 0 {
                return Ok(Box::new(JsonLinesReader::new(source, columns)));
            }
            // Blank lines before the first object are counted by nobody, so messages would be wrong by
            // them. Nobody writes buffers full of them.
            source.consume(count);
            continue;
        };
        return Ok(if bytes[first] == b'[' {
            Box::new(JsonArrayReader::new(source, columns))
        } else {
            Box::new(JsonLinesReader::new(source, columns))
        });
    }
}

pub(crate) fn buffered(source: Source) -> BufReader<Source> {
    BufReader::with_capacity(BUFFER_BYTES, source)
}

fn filled(source: &mut BufReader<Source>) -> Result<&[u8]> {
    // The borrow of the buffer would outlast the error.
    if let Err(error) = source.fill_buf() {
        return Err(failure(source, &error));
    }
    Ok(source.buffer())
}

fn skip_mark(source: &mut BufReader<Source>) -> Result<()> {
    let mut mark = [0; 4];
    let mark = BYTE_ORDER_MARK.encode_utf8(&mut mark).as_bytes();
    if filled(source)?.starts_with(mark) {
        source.consume(mark.len());
    }
    Ok(())
}

fn failure(source: &BufReader<Source>, error: &std::io::Error) -> CliError {
    CliError::reading(Path::new(source.get_ref().name()), error)
}
