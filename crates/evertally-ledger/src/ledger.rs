//! The ledger: everything that happened, in order, and what follows from it.
//!
//! See the crate's documentation for the order of a step's life and why nothing is lost or changed. This is a synchronous state machine without
//! a clock: changes are tentative until [`Ledger::commit`] returns, and a commit that fails ends them all.

use crate::accounts::{Accounts, NewPopulation};
use crate::arrival::{Arrival, Intake, Names, Receipt};
use crate::checkpoint::CHUNK_BYTES;
use crate::counter::{CounterState, Life};
use crate::error::{Error, Result};
use crate::fence::{Fence, Mark};
use crate::ids::Ids;
use crate::lanes::Lanes;
use crate::people::People;
use crate::record::{Cost, Entered, EpochName, Frame, Grant, Group, Head, Record, encode, seal};
use crate::shown::{Mode, Published, Shown, Standing, Status};
use crate::spec::{Planned, Written};
use crate::store::{ARRIVALS, JOURNAL, failed};
use crate::tokens::{Role, Token, Tokens, draw, shown};
use evertally::NoiseKey;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

/// The most values that one frame records: a service that was down for long catches up in several.
const MOST_VALUES_A_FRAME: usize = 200_000;

/// All that happened, and what follows from it. It holds true totals: no `Debug`.
pub struct Ledger {
    pub(crate) shown: Arc<Shown>,
    pub(crate) fence: Box<dyn Fence>,
    pub(crate) key: NoiseKey,
    pub(crate) names: Arc<Names>,
    pub(crate) global: Global,
    pub(crate) counters: BTreeMap<u32, CounterState>,
    pub(crate) numbers: HashMap<String, u32>,
    /// When the next step of each counter by the clock is over.
    pub(crate) due: BTreeSet<(i64, u32)>,
    /// Counters with steps that are frozen and not released.
    pub(crate) unreleased: BTreeSet<u32>,
    pub(crate) journal: Journal,
    pub(crate) changed: Changed,
    pub(crate) tentative: Tentative,
    pub(crate) halt: Halt,
    /// What the fence said when the ledger was opened.
    pub(crate) mark: Option<Mark>,
    pub(crate) identity: u64,
}

/// What belongs to no counter.
pub(crate) struct Global {
    pub(crate) ledger: [u8; 16],
    pub(crate) identity: u64,
    pub(crate) key_tag: [u8; 8],
    pub(crate) epoch: EpochName,
    pub(crate) accounts: Accounts,
    pub(crate) tokens: Tokens,
    pub(crate) next_number: u32,
    /// The last frame with releases, and the head after it.
    pub(crate) released: (u64, Head),
}

/// Where the journal is.
pub(crate) struct Journal {
    /// The last frame, and the head after it.
    pub(crate) sequence: u64,
    pub(crate) head: Head,
    /// The first frame that is still there.
    pub(crate) first: u64,
    /// The frames that are still there: their bytes, and the heads after them.
    pub(crate) bytes: VecDeque<(u64, usize, Head)>,
    /// The sum of their bytes.
    pub(crate) total_bytes: usize,
    /// The head before the first of them.
    pub(crate) cut_at: Head,
    /// The events that are still there.
    pub(crate) arrivals: BTreeMap<u64, ArrivalsRow>,
    /// The next of them to be looked at, whether it is still needed.
    pub(crate) looked_at: u64,
    /// The sum of the hashes of those whose frames are not: a frame has the hash of its own.
    pub(crate) orphans: u128,
}

/// What is known of the events of a frame.
pub(crate) struct ArrivalsRow {
    /// Their counters, and the latest step of each.
    pub(crate) latest: Vec<(u32, u64)>,
    /// A part of the hash of the row.
    pub(crate) hash: u128,
}

impl ArrivalsRow {
    pub(crate) fn new(groups: &[Group], row: &[u8]) -> Self {
        let latest = |group: &Group| group.items.iter().map(|item| item.step).max().unwrap_or_default();
        let hash = blake3::hash(row).as_bytes().first_chunk().map_or(0, |bytes| u128::from_le_bytes(*bytes));
        Self { latest: groups.iter().map(|group| (group.counter, latest(group))).collect(), hash }
    }
}

