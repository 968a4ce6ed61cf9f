//! Memory that the system may refuse (`ulimit -v`, containers).
//!
//! Rust ends a program whose memory runs out with a line of its own and without cleaning up. So what
//! grows with the input asks for memory in a way that can fail, and what grows in many small pieces asks
//! beforehand whether there is some left.
//!
//! **What is not covered.** The libraries for Parquet and compressed files, and the noise of very long
//! plans, ask for memory without a way to fail.

use crate::error::{CliError, Result};
use std::io;

/// What [`ROWS_BETWEEN_UPDATES`](crate::input::ROWS_BETWEEN_UPDATES) rows take at most in small pieces,
/// unless their texts are long.
const FOR_SMALL_PIECES: usize = 8 << 20;

/// A line that is longer asks for the memory of its copies.
const LONG_LINE: usize = 1 << 20;

/// A cell of a long line is copied as a text, as a name, and into a store.
const COPIES: usize = 3;

/// Stops while there is still memory to stop with.
pub(crate) fn check(for_what: &str) -> Result<()> {
    check_for(FOR_SMALL_PIECES, for_what)
}

/// The same for pieces of this size together.
pub(crate) fn check_for(bytes: usize, for_what: &str) -> Result<()> {
    if has(bytes) { Ok(()) } else { Err(none_left(for_what)) }
}

/// Makes room for more of a line, and for the copies of a long one.
pub(crate) fn make_room(line: &mut Vec<u8>, more: usize) -> io::Result<()> {
    line.try_reserve(more)?;
    let length = line.len() + more;
    if length > LONG_LINE && !has(COPIES * length) {
        return Err(io::ErrorKind::OutOfMemory.into());
    }
    Ok(())
}

/// These bytes, or a part of them of which the system would give twice as much: what grows moves at times.
pub(crate) fn at_most(bytes: u64) -> u64 {
    let mut part = usize::try_from(bytes).unwrap_or(usize::MAX / 2);
    if has(part) {
        return bytes;
    }
    while part > 0 && !has(part) {
        part /= 2;
    }
    part as u64 / 2
}

fn has(bytes: usize) -> bool {
    let mut memory: Vec<u8> = Vec::new();
    let reserved = memory.try_reserve_exact(bytes);
    // Nobody uses it, and it must not be optimised away.
    std::hint::black_box(&memory);
    reserved.is_ok()
}

/// The error of a program that the system gives no memory.
pub(crate) fn none_left(for_what: &str) -> CliError {
    CliError::Failure(format!("there is no memory left for {for_what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_machine_has_is_an_error() {
        assert!(check("rows").is_ok());
        let error = check_for(usize::MAX / 2, "rows").unwrap_err();
        assert_eq!((error.exit_code(), error.to_string().as_str()), (1, "there is no memory left for rows"));
        assert!(make_room(&mut Vec::new(), usize::MAX / 2).is_err());
        assert!((1 << 20..u64::MAX / 4).contains(&at_most(u64::MAX)));
        assert_eq!(at_most(1 << 20), 1 << 20);
    }
}
