//! A counter for keys that are not declared.
//!
//! **Definition.** Like [`KeyedCounter`](crate::KeyedCounter), but every name is a key. A key without
//! inputs has a total of zero. An open step accepts inputs for any key until it is closed. Then any
//! key may be released, once.
//!
//! **Guarantee.** The releases of a key are those of a counter that declares the key of the same
//! plan ([`Plan::part`]) under the same noise key, bit for bit. They do not depend on which
//! steps and which other keys are released. [`crate::noise`] explains why a lane may start at any
//! step.
//!
//! **Cost.** A key costs nothing until its first input or release, and then [`Plan::cost`]. Closing a
//! step takes time proportional to its keys. A release takes O(J) operations and a draw for every
//! step since the last release of that key.
//!
//! | file | |
//! |---|---|
//! | `record` | the record of one key |
//! | `store` | all records, found by tag |
//! | `saved` | the saved form |
//! | `candidates` | keys that may be found, which have counts and no noise |

mod candidates;
mod record;
mod saved;
mod store;

use rayon::prelude::*;

use super::integer::IntegerRelease;
use super::totals::carried;
use crate::key_record::Layout;
use crate::noise::integer::{IntegerLane, IntegerLanes};
use crate::noise::{LaneTag, LazyLanes, NoiseKey, Tagger, Tile};
use crate::noise_name::Purpose;
use crate::plan::Plan;
use crate::release::{Release, Spread};
use crate::resolution::{Resolution, too_large};
use crate::spec::Shape;
use crate::{Error, Result};
pub(crate) use candidates::{Candidate, Candidates};
use store::{MAX_KEYS, Store};

/// Below this number of keys, one thread finds all of them.
const KEYS_FOR_THREADS: usize = 256;

/// Keys that a thread looks for side by side.
const FOUND_TOGETHER: usize = 16;

/// Tiles of keys that are released together. Their lanes stay in the cache between reading and
/// writing.
const TILES_TOGETHER: usize = 64;

/// The number of the record of a key that has none yet.
const NEW: u32 = u32::MAX;

/// A key to release: the steps of noise that it has, the place of its record, and the place of its
/// release.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Lag {
    made: u64,
    record: u32,
    place: u32,
}

/// The error of a second release. It states the position of the key, because names may be
/// confidential.
fn released_before(place: u32) -> Error {
    Error::bad(
        "key",
        "released once for a step: remember the release",
        format!("number {place} of the keys again"),
    )
}

/// Where the noise of a key comes from.
enum Noise {
    /// Doubles, scaled and added to the total as units.
    Doubles(LazyLanes),
    /// Integers.
    Integers(IntegerLanes, IntegerRelease),
}

/// Private totals for keys that are not declared. Any name may have inputs, and any name may be
/// released.
///
/// ```
/// use evertally::{Budget, NoiseKey, Plan, SparseCounter};
/// let plan = Plan::prefix_sum(365).budget(Budget::new(1.0, 1e-6)?).open_keys().build()?;
/// let mut counter = SparseCounter::new(&plan, NoiseKey::from_os()?)?;
/// counter.add("/about", 1.0)?;
/// counter.add("/contact", 1.0)?;
/// counter.add("/about", 1.0)?;
/// counter.close_step()?;
/// // Which pages are watched was decided without looking at the visits.
/// for page in ["/about", "/never-visited"] {
///     let release = counter.release(page)?;
///     println!("{page}: {:.0} ± {:.0}", release.value, release.margin(0.95));
/// }
/// assert!(counter.release("/about").is_err(), "released once a step");
/// # Ok::<(), evertally::Error>(())
/// ```
///
/// # Privacy
/// - **Which keys are released at which steps must not depend on the data**: fix a list, or let
///   somebody choose who does not know the data. Releasing the keys that were seen, or those with the
///   most events, reveals who is in it before any noise is added. A key without inputs can be
///   released like any other.
/// - An event counts for one key, so all keys together spend the budget once, for any number of
///   releases. The plan states the largest contribution, as for every counter
///   ([`PlanBuilder::contribution`](crate::PlanBuilder::contribution),
///   [`PlanBuilder::participation`](crate::PlanBuilder::participation)), and the caller must
///   enforce it.
/// - Two names share their noise if 88 bits of a keyed hash agree. With K names in use, the
///   probability is at most K²/2⁸⁹, below 2⁻⁴⁹ for a million. Nobody can search for such names
///   without the noise key. Add this probability to δ to state δ exactly.
/// - A key is released once per step. Store the release: a second request for the same step is an
///   error, and the next step has another draw.
///
/// # Memory
/// Names are not stored. With `graded-square-root:6` a key holds 155 bytes, or 99 in floating
/// point, including pages and index, and up to 16 more while the open step has an input for it.
/// [`Plan::cost`] states it for every plan. When all keys together hold as much as
/// [`PlanBuilder::memory_limit`](crate::PlanBuilder::memory_limit) allows, new ones are refused.
pub struct SparseCounter {
    plan: Plan,
    key_tag: [u8; 8],
    unit: Resolution,
    /// Steps closed.
    closed: u64,
    noise: Noise,
    tagger: Tagger,
    store: Store,
    max_keys: usize,
}

