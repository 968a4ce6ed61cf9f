//! A file that grows while it is read.

use std::fs::File;
use std::io::Read;
use std::time::Duration;

const PAUSE: Duration = Duration::from_millis(200);

/// Waits at the end of a file for more bytes, so that its reader never sees an end, nor takes half a
/// record for a complete one.
pub(crate) struct Tail {
    file: File,
}

impl Tail {
    pub(crate) fn new(file: File) -> Self {
        Self { file }
    }
}

impl Read for Tail {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            match self.file.read(buffer)? {
                0 => std::thread::sleep(PAUSE),
                count => return Ok(count),
            }
        }
    }
}
