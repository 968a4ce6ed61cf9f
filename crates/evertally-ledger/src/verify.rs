//! Looking at everything: what opening a ledger does not read.

use crate::counter::Life;
use crate::error::{Error, Result};
use crate::found::Widths;
use crate::ledger::Ledger;
use crate::read_view::Chunk;
use crate::store::CHUNKS;

/// What was found to be whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Verification {
    /// Frames of the journal, and the heads that they name.
    pub frames: u64,
    /// Counters.
    pub counters: u64,
    /// Releases, all keys of a step as one.
    pub releases: u64,
}

impl Ledger {
    /// Reads every release of every counter, and follows the chain of their chunks from the first
    /// to the last. Opening has done the rest.
    ///
    /// # Errors
    /// [`Error::Damaged`] where something is missing or was changed.
    pub fn verify(&self) -> Result<Verification> {
        let mut verified =
            Verification { frames: self.journal.bytes.len() as u64, ..Verification::default() };
        for (number, state) in &self.counters {
            verified.counters += 1;
            if state.life == Life::Deleted {
                continue;
            }
            let (tail_first, released, shown) = {
                let progress = state.view.progress();
                (progress.tail_first, progress.next_step, progress.shown.clone())
            };
            let widths = Widths::of(&state.counter_plan, &shown);
            // The values so far: a chunk begins with a step that has this many before it.
            let (mut before, mut values) = ([0; 32], 0);
            let broken = || Error::damaged(format!("the chain of releases of counter {number} breaks"));
            self.view.store.scan(CHUNKS, (*number, 0)..=(*number, u64::MAX), |(_, first), row| {
                let chunk = Chunk::read(*number, first, row)?;
                if widths.between(0, first) != values || chunk.before != before {
                    return Err(broken());
                }
                values += chunk.values.len();
                // The last one is not full yet: the counter has the hash before it.
                if first < tail_first {
                    before = *blake3::hash(row).as_bytes();
                }
                Ok(())
            })?;
            if values < widths.between(0, tail_first) || before != state.chunk_before {
                return Err(broken());
            }
            verified.releases += released;
        }
        Ok(verified)
    }
}
