//! Recording a stream of events, one per line.
//!
//! **Definition.** Lines are recorded in parts of a few thousand. While one part becomes durable, the next
//! is read. After a second without new lines, an incomplete part is recorded, so that a slow feed is not
//! delayed. **Guarantee.** Parts are recorded in order, and none after a part that failed. **Cost.** Two
//! parts and one line are in memory, for any length of the stream. When the ledger's queue is full, the
//! stream waits, and so does its sender.

use super::events::submit;
use crate::body::Chunks;
use crate::error::{Problem, Result};
use crate::model::event::{self, Receipt};
use crate::state::{App, receive};
use axum::body::Body;
use bytes::{Buf, BytesMut};
use evertally_ledger::{Arrival, Published};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;

/// The number of events in a part.
const PART: usize = 4_096;

/// How long lines wait for a part to fill.
const PAUSE: Duration = Duration::from_secs(1);

/// How often a full queue is tried again.
const MAX_ATTEMPTS: u64 = 60;

/// By how much the wait grows with each attempt.
const ATTEMPT_MILLIS: u64 = 2;

/// Records a stream to its end.
pub(super) async fn record(app: &App, counter: Arc<Published>, body: Body) -> Result<Receipt> {
    let mut stream = Stream {
        app,
        counter,
        unread: BytesMut::new(),
        scanned: 0,
        line: 0,
        part: Vec::new(),
        pending: None,
        recorded_lines: 0,
        receipt: Receipt::default(),
    };
    match stream.read(Chunks::stream(body, app.options())).await {
        Ok(()) => Ok(stream.receipt),
        Err(problem) => Err(stream.give_up(problem).await),
    }
}

struct Stream<'a> {
    app: &'a App,
    counter: Arc<Published>,
    unread: BytesMut,
    /// How many of these bytes are known to hold no line break.
    scanned: usize,
    /// The number of lines read so far.
    line: u64,
    part: Vec<Arrival>,
    pending: Option<Pending>,
    recorded_lines: u64,
    receipt: Receipt,
}

/// A part that is not durable yet.
struct Pending {
    answer: oneshot::Receiver<evertally_ledger::Result<evertally_ledger::Receipt>>,
    /// The number of its last line.
    line: u64,
}

impl Stream<'_> {
    async fn read(&mut self, mut chunks: Chunks) -> Result<()> {
        loop {
            let piece = match tokio::time::timeout(PAUSE, chunks.next()).await {
                Ok(piece) => piece?,
                Err(_) => {
                    self.hand_over().await?;
                    continue;
                }
            };
            let Some(piece) = piece else { break };
            self.unread.extend_from_slice(&piece);
            self.take_lines().await?;
        }
        // The last line needs no line break.
        let rest = std::mem::take(&mut self.unread);
        self.take(&rest)?;
        self.hand_over().await?;
        self.settle().await
    }

    /// Takes all complete lines.
    async fn take_lines(&mut self) -> Result<()> {
        let max = self.app.options().max_line_bytes;
        while let Some(length) = self.unread[self.scanned..].iter().position(|byte| *byte == b'\n') {
            let line = self.unread.split_to(self.scanned + length);
            self.scanned = 0;
            self.unread.advance(1);
            self.check_length(line.len(), max)?;
            self.take(&line)?;
            if self.part.len() >= PART {
                self.hand_over().await?;
            }
        }
        self.scanned = self.unread.len();
        self.check_length(self.scanned, max)
    }

    fn check_length(&self, length: usize, max: usize) -> Result<()> {
        if length <= max {
            return Ok(());
        }
        Err(Problem::too_large(format!("line {}: must be at most {max} bytes", self.line + 1)))
    }

    /// Prepares the event of a line. Empty lines are skipped.
    fn take(&mut self, line: &[u8]) -> Result<()> {
        if !line.trim_ascii().is_empty() {
            let place = |problem: Problem| problem.prefixed(&format!("line {}: ", self.line + 1));
            let arrival = event::line(line, self.counter.intake()).map_err(place)?;
            self.part.push(arrival);
        }
        self.line += 1;
        Ok(())
    }

    /// Passes a part to the ledger once the previous part is durable.
    async fn hand_over(&mut self) -> Result<()> {
        self.settle().await?;
        if self.part.is_empty() {
            return Ok(());
        }
        let part = std::mem::take(&mut self.part);
        let mut attempt = 0;
        let answer = loop {
            match submit(self.app, Arc::clone(&self.counter), part.clone()) {
                Ok(answer) => break answer,
                Err(busy) if attempt == MAX_ATTEMPTS => return Err(busy),
                Err(_) => attempt += 1,
            }
            tokio::time::sleep(Duration::from_millis(ATTEMPT_MILLIS * attempt)).await;
        };
        self.pending = Some(Pending { answer, line: self.line });
        Ok(())
    }

    /// Waits until the part that was passed on is durable.
    async fn settle(&mut self) -> Result<()> {
        if let Some(pending) = self.pending.take() {
            let receipt = receive(pending.answer).await?;
            self.receipt = self.receipt.and(&receipt);
            self.recorded_lines = pending.line;
        }
        Ok(())
    }

    /// Records the lines before the fault, and adds their number to the refusal.
    async fn give_up(mut self, problem: Problem) -> Problem {
        let problem = match self.hand_over().await {
            Ok(()) => self.settle().await.err().unwrap_or(problem),
            Err(earlier) => earlier,
        };
        problem.followed_by(&format!("; the first {} lines are recorded", self.recorded_lines))
    }
}