/// Which counters are ahead of their rows on disk.
#[derive(Default)]
pub(crate) struct Changed {
    /// The first frame that a row does not have, and the counter.
    pub(crate) since: BTreeSet<(u64, u32)>,
    /// Counters with enough releases in memory for a chunk.
    pub(crate) full: BTreeSet<u32>,
}

impl Changed {
    /// A frame that is about to be written changes a counter.
    pub(crate) fn note(&mut self, state: &mut CounterState, sequence: u64) {
        if state.changed_since.is_none() {
            state.changed_since = Some(sequence);
            self.since.insert((sequence, state.number()));
        }
    }
}

/// What was changed and not committed.
#[derive(Default)]
pub(crate) struct Tentative {
    pub(crate) records: Vec<Record>,
    pub(crate) groups: Vec<Group>,
    /// Counters about which there is something new to show.
    pub(crate) touched: BTreeSet<u32>,
    pub(crate) new: Vec<Arc<Published>>,
    pub(crate) deleted: Vec<u32>,
    pub(crate) global: bool,
}

impl Tentative {
    pub(crate) fn is_empty(&self) -> bool {
        self.records.is_empty() && self.groups.is_empty() && self.touched.is_empty()
    }
}

/// Why nothing is changed at present.
#[derive(Default)]
pub(crate) struct Halt {
    pub(crate) fenced: Option<String>,
    pub(crate) failed: Option<String>,
}

/// What starting a new epoch would cost for one counter.
#[derive(Debug, Clone, PartialEq)]
pub struct EpochCost {
    /// The counter.
    pub counter: String,
    /// Who pays.
    pub population: String,
    /// What it pays once more, as ρ of zero-concentrated differential privacy.
    pub rho: f64,
    /// Whether the account allows it, after all counters before it in this list.
    pub affordable: bool,
}

/// What starting a new epoch did.
#[derive(Debug, Clone, PartialEq)]
pub struct EpochStarted {
    /// The new epoch.
    pub epoch: u32,
    /// The counters that go on.
    pub restarted: Vec<String>,
    /// The counters that do not, and why.
    pub left: Vec<(String, String)>,
}

impl Ledger {
    /// What anybody may read.
    #[must_use]
    pub fn shown(&self) -> Arc<Shown> {
        Arc::clone(&self.shown)
    }

    /// Takes events in. The receipt may be given away when `commit` has returned.
    ///
    /// # Errors
    /// [`Error::Fenced`] and [`Error::ReadOnly`] where nothing is taken at present, [`Error::NotFound`] for a counter that was deleted.
    pub fn submit(&mut self, counter: &Published, arrivals: &[Arrival], now: i64) -> Result<Receipt> {
        self.check_running()?;
        let state = self.counters.get_mut(&counter.number).filter(|state| state.life != Life::Deleted);
        let state = state.ok_or_else(|| Error::no_counter(&counter.planned().spec().name))?;
        if state.life == Life::Halted {
            return Err(Error::Fenced {
                reason: "its population could not pay for the new epoch".to_owned(),
            });
        }
        if arrivals.iter().any(|arrival| arrival.counter != counter.number) {
            return Err(Error::bad("arrivals", "made ready for this counter", "those of another"));
        }
        let mut receipt = Receipt::default();
        let items: Vec<_> =
            arrivals.iter().filter_map(|arrival| state.take(arrival, now, &mut receipt)).collect();
        if items.is_empty() {
            return Ok(receipt);
        }
        self.changed.note(state, self.journal.sequence + 1);
        match self.tentative.groups.last_mut().filter(|group| group.counter == counter.number) {
            Some(group) => group.items.extend(items),
            None => self.tentative.groups.push(Group { counter: counter.number, items }),
        }
        Ok(receipt)
    }

    /// Freezes steps whose time is over, at most so many that one frame holds their releases; whether more are due.
    ///
    /// # Errors
    /// [`Error::Fenced`] and [`Error::ReadOnly`] where nothing is closed at present.
    pub fn close_due(&mut self, now: i64) -> Result<bool> {
        self.check_running()?;
        let mut room = MOST_VALUES_A_FRAME;
        while let Some(&(due, number)) = self.due.first() {
            if due > now {
                return Ok(false);
            }
            let Some(state) = self.counters.get(&number) else {
                self.due.pop_first();
                continue;
            };
            let width = state.planned.width();
            if room < width && room < MOST_VALUES_A_FRAME {
                return Ok(true);
            }
            room = room.saturating_sub(width);
            self.freeze(number);
        }
        Ok(false)
    }

