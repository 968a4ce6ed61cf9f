//! A stream of events, one a line.
//!
//! **Definition.** Lines are taken in parts of some thousand; while one part becomes durable the
//! next is read. What has come is handed over after a second without more, so that a slow feed is
//! not held back. **Guarantee.** Parts are recorded in order, and none after one that failed.
//! **Cost.** Two parts and one line are in memory, however long the stream is. When the ledger's
//! queue is full the stream waits, and so does its sender.

use super::events::submit;
use crate::body::Pieces;
use crate::error::{Problem, Result};
use crate::model::event::{self, Receipt};
use crate::state::{App, answered};
use axum::body::Body;
use bytes::{Buf, BytesMut};
use evertally_ledger::{CounterView, PreparedEvent};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;

/// The events of a part.
const PART: usize = 4_096;

/// How long lines wait for a part to be full.
const PAUSE: Duration = Duration::from_secs(1);

/// How often, and after how many milliseconds each time more, a full queue is asked again.
const ATTEMPTS: u64 = 60;
const ATTEMPT_MILLIS: u64 = 2;

/// Records a whole stream.
pub(super) async fn record(app: &App, counter: Arc<CounterView>, body: Body) -> Result<Receipt> {
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
    match stream.read(Pieces::stream(body, app.options())).await {
        Ok(()) => Ok(stream.receipt),
        Err(problem) => Err(stream.give_up(problem).await),
    }
}

struct Stream<'a> {
    app: &'a App,
    counter: Arc<CounterView>,
    unread: BytesMut,
    /// How much of it is known to hold no end of a line.
    scanned: usize,
    /// Lines that were read.
    line: u64,
    part: Vec<PreparedEvent>,
    pending: Option<Pending>,
    recorded_lines: u64,
    receipt: Receipt,
}

/// A part on its way.
struct Pending {
    answer: oneshot::Receiver<evertally_ledger::Result<evertally_ledger::Receipt>>,
    /// The last line of it.
    line: u64,
}

impl Stream<'_> {
    async fn read(&mut self, mut pieces: Pieces) -> Result<()> {
        loop {
            let piece = match tokio::time::timeout(PAUSE, pieces.next()).await {
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
        // The last line needs no end.
        let rest = std::mem::take(&mut self.unread);
        self.take(&rest)?;
        self.hand_over().await?;
        self.settle().await
    }

    /// Takes all whole lines that have come.
    async fn take_lines(&mut self) -> Result<()> {
        let longest = self.app.options().longest_line;
        while let Some(length) = self.unread[self.scanned..].iter().position(|byte| *byte == b'\n') {
            let line = self.unread.split_to(self.scanned + length);
            self.scanned = 0;
            self.unread.advance(1);
            self.check_length(line.len(), longest)?;
            self.take(&line)?;
            if self.part.len() >= PART {
                self.hand_over().await?;
            }
        }
        self.scanned = self.unread.len();
        self.check_length(self.scanned, longest)
    }

    fn check_length(&self, length: usize, longest: usize) -> Result<()> {
        if length <= longest {
            return Ok(());
        }
        Err(Problem::too_large(format!("line {}: must be at most {longest} bytes", self.line + 1)))
    }

    /// Makes the event of a line ready. Empty lines are nothing.
    fn take(&mut self, line: &[u8]) -> Result<()> {
        if !line.trim_ascii().is_empty() {
            let place = |problem: Problem| problem.prefixed(&format!("line {}: ", self.line + 1));
            let arrival = event::line(line, self.counter.intake()).map_err(place)?;
            self.part.push(arrival);
        }
        self.line += 1;
        Ok(())
    }

    /// Hands a part to the ledger, once the one before it is durable.
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
                Err(busy) if attempt == ATTEMPTS => return Err(busy),
                Err(_) => attempt += 1,
            }
            tokio::time::sleep(Duration::from_millis(ATTEMPT_MILLIS * attempt)).await;
        };
        self.pending = Some(Pending { answer, line: self.line });
        Ok(())
    }

    /// Waits until what was handed over is durable.
    async fn settle(&mut self) -> Result<()> {
        if let Some(pending) = self.pending.take() {
            let receipt = answered(pending.answer).await?;
            self.receipt = self.receipt.and(&receipt);
            self.recorded_lines = pending.line;
        }
        Ok(())
    }

    /// Records what stood before the fault, and says how much that was.
    async fn give_up(mut self, problem: Problem) -> Problem {
        let problem = match self.hand_over().await {
            Ok(()) => self.settle().await.err().unwrap_or(problem),
            Err(earlier) => earlier,
        };
        problem.followed_by(&format!("; the first {} lines are recorded", self.recorded_lines))
    }
}
