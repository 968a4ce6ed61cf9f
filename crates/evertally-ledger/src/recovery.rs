//! Opening a ledger: checking everything, and arriving where it was.
//!
//! Rows are read first, each as of some frame; then the journal, every frame of which must name
//! the hash of the one before. A frame is applied to every counter whose row does not have it. Events that
//! counted are counted again and must still count; frozen input must be what its events add up to;
//! and every release since a counter's row is *made again from the key and must be the recorded
//! one, bit for bit*. Steps that were frozen and not released are released with the next commit:
//! their input and their noise are fixed, so it is the release that would have been.
//!
//! Nothing is written before all of it fits, so that a crash during recovery changes nothing. The
//! fence records releases that it does not know before anything is shown.

use crate::accounts::{Accounts, prices};
use crate::checkpoint::{FORMAT_ROW, GLOBAL, GlobalRow};
use crate::counter::CounterState;
use crate::error::{Error, Result};
use crate::fence::Mark;
use crate::intake::NameHasher;
use crate::journal::{ArrivalsRow, ChangedCounters, Journal, TentativeChanges, arrivals_place};
use crate::ledger::{Global, Halt, Ledger};
use crate::location::Location;
use crate::read_view::{Mode, ReadView, State};
use crate::record::{FORMAT, Frame, Head, Record, decode, seal_in, unseal};
use crate::rows::{counter_plan, groups};
use crate::store::{ARRIVALS, JOURNAL, META, Store};
use crate::tokens::{Tokens, random};
use evertally::NoiseKey;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

impl Ledger {
    /// Opens a ledger, or makes one if there is none.
    ///
    /// # Errors
    /// [`Error::Damaged`] if the files do not hold what they must, or belong to another key;
    /// [`Error::Conflict`] if there is a fence and no ledger; [`Error::System`] if storage fails.
    pub fn open(location: Location, key: NoiseKey, now: i64) -> Result<Self> {
        let Location { backend, mut fence, identity } = location;
        let store = Store::open(backend)?;
        let mark = Mark::read(&mut *fence)?;
        let global = read_global(&store)?;
        let is_new = store.get(META, FORMAT_ROW)?.is_none();
        let (global, journal) =
            global.unwrap_or_else(|| (Global::default(), Journal::starting_at(1, Head::default())));
        let view = ReadView::new(
            store,
            State { mode: Mode::Running, epoch: 1, accounts: Accounts::default(), tokens: Tokens::default() },
        );
        let mut ledger = Self {
            view: Arc::new(view),
            fence,
            names: Arc::new(NameHasher::new(&key)),
            key,
            global,
            counters: BTreeMap::new(),
            numbers: HashMap::new(),
            due: BTreeSet::new(),
            unreleased: BTreeSet::new(),
            journal,
            changed: ChangedCounters::default(),
            tentative: TentativeChanges::default(),
            halt: Halt::default(),
            mark,
            identity,
        };
        if is_new {
            ledger.start(now)?;
        } else {
            ledger.recover()?;
        }
        ledger.tentative.global = true;
        let numbers: Vec<u32> = ledger.counters.keys().copied().collect();
        numbers.into_iter().for_each(|number| ledger.touch(number));
        ledger.show();
        Ok(ledger)
    }

    /// The first frame of a new ledger.
    fn start(&mut self, now: i64) -> Result<()> {
        // A fence behind which nothing was released is one of a start that did not get far.
        if self.mark.as_ref().is_some_and(|mark| mark.released > 0) {
            return Err(Error::conflict(
                "a fence stands here and no ledger: restore the ledger, or remove the fence to begin anew; what was spent before is then not known here",
            ));
        }
        let number = random()?;
        self.global.ledger = number;
        self.global.identity = self.identity;
        self.global.key_tag = self.key.tag();
        self.record(Record::Opened { ledger: number, identity: self.identity, key_tag: self.key.tag() });
        self.write_frame(now)?;
        // The mark stands before the format does: a ledger without a format is begun again, and one
        // with a format has a fence.
        self.write_mark()?;
        self.write_format()
    }