    /// Whether so much waits to be committed that it is time to.
    pub(crate) fn is_laden(&self) -> bool {
        self.tentative.records.len() >= MOST_VALUES_A_FRAME
    }

    /// When the next step is due to be closed.
    #[must_use]
    pub fn next_due(&self) -> Option<i64> {
        if self.check_running().is_err() {
            return None;
        }
        self.due.first().map(|(due, _)| *due)
    }

    /// Closes steps of a counter that is advanced by hand, and says which.
    ///
    /// # Errors
    /// [`Error::Conflict`] for a counter that a clock closes or that does not run, and [`evertally::Error::HorizonSpent`] where fewer steps are left.
    pub fn advance(&mut self, name: &str, steps: u64) -> Result<Range<u64>> {
        self.check_running()?;
        let number = self.number(name)?;
        let state = self.state(number)?;
        if state.planned.buckets().is_some() {
            return Err(Error::conflict("the clock closes the steps of this counter"));
        }
        if state.life != Life::Running {
            return Err(Error::conflict("this counter does not run"));
        }
        let most = (MOST_VALUES_A_FRAME / state.planned.width()).max(1) as u64;
        if !(1..=most).contains(&steps) {
            return Err(Error::bad("steps", format!("from 1 to {most}"), steps));
        }
        let (open, horizon) = (state.open, state.planned.steps());
        if steps > horizon - open {
            return Err(evertally::Error::HorizonSpent { horizon }.into());
        }
        for _ in 0..steps {
            self.freeze(number);
        }
        Ok(open..open + steps)
    }

    /// Makes a counter, and enters its cost.
    ///
    /// # Errors
    /// [`Error::Conflict`] for a name that is or was taken, [`Error::NotFound`] for a population that is not there, and
    /// [`evertally::Error::BudgetSpent`] where its account does not allow it.
    pub fn create(&mut self, planned: &Planned, now: i64) -> Result<Arc<Published>> {
        self.check_running()?;
        let spec = planned.spec();
        if self.numbers.contains_key(&spec.name) {
            return Err(Error::conflict(format!(
                "the name {} is taken, or was: names are used once",
                spec.name
            )));
        }
        let (population, name) = (spec.population.clone(), spec.name.clone());
        let (unit, spend) = (self.global.accounts.unit_for(planned)?, planned.plan().spend());
        self.global.accounts.check(&population, &unit, &spend)?;
        let number = self.global.next_number;
        let written = serde_json::to_string(&Written::from(spec));
        let written = written.map_err(|error| Error::system("a counter cannot be written", &error))?;
        let epoch = self.global.epoch;
        let state = self.new_counter(number, planned, epoch, now)?;
        let cost = Cost::of(spend);
        self.global.accounts.spend(&name, &Entered { population, counter: number, epoch, cost })?;
        let published = Arc::clone(&state.published);
        self.add(state);
        self.record(Record::Created { counter: number, epoch, spec: written, cost });
        self.touch(number);
        self.tentative.new.push(Arc::clone(&published));
        self.tentative.global = true;
        Ok(published)
    }

    /// Stops a counter for good and drops everything about it that is private. What was released stays.
    ///
    /// # Errors
    /// [`Error::NotFound`], and [`Error::Conflict`] where it was retired before.
    pub fn retire(&mut self, name: &str) -> Result<()> {
        self.check_writable()?;
        let number = self.number(name)?;
        if self.state(number)?.life == Life::Retired {
            return Err(Error::conflict("this counter is retired already"));
        }
        self.apply_retired(number);
        self.record(Record::Retired { counter: number });
        self.touch(number);
        Ok(())
    }

