//! Which events count: the rule that every face follows, written once.
//!
//! # The rule
//! Events are put in order: by time, then by content (id, key, amount; a missing id or key comes
//! first, texts compare by their bytes, and the amount is the clamped one). They are decided one by
//! one in this order. Names are compared without the whitespace around them
//! ([`given_name`](crate::given_name)). An event is
//! 1. *unnamed* if persons are bounded and it names nobody ([`given_name`](crate::given_name));
//! 2. a *duplicate* if an event with its id has counted. Where persons are bounded, ids are
//!    compared within a person. An event without an id is a copy of nothing;
//! 3. *late*, *early* or *ended* if no open step takes it;
//! 4. *over the bound* if its person has counted in as many steps as allowed or in one that is too
//!    near, or if the [share](crate::Share) of the person in this step is used up: by default after
//!    one event;
//! 5. *counted* otherwise. From then on its id is known and its person's step is spent.
//!
//! What counts of a person in one step and key is added up, and the sum is clamped if the share says
//! so. Only `count` has other shares than one event.
//!
//! Nothing but a counted event changes what later events may do. What closes a step is the exception:
//! an event may do so under `--follow` ([`Follow`](crate::Follow)) and in streams of Spark, where any
//! event with a person and a time moves the watermark.
//!
//! The order is written in five places, which must agree: the claims of one step (`contest`) and of
//! one claimant (`gather/log/claim.rs`) here, `PreparedEvent::order` in `evertally-ledger`, and
//! `events.py` and `backfill.py` of the Python package for Spark. The ledger orders by the hash of the
//! id, the place of the key and the amount on the grid of the plan, because it holds nothing else.
//!
//! Which steps are open is decided by each face. With `--lag` an event may be ahead of the clock by
//! the lag, and is early beyond it. The service takes none from a step that has not started. A file
//! and `--follow` have no clock, so no event is early. A run with `--state` takes the steps up to a public
//! time: an event of an earlier run's step is late, and one of a later run's step is early.
//!
//! # When each face decides
//! | face | order of decisions |
//! |---|---|
//! | `count` on a file ([`Gather`](crate::Gather)), finished tables in Spark | all events at the end, in the order of the rule. A file need not be sorted: what counts is a function of the set of events |
//! | `count --state` ([`Gather::of_steps`](crate::Gather::of_steps)) | the same for the steps of each run, with the persons and ids of all runs before ([`Memory`](crate::Memory)) |
//! | `count --follow` ([`Follow`](crate::Follow)), `--lag` ([`Clocked`](crate::Clocked)) | the events of a step when it closes, in the order of the rule. What closes a step is written there |
//! | streams in Spark | the same. A watermark closes a step. Ids are compared within a step only, and without a bound on persons an event without an id does not count |
//! | the service (`evertally-ledger`) | at once, because every request has a durable answer: in the order of the rule within a JSON body or a part of an NDJSON body (at most 4,096 lines, or what came before a pause of a second), and these in the order of the journal. An event without a time has the time of its arrival. Ids are known by their keyed hashes, keys by their places, and ids are forgotten after a while |
//!
//! # Values
//! A face checks a value before it hands the event over. Where values are summed:
//!
//! | value | `count` | Spark | the service |
//! |---|---|---|---|
//! | missing | the run stops | the event is left out | it counts as 1, clamped |
//! | NaN | the run stops | the event is left out | the request is refused: JSON has no such number |
//! | infinite | the run stops | it is clamped | the request is refused, for the same reason |
//!
//! # Names
//! Texts and integers are names. Decimals, booleans and times are none, because different ones may
//! become equal. The service refuses an event without an id. A person of more than 256 bytes is
//! unnamed there. Its counters of version 0.1 compare persons and ids with the whitespace around them.
//! A text that is not Unicode is no name in Spark and in JSON lines. Elsewhere the file or the
//! request is refused.
//!
//! # What the privacy argument needs
//! Decisions 2 and 4 look only at events of the same person; without a bound on persons, decision 2
//! looks only at events of the same id. So all events of one person (or of one id) can be added,
//! removed or changed without changing a decision about any other event: no event of another person
//! is ever displaced. The counted events of one person lie in at most k steps, at least b apart, and
//! add no more to each than [`Share::contribution`](crate::Share::contribution) states. An unnamed
//! event could be anybody's, so it changes nothing at all. Only the unit as a whole is protected: with
//! a bound, one event more of a person can displace a later event of the same person.
//!
//! # Cost
//! One lookup in each store. The stores are chosen by the face: memory here, rows and generations
//! in the ledger, tags in Spark.