impl SparseCounter {
    /// A counter before its first step.
    ///
    /// The noise key must be fresh: two counters of equal plans under one key share their noise,
    /// and the difference of their releases is exact. The same holds for a
    /// [`KeyedCounter`](crate::KeyedCounter) under this key.
    ///
    /// # Errors
    /// [`Error::BadParameter`] unless the plan is for open keys.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "a caller who uses a key twice must see that they copied it"
    )]
    pub fn new(plan: &Plan, key: NoiseKey) -> Result<Self> {
        Self::with_key(plan, &key)
    }

    fn check(plan: &Plan) -> Result<()> {
        match plan.shape() {
            Shape::OpenKeys => Ok(()),
            other => Err(Error::bad("plan", "for open keys", other.kind())),
        }
    }

    fn with_key(plan: &Plan, key: &NoiseKey) -> Result<Self> {
        Self::check(plan)?;
        let streams = || Error::unsupported(plan.mechanism(), "open keys need a mechanism that streams");
        let unit = plan.total_unit();
        let (noise, tagger, words) = if let Some(exact) = plan.exact() {
            let lanes = plan.integer_lanes(exact, key).ok_or_else(streams)?;
            let (tagger, words) = (lanes.noise().tagger(), 2 * lanes.rows());
            (Noise::Integers(lanes, IntegerRelease::new(exact, unit)), tagger, words)
        } else {
            let recipe = plan.factorization().recipe().ok_or_else(streams)?;
            let lanes = LazyLanes::new(&recipe, plan.horizon(), plan.keyed_noise(key, Purpose::Float));
            let (tagger, words) = (lanes.noise().tagger(), lanes.rows());
            (Noise::Doubles(lanes), tagger, words)
        };
        let cost = plan.cost();
        let room = plan.memory_limit().saturating_sub(cost.shared_bytes) / cost.bytes_per_coordinate;
        Ok(Self {
            plan: plan.clone(),
            key_tag: key.tag(),
            unit,
            closed: 0,
            store: Store::new(Layout::new(plan.workload(), words)),
            noise,
            tagger,
            max_keys: usize::try_from(room).unwrap_or(usize::MAX).min(MAX_KEYS),
        })
    }

    /// A counter whose caller limits the memory, and never lets it have more than 2^32 keys.
    pub(crate) fn without_limit(plan: &Plan, key: &NoiseKey) -> Result<Self> {
        Ok(Self { max_keys: MAX_KEYS, ..Self::with_key(plan, key)? })
    }

    /// A counter after so many steps with these totals, each of another key. Its noise is that of any
    /// counter of the plan, because noise does not depend on when a lane starts.
    pub(crate) fn starting_at<'a>(
        plan: &Plan,
        key: &NoiseKey,
        step: u64,
        totals: impl IntoIterator<Item = (&'a str, i128)>,
    ) -> Result<Self> {
        let mut counter = Self { closed: step, ..Self::without_limit(plan, key)? };
        let mut tagger = counter.tagger();
        for (name, units) in totals {
            let record = counter.store.insert(tagger.tag(name.as_bytes()));
            counter.store.get_mut(record).set_total(units, step);
        }
        Ok(counter)
    }

    /// The tag of the noise key, which saved states hold.
    pub(crate) fn key_tag(&self) -> [u8; 8] {
        self.key_tag
    }

    /// The total of a key as of the last closed step, in units, if the key holds memory.
    pub(crate) fn true_total(&self, key: &str) -> Option<i128> {
        let found = self.store.find(self.tagger().tag(key.as_bytes()))?;
        Some(self.store.get(found).total(self.closed))
    }

    /// Makes the tags of the keys, which their noise and their records are found by.
    pub(crate) fn tagger(&self) -> Tagger {
        match &self.noise {
            Noise::Doubles(lanes) => lanes.noise().tagger(),
            Noise::Integers(lanes, _) => lanes.noise().tagger(),
        }
    }

    /// The plan that the counter follows.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The number of closed steps, which is also the number of the open step.
    #[must_use]
    pub fn steps_closed(&self) -> u64 {
        self.closed
    }

    /// The number of keys that hold memory: all that had an input or a release. It reveals how many
    /// keys the data has, so do not publish it.
    #[must_use]
    pub fn keys_held(&self) -> usize {
        self.store.len()
    }

    /// Adds to the input of the open step for a key.
    ///
    /// # Errors
    /// [`Error::HorizonSpent`] after the last step, [`Error::BadInput`] for a number that cannot be
    /// counted, [`Error::TooCostly`] for a new key when the memory limit is reached. None of them
    /// changes the counter.
    pub fn add(&mut self, key: &str, amount: f64) -> Result<()> {
        self.check_open()?;
        let units = self.unit.input(self.closed, amount)?;
        self.add_units(key, units)
    }

    /// The same with an amount in units of the totals.
    pub(crate) fn add_units(&mut self, key: &str, units: i128) -> Result<()> {
        self.check_open()?;
        if units == 0 {
            return Ok(());
        }
        let tag = self.tagger.tag(key.as_bytes());
        let Some(found) = self.store.find(tag) else {
            self.check_room(1)?;
            let new = self.store.insert(tag);
            self.store.set_input(new, units);
            return Ok(());
        };
        let input = self.store.input(found) + units;
        let total = self.store.get(found).total(self.closed);
        // The total after this step is checked now, so that closing the step cannot fail.
        let after = carried(self.plan.workload(), total) + input;
        if !self.unit.holds(input) || !self.unit.holds(after) {
            return Err(too_large(self.closed));
        }
        self.store.settle(found, self.closed);
        self.store.set_input(found, input);
        Ok(())
    }

    /// The inputs of the open step: the tag of each key and its amount in units, in no particular
    /// order. For digests of the input. They are as private as the data.
    #[doc(hidden)]
    pub fn open_inputs(&self) -> impl Iterator<Item = ([u8; 11], i128)> {
        self.store.inputs().map(|(record, units)| (self.store.get(record).tag().to_bytes(), units))
    }

    /// Closes the open step and returns its number. Its totals can be released until the next step
    /// is closed.
    ///
    /// # Errors
    /// [`Error::HorizonSpent`] after the last step.
    pub fn close_step(&mut self) -> Result<u64> {
        self.check_open()?;
        self.store.close(self.closed);
        self.closed += 1;
        Ok(self.closed - 1)
    }

    /// Releases the total of a key as of the last closed step.
    ///
    /// # Errors
    /// As [`SparseCounter::release_into`].
    pub fn release(&mut self, key: &str) -> Result<Release> {
        let mut value = [0.0];
        let spread = self.release_into(&[key], &mut value)?;
        Ok(spread.around(value[0]))
    }

    /// Releases the totals of several keys as of the last closed step, in the order of the keys.
    ///
    /// # Errors
    /// As [`SparseCounter::release_into`].
    pub fn release_each<'a>(&mut self, keys: impl IntoIterator<Item = &'a str>) -> Result<Vec<Release>> {
        let keys: Vec<&str> = keys.into_iter().collect();
        let mut values = vec![0.0; keys.len()];
        let spread = self.release_into(&keys, &mut values)?;
        Ok(values.into_iter().map(|value| spread.around(value)).collect())
    }

    /// Like [`SparseCounter::release_each`], but writes the private totals to `out` and returns their
    /// common error. It is for many keys. All threads share the work; the releases do not depend on
    /// their number.
    ///
    /// ```
    /// use evertally::{Budget, NoiseKey, Plan, SparseCounter};
    /// let plan = Plan::prefix_sum(365).budget(Budget::new(1.0, 1e-6)?).open_keys().build()?;
    /// let mut counter = SparseCounter::new(&plan, NoiseKey::from_os()?)?;
    /// counter.close_step()?;
    /// let mut private = [0.0; 2];
    /// let spread = counter.release_into(&["/", "/about"], &mut private)?;
    /// assert!(private[1].abs() < 10.0 * spread.standard_error);
    /// # Ok::<(), evertally::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::BadParameter`] before the first step is closed, for a key that was released for
    /// this step or appears twice, and unless `out` has a place for each key. [`Error::TooCostly`]
    /// for new keys when the memory limit is reached. On an error nothing is released.
    pub fn release_into<K: AsRef<str> + Sync>(&mut self, keys: &[K], out: &mut [f64]) -> Result<Spread> {
        let Some(step) = self.closed.checked_sub(1) else {
            return Err(Error::bad(
                "release",
                "asked for after a step is closed",
                "the first step, still open",
            ));
        };
        if keys.len() != out.len() {
            return Err(Error::bad("out", format!("of {} numbers, one per key", keys.len()), out.len()));
        }
        let spread = self.plan.spread(step)?;
        let lags = self.take_up(keys)?;
        lags.iter().for_each(|lag| self.store.settle(lag.record, self.closed));
        for part in lags.chunks(TILES_TOGETHER * LazyLanes::TILE) {
            self.release_part(part, out);
        }
        Ok(spread)
    }

    /// Finds or makes the records of the keys to release, in the order in which their lanes advance.
    /// On an error nothing is changed.
    fn take_up<K: AsRef<str> + Sync>(&mut self, keys: &[K]) -> Result<Vec<Lag>> {
        if keys.len() >= NEW as usize {
            return Err(Error::bad("keys", "fewer than 2^32 at a time", keys.len()));
        }
        let (tags, mut lags) = self.find(keys);
        if let Some(lag) = lags.iter().find(|lag| lag.made == self.closed) {
            return Err(released_before(lag.place));
        }
        let is_new = |lag: &&Lag| lag.record == NEW;
        let new = lags.iter().filter(is_new).map(|lag| (tags[lag.place as usize].to_bytes(), lag.place));
        let mut new: Vec<([u8; 11], u32)> = new.collect();
        new.par_sort_unstable();
        // By step, then by place in memory.
        lags.par_sort_unstable();
        let twice = new.windows(2).find(|pair| pair[0].0 == pair[1].0).map(|pair| pair[1].1).or_else(|| {
            let same = |pair: &&[Lag]| pair[0].record == pair[1].record && pair[0].record != NEW;
            lags.windows(2).find(same).map(|pair| pair[1].place)
        });
        if let Some(place) = twice {
            return Err(released_before(place));
        }
        self.check_room(new.len())?;
        for lag in lags.iter_mut().filter(|lag| lag.record == NEW) {
            lag.record = self.store.insert(tags[lag.place as usize]);
        }
        Ok(lags)
    }

    /// The tags of keys, and where their lanes are.
    fn find<K: AsRef<str> + Sync>(&mut self, keys: &[K]) -> (Vec<LaneTag>, Vec<Lag>) {
        if keys.len() < KEYS_FOR_THREADS {
            let tags: Vec<LaneTag> =
                keys.iter().map(|key| self.tagger.tag(key.as_ref().as_bytes())).collect();
            let lags = (0..).zip(&tags).map(|(place, tag)| self.lag(place, self.store.find(*tag))).collect();
            return (tags, lags);
        }
        let tag = |tagger: &mut Tagger, key: &K| tagger.tag(key.as_ref().as_bytes());
        let tagger = || self.tagger();
        let tags: Vec<LaneTag> =
            keys.par_iter().with_min_len(KEYS_FOR_THREADS / 2).map_init(tagger, tag).collect();
        let mut lags = vec![self.lag(0, None); tags.len()];
        let parts = lags.par_chunks_mut(FOUND_TOGETHER).zip(tags.par_chunks(FOUND_TOGETHER));
        parts.enumerate().for_each(|(part, (lags, tags))| {
            // The last part may be short. The lookups that pad it are ignored.
            let mut padded = [tags[0]; FOUND_TOGETHER];
            padded[..tags.len()].copy_from_slice(tags);
            let found = self.store.find_each(&padded);
            for ((lag, found), place) in lags.iter_mut().zip(found).zip(part * FOUND_TOGETHER..) {
                *lag = self.lag(place as u32, found);
            }
        });
        (tags, lags)
    }

    fn lag(&self, place: u32, record: Option<u32>) -> Lag {
        let made = record.map_or(0, |record| self.store.get(record).made());
        Lag { made, record: record.unwrap_or(NEW), place }
    }

    /// Advances the lanes of some keys to the last closed step and writes their releases.
    fn release_part(&mut self, part: &[Lag], out: &mut [f64]) {
        let closed = self.closed;
        match &mut self.noise {
            Noise::Doubles(lanes) => {
                let (unit, scale) = (self.unit, self.plan.noise_scale());
                let release = |total, noise: f64| unit.release(total, scale * noise);
                release_doubles(lanes, &mut self.store, closed, part, out, release);
            }
            Noise::Integers(lanes, release) => {
                release_integers(lanes, *release, &mut self.store, closed, part, out);
            }
        }
    }

    fn check_open(&self) -> Result<()> {
        let horizon = self.plan.horizon();
        if self.closed < horizon { Ok(()) } else { Err(Error::HorizonSpent { horizon }) }
    }

    fn check_room(&self, new: usize) -> Result<()> {
        if new <= self.max_keys.saturating_sub(self.store.len()) {
            return Ok(());
        }
        let reason =
            format!("the memory limit of {} bytes has room for no further key", self.plan.memory_limit());
        Err(Error::too_costly("a counter of open keys", reason))
    }
}

