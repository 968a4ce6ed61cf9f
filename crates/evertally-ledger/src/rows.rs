//! Reading the rows of a ledger: each counter as of some frame, and the events whose ids are known.

use crate::checkpoint::{CounterRow, counter_place};
use crate::counter::{CounterState, FrozenStep, Life, admission_of};
use crate::error::{Error, Result};
use crate::found::{FoundKeys, ShownKey, Widths};
use crate::intake::Intake;
use crate::journal::{ArrivalsRow, arrivals_place};
use crate::ledger::Ledger;
use crate::persons::PersonRows;
use crate::read_view::{Chunk, CounterProgress, CounterView, Status};
use crate::record::{Group, decode, unseal};
use crate::running_counter::RunningCounter;
use crate::spec::{CounterPlan, StoredSpec};
use crate::store::{ARRIVALS, CHUNKS, COUNTERS, FOUND, HOLDERS, PEOPLE};
use evertally_stream::{Amount, IdStore};
use std::collections::BTreeMap;
use std::sync::Arc;

impl Ledger {
    pub(crate) fn read_rows(&mut self) -> Result<()> {
        let mut rows = Vec::new();
        self.view.store.scan(COUNTERS, 0..=u32::MAX, |number, row| {
            let place = counter_place(number);
            rows.push((number, decode::<CounterRow>(&place, unseal(&place, row)?)?));
            Ok(())
        })?;
        for (number, row) in rows {
            let state = self.resume(number, &row)?;
            self.add(state);
            // As it is on disk.
            if let Some(state) = self.counters.get_mut(&number)
                && let Some(since) = state.changed_since.take()
            {
                self.changed.since.remove(&(since, number));
            }
        }
        Ok(())
    }

    /// A counter from its row.
    fn resume(&self, number: u32, row: &CounterRow) -> Result<CounterState> {
        let counter_plan = counter_plan(&row.spec)?;
        let counter_plan = Arc::new(counter_plan.in_stream(&self.stream(number, row.epoch)));
        let running = row
            .running
            .as_ref()
            .map(|state| RunningCounter::resume(&counter_plan, &self.key, state))
            .transpose()?;
        let mut admission = admission_of(&counter_plan);
        self.view.store.scan(PEOPLE, (number, 0)..=(number, u128::MAX), |(_, person), steps| {
            let persons = admission.persons.as_mut();
            persons.ok_or_else(|| Error::damaged("a counter without persons has some"))?.load(person, steps)
        })?;
        if admission.persons.as_ref().map_or(0, PersonRows::sum) != row.people {
            return Err(Error::damaged("the steps of persons are not those that were written"));
        }
        let found = self.found(number, row, &counter_plan)?;
        let shown: Vec<ShownKey> = found.as_ref().map_or_else(Vec::new, |found| found.shown().to_vec());
        let widths = Widths::of(&counter_plan, &shown);
        let amounts = |totals: &Vec<(u32, i128)>| -> BTreeMap<u32, Amount> {
            totals.iter().map(|(lane, steps)| (*lane, Amount::from_grid_steps(*steps))).collect()
        };
        let pending = row.pending.iter().map(|(step, totals)| (*step, amounts(totals)));
        let released = row.open.checked_sub(row.frozen.len() as u64);
        let released =
            released.ok_or_else(|| Error::damaged("a counter has more steps frozen than closed"))?;
        let (tail_first, tail, chunk_before) = self.read_tail(number, row, released, widths)?;
        let standing = CounterProgress {
            status: Status::Running,
            epochs: row.epochs.clone(),
            next_step: released,
            next_release: None,
            tail_first,
            latest: self.latest(number, row, released, widths, &tail)?,
            tail,
            shown: shown.clone(),
        };
        let intake = Intake::new(number, Arc::clone(&counter_plan), Arc::clone(&self.names));
        let view =
            Arc::new(CounterView::new(number, Arc::clone(&counter_plan), intake, row.created, standing));
        if row.life != Life::Deleted {
            self.view.publish(Arc::clone(&view));
        }
        Ok(CounterState {
            view,
            admission,
            found,
            counter_plan,
            epoch: row.epoch,
            epochs: row.epochs.clone(),
            life: row.life,
            open: row.open,
            pending: pending.collect(),
            frozen: row
                .frozen
                .iter()
                .map(|(step, totals, hash)| FrozenStep { step: *step, totals: totals.clone(), hash: *hash })
                .collect(),
            running,
            unshown: Vec::new(),
            unshown_latest: None,
            changed_since: None,
            scheduled: None,
            row: row.sequence,
            chunk_before,
        })
    }

