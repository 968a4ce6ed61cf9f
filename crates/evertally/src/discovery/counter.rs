//! The counter that finds keys.
//!
//! **How it is fast.** A key below the floor is a [`Candidate`]: a tag and its true counts. A key at or
//! above the floor is *awake*. Its name is kept, and the noise of its count of persons advances with every
//! step until it appears. A key that has appeared has the noise of its total instead. Noise is a function
//! of the name of the key and the step, so it does not matter when a key woke up or appeared.
//!
//! **What a key below its threshold leaves.** It takes memory and time, and nothing else. No method of the
//! counter, no error and no `Debug` says how many there are or which. The time of a step grows with the
//! number of keys that are awake: release on a clock.
//!
//! **Memory.** A candidate takes 43 bytes. A key that is awake takes its name, its place in a list and the
//! noise of two lanes besides. All of it is reserved when the key wakes up, so that a step that was opened
//! can always be closed.

use super::Discovery;
use crate::counter::{Candidate, Candidates, SparseCounter};
use crate::noise::{NoiseKey, Tagger};
use crate::release::Release;
use crate::resolution::{Resolution, too_large};
use crate::{Error, Result};

/// A key that has appeared, with its private total.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FoundKey<'a> {
    /// Its name.
    pub key: &'a str,
    /// The step at which it appeared, counted from zero.
    pub since: u64,
    /// The release of its total.
    pub release: Release,
}

/// A key at or above the floor. There is no `Debug`: it is private until it appears.
pub(super) struct Awake {
    pub(super) name: Box<str>,
    /// Where its counts are.
    pub(super) place: u32,
}

/// A key that has appeared.
pub(super) struct Shown {
    pub(super) name: Box<str>,
    pub(super) place: u32,
    pub(super) since: u64,
    /// The part of its total that the counter of totals has.
    pub(super) counted: i128,
}

/// Private running totals of keys that nobody declared. A key appears once enough persons hold it.
///
/// ```
/// use evertally::{Budget, DiscoveringCounter, NoiseKey, Plan};
/// let discovery = Plan::discover(365).budget(Budget::new(1.0, 1e-6)?).build()?;
/// let mut counter = DiscoveringCounter::new(&discovery, NoiseKey::from_os()?)?;
/// // A thousand visitors see the first page today, and one sees the other.
/// counter.add("/", 1000.0, 1000)?;
/// counter.add("/draft", 1.0, 1)?;
/// let found = counter.close_step()?;
/// assert_eq!(found.len(), 1);
/// println!("{}: {} ± {}", found[0].key, found[0].release.value, found[0].release.margin(0.95));
/// # Ok::<(), evertally::Error>(())
/// ```
///
/// # Privacy
/// - The caller bounds what a person contributes, as the plan of the [`Discovery`] states, and counts a
///   person as new in a key once: at the first step in which they count there.
/// - Keys below their threshold leave no trace in what the counter returns. They take time and memory.
/// - The noise key must be fresh, as for [`SparseCounter`]. Two names share their noise and their counts
///   if 88 bits of a keyed hash agree: see there for the probability.
pub struct DiscoveringCounter {
    pub(super) discovery: Discovery,
    /// The noise of counts of persons. The counts themselves are those of the candidates.
    pub(super) persons: SparseCounter,
    pub(super) totals: SparseCounter,
    pub(super) tagger: Tagger,
    unit: Resolution,
    pub(super) candidates: Candidates,
    pub(super) awake: Vec<Awake>,
    /// In the order in which they appeared, and by name within a step.
    pub(super) shown: Vec<Shown>,
    /// Bytes held and reserved.
    pub(super) held: u64,
    pub(super) closed: u64,
}

impl DiscoveringCounter {
    /// The longest name of a key, in bytes.
    pub const MAX_KEY_BYTES: usize = 4096;

