//! What anybody may read at any time: only what is durable.
//!
//! The ledger has one owner, which changes it, and many readers. The readers share this view. The
//! owner updates it after each commit and never before, so nobody sees what a crash could take
//! back.

use crate::accounts::{Accounts, Population};
use crate::error::{Error, Result};
use crate::found::{ShownKey, Widths};
use crate::intake::Intake;
use crate::record::{decode, encode, seal, unseal};
use crate::spec::CounterPlan;
use crate::store::{CHUNKS, Store};
use crate::tokens::{Token, Tokens, token_of};
use evertally::Release;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// The level of every interval.
const LEVEL: f64 = 0.95;

/// What the ledger does at present.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mode {
    /// It takes events and releases.
    Running,
    /// It is a copy or an older state: it only shows what it has until a new epoch is started.
    Fenced {
        /// How it was recognised.
        reason: String,
    },
    /// Storage failed: it only shows what it has until it is opened again.
    ReadOnly {
        /// What failed.
        reason: String,
    },
}

/// What a counter does at present.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Status {
    /// It takes events and releases.
    Running,
    /// It waits for a new epoch.
    Fenced,
    /// It was stopped for good.
    Retired,
    /// All its steps are released.
    Ended,
}

/// What was released of one step.
#[derive(Debug, Clone, PartialEq)]
pub struct StepRelease {
    /// The step, counted from zero; of a sum, its last one.
    pub step: u64,
    /// The epoch whose noise is in it.
    pub epoch: u32,
    /// The end of the step, in microseconds since 1970; `None` if steps are closed by hand.
    pub time: Option<i64>,
    /// The standard deviation of the noise in each value.
    pub standard_error: f64,
    /// Half the width of the 95 % interval around each value.
    pub margin: f64,
    /// One value per key; one value without keys. Where keys are found, one for each that has appeared,
    /// in the order of [`CounterView::key_names`].
    pub values: Vec<f64>,
}

/// The names of the numbers of releases.
#[derive(Debug, Clone)]
pub enum KeyNames {
    /// Those that were declared, and `other`.
    Declared(Arc<CounterPlan>),
    /// Those that have appeared so far. The first values of a release belong to the first of them.
    Found(Arc<[Arc<str>]>),
}

impl KeyNames {
    /// The name of a number.
    #[must_use]
    pub fn get(&self, lane: usize) -> Option<&str> {
        match self {
            Self::Declared(counter_plan) => counter_plan.lane_names()?.get(lane).map(String::as_str),
            Self::Found(names) => names.get(lane).map(|name| &**name),
        }
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Declared(counter_plan) => counter_plan.lane_names().map_or(0, <[String]>::len),
            Self::Found(names) => names.len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).filter_map(|lane| self.get(lane))
    }
}

/// What anybody may read of a counter.
#[derive(Debug)]
pub struct CounterView {
    pub(crate) number: u32,
    counter_plan: Arc<CounterPlan>,
    intake: Intake,
    created: i64,
    progress: RwLock<CounterProgress>,
}

#[derive(Debug, Clone)]
pub(crate) struct CounterProgress {
    pub(crate) status: Status,
    /// The first step of every epoch.
    pub(crate) epochs: Vec<(u32, u64)>,
    pub(crate) next_step: u64,
    pub(crate) next_release: Option<i64>,
    /// The first step whose values are here; earlier ones are in chunks on disk.
    pub(crate) tail_first: u64,
    pub(crate) tail: Vec<f64>,
    /// The values of the last step, wherever they stand.
    pub(crate) latest: Option<Vec<f64>>,
    /// The keys that have appeared, where keys are found.
    pub(crate) shown: Vec<ShownKey>,
}

/// The epoch of a step, from the first steps of all epochs.
fn epoch_of(epochs: &[(u32, u64)], step: u64) -> u32 {
    epochs.iter().rev().find(|(_, first)| *first <= step).map_or(1, |(epoch, _)| *epoch)
}