    /// Removes a counter that is retired or has ended, with its releases. What it spent stays spent, and its name is not used again.
    ///
    /// # Errors
    /// [`Error::NotFound`], and [`Error::Conflict`] where it still runs.
    pub fn delete(&mut self, name: &str) -> Result<()> {
        self.check_writable()?;
        let number = self.number(name)?;
        let status = self.state(number)?.status(self.halt.fenced.is_some());
        if !matches!(status, Status::Retired | Status::Ended) {
            return Err(Error::conflict("this counter still runs: retire it first"));
        }
        self.apply_deleted(number);
        self.record(Record::Deleted { counter: number });
        self.touch(number);
        self.tentative.deleted.push(number);
        Ok(())
    }

    /// Grants a population its budget, once.
    ///
    /// # Errors
    /// [`Error::Conflict`] where it has one, and [`Error::BadParameter`] for what is no budget.
    pub fn grant(&mut self, population: &NewPopulation) -> Result<()> {
        self.check_running()?;
        let grant = Grant::new(population)?;
        self.global.accounts.grant(grant.clone())?;
        self.record(Record::Granted(grant));
        self.tentative.global = true;
        Ok(())
    }

    /// Makes a token. The bearer may be given away when `commit` has returned, and is not known here afterwards.
    ///
    /// # Errors
    /// [`Error::BadParameter`] for a name that is no line and an expiry that is over.
    pub fn add_token(
        &mut self,
        name: &str,
        role: Role,
        expires: Option<i64>,
        now: i64,
    ) -> Result<(Token, String)> {
        self.check_writable()?;
        let (row, bearer) = draw(name, role, expires, now)?;
        let token = shown(&row);
        self.global.tokens.add(row.clone());
        self.record(Record::TokenAdded(row));
        self.tentative.global = true;
        Ok((token, bearer))
    }

    /// Revokes a token.
    ///
    /// # Errors
    /// [`Error::NotFound`], and [`Error::Conflict`] for the last one that could make another.
    pub fn remove_token(&mut self, id: &str) -> Result<()> {
        self.check_writable()?;
        self.global.tokens.check_removal(id)?;
        self.global.tokens.remove(id);
        self.record(Record::TokenRemoved { id: id.to_owned() });
        self.tentative.global = true;
        Ok(())
    }

    /// Makes everything durable that was changed, then makes the releases of frozen steps, makes them durable, and shows them. The counters with
    /// something new are returned.
    ///
    /// # Errors
    /// [`Error::ReadOnly`]: storage failed, now or before. Nothing that was changed since the last commit may be given away; the ledger shows
    /// what it showed, and changes nothing until it is opened again.
    pub fn commit(&mut self, now: i64) -> Result<Vec<Arc<Published>>> {
        self.check_writable()?;
        match self.try_commit(now) {
            Ok(changed) => Ok(changed),
            Err(error) => Err(self.fail(&error)),
        }
    }

    fn try_commit(&mut self, now: i64) -> Result<Vec<Arc<Published>>> {
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
        if is_rare {
            self.checkpoint_all()?
        } else {
            self.tidy()?
        }
        Ok(changed)
    }

    /// Nothing is believed any more but what was shown.
    pub(crate) fn fail(&mut self, error: &Error) -> Error {
        let reason = error.to_string();
        self.shown.state_mut().mode = Mode::ReadOnly { reason: reason.clone() };
        self.halt.failed = Some(reason.clone());
        // Where even that fails, reads say so.
        let _ = self.shown.store.fall_back_to_reading();
        Error::ReadOnly { reason }
    }

    /// Writes what is tentative as one frame.
    pub(crate) fn write_frame(&mut self, now: i64) -> Result<()> {
        let records = std::mem::take(&mut self.tentative.records);
        let groups = std::mem::take(&mut self.tentative.groups);
        if records.is_empty() && groups.is_empty() {
            return Ok(());
        }
        let sequence = self.journal.sequence + 1;
        let arrivals =
            if groups.is_empty() { None } else { Some(seal(&arrivals_place(sequence), encode(&groups)?)) };
        let hash = arrivals.as_ref().map(|bytes| *blake3::hash(bytes).as_bytes());
        let frame = encode(&Frame { sequence, time: now, arrivals: hash, records })?;
        let head = self.journal.head.after(&frame);
        let row = [&head.0[..], &frame].concat();
        self.shown.store.write(|transaction| {
            transaction.open_table(JOURNAL).map_err(failed)?.insert(sequence, &row[..]).map_err(failed)?;
            if let Some(arrivals) = &arrivals {
                transaction
                    .open_table(ARRIVALS)
                    .map_err(failed)?
                    .insert(sequence, &arrivals[..])
                    .map_err(failed)?;
            }
            Ok(())
        })?;
        self.journal.sequence = sequence;
        self.journal.head = head;
        self.journal.bytes.push_back((sequence, row.len(), head));
        self.journal.total_bytes += row.len();
        if let Some(row) = arrivals {
            self.journal.arrivals.insert(sequence, ArrivalsRow::new(&groups, &row));
        }
        Ok(())
    }

