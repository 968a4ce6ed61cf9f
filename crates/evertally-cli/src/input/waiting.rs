//! Waits for rows with a time limit.
//!
//! **Definition.** A thread reads rows and hands them over in order. **Guarantee.** Nothing is lost
//! or read twice, and a reader that blocks does not block others. **Cost.** One thread, and at most
//! [`ROWS_AHEAD`] rows in memory.

use super::{Row, RowReader};
use crate::error::{CliError, Result};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

const ROWS_AHEAD: usize = 1024;

/// What waiting for a row gave.
pub(crate) enum NextRow {
    Row(Row),
    /// The input has ended.
    End,
    /// Nothing arrived in time.
    Nothing,
}

/// A reader on its own thread.
pub(crate) struct WaitingReader {
    rows: Receiver<Result<Option<Row>>>,
}

impl WaitingReader {
    pub(crate) fn start(reader: Box<dyn RowReader>, columns: &[String]) -> Result<Self> {
        let (sender, rows) = sync_channel(ROWS_AHEAD);
        let columns = columns.to_vec();
        let thread = std::thread::Builder::new().name("reader".to_owned());
        let started = thread.spawn(move || hand_over(reader, &columns, &sender));
        started.map_err(|error| CliError::Failure(format!("a thread cannot be started: {error}")))?;
        Ok(Self { rows })
    }

    /// The next row, if one arrives in time.
    pub(crate) fn wait(&mut self, longest: Duration) -> Result<NextRow> {
        match self.rows.recv_timeout(longest) {
            Ok(read) => Ok(read?.map_or(NextRow::End, NextRow::Row)),
            Err(RecvTimeoutError::Timeout) => Ok(NextRow::Nothing),
            // The thread reports the end of the input. A thread that failed must not look like it.
            Err(RecvTimeoutError::Disconnected) => {
                Err(CliError::Failure("the input is no longer read".to_owned()))
            }
        }
    }
}

/// Reads until the input ends or fails, or the receiver is gone.
fn hand_over(mut reader: Box<dyn RowReader>, columns: &[String], rows: &SyncSender<Result<Option<Row>>>) {
    loop {
        let mut row = Row::for_columns(columns);
        let read = reader.read(&mut row).map(|is_row| is_row.then_some(row));
        // A bad row is followed by others.
        let is_last = !matches!(read, Ok(Some(_)) | Err(CliError::BadRow(_)));
        if rows.send(read).is_err() || is_last {
            return;
        }
    }
}