    fn recover(&mut self) -> Result<()> {
        let format = self.view.store.get(META, FORMAT_ROW)?.unwrap_or_default();
        if format != FORMAT.as_bytes() {
            return Err(Error::damaged(format!(
                "it has a format that this version does not read ({FORMAT} is the newest that it does)"
            )));
        }
        let as_of = self.journal.sequence;
        self.read_rows()?;
        self.read_old_arrivals()?;
        self.replay(as_of)?;
        self.check_whole()?;
        self.halt.fenced = self.fence_reason();
        self.catch_up_fence()
    }

    /// Applies every frame of the journal to all states that do not have it. The global state is as
    /// of frame `as_of`.
    fn replay(&mut self, as_of: u64) -> Result<()> {
        let mut rows = Vec::new();
        self.view.store.scan(JOURNAL, self.journal.first..=u64::MAX, |sequence, row| {
            rows.push((sequence, row.to_vec()));
            Ok(())
        })?;
        let (mut next, mut head) = (self.journal.first, self.journal.cut_at);
        for (sequence, row) in rows {
            let broken = || Error::damaged(format!("the chain of the journal breaks at frame {next}"));
            let (written, bytes) = row.split_first_chunk::<32>().ok_or_else(broken)?;
            head = head.after(bytes);
            if sequence != next || head.0 != *written {
                return Err(broken());
            }
            let frame: Frame = decode(&format!("frame {sequence}"), bytes)?;
            if frame.sequence != sequence || (sequence == as_of && head != self.journal.head) {
                return Err(broken());
            }
            self.journal.bytes.push_back((sequence, row.len(), head));
            self.journal.total_bytes += row.len();
            // Changes are noted as of the frame that is being applied.
            let last = std::mem::replace(&mut self.journal.sequence, sequence - 1);
            let releases = frame.records.iter().any(Record::moves_the_fence);
            self.apply_frame(frame, sequence > as_of)?;
            if sequence > as_of && releases {
                self.global.released = (sequence, head);
            }
            self.journal.sequence = last.max(sequence);
            next = sequence + 1;
        }
        if next <= as_of {
            return Err(Error::damaged(format!("the chain of the journal breaks at frame {next}")));
        }
        self.journal.head = head;
        Ok(())
    }

    /// First what makes populations, counters and keys, then the events that came in, then what was done
    /// with them.
    fn apply_frame(&mut self, mut frame: Frame, is_global_new: bool) -> Result<()> {
        let at = Applied { sequence: frame.sequence, time: frame.time, is_global_new };
        let makes = |record: &Record| {
            matches!(
                record,
                Record::Opened { .. } | Record::Granted(_) | Record::Created { .. } | Record::Named { .. }
            )
        };
        let (first, then): (Vec<_>, Vec<_>) = std::mem::take(&mut frame.records).into_iter().partition(makes);
        first.into_iter().try_for_each(|record| self.apply(record, &at))?;
        self.apply_arrivals(&frame)?;
        then.into_iter().try_for_each(|record| self.apply(record, &at))
    }

    fn apply_arrivals(&mut self, frame: &Frame) -> Result<()> {
        let Some(hash) = frame.arrivals else { return Ok(()) };
        let sequence = frame.sequence;
        let missing =
            || Error::damaged(format!("{} are not those that were written", arrivals_place(sequence)));
        let row = self.view.store.get(ARRIVALS, sequence)?.ok_or_else(missing)?;
        if seal_in(&row) != Some(hash) {
            return Err(missing());
        }
        let groups = groups(sequence, &row)?;
        for group in &groups {
            let state = self.counters.get_mut(&group.counter).ok_or_else(missing)?;
            if sequence <= state.row {
                continue;
            }
            self.changed.note(state, sequence);
            group.items.iter().try_for_each(|item| state.replay_item(item))?;
        }
        // Those whose counters have the frame in their rows.
        self.remember(&groups);
        self.journal.arrivals.insert(sequence, ArrivalsRow::new(&groups, &row));
        Ok(())
    }