impl CounterView {
    pub(crate) fn new(
        number: u32,
        counter_plan: Arc<CounterPlan>,
        intake: Intake,
        created: i64,
        progress: CounterProgress,
    ) -> Self {
        Self { number, counter_plan, intake, created, progress: RwLock::new(progress) }
    }

    /// What the counter was made from, and its plan.
    #[must_use]
    pub fn counter_plan(&self) -> &CounterPlan {
        &self.counter_plan
    }

    /// Prepares its events.
    #[must_use]
    pub fn intake(&self) -> &Intake {
        &self.intake
    }

    /// When it was made, in microseconds since 1970.
    #[must_use]
    pub fn created(&self) -> i64 {
        self.created
    }

    /// What it does at present.
    #[must_use]
    pub fn status(&self) -> Status {
        self.progress().status
    }

    /// The epoch whose noise the next release has.
    #[must_use]
    pub fn epoch(&self) -> u32 {
        self.progress().epochs.last().map_or(1, |(epoch, _)| *epoch)
    }

    /// The number of steps released: the next one.
    #[must_use]
    pub fn next_step(&self) -> u64 {
        self.progress().next_step
    }

    /// When the next step is closed, if a clock closes it.
    #[must_use]
    pub fn next_release(&self) -> Option<i64> {
        self.progress().next_release
    }

    /// What was released last.
    #[must_use]
    pub fn latest(&self) -> Option<StepRelease> {
        let progress = self.progress();
        let step = progress.next_step.checked_sub(1)?;
        self.around(step, epoch_of(&progress.epochs, step), progress.latest.clone()?).ok()
    }

    /// The names of the numbers of releases, if there are keys. Where keys are found, those that have
    /// appeared so far: every release that was read before has values for the first of them.
    #[must_use]
    pub fn key_names(&self) -> Option<KeyNames> {
        if self.counter_plan.discovery().is_some() {
            let names = self.progress().shown.iter().map(|key| Arc::clone(&key.name)).collect();
            return Some(KeyNames::Found(names));
        }
        let declared = self.counter_plan.lane_names().is_some();
        declared.then(|| KeyNames::Declared(Arc::clone(&self.counter_plan)))
    }

    pub(crate) fn progress(&self) -> RwLockReadGuard<'_, CounterProgress> {
        self.progress.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn progress_mut(&self) -> RwLockWriteGuard<'_, CounterProgress> {
        self.progress.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Releases whose values stand in the tail.
    fn releases(&self, progress: &CounterProgress, steps: Range<u64>) -> Result<Vec<StepRelease>> {
        let widths = Widths::of(&self.counter_plan, &progress.shown);
        let mut at = widths.between(progress.tail_first, steps.start.max(progress.tail_first));
        let release = |step| {
            let end = at + widths.at(step);
            let values = progress.tail.get(at..end).ok_or_else(|| Error::damaged("a release is missing"))?;
            at = end;
            self.around(step, epoch_of(&progress.epochs, step), values.to_vec())
        };
        steps.map(release).collect()
    }

    fn around(&self, step: u64, epoch: u32, values: Vec<f64>) -> Result<StepRelease> {
        let spread = self.counter_plan.plan().spread(step)?;
        Ok(StepRelease {
            step,
            epoch,
            time: self.end_of(step),
            standard_error: spread.standard_error,
            margin: spread.margin(LEVEL),
            values,
        })
    }

    /// How many numbers the release of a step has.
    fn width(&self, step: u64) -> usize {
        Widths::of(&self.counter_plan, &self.progress().shown).at(step)
    }

    fn end_of(&self, step: u64) -> Option<i64> {
        self.counter_plan.buckets().map(|buckets| buckets.start_of(step + 1))
    }
}

/// What anybody may read at any time.
#[derive(Debug)]
pub struct ReadView {
    pub(crate) store: Store,
    counters: RwLock<BTreeMap<String, Arc<CounterView>>>,
    state: RwLock<State>,
}

