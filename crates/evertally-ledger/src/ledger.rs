//! The ledger: everything that happened, in order, and what follows from it.
//!
//! See the crate's documentation for the order of a step's life and why nothing is lost or changed.
//! This is a synchronous state machine without a clock: changes are tentative until
//! [`Ledger::commit`] returns, and a commit that fails ends them all.

use crate::accounts::{Accounts, NewPopulation, prices};
use crate::counter::{CounterState, Life, admission_of};
use crate::error::{Error, Result};
use crate::fence::{Fence, Mark};
use crate::found::FoundKeys;
use crate::intake::{Intake, NameHasher, PreparedEvent, Receipt};
use crate::journal::{ChangedCounters, Journal, TentativeChanges};
use crate::read_view::{CounterProgress, CounterView, ReadView, Status};
use crate::record::{Cost, EpochName, Grant, Group, Head, Record};
use crate::running_counter::RunningCounter;
use crate::spec::{CounterPlan, StoredSpec};
use crate::tokens::{Role, Token, Tokens, draw, hexadecimal, token_of};
use evertally::NoiseKey;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

/// One frame records at most this many values: a service that was down for long catches up in
/// several.
pub(crate) const MAX_VALUES_PER_FRAME: usize = 200_000;

/// All that happened, and what follows from it. It holds true totals: no `Debug`.
pub struct Ledger {
    pub(crate) view: Arc<ReadView>,
    pub(crate) fence: Box<dyn Fence>,
    pub(crate) key: NoiseKey,
    pub(crate) names: Arc<NameHasher>,
    pub(crate) global: Global,
    pub(crate) counters: BTreeMap<u32, CounterState>,
    pub(crate) numbers: HashMap<String, u32>,
    /// When the next step of each counter by the clock is over.
    pub(crate) due: BTreeSet<(i64, u32)>,
    /// Counters with steps that are frozen and not released.
    pub(crate) unreleased: BTreeSet<u32>,
    pub(crate) journal: Journal,
    pub(crate) changed: ChangedCounters,
    pub(crate) tentative: TentativeChanges,
    pub(crate) halt: Halt,
    /// What the fence said when the ledger was opened.
    pub(crate) mark: Option<Mark>,
    pub(crate) identity: u64,
}

/// What belongs to no counter.
#[derive(Default)]
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
pub struct EpochResult {
    /// The new epoch.
    pub epoch: u32,
    /// The counters that resume.
    pub restarted: Vec<String>,
    /// The counters that do not, and why.
    pub left: Vec<(String, String)>,
}

impl Ledger {
    /// What anybody may read.
    #[must_use]
    pub fn read_view(&self) -> Arc<ReadView> {
        Arc::clone(&self.view)
    }

    /// Decides on the events of one request, by time and then by content
    /// ([`evertally_stream::admission`]). The receipt may be given away when `commit` has returned.
    ///
    /// # Errors
    /// [`Error::Fenced`] and [`Error::ReadOnly`] if nothing is taken at present,
    /// [`Error::NotFound`] for a counter that was deleted.
    pub fn submit(&mut self, counter: &CounterView, events: &[PreparedEvent], now: i64) -> Result<Receipt> {
        self.check_running()?;
        let state = self.counters.get_mut(&counter.number).filter(|state| state.life != Life::Deleted);
        let state = state.ok_or_else(|| Error::no_counter(&counter.counter_plan().spec().name))?;
        if state.life == Life::Halted {
            return Err(Error::Fenced {
                reason: "its population could not pay for the new epoch".to_owned(),
            });
        }
        if let Some(found) = state.found.as_ref().filter(|found| found.is_full()) {
            return Err(no_room(found));
        }
        if events.iter().any(|event| event.counter != counter.number) {
            return Err(Error::bad("events", "prepared for this counter", "those of another"));
        }
        let mut events = events.to_vec();
        events.sort_unstable_by(|one, other| one.order(now).cmp(&other.order(now)));
        let (mut receipt, mut names) = (Receipt::default(), Vec::new());
        let groups = &mut self.tentative.groups;
        if groups.last().is_none_or(|group| group.counter != counter.number) {
            groups.push(Group { counter: counter.number, items: Vec::with_capacity(events.len()) });
        }
        let Some(group) = groups.last_mut() else { return Ok(receipt) };
        let current = state.current_step(now);
        let items = events.iter().filter_map(|event| state.admit(event, current, &mut receipt, &mut names));
        group.items.extend(items);
        if !names.is_empty() {
            self.tentative.records.push(Record::Named { counter: counter.number, names });
        }
        if group.items.is_empty() {
            groups.pop();
        } else {
            self.changed.note(state, self.journal.sequence + 1);
        }
        Ok(receipt)
    }

    /// Freezes steps whose time is over, as many as one frame can hold the releases of. Returns
    /// whether more are due.
    ///
    /// # Errors
    /// [`Error::Fenced`] and [`Error::ReadOnly`] if nothing is closed at present.
    pub fn close_due(&mut self, now: i64) -> Result<bool> {
        self.check_running()?;
        let mut room = MAX_VALUES_PER_FRAME;
        while let Some(&(due, number)) = self.due.first() {
            if due > now {
                return Ok(false);
            }
            let Some(state) = self.counters.get(&number) else {
                self.due.pop_first();
                continue;
            };
            let width = state.numbers_per_step();
            if room < width && room < MAX_VALUES_PER_FRAME {
                return Ok(true);
            }
            room = room.saturating_sub(width);
            self.freeze(number);
        }
        Ok(false)
    }