    /// A counter before its first step.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if a mechanism of the plan does not stream.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "a caller who uses a key twice must see that they copied it"
    )]
    pub fn new(discovery: &Discovery, key: NoiseKey) -> Result<Self> {
        let persons = SparseCounter::without_limit(discovery.persons(), &key)?;
        let totals = SparseCounter::without_limit(discovery.totals(), &key)?;
        Ok(Self::of(discovery, persons, totals))
    }

    /// A counter without candidates whose noise is that of these counters.
    pub(super) fn of(discovery: &Discovery, persons: SparseCounter, totals: SparseCounter) -> Self {
        let shared = discovery.persons().cost().shared_bytes + discovery.totals().cost().shared_bytes;
        Self {
            discovery: discovery.clone(),
            tagger: persons.tagger(),
            unit: discovery.totals().total_unit(),
            closed: persons.steps_closed(),
            persons,
            totals,
            candidates: Candidates::new(),
            awake: Vec::new(),
            shown: Vec::new(),
            held: shared,
        }
    }

    /// The plan that the counter follows.
    #[must_use]
    pub fn discovery(&self) -> &Discovery {
        &self.discovery
    }

    /// The number of closed steps, which is also the number of the open step.
    #[must_use]
    pub fn steps_closed(&self) -> u64 {
        self.closed
    }

    /// The most bytes that a candidate holds while it is below the floor.
    #[must_use]
    pub fn bytes_per_candidate() -> u64 {
        Candidates::bytes_per_candidate()
    }

    /// Adds to the total of a key in the open step, and to its distinct persons those who have not
    /// counted in this key before.
    ///
    /// # Errors
    /// [`Error::HorizonSpent`] after the last step. [`Error::BadParameter`] for a key that is empty or
    /// longer than 4,096 bytes. [`Error::BadInput`] for a number that cannot be counted.
    /// [`Error::TooCostly`] when the memory limit is reached. None of them changes the counter, and none
    /// names a key or says how many there are.
    pub fn add(&mut self, key: &str, amount: f64, new_persons: u64) -> Result<()> {
        let units = self.unit.input(self.closed, amount)?;
        self.add_units(key, units, new_persons)
    }

    /// The same with an amount that is an integer on a grid of 2^`grid_exponent`, as in
    /// [`Counter::step_amount`](crate::Counter::step_amount).
    ///
    /// # Errors
    /// As [`DiscoveringCounter::add`].
    pub fn add_amount(
        &mut self,
        key: &str,
        amount: i128,
        grid_exponent: i32,
        new_persons: u64,
    ) -> Result<()> {
        let units = self.unit.count_on_grid(amount, grid_exponent);
        self.add_units(key, units.ok_or_else(|| too_large(self.closed))?, new_persons)
    }

    fn add_units(&mut self, key: &str, units: i128, new_persons: u64) -> Result<()> {
        self.check_open()?;
        if !may_name(key) {
            let expected = format!("a name of 1 to {} bytes", Self::MAX_KEY_BYTES);
            return Err(Error::bad(
                "a key",
                expected,
                if key.is_empty() { "an empty one" } else { "a longer one" },
            ));
        }
        if units == 0 && new_persons == 0 {
            return Ok(());
        }
        let tag = self.tagger.tag(key.as_bytes());
        let found = self.candidates.find(tag);
        let before = found.map_or(Candidate::default(), |place| self.candidates.get(place));
        let total = before.total + units;
        let persons = before.persons.checked_add(new_persons).filter(|_| self.fits(total));
        let persons = persons.ok_or_else(|| too_large(self.closed))?;
        let floor = self.discovery.floor();
        let wakes = before.persons < floor && persons >= floor;
        let new = if found.is_none() { Candidates::bytes_per_candidate() } else { 0 };
        let held = self.held + new + if wakes { self.bytes_awake(key) } else { 0 };
        self.check_held(self.candidates.len() + usize::from(found.is_none()), held)?;
        self.held = held;
        let place = found.unwrap_or_else(|| self.candidates.insert(tag));
        if wakes {
            self.awake.push(Awake { name: key.into(), place });
        }
        self.candidates.set(place, Candidate { persons, total });
        Ok(())
    }

    /// Whether a total may be held: half of what the counter of totals may hold, so that the difference of
    /// two totals is an input.
    pub(super) fn fits(&self, total: i128) -> bool {
        total.unsigned_abs() <= self.unit.max_units().unsigned_abs() / 2
    }

    /// Whether these new keys will all fit, each with the persons whom it will have at the end. A run that
    /// knows its whole input asks before it releases anything.
    ///
    /// # Errors
    /// [`Error::TooCostly`], as [`DiscoveringCounter::add`].
    pub fn check_room<'a>(&self, keys: impl IntoIterator<Item = (&'a str, u64)>) -> Result<()> {
        let (mut candidates, mut held) = (self.candidates.len(), self.held);
        for (key, persons) in keys {
            candidates += 1;
            held += Candidates::bytes_per_candidate();
            if persons >= self.discovery.floor() {
                held += self.bytes_awake(key);
            }
        }
        self.check_held(candidates, held)
    }

    /// Refuses more candidates or bytes than there may be. The reason does not say how many there are.
    pub(super) fn check_held(&self, candidates: usize, bytes: u64) -> Result<()> {
        let limit = self.discovery.totals().memory_limit();
        if candidates <= Candidates::MAX && bytes <= limit {
            return Ok(());
        }
        let reason = format!("the memory limit of {limit} bytes has no room for what it was given");
        Err(Error::too_costly("a counter that finds keys", reason))
    }

    /// The bytes of a key that wakes up, until the end.
    pub(super) fn bytes_awake(&self, key: &str) -> u64 {
        bytes_of_awake(&self.discovery, key.len())
    }

    /// Closes the open step. Returns the keys that have appeared so far, in the order in which they
    /// appeared and by name within a step, each with the release of its total.
    ///
    /// # Errors
    /// [`Error::HorizonSpent`] after the last step.
    pub fn close_step(&mut self) -> Result<Vec<FoundKey<'_>>> {
        self.check_open()?;
        let threshold = self.discovery.threshold(self.closed)?;
        self.persons.close_step()?;
        let noise = self.noise_of_persons()?;
        let mut appeared = Vec::new();
        let mut place = 0;
        self.awake.retain_mut(|key| {
            let count = self.candidates.get(key.place).persons as f64;
            let is_hidden = count + noise[place] < threshold;
            place += 1;
            if !is_hidden {
                let name = std::mem::take(&mut key.name);
                appeared.push(Shown { name, place: key.place, since: self.closed, counted: 0 });
            }
            is_hidden
        });
        appeared.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        self.shown.append(&mut appeared);
        for key in &mut self.shown {
            let total = self.candidates.get(key.place).total;
            self.totals.add_units(&key.name, total - key.counted)?;
            key.counted = total;
        }
        self.totals.close_step()?;
        self.closed += 1;
        let releases = self.totals.release_each(self.shown.iter().map(|key| &*key.name))?;
        let found = self.shown.iter().zip(releases);
        Ok(found.map(|(key, release)| FoundKey { key: &key.name, since: key.since, release }).collect())
    }

    /// The noise in the counts of persons of the keys that are awake, in order. A count is an integer and
    /// noise is rounded to integers, so their sum is the release of the count.
    fn noise_of_persons(&mut self) -> Result<Vec<f64>> {
        let names: Vec<&str> = self.awake.iter().map(|key| &*key.name).collect();
        let mut noise = vec![0.0; names.len()];
        self.persons.release_into(&names, &mut noise)?;
        Ok(noise)
    }

    fn check_open(&self) -> Result<()> {
        let horizon = self.discovery.horizon();
        if self.closed < horizon { Ok(()) } else { Err(Error::HorizonSpent { horizon }) }
    }
}

/// Whether a name can be that of a key.
pub(super) fn may_name(key: &str) -> bool {
    !key.is_empty() && key.len() <= DiscoveringCounter::MAX_KEY_BYTES
}

/// The bytes of a candidate.
pub(super) fn bytes_of_candidate() -> u64 {
    Candidates::bytes_per_candidate()
}

/// The bytes of a key at or above the floor, besides those of its candidate.
pub(super) fn bytes_of_awake(discovery: &Discovery, name_bytes: usize) -> u64 {
    let lanes = [discovery.persons(), discovery.totals()].map(|plan| plan.cost().bytes_per_coordinate);
    // Lists have room for up to twice their content while they grow, and an input of the open step
    // takes 16 bytes. A release lists the name, the error and the tag of each key.
    let listed = 2 * (size_of::<Awake>() + size_of::<Shown>() + size_of::<FoundKey<'_>>()) + 64;
    lanes[0] + lanes[1] + (name_bytes + listed) as u64
}

impl std::fmt::Debug for DiscoveringCounter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DiscoveringCounter")
            .field("discovery", &self.discovery)
            .field("steps_closed", &self.closed)
            .finish_non_exhaustive()
    }
}