pub(crate) struct State {
    pub(crate) mode: Mode,
    pub(crate) epoch: u32,
    pub(crate) accounts: Accounts,
    pub(crate) tokens: Tokens,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State").field("mode", &self.mode).field("epoch", &self.epoch).finish_non_exhaustive()
    }
}

impl ReadView {
    pub(crate) fn new(store: Store, state: State) -> Self {
        Self { store, counters: RwLock::default(), state: RwLock::new(state) }
    }

    /// What the ledger does at present.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.state().mode.clone()
    }

    /// The epoch of the ledger: how often it started with fresh noise.
    #[must_use]
    pub fn epoch(&self) -> u32 {
        self.state().epoch
    }

    /// A counter by its name.
    #[must_use]
    pub fn counter(&self, name: &str) -> Option<Arc<CounterView>> {
        self.counters.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    /// All counters, by name.
    #[must_use]
    pub fn counters(&self) -> Vec<Arc<CounterView>> {
        self.counters.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    /// All accounts.
    #[must_use]
    pub fn populations(&self) -> Vec<Population> {
        self.state().accounts.populations()
    }

    /// Whether the account of a counter's population would admit it; `None` if there is no such
    /// population.
    #[must_use]
    pub fn can_afford(&self, counter_plan: &CounterPlan) -> Option<bool> {
        self.state().accounts.can_afford(counter_plan)
    }

    /// All tokens, without their secrets.
    #[must_use]
    pub fn tokens(&self) -> Vec<Token> {
        self.state().tokens.rows().iter().map(token_of).collect()
    }

    /// The token of a bearer. The caller checks whether it has expired, and can say so.
    #[must_use]
    pub fn authenticate(&self, bearer: &str) -> Option<Token> {
        self.state().tokens.authenticate(bearer)
    }

    /// What was released of these steps, as far as they are released.
    ///
    /// # Errors
    /// [`Error::Damaged`] if a chunk does not hash to what it says, and [`Error::System`] if it
    /// cannot be read.
    pub fn releases(&self, counter: &CounterView, steps: Range<u64>) -> Result<Vec<StepRelease>> {
        // First the tail, then the chunks: what leaves the tail is in a chunk by then.
        let (tail, earlier, epochs, shown) = {
            let progress = counter.progress();
            let end = steps.end.min(progress.next_step);
            let tail = counter.releases(&progress, steps.start.max(progress.tail_first)..end)?;
            let earlier = steps.start..end.min(progress.tail_first);
            let shown = if earlier.is_empty() { Vec::new() } else { progress.shown.clone() };
            (tail, earlier, progress.epochs.clone(), shown)
        };
        let mut releases = Vec::new();
        let widths = Widths::of(&counter.counter_plan, &shown);
        self.read_chunks(counter, earlier, widths, |step, values| {
            releases.push(counter.around(step, epoch_of(&epochs, step), values)?);
            Ok(())
        })?;
        releases.extend(tail);
        Ok(releases)
    }

    /// The total over the steps `first..=last` of one lane, with its exact error.
    ///
    /// # Errors
    /// [`evertally::Error::BadParameter`] for steps that are not released, and the library's errors
    /// for workloads that have no sums between steps.
    pub fn sum(&self, counter: &CounterView, first: u64, last: u64, lane: usize) -> Result<StepRelease> {
        let released = counter.next_step();
        if first > last || last >= released {
            let expected = format!("a first step not after the last, below the {released} that are released");
            return Err(Error::bad("first and last", expected, format!("{first} and {last}")));
        }
        let plan = counter.counter_plan.plan();
        let of = |step: u64| -> Result<(u32, Release)> {
            let release = self.releases(counter, step..step + 1)?.pop();
            let release = release.ok_or_else(|| Error::damaged("a release is missing"))?;
            let value = release.values.get(lane).copied();
            let value = value.ok_or_else(|| Error::bad("key", "one of the counter's", "another"))?;
            Ok((release.epoch, plan.spread(step)?.around(value)))
        };
        let (epoch, later) = of(last)?;
        let has_value = |step| counter.width(step) > lane;
        if first.checked_sub(1).is_some_and(|before| !has_value(before)) {
            let expected = "0, or a step after the one at which the key appeared";
            return Err(Error::bad("first", expected, first));
        }
        let earlier = first.checked_sub(1).map(of).transpose()?;
        let sum = match earlier {
            Some((before, earlier)) if before != epoch => {
                // Checks that sums between steps make sense at all; the noise of two epochs is
                // independent.
                plan.interval(Some(&earlier), &later)?;
                let standard_error = earlier.standard_error.hypot(later.standard_error);
                let rounding = earlier.rounding.and(later.rounding);
                Release { value: later.value - earlier.value, standard_error, rounding, ..later }
            }
            earlier => plan.interval(earlier.as_ref().map(|(_, release)| release), &later)?,
        };
        let time = counter.end_of(last);
        Ok(StepRelease {
            step: last,
            epoch,
            time,
            standard_error: sum.standard_error,
            margin: sum.margin(LEVEL),
            values: vec![sum.value],
        })
    }

    /// Hands on the values of steps that stand in chunks.
    fn read_chunks(
        &self,
        counter: &CounterView,
        steps: Range<u64>,
        widths: Widths<'_>,
        mut take: impl FnMut(u64, Vec<f64>) -> Result<()>,
    ) -> Result<()> {
        let mut next = steps.start;
        while next < steps.end {
            let (first, values) = self.chunk_with(counter.number, next)?;
            let (start, mut at) = (next, widths.between(first, next));
            while next < steps.end {
                let end = at + widths.at(next);
                let Some(row) = values.get(at..end) else { break };
                take(next, row.to_vec())?;
                (next, at) = (next + 1, end);
            }
            if next == start {
                return Err(Error::damaged("a release is missing"));
            }
        }
        Ok(())
    }

    /// The values of a step that stands in a chunk.
    pub(crate) fn values_in_chunk(&self, counter: u32, step: u64, widths: Widths<'_>) -> Result<Vec<f64>> {
        let (first, values) = self.chunk_with(counter, step)?;
        let at = widths.between(first, step);
        let values = values.get(at..at + widths.at(step)).map(<[f64]>::to_vec);
        values.ok_or_else(|| Error::damaged("a release is missing"))
    }

    /// The chunk that holds a step: its first step and its values.
    fn chunk_with(&self, counter: u32, step: u64) -> Result<(u64, Vec<f64>)> {
        let found = self.store.last_at_or_before(CHUNKS, (counter, 0), (counter, step))?;
        let ((_, first), row) = found.ok_or_else(|| Error::damaged("a release is missing"))?;
        Ok((first, Chunk::read(counter, first, &row)?.values))
    }

    pub(crate) fn publish(&self, counter: Arc<CounterView>) {
        let name = counter.counter_plan.spec().name.clone();
        self.counters.write().unwrap_or_else(PoisonError::into_inner).insert(name, counter);
    }

    pub(crate) fn withdraw(&self, name: &str) {
        self.counters.write().unwrap_or_else(PoisonError::into_inner).remove(name);
    }

    fn state(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn state_mut(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Released values on disk. Each chunk names the hash of the one before it, so that none can be
/// lost unnoticed.
#[derive(serde::Serialize, serde::Deserialize)]
pub(crate) struct Chunk {
    pub(crate) before: [u8; 32],
    pub(crate) values: Vec<f64>,
}

impl Chunk {
    fn place(counter: u32, first: u64) -> String {
        format!("the releases of counter {counter} from step {first} on")
    }

    /// The row, and the hash that the next chunk names.
    pub(crate) fn row(&self, counter: u32, first: u64) -> Result<(Vec<u8>, [u8; 32])> {
        let row = seal(&Self::place(counter, first), encode(self)?);
        Ok((row.clone(), *blake3::hash(&row).as_bytes()))
    }

    pub(crate) fn read(counter: u32, first: u64, row: &[u8]) -> Result<Self> {
        let place = Self::place(counter, first);
        decode(&place, unseal(&place, row)?)
    }
}
