//! Making changes durable, then releasing, then showing: the order that everything depends on.

use crate::checkpoint::CHUNK_BYTES;
use crate::error::{Error, Result};
use crate::fence::Mark;
use crate::ledger::{Ledger, MAX_VALUES_PER_FRAME};
use crate::read_view::{CounterView, Mode};
use crate::record::Record;
use std::sync::Arc;

impl Ledger {
    /// Makes everything durable that was changed, then makes the releases of frozen steps, makes
    /// them durable, and shows them. The counters with something new are returned.
    ///
    /// # Errors
    /// [`Error::ReadOnly`]: storage failed, now or before. Nothing that was changed since the last
    /// commit may be given away; the ledger shows what it showed, and changes nothing until it is
    /// opened again.
    pub fn commit(&mut self, now: i64) -> Result<Vec<Arc<CounterView>>> {
        self.check_writable()?;
        match self.try_commit(now) {
            Ok(changed) => Ok(changed),
            Err(error) => Err(self.fail(&error)),
        }
    }

    fn try_commit(&mut self, now: i64) -> Result<Vec<Arc<CounterView>>> {
        let is_new_epoch = self.tentative.records.iter().any(Record::moves_the_fence);
        let is_rare = self.tentative.records.iter().any(Record::asks_for_rows);
        self.write_frame(now)?;
        if is_new_epoch {
            self.global.released = (self.journal.sequence, self.journal.head);
            self.write_mark()?;
        }
        while self.halt.fenced.is_none() && !self.unreleased.is_empty() {
            self.release_frozen()?;
            self.write_frame(now)?;
            self.global.released = (self.journal.sequence, self.journal.head);
            self.write_mark()?;
        }
        let changed = self.show();
        // The caller turns a failure here into the failure of the ledger, once.
        if is_rare {
            self.checkpoint_changed()?;
        } else {
            self.tidy()?;
        }
        Ok(changed)
    }

    /// Stops all changes after a fault of the program itself.
    pub(crate) fn give_up(&mut self) {
        self.fail(&Error::System { reason: "the program has a fault".to_owned() });
    }

    /// From now on only what was shown is believed.
    pub(crate) fn fail(&mut self, error: &Error) -> Error {
        let reason = error.to_string();
        self.view.state_mut().mode = Mode::ReadOnly { reason: reason.clone() };
        self.halt.failed = Some(reason.clone());
        // If even that fails, reads say so.
        let _ = self.view.store.fall_back_to_reading();
        Error::ReadOnly { reason }
    }

    /// Makes the releases of frozen steps, as many as one frame holds.
    fn release_frozen(&mut self) -> Result<()> {
        let mut room = MAX_VALUES_PER_FRAME;
        while let Some(&number) = self.unreleased.first() {
            let Some(state) = self.counters.get_mut(&number) else { break };
            while !state.frozen.is_empty() && room > 0 {
                self.tentative.records.extend(state.release()?);
                room = room.saturating_sub(state.numbers_per_step());
            }
            self.changed.note(state, self.journal.sequence + 1);
            // Steps that were frozen before a crash are released now and were touched by nobody
            // else.
            self.tentative.touched.insert(number);
            if !state.frozen.is_empty() {
                break;
            }
            self.unreleased.pop_first();
            self.reschedule(number);
        }
        Ok(())
    }

    /// Writes to the fence what was released, before anybody can read it.
    pub(crate) fn write_mark(&mut self) -> Result<()> {
        let (released, head) = self.global.released;
        let spent = self.global.accounts.spent();
        let mark = Mark { ledger: self.global.ledger, epoch: self.global.epoch, released, head, spent };
        mark.write(&mut *self.fence)
    }

    /// Shows what is durable.
    pub(crate) fn show(&mut self) -> Vec<Arc<CounterView>> {
        let tentative = std::mem::take(&mut self.tentative);
        let is_fenced = self.halt.fenced.is_some();
        for view in tentative.new {
            self.view.publish(view);
        }
        let mut changed = Vec::new();
        for number in tentative.touched {
            let Some(state) = self.counters.get_mut(&number) else { continue };
            let next_release = state.next_due().filter(|_| !is_fenced);
            let mut progress = state.view.progress_mut();
            progress.status = state.status(is_fenced);
            progress.next_step = state.released();
            progress.next_release = next_release;
            progress.epochs.clone_from(&state.epochs);
            if let Some(latest) = state.unshown_latest.take() {
                progress.latest = Some(latest);
            }
            progress.tail.append(&mut state.unshown);
            if let Some(found) = &state.found {
                let new = found.shown().get(progress.shown.len()..).unwrap_or_default();
                progress.shown.extend_from_slice(new);
            }
            if progress.tail.len() * size_of::<f64>() >= CHUNK_BYTES {
                self.changed.full.insert(number);
            }
            drop(progress);
            changed.push(Arc::clone(&state.view));
        }
        for number in tentative.deleted {
            if let Some(state) = self.counters.get(&number) {
                self.view.withdraw(&state.counter_plan.spec().name);
            }
        }
        if tentative.global {
            let mut view = self.view.state_mut();
            view.epoch = self.global.epoch.number;
            view.accounts = self.global.accounts.clone();
            view.tokens = self.global.tokens.clone();
            view.mode = match &self.halt.fenced {
                Some(reason) => Mode::Fenced { reason: reason.clone() },
                None => Mode::Running,
            };
        }
        changed
    }
}
