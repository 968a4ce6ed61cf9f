//! Who is present: persons who come and go, as changes of one up and one down.
//!
//! **Definition.** A person is present in a key either for W steps from the step of each of their events
//! on ([`Presence::Window`]), or from an insertion until a deletion ([`Presence::Operations`]). A *stay* is
//! an unbroken time of presence in one key. It adds one to the step in which it begins, and takes one from
//! the step in which it is over, if that step is in the range. So the running total of a key is the number
//! of persons who are present.
//!
//! A person has a bounded number of stays, over all keys. The events of a person are taken by time, then
//! by the name of their key, and an insertion comes before a deletion. An event that would begin one stay
//! too many changes nothing. One that prolongs a stay, or ends it, always counts. Insertions of somebody
//! who is present change nothing, and neither do deletions of somebody who is not.
//!
//! **Guarantee.** What a person changes depends on their own events alone, so all events of a person can be
//! added or removed without another effect. In each key, their changes are +1 and −1 in turn. Over all keys,
//! they are at most two for each stay. Changes that fall into one step of one key cancel; what is left
//! still alternates. This is [`Participation::in_turn`](evertally::Participation::in_turn), whose
//! sensitivity a plan covers. Running totals are never negative.
//!
//! Persons are held as 128 bits under two secret hashers. Two persons with the same bits would be one: nobody
//! would count more often than allowed.
//!
//! **Cost.** 16 bytes for each step and key in which a person has an event (for operations, for each event),
//! at most doubled, and about 100 for each person. Nothing is written to the disk.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use crate::admission::Outcome;
use crate::amount::Amount;
use crate::buckets::Buckets;
use crate::error::{Error, Result};
use crate::gather::{GatheredSteps, table};
use crate::keys::KeySet;
use crate::names::given_name;
use crate::rules::{Event, Rules};

/// The bytes of a person in the table, apart from their events.
const BYTES_PER_PERSON: u64 = 100;

/// The events of a person are reduced once there are this many.
const FIRST_REDUCTION: usize = 16;

/// What makes a person present.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// An event, in its step and in those after it.
    Window {
        /// The number of these steps, its own included.
        steps: u64,
    },
    /// An insertion, until a deletion.
    Operations,
}

/// What an event says about its person. With [`Presence::Window`], every event is an insertion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Operation {
    /// The person is present from now on.
    #[default]
    Insert,
    /// The person is no longer present.
    Delete,
}

/// One event of a person. No `Debug`: it is private.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Mark {
    time: i64,
    place: u32,
    operation: Operation,
}

/// The numbers of present persons, from events in any order.
///
/// ```
/// use evertally_stream::{Buckets, Event, Operation, Presence, Present};
/// let days = Buckets::new(0, "1d".parse()?, 6)?;
/// let mut active = Present::new(days, None, Presence::Window { steps: 2 }, 1, 1 << 20)?;
/// for day in [1, 2] {
///     let event = Event { time: day * 86_400_000_000, person: Some("ann"), ..Event::default() };
///     active.push(&event, Operation::Insert)?;
/// }
/// let changes: Vec<f64> = active.finish().map(|day| day.totals[0].to_f64()).collect();
/// assert_eq!(changes, [0.0, 1.0, 0.0, 0.0, -1.0, 0.0]);
/// # Ok::<(), evertally_stream::Error>(())
/// ```
pub struct Present {
    buckets: Buckets,
    rules: Rules,
    presence: Presence,
    max_stays: u64,
    totals: Vec<Amount>,
    /// The place of each key among their names in order.
    ranks: Vec<u32>,
    hashers: (RandomState, RandomState),
    persons: HashMap<(u64, u64), Vec<Mark>>,
    held: u64,
    limit: u64,
}

impl Present {
    /// Nobody is present. With keys, a person may be present in several of them, for `max_stays` stays
    /// together.
    ///
    /// # Errors
    /// [`evertally::Error::BadParameter`] for no stay, and for a window of no step.
    /// [`Error::TooCostly`] if the table of totals would take more than `memory_limit` bytes.
    pub fn new(
        buckets: Buckets,
        keys: Option<KeySet>,
        presence: Presence,
        max_stays: u64,
        memory_limit: u64,
    ) -> Result<Self> {
        if max_stays == 0 {
            return Err(Error::bad("the stays of a person", "at least 1", 0));
        }
        if presence == (Presence::Window { steps: 0 }) {
            return Err(Error::bad("the window of presence", "at least 1 step", 0));
        }
        let rules = Rules { keys, ..Rules::default() };
        let totals = table(&(0..buckets.steps()), &rules, memory_limit)?;
        let limit = memory_limit.saturating_sub(size_of_val(&totals[..]) as u64);
        let names = rules.keys.as_ref().map(KeySet::names).unwrap_or_default();
        let mut order: Vec<usize> = (0..names.len()).collect();
        order.sort_unstable_by_key(|place| &names[*place]);
        let mut ranks = vec![0; names.len().max(1)];
        for (rank, place) in (0_u32..).zip(order) {
            ranks[place] = rank;
        }
        let (hashers, persons) = (<(RandomState, RandomState)>::default(), HashMap::new());
        Ok(Self { buckets, rules, presence, max_stays, totals, ranks, hashers, persons, held: 0, limit })
    }