    /// Makes the releases of frozen steps, as many as one frame holds.
    fn release_frozen(&mut self) -> Result<()> {
        let mut room = MOST_VALUES_A_FRAME;
        while let Some(&number) = self.unreleased.first() {
            let Some(state) = self.counters.get_mut(&number) else { break };
            while !state.frozen.is_empty() && room > 0 {
                self.tentative.records.push(state.release()?);
                room = room.saturating_sub(state.planned.width());
            }
            self.changed.note(state, self.journal.sequence + 1);
            // Steps that were frozen before a crash are released now and were touched by nobody else.
            self.tentative.touched.insert(number);
            if !state.frozen.is_empty() {
                break;
            }
            self.unreleased.pop_first();
            self.reschedule(number);
        }
        Ok(())
    }

    /// Tells the fence what was released, before anybody else is told.
    pub(crate) fn write_mark(&mut self) -> Result<()> {
        let (released, head) = self.global.released;
        let spent = self.global.accounts.spent();
        let mark = Mark { ledger: self.global.ledger, epoch: self.global.epoch, released, head, spent };
        mark.write(&mut *self.fence)
    }

    /// Shows what is durable.
    pub(crate) fn show(&mut self) -> Vec<Arc<Published>> {
        let tentative = std::mem::take(&mut self.tentative);
        let is_fenced = self.halt.fenced.is_some();
        for published in tentative.new {
            self.shown.publish(published);
        }
        let mut changed = Vec::new();
        for number in tentative.touched {
            let Some(state) = self.counters.get_mut(&number) else { continue };
            let next_release = state.next_due().filter(|_| !is_fenced);
            let mut standing = state.published.standing_mut();
            standing.status = state.status(is_fenced);
            standing.next_step = state.released();
            standing.next_release = next_release;
            standing.epochs.clone_from(&state.epochs);
            let width = state.planned.width();
            if let Some(latest) =
                state.unshown.len().checked_sub(width).and_then(|at| state.unshown.get(at..))
            {
                standing.latest = Some(latest.to_vec());
            }
            standing.tail.append(&mut state.unshown);
            if standing.tail.len() * size_of::<f64>() >= CHUNK_BYTES {
                self.changed.full.insert(number);
            }
            drop(standing);
            changed.push(Arc::clone(&state.published));
        }
        for number in tentative.deleted {
            if let Some(state) = self.counters.get(&number) {
                self.shown.withdraw(&state.planned.spec().name);
            }
        }
        if tentative.global {
            let mut shown = self.shown.state_mut();
            shown.epoch = self.global.epoch.number;
            shown.accounts = self.global.accounts.clone();
            shown.tokens = self.global.tokens.clone();
            shown.mode = match &self.halt.fenced {
                Some(reason) => Mode::Fenced { reason: reason.clone() },
                None => Mode::Running,
            };
        }
        changed
    }

    /// Freezes the next step of a counter.
    fn freeze(&mut self, number: u32) {
        if let Some(state) = self.counters.get_mut(&number) {
            let record = state.freeze();
            self.changed.note(state, self.journal.sequence + 1);
            self.tentative.records.push(record);
        }
        self.unreleased.insert(number);
        self.reschedule(number);
        self.touch(number);
    }

    /// Puts a counter where it belongs in the order of what is due.
    pub(crate) fn reschedule(&mut self, number: u32) {
        let Some(state) = self.counters.get_mut(&number) else { return };
        let due = state.next_due();
        if state.scheduled == due {
            return;
        }
        if let Some(before) = state.scheduled {
            self.due.remove(&(before, number));
        }
        state.scheduled = due;
        if let Some(due) = due {
            self.due.insert((due, number));
        }
    }