    /// Whether enough waits to be committed.
    pub(crate) fn has_full_frame(&self) -> bool {
        self.tentative.records.len() >= MAX_VALUES_PER_FRAME
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
    /// [`Error::Conflict`] for a counter that a clock closes or that does not run, and
    /// [`evertally::Error::HorizonSpent`] if fewer steps are left.
    pub fn advance(&mut self, name: &str, steps: u64) -> Result<Range<u64>> {
        self.check_running()?;
        let number = self.number(name)?;
        let state = self.state(number)?;
        if state.counter_plan.buckets().is_some() {
            return Err(Error::conflict("the clock closes the steps of this counter"));
        }
        if state.life != Life::Running {
            return Err(Error::conflict("this counter does not run"));
        }
        let most = (MAX_VALUES_PER_FRAME / state.numbers_per_step()).max(1) as u64;
        if !(1..=most).contains(&steps) {
            return Err(Error::bad("steps", format!("from 1 to {most}"), steps));
        }
        let (open, horizon) = (state.open, state.counter_plan.steps());
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
    /// [`Error::Conflict`] for a name that is or was taken, [`Error::NotFound`] for a population
    /// that is not there, and [`evertally::Error::BudgetSpent`] if its account does not allow
    /// it.
    pub fn create(&mut self, counter_plan: &CounterPlan, now: i64) -> Result<Arc<CounterView>> {
        self.check_running()?;
        let spec = counter_plan.spec();
        if self.numbers.contains_key(&spec.name) {
            return Err(Error::conflict(format!(
                "the name {} is taken, or was: names are used once",
                spec.name
            )));
        }
        let name = spec.name.clone();
        self.global.accounts.check(counter_plan)?;
        let number = self.global.next_number;
        let written = StoredSpec::from(spec).text()?;
        let epoch = self.global.epoch;
        let state = self.new_counter(number, counter_plan, epoch, now)?;
        let cost = Cost::of(counter_plan.spend());
        self.global.accounts.spend(&name, &prices(counter_plan, number, epoch))?;
        let view = Arc::clone(&state.view);
        self.add(state);
        self.record(Record::Created { counter: number, epoch, spec: written, cost });
        self.touch(number);
        self.tentative.new.push(Arc::clone(&view));
        self.tentative.global = true;
        Ok(view)
    }

    /// Stops a counter for good and drops everything about it that is private. What was released
    /// stays.
    ///
    /// # Errors
    /// [`Error::NotFound`], and [`Error::Conflict`] if it was retired before.
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

    /// Removes a counter that is retired or has ended, with its releases. What it spent stays
    /// spent, and its name is not used again.
    ///
    /// # Errors
    /// [`Error::NotFound`], and [`Error::Conflict`] if it still runs.
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
    /// [`Error::Conflict`] if it has one, and [`evertally::Error::BadParameter`] for what is no
    /// budget.
    pub fn grant(&mut self, population: &NewPopulation) -> Result<()> {
        self.check_running()?;
        let grants = Grant::all(population)?;
        for grant in grants {
            self.global.accounts.grant(grant.clone())?;
            self.record(Record::Granted(grant));
        }
        self.tentative.global = true;
        Ok(())
    }

    /// Makes a token. The bearer may be given away when `commit` has returned, and is not known
    /// here afterwards.
    ///
    /// # Errors
    /// [`evertally::Error::BadParameter`] for a name that is no line and an expiry that is over.
    pub fn add_token(
        &mut self,
        name: &str,
        role: Role,
        expires: Option<i64>,
        now: i64,
    ) -> Result<(Token, String)> {
        self.check_writable()?;
        let (row, bearer) = draw(name, role, expires, now)?;
        let token = token_of(&row);
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
        counter_plan: &CounterPlan,
        epoch: EpochName,
        created: i64,
    ) -> Result<CounterState> {
        let counter_plan = Arc::new(counter_plan.in_stream(&self.stream(number, epoch)));
        let running = RunningCounter::new(&counter_plan, &self.key)?;
        let intake = Intake::new(number, Arc::clone(&counter_plan), Arc::clone(&self.names));
        let epochs = vec![(epoch.number, 0)];
        let progress = CounterProgress {
            status: Status::Running,
            epochs: epochs.clone(),
            next_step: 0,
            next_release: None,
            tail_first: 0,
            tail: Vec::new(),
            latest: None,
            shown: Vec::new(),
        };
        let view = Arc::new(CounterView::new(number, Arc::clone(&counter_plan), intake, created, progress));
        Ok(CounterState {
            admission: admission_of(&counter_plan),
            found: FoundKeys::of(&counter_plan)?,
            view,
            counter_plan,
            epoch,
            epochs,
            life: Life::Running,
            open: 0,
            pending: BTreeMap::new(),
            frozen: VecDeque::new(),
            running: Some(running),
            unshown: Vec::new(),
            unshown_latest: None,
            changed_since: None,
            scheduled: None,
            row: 0,
            chunk_before: [0; 32],
        })
    }

    pub(crate) fn add(&mut self, state: CounterState) {
        let (number, name) = (state.number(), state.counter_plan.spec().name.clone());
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

    /// The name of the noise of a counter in an epoch. No two are equal, in any ledgers, even under
    /// one key.
    pub(crate) fn stream(&self, number: u32, epoch: EpochName) -> String {
        let (ledger, nonce) = (hexadecimal(&self.global.ledger), hexadecimal(&epoch.nonce));
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

/// The refusal of events by a counter whose keys have taken all their memory. It says neither how many
/// there are nor which.
fn no_room(found: &FoundKeys) -> Error {
    let reason = format!(
        "the keys that it finds have taken the {} bytes that they may take, and it counts no more events",
        found.memory_bytes()
    );
    Error::Library(evertally::Error::TooCostly { mechanism: "this counter".to_owned(), reason })
}