    /// Takes one event. `None` if what it changes is decided at the end.
    ///
    /// # Errors
    /// [`Error::OutsideRange`], which changes nothing. [`Error::TooManyClaims`], after which the input
    /// cannot be counted.
    pub fn push(&mut self, event: &Event<'_>, operation: Operation) -> Result<Option<Outcome>> {
        let Some(person) = given_name(event.person) else { return Ok(Some(Outcome::Unnamed)) };
        self.buckets.step_of(event.time)?;
        // There are fewer keys than 2³², because each has a name in memory.
        let place = self.rules.position(event.key) as u32;
        let operation = match self.presence {
            Presence::Window { .. } => Operation::Insert,
            Presence::Operations => operation,
        };
        let tag = (self.hashers.0.hash_one(person), self.hashers.1.hash_one(person));
        let mut held = self.held;
        let marks = self.persons.entry(tag).or_insert_with(|| {
            held += BYTES_PER_PERSON;
            Vec::new()
        });
        let before = marks.capacity();
        if marks.len() == marks.capacity() && marks.len() >= FIRST_REDUCTION {
            in_order(marks, &self.ranks);
            reduce(marks, self.presence, &self.buckets);
        }
        marks.push(Mark { time: event.time, place, operation });
        // Reducing may have given memory back.
        let bytes = |capacity: usize| (capacity * size_of::<Mark>()) as u64;
        self.held = (held + bytes(marks.capacity())).saturating_sub(bytes(before));
        if self.held > self.limit {
            return Err(Error::TooManyClaims { limit: self.limit });
        }
        Ok(None)
    }

    /// Decides on all stays, and closes every step in order with its changes.
    #[must_use]
    pub fn finish(mut self) -> GatheredSteps {
        let (width, steps) = (self.rules.width(), self.buckets.steps());
        for (_, mut marks) in std::mem::take(&mut self.persons) {
            in_order(&mut marks, &self.ranks);
            let totals = &mut self.totals;
            let change = |step: u64, place: u32, by: Amount| {
                if step < steps {
                    // The table was allocated for every step and key.
                    totals[step as usize * width + place as usize] += by;
                }
            };
            match self.presence {
                Presence::Window { steps } => {
                    active(&marks, &self.buckets, steps, self.max_stays, change);
                }
                Presence::Operations => inserted(&marks, &self.buckets, self.max_stays, change),
            }
        }
        GatheredSteps::new(width, self.totals)
    }
}

/// The order in which the events of a person are decided.
fn in_order(marks: &mut [Mark], ranks: &[u32]) {
    marks.sort_unstable_by_key(|mark| (mark.time, ranks[mark.place as usize], mark.operation));
}

/// Drops events that change nothing whatever else comes. The others are in order.
fn reduce(marks: &mut Vec<Mark>, presence: Presence, buckets: &Buckets) {
    if presence == Presence::Operations {
        marks.dedup();
    } else {
        // Of the events of a step and key, the first decides.
        let mut seen = std::collections::HashSet::new();
        marks.retain(|mark| seen.insert((buckets.step_in_any_range(mark.time), mark.place)));
    }
    // Room for as many again, so that reducing costs a constant number of times.
    marks.shrink_to(2 * marks.len());
    marks.reserve_exact(marks.len().max(FIRST_REDUCTION));
}

fn down() -> Amount {
    Amount::default() - Amount::ONE
}

/// The changes of a person who is present for some steps from each event on.
fn active(
    marks: &[Mark],
    buckets: &Buckets,
    window: u64,
    max_stays: u64,
    mut change: impl FnMut(u64, u32, Amount),
) {
    let mut stays = 0;
    // The step in which the last stay of each key is over.
    let mut ends: HashMap<u32, u64> = HashMap::new();
    for mark in marks {
        let step = buckets.step_in_any_range(mark.time);
        let end = step.saturating_add(window);
        match ends.get_mut(&mark.place) {
            // Somebody who leaves and comes in one step has not left.
            Some(over) if step <= *over => *over = end,
            over if stays < max_stays => {
                stays += 1;
                change(step, mark.place, Amount::ONE);
                if let Some(over) = over {
                    change(*over, mark.place, down());
                }
                ends.insert(mark.place, end);
            }
            _ => {}
        }
    }
    ends.into_iter().for_each(|(place, over)| change(over, place, down()));
}

/// The changes of a person who is present from an insertion to a deletion.
fn inserted(marks: &[Mark], buckets: &Buckets, max_stays: u64, mut change: impl FnMut(u64, u32, Amount)) {
    let mut stays = 0;
    let mut present = std::collections::HashSet::new();
    for mark in marks {
        let step = buckets.step_in_any_range(mark.time);
        match mark.operation {
            Operation::Insert if stays < max_stays && present.insert(mark.place) => {
                stays += 1;
                change(step, mark.place, Amount::ONE);
            }
            Operation::Delete if present.remove(&mark.place) => change(step, mark.place, down()),
            _ => {}
        }
    }
}