/// What became of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It counts.
    Counted {
        /// The step that it counts in.
        step: u64,
    },
    /// Persons are bounded, and it names none.
    Unnamed,
    /// An event with the same id has counted (of the same person, where persons are bounded).
    Duplicate,
    /// Its step is closed.
    Late,
    /// Its step starts too far in the future.
    Early,
    /// There is no step left for it.
    Ended,
    /// Its person has counted in as many steps as allowed, in this step, or in one too near.
    OverBound,
}

impl Outcome {
    /// Whether the event counts.
    #[must_use]
    pub fn is_counted(self) -> bool {
        matches!(self, Self::Counted { .. })
    }
}

/// Remembers the ids of events that counted.
pub trait IdStore {
    /// An id. Where persons are bounded it includes its person, so that no id can suppress another
    /// person's event.
    type Id<'a>: Copy;

    /// Whether an event with this id has counted, as far as the store remembers.
    fn contains(&self, id: Self::Id<'_>) -> bool;

    /// Remembers an id that counted in a step.
    fn insert(&mut self, id: Self::Id<'_>, step: u64);
}

/// Remembers in which steps each person has counted.
pub trait PersonStore {
    /// A person.
    type Person<'a>: Copy;

    /// Whether this person may count in this step as well; if so, the step is spent.
    fn admit(&mut self, person: Self::Person<'_>, step: u64) -> bool;
}

/// Decides on events, one by one, by the [rule](self) of this module.
///
/// ```
/// use evertally::Participation;
/// use evertally_stream::{Admission, ContributionBound, KnownIds, Outcome};
/// let bound = ContributionBound::new(Participation::at_most(2, 1)?);
/// let mut admission = Admission { ids: Some(KnownIds::default()), persons: Some(bound) };
/// let mut decide = |person, id, step| admission.decide(Some((Some(person), id)), Some(person), Ok(step));
/// assert_eq!(decide("p", "1", 4), Outcome::Counted { step: 4 });
/// assert_eq!(decide("p", "1", 5), Outcome::Duplicate);
/// assert_eq!(decide("p", "2", 4), Outcome::OverBound);
/// assert_eq!(decide("q", "1", 4), Outcome::Counted { step: 4 });
/// # Ok::<(), evertally_stream::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct Admission<Ids, Persons> {
    /// The ids that are known; `None` if copies are not recognised.
    pub ids: Option<Ids>,
    /// The persons who have counted; `None` if persons are not bounded.
    pub persons: Option<Persons>,
}

impl<Ids: IdStore, Persons: PersonStore> Admission<Ids, Persons> {
    /// Decides on the next event. `person` and `id` are `None` for an event without one; `step` is
    /// the open step that would take it, or why there is none.
    pub fn decide(
        &mut self,
        id: Option<Ids::Id<'_>>,
        person: Option<Persons::Person<'_>>,
        step: Result<u64, Outcome>,
    ) -> Outcome {
        if self.persons.is_some() && person.is_none() {
            return Outcome::Unnamed;
        }
        if self.is_known(id) {
            return Outcome::Duplicate;
        }
        match step {
            Ok(step) if self.count(id, person, step) => Outcome::Counted { step },
            Ok(_) => Outcome::OverBound,
            Err(outcome) => outcome,
        }
    }

    /// Counts an event whose id is not known, unless the bound refuses it. A journal that replays
    /// events that have counted starts here.
    pub fn count(&mut self, id: Option<Ids::Id<'_>>, person: Option<Persons::Person<'_>>, step: u64) -> bool {
        if let (Some(persons), Some(person)) = (&mut self.persons, person)
            && !persons.admit(person, step)
        {
            return false;
        }
        self.learn(id, step);
        true
    }

    /// Whether an event with this id has counted.
    pub(crate) fn is_known(&self, id: Option<Ids::Id<'_>>) -> bool {
        let known = self.ids.as_ref().zip(id).map(|(ids, id)| ids.contains(id));
        known.unwrap_or_default()
    }

    /// Remembers the id of an event that counts.
    pub(crate) fn learn(&mut self, id: Option<Ids::Id<'_>>, step: u64) {
        if let (Some(ids), Some(id)) = (&mut self.ids, id) {
            ids.insert(id, step);
        }
    }
}