    /// The keys that a counter finds, from their rows.
    fn found(&self, number: u32, row: &CounterRow, counter_plan: &CounterPlan) -> Result<Option<FoundKeys>> {
        let found = FoundKeys::of(counter_plan)?;
        let Some(mut found) = found.filter(|_| row.life != Life::Deleted) else { return Ok(None) };
        let sum = found.load(number, row.sequence, self.view.store.get(FOUND, number)?)?;
        self.view.store.scan(HOLDERS, (number, 0)..=(number, u128::MAX), |(_, person), keys| {
            found.holders.load(person, keys)
        })?;
        if found.holders.sum() == sum {
            return Ok(Some(found));
        }
        Err(Error::damaged("the keys of persons are not those that were written"))
    }

    /// The releases that are not in a full chunk: their first step, their values, and the hash of
    /// the chunk before.
    fn read_tail(
        &self,
        number: u32,
        row: &CounterRow,
        released: u64,
        widths: Widths<'_>,
    ) -> Result<(u64, Vec<f64>, [u8; 32])> {
        let missing = || Error::damaged("a release is missing");
        if row.life == Life::Deleted || released == row.tail_first {
            return Ok((released, Vec::new(), row.chunk_before));
        }
        let chunk = self.view.store.get(CHUNKS, (number, row.tail_first))?.ok_or_else(missing)?;
        let read = Chunk::read(number, row.tail_first, &chunk)?;
        let expected = widths.between(row.tail_first, released);
        if read.before != row.chunk_before || released < row.tail_first || read.values.len() != expected {
            return Err(missing());
        }
        Ok((row.tail_first, read.values, row.chunk_before))
    }

    /// The values of the last step.
    fn latest(
        &self,
        number: u32,
        row: &CounterRow,
        released: u64,
        widths: Widths<'_>,
        tail: &[f64],
    ) -> Result<Option<Vec<f64>>> {
        let width = released.checked_sub(1).map_or(0, |step| widths.at(step));
        match released.checked_sub(1) {
            Some(_) if tail.len() >= width => Ok(tail.get(tail.len() - width..).map(<[f64]>::to_vec)),
            Some(step) if row.life != Life::Deleted => {
                self.view.values_in_chunk(number, step, widths).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Remembers the ids of events whose frames are cut.
    pub(crate) fn read_old_arrivals(&mut self) -> Result<()> {
        let Some(last) = self.journal.first.checked_sub(1) else { return Ok(()) };
        // Row by row, because there may be very many; what does not fit is refused at the end.
        let (view, mut sum) = (self.read_view(), 0_u128);
        view.store.scan(ARRIVALS, 0..=last, |sequence, row| {
            let groups = groups(sequence, row)?;
            let known = ArrivalsRow::new(&groups, row);
            sum = sum.wrapping_add(known.hash);
            self.remember(&groups);
            self.journal.arrivals.insert(sequence, known);
            Ok(())
        })?;
        if sum != self.journal.orphans {
            return Err(Error::damaged("the events that are remembered are not those that were written"));
        }
        Ok(())
    }

    pub(crate) fn remember(&mut self, groups: &[Group]) {
        for group in groups {
            let Some(state) = self.counters.get_mut(&group.counter).filter(|state| state.running.is_some())
            else {
                continue;
            };
            let Some(ids) = &mut state.admission.ids else { continue };
            group.items.iter().for_each(|item| ids.insert(item.id(), item.step));
            ids.forget(state.open);
        }
    }
}

/// The plan of a counter from what was written of it.
pub(crate) fn counter_plan(spec: &str) -> Result<CounterPlan> {
    let written: StoredSpec = serde_json::from_str(spec)
        .map_err(|_| Error::damaged("the description of a counter cannot be read"))?;
    written.spec()?.build()
}

/// The events of a frame.
pub(crate) fn groups(sequence: u64, row: &[u8]) -> Result<Vec<Group>> {
    let place = arrivals_place(sequence);
    decode(&place, unseal(&place, row)?)
}