    pub(crate) fn apply_retired(&mut self, number: u32) {
        if let Some(state) = self.counters.get_mut(&number) {
            state.retire();
            self.changed.note(state, self.journal.sequence + 1);
        }
        self.unreleased.remove(&number);
        self.reschedule(number);
    }

    pub(crate) fn apply_deleted(&mut self, number: u32) {
        if let Some(state) = self.counters.get_mut(&number) {
            state.retire();
            state.life = Life::Deleted;
            self.changed.note(state, self.journal.sequence + 1);
        }
    }

    /// A counter before its first event.
    pub(crate) fn new_counter(
        &self,
        number: u32,
        planned: &Planned,
        epoch: EpochName,
        created: i64,
    ) -> Result<CounterState> {
        let planned = Arc::new(planned.in_stream(&self.stream(number, epoch)));
        let lanes = Lanes::new(&planned, &self.key)?;
        let intake = Intake::new(number, Arc::clone(&planned), Arc::clone(&self.names));
        let epochs = vec![(epoch.number, 0)];
        let standing = Standing {
            status: Status::Running,
            epochs: epochs.clone(),
            next_step: 0,
            next_release: None,
            tail_first: 0,
            tail: Vec::new(),
            latest: None,
        };
        let published = Arc::new(Published::new(number, Arc::clone(&planned), intake, created, standing));
        Ok(CounterState {
            ids: Ids::new(planned.remembered_steps(), planned.steps_in_grace()),
            published,
            planned,
            epoch,
            epochs,
            life: Life::Running,
            open: 0,
            pending: BTreeMap::new(),
            frozen: VecDeque::new(),
            people: People::default(),
            lanes: Some(lanes),
            unshown: Vec::new(),
            changed_since: None,
            scheduled: None,
            row: 0,
            chunk_before: [0; 32],
        })
    }

    pub(crate) fn add(&mut self, state: CounterState) {
        let (number, name) = (state.number(), state.planned.spec().name.clone());
        self.global.next_number = self.global.next_number.max(number + 1);
        self.numbers.insert(name, number);
        if !state.frozen.is_empty() && state.life == Life::Running {
            self.unreleased.insert(number);
        }
        self.counters.insert(number, state);
        self.note_change(number);
        self.reschedule(number);
    }

    pub(crate) fn note_change(&mut self, number: u32) {
        if let Some(state) = self.counters.get_mut(&number) {
            self.changed.note(state, self.journal.sequence + 1);
        }
    }

    /// What the noise of a counter in an epoch is called: no two of any ledgers share theirs, even under one key.
    pub(crate) fn stream(&self, number: u32, epoch: EpochName) -> String {
        let hexadecimal =
            |bytes: [u8; 16]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let (ledger, nonce) = (hexadecimal(self.global.ledger), hexadecimal(epoch.nonce));
        format!("ledger {ledger} counter {number} epoch {} {nonce}", epoch.number)
    }

    pub(crate) fn number(&self, name: &str) -> Result<u32> {
        let number = self.numbers.get(name).copied().ok_or_else(|| Error::no_counter(name))?;
        match self.counters.get(&number) {
            Some(state) if state.life != Life::Deleted => Ok(number),
            _ => Err(Error::no_counter(name)),
        }
    }

    pub(crate) fn state(&self, number: u32) -> Result<&CounterState> {
        self.counters.get(&number).ok_or_else(|| Error::damaged("there is no counter of a number"))
    }

    pub(crate) fn record(&mut self, record: Record) {
        self.tentative.records.push(record);
    }

    pub(crate) fn touch(&mut self, number: u32) {
        self.tentative.touched.insert(number);
    }

    fn check_running(&self) -> Result<()> {
        self.check_writable()?;
        match &self.halt.fenced {
            Some(reason) => Err(Error::Fenced { reason: reason.clone() }),
            None => Ok(()),
        }
    }

    pub(crate) fn check_writable(&self) -> Result<()> {
        match &self.halt.failed {
            Some(reason) => Err(Error::ReadOnly { reason: reason.clone() }),
            None => Ok(()),
        }
    }
}

/// What sealed arrivals say of their place.
pub(crate) fn arrivals_place(sequence: u64) -> String {
    format!("the events of frame {sequence}")
}