/// [`SparseCounter::release_part`] in doubles, tile by tile.
fn release_doubles(
    lanes: &mut LazyLanes,
    store: &mut Store,
    closed: u64,
    part: &[Lag],
    out: &mut [f64],
    release: impl Fn(i128, f64) -> f64 + Sync,
) {
    let rows = lanes.rows();
    let gather = |lags: &[Lag]| {
        let mut tile = Tile::new(rows, lags.len());
        for lag in lags {
            let record = store.get(lag.record);
            let numbers = record.lane().iter().map(|bits| f64::from_bits(*bits));
            tile.push(lag.made, record.tag(), numbers);
        }
        tile
    };
    let add_totals = |(tile, lags): (&mut Tile, &[Lag])| {
        for (value, lag) in tile.released_mut().iter_mut().zip(lags) {
            *value = release(store.get(lag.record).total(closed), *value);
        }
    };
    let mut tiles: Vec<Tile>;
    if part.len() > LazyLanes::TILE {
        tiles = part.par_chunks(LazyLanes::TILE).map(gather).collect();
        lanes.advance(&mut tiles, closed);
        tiles.par_iter_mut().zip(part.par_chunks(LazyLanes::TILE)).for_each(add_totals);
    } else {
        tiles = vec![gather(part)];
        lanes.advance(&mut tiles, closed);
        tiles.iter_mut().zip([part]).for_each(add_totals);
    }
    for (tile, lags) in tiles.iter().zip(part.chunks(LazyLanes::TILE)) {
        for ((numbers, value), lag) in tile.numbers().zip(tile.released()).zip(lags) {
            store.get_mut(lag.record).set_lane(closed, numbers.iter().map(|number| number.to_bits()));
            out[lag.place as usize] = *value;
        }
    }
}

/// [`SparseCounter::release_part`] in integers.
fn release_integers(
    lanes: &mut IntegerLanes,
    release: IntegerRelease,
    store: &mut Store,
    closed: u64,
    part: &[Lag],
    out: &mut [f64],
) {
    let mut taken: Vec<IntegerLane> = part
        .iter()
        .map(|lag| {
            let record = store.get(lag.record);
            IntegerLane::new(record.tag(), lag.made, record.lane())
        })
        .collect();
    lanes.advance(&mut taken, closed);
    for (lane, lag) in taken.iter().zip(part) {
        out[lag.place as usize] = release.of(store.get(lag.record).total(closed), lane.noise());
        store.get_mut(lag.record).set_lane(closed, lane.words());
    }
}

impl std::fmt::Debug for SparseCounter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SparseCounter")
            .field("plan", &self.plan)
            .field("steps_closed", &self.closed)
            .finish_non_exhaustive()
    }
}
