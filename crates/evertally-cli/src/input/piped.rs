//! Standard input that is followed: a signal ends it even while nothing comes.

use super::whole_lines::WholeLines;
use crate::interrupt;
use std::io::{self, Read};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

const BYTES_AT_ONCE: usize = 1 << 16;
const PIECES_AHEAD: usize = 4;
const PAUSE: Duration = Duration::from_millis(200);

/// Ctrl-C ends both sides of a pipe. The end of the input may be seen before the signal, and must not
/// be taken for the end of the stream.
const WAIT_FOR_A_SIGNAL: Duration = Duration::from_millis(100);

/// Standard input, read by a thread.
pub(super) struct Piped {
    pieces: Receiver<io::Result<Vec<u8>>>,
    lines: WholeLines,
    has_ended: bool,
}

impl Piped {
    pub(super) fn start() -> io::Result<Self> {
        let (sender, pieces) = sync_channel(PIECES_AHEAD);
        std::thread::Builder::new().name("input".to_owned()).spawn(move || hand_over(&sender))?;
        Ok(Self { pieces, lines: WholeLines::default(), has_ended: false })
    }
}

impl Read for Piped {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let count = self.lines.take(buffer);
            if count > 0 || self.has_ended || buffer.is_empty() || interrupt::is_stopping() {
                return Ok(count);
            }
            match self.pieces.recv_timeout(PAUSE) {
                Ok(piece) => self.lines.push(&piece?)?,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    std::thread::sleep(WAIT_FOR_A_SIGNAL);
                    self.has_ended = true;
                    if !interrupt::is_stopping() {
                        self.lines.end();
                    }
                }
            }
        }
    }
}

/// Reads until the input ends or fails, or the receiver is gone.
fn hand_over(pieces: &SyncSender<io::Result<Vec<u8>>>) {
    let mut input = io::stdin().lock();
    loop {
        let mut piece = vec![0; BYTES_AT_ONCE];
        let read = match input.read(&mut piece) {
            Ok(0) => return,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read,
        };
        let is_last = read.is_err();
        let piece = read.map(|count| {
            piece.truncate(count);
            piece
        });
        if pieces.send(piece).is_err() || is_last {
            return;
        }
    }
}