    fn apply(&mut self, record: Record, frame: &Applied) -> Result<()> {
        let Applied { sequence, time, is_global_new } = *frame;
        // Whether a counter's row has this frame already.
        let has = |ledger: &Self, number: u32| {
            ledger.counters.get(&number).is_some_and(|state| sequence <= state.row)
        };
        match record {
            Record::Opened { ledger, identity, key_tag } if is_global_new => {
                self.global.ledger = ledger;
                self.global.identity = identity;
                self.global.key_tag = key_tag;
            }
            Record::Granted(grant) if is_global_new => self.global.accounts.grant(grant)?,
            Record::Created { counter, epoch, spec, cost } => {
                let counter_plan = counter_plan(&spec)?;
                if is_global_new {
                    let mut prices = prices(&counter_plan, counter, epoch);
                    prices.iter_mut().take(1).for_each(|price| price.cost = cost);
                    let name = &counter_plan.spec().name;
                    prices.iter().try_for_each(|price| self.global.accounts.owe(name, price))?;
                }
                if !self.counters.contains_key(&counter) {
                    let state = self.new_counter(counter, &counter_plan, epoch, time)?;
                    self.view.publish(Arc::clone(&state.view));
                    self.add(state);
                }
            }
            Record::Frozen { counter, step, totals, hash } if !has(self, counter) => {
                self.changing(counter, sequence)?.replay_frozen(step, &totals, hash)?;
                self.unreleased.insert(counter);
                self.reschedule(counter);
            }
            Record::Released { counter, step, frozen, values } if !has(self, counter) => {
                let state = self.changing(counter, sequence)?;
                state.replay_released(step, frozen, &values)?;
                if state.frozen.is_empty() {
                    self.unreleased.remove(&counter);
                }
                self.reschedule(counter);
            }
            Record::Named { counter, names } if !has(self, counter) => {
                self.changing(counter, sequence)?.replay_named(names)?;
            }
            Record::Appeared { counter, keys, .. } if !has(self, counter) => {
                self.changing(counter, sequence)?.replay_appeared(keys)?;
            }
            Record::Retired { counter } if !has(self, counter) => self.apply_retired(counter),
            Record::Deleted { counter } if !has(self, counter) => {
                self.apply_deleted(counter);
                let name = self.state(counter)?.counter_plan.spec().name.clone();
                self.view.withdraw(&name);
            }
            Record::TokenAdded(row) if is_global_new => self.global.tokens.add(row),
            Record::TokenRemoved { id } if is_global_new => self.global.tokens.remove(&id),
            Record::Epoch(new) => self.apply_epoch(&new, sequence, is_global_new)?,
            _ => {}
        }
        Ok(())
    }

    /// A counter that a frame is about to change.
    fn changing(&mut self, number: u32, sequence: u64) -> Result<&mut CounterState> {
        let state = self
            .counters
            .get_mut(&number)
            .ok_or_else(|| Error::damaged("there is no counter of a number"))?;
        self.changed.note(state, sequence);
        Ok(state)
    }

    fn check_whole(&self) -> Result<()> {
        if self.global.key_tag != self.key.tag() {
            return Err(Error::damaged("it belongs to another key"));
        }
        if (0..self.global.next_number).any(|number| !self.counters.contains_key(&number)) {
            return Err(Error::damaged("a counter is missing"));
        }
        Ok(())
    }
}

/// The frame that a record stands in.
struct Applied {
    sequence: u64,
    time: i64,
    /// Whether the global state does not have it.
    is_global_new: bool,
}

impl Journal {
    /// A journal whose first frame is this one, with the head before it.
    fn starting_at(first: u64, cut_at: Head) -> Self {
        Self { sequence: first - 1, head: cut_at, first, cut_at, ..Self::default() }
    }
}

fn read_global(store: &Store) -> Result<Option<(Global, Journal)>> {
    let Some(row) = store.get(META, GLOBAL)? else { return Ok(None) };
    let row: GlobalRow = decode(GLOBAL, unseal(GLOBAL, &row)?)?;
    let global = Global {
        ledger: row.ledger,
        identity: row.identity,
        key_tag: row.key_tag,
        epoch: row.epoch,
        accounts: Accounts::from_rows(&row.accounts)?,
        tokens: Tokens::from_rows(row.tokens),
        next_number: row.next_number,
        released: row.released,
    };
    let (first, cut_at) = row.first;
    let journal = Journal {
        sequence: row.sequence,
        head: row.head,
        orphans: row.orphans,
        ..Journal::starting_at(first, cut_at)
    };
    Ok(Some((global, journal)))
}
