//! Events that compete, held until their step closes.
//!
//! **Definition.** Where persons are bounded or ids are compared, whether an event counts depends
//! on which events come before it in the order of [`admission`](crate::admission). A file need not
//! be in that order, so an event waits until its step closes. Then the claims of the step are
//! decided in order. Steps must be closed in ascending order; time, and with it the order of the
//! rule, then runs through all of them.
//!
//! **Guarantee.** The same events count in any order in which they are handed in, as long as each
//! comes before its step closes. The tests compare this with the rule as it is written: sort all
//! events, decide one by one.
//!
//! **Memory.** The claims of all open steps may have a [limit](Contest::holding_at_most). An event is
//! refused with an error once they have reached it or if a new claimant would pass it, and so is
//! every later one: otherwise the claims of one person would decide whether those of another count. What
//! tables, lists and trees take beyond their entries is counted in.
//!
//! **Cost.** A claim takes 64 bytes and the texts of its id and key, and a claimant about 150 bytes and its
//! name. Without a bound, one claim
//! is held for each id in a step. With a bound, one is held for each person in a step, and up to k
//! where ids are compared as well: at most k − 1 of them can be duplicates, because no more have
//! counted before. Where several events of a person may count in a step, all claims are held. The
//! name of the person is held once per step, and for ever once they have counted. An event is placed
//! among the k claims of its person in O(log k) comparisons. A preview looks at every step with claims
//! before the event's.

mod claims;

use std::collections::{BTreeMap, HashMap};

use crate::admission::{Admission, IdStore, Outcome};
use crate::amount::Amount;
use crate::contribution::KnownIds;
use crate::decide::{Candidate, Counted, decide_step};
use crate::error::{Error, Result};
use crate::memory::{Ids, Memory, Persons};
use crate::names::given_name;
use crate::rules::{Event, Rules};
use crate::share::Share;
use claims::{ALLOCATION, Claim, Claims, in_table};

/// The claims of one step, by person, or by id where persons are not bounded.
type StepClaims = HashMap<Box<str>, Claims>;

/// The bytes of a claimant besides the name and the claims.
const CLAIMANT_BYTES: u64 = in_table(size_of::<(Box<str>, Claims)>()) + ALLOCATION as u64;

/// What is known of an event when it is handed in.
pub(crate) enum Entry {
    /// It counts, and competes with no other.
    Counted(Counted),
    /// It competes: its step's closing decides.
    Held,
    /// It does not count.
    Refused(Outcome),
}

/// Decides which of the competing events of each step count.
#[derive(Clone)]
pub(crate) struct Contest {
    rules: Rules,
    admission: Admission<Ids, Persons>,
    open: BTreeMap<u64, StepClaims>,
    /// The bytes of all open claims, and the most that they may take.
    held: u64,
    limit: u64,
    /// Whether an event was refused because of the limit.
    is_full: bool,
}

impl Contest {
    pub(crate) fn new(rules: Rules) -> Self {
        let admission = rules.admission();
        Self { rules, admission, open: BTreeMap::new(), held: 0, limit: u64::MAX, is_full: false }
    }

    /// The same with a limit on the bytes of open claims.
    pub(crate) fn holding_at_most(self, limit: u64) -> Self {
        Self { limit, ..self }
    }

    /// A contest that goes on from what earlier runs remember.
    pub(crate) fn after(rules: Rules, memory: Memory) -> Self {
        Self { admission: memory.into_admission(), ..Self::new(rules) }
    }

    /// What was decided about persons and ids.
    pub(crate) fn into_admission(self) -> Admission<Ids, Persons> {
        self.admission
    }

    pub(crate) fn width(&self) -> usize {
        self.rules.width()
    }

    /// Adds what counts to the totals of a step.
    pub(crate) fn add(&self, totals: &mut [Amount], counted: Counted) {
        self.rules.add(totals, counted);
    }

    /// Whether an event names nobody although persons are bounded. Then its step does not matter.
    pub(crate) fn is_unnamed(&self, event: &Event<'_>) -> bool {
        self.rules.is_unnamed(event)
    }

    /// Takes an event of this open step, or one that no open step takes, for the reason given.
    pub(crate) fn push(
        &mut self,
        event: &Event<'_>,
        step: std::result::Result<u64, Outcome>,
    ) -> Result<Entry> {
        if self.is_full {
            return Err(self.too_many());
        }
        let event = &self.rules.identified(event);
        if self.is_unnamed(event) {
            return Ok(Entry::Refused(Outcome::Unnamed));
        }
        let (person, id) = (self.person_of(event), self.id_of(event));
        if id.is_some_and(|id| self.is_known(person, id)) {
            return Ok(Entry::Refused(Outcome::Duplicate));
        }
        let step = match step {
            Ok(step) => step,
            Err(outcome) => return Ok(Entry::Refused(outcome)),
        };
        let amount = self.rules.amount(event)?;
        let Some(claimant) = person.or(id) else {
            return Ok(Entry::Counted((self.rules.position(event.key), amount)));
        };
        // Without declared keys, no event has one.
        let key = given_name(event.key).filter(|_| self.rules.keys.is_some()).map(Into::into);
        let claim = Claim { time: event.time, id: id.map(Into::into), key, amount };
        let max_claims = self.max_claims();
        let claims = self.open.entry(step).or_default();
        match claims.get_mut(claimant) {
            Some(_) if self.held >= self.limit => return Err(self.too_many()),
            Some(claims) => claims.offer(claim, max_claims.unwrap_or(usize::MAX), &mut self.held),
            None => {
                let first = match max_claims {
                    Some(_) => Claims::one(claim),
                    None => Claims::all_from(claim),
                };
                let held = self.held + bytes_of(claimant, &first);
                if held > self.limit || claims.try_reserve(1).is_err() {
                    return Err(self.too_many());
                }
                self.held = held;
                claims.insert(claimant.into(), first);
            }
        }
        Ok(Entry::Held)
    }

    /// The refusal of this event and of all later ones.
    fn too_many(&mut self) -> Error {
        self.is_full = true;
        Error::TooManyClaims { limit: self.limit }
    }

    /// The most claims of a claimant in a step that are held; `None` if all are.
    fn max_claims(&self) -> Option<usize> {
        let Some(limits) = self.rules.limits else { return Some(1) };
        // A person who counts once per key has no more slots, and holds one claim of each key.
        let share = &self.rules.share;
        let counts_once = share.max_events() == Some(1) || share.is_once_per_key();
        let max_claims = if self.rules.has_ids { limits.max_steps() } else { 1 };
        counts_once.then(|| usize::try_from(max_claims).unwrap_or(usize::MAX))
    }

    /// The person of an event, where persons are bounded.
    fn person_of<'a>(&self, event: &Event<'a>) -> Option<&'a str> {
        given_name(event.person).filter(|_| self.rules.limits.is_some())
    }

    /// The id of an event, where ids are compared.
    fn id_of<'a>(&self, event: &Event<'a>) -> Option<&'a str> {
        given_name(event.id).filter(|_| self.rules.has_ids)
    }

    /// Whether an event with this id has counted in a closed step.
    fn is_known(&self, person: Option<&str>, id: &str) -> bool {
        self.admission.ids.as_ref().is_some_and(|ids| ids.contains((person, id)))
    }

    /// Closes a step, and gives what counts in it besides what counted at once. No step before it
    /// may be open, and none is opened again.
    pub(crate) fn close(&mut self, step: u64) -> Vec<Counted> {
        let Some(claims) = self.open.remove(&step) else { return Vec::new() };
        let mut counted = Vec::new();
        for (claimant, claims) in claims {
            self.held = self.held.saturating_sub(bytes_of(&claimant, &claims));
            counted.extend(decide_claims(&mut self.admission, &self.rules, &claimant, claims.iter(), step));
        }
        counted
    }

    /// The first step with claims.
    pub(crate) fn first_open(&self) -> Option<u64> {
        self.open.first_key_value().map(|(step, _)| *step)
    }

    /// What would become of an event of this step if every step before it closed now. Changes
    /// nothing.
    pub(crate) fn preview(&self, event: &Event<'_>, step: u64) -> Outcome {
        self.decide_after(&self.rules.identified(event), step, step)
    }

    /// Whether an event of this step may count although its [preview](Self::preview) says that it
    /// would not. Which of a person's claims counts in an open step may still change, and with it
    /// which ids count in later ones. Whether the person counts in the `first` open step is certain,
    /// because one of their claims does; a bound that this step fills is final.
    pub(crate) fn may_yet_count(&self, event: &Event<'_>, first: u64, step: u64) -> bool {
        let can_change = self.rules.limits.is_some() && self.rules.has_ids;
        can_change && self.decide_after(&Event { id: None, ..*event }, first + 1, step).is_counted()
    }

    /// What would become of an event of this step if every step before `end` closed now and no
    /// other claim counted.
    fn decide_after(&self, event: &Event<'_>, end: u64, step: u64) -> Outcome {
        let (person, id) = (self.person_of(event), self.id_of(event));
        let Some(claimant) = person.or(id) else {
            return if self.is_unnamed(event) { Outcome::Unnamed } else { Outcome::Counted { step } };
        };
        // Stores of this claimant alone, as they would be.
        let mut admission = Admission {
            ids: self.admission.ids.as_ref().map(|known| IdsOnTop { known, new: KnownIds::default() }),
            persons: self.admission.persons.as_ref().map(|persons| persons.only(claimant)),
        };
        for (open, claims) in self.open.range(..end) {
            if let Some(claims) = claims.get(claimant) {
                // Without ids, the first claim decides whether the step is spent.
                let most = if self.rules.has_ids { usize::MAX } else { 1 };
                decide_claims(&mut admission, &self.rules, claimant, claims.iter().take(most), *open);
            }
        }
        let slot = self.rules.share.slot(step, 0).ok_or(Outcome::OverBound);
        match admission.decide(id.map(|id| (person, id)), person, slot) {
            Outcome::Counted { .. } => Outcome::Counted { step },
            outcome => outcome,
        }
    }
}

/// The bytes of a claimant in an open step, with all claims.
fn bytes_of(claimant: &str, claims: &Claims) -> u64 {
    CLAIMANT_BYTES + claimant.len() as u64 + claims.bytes()
}

/// Decides on the claims of one claimant in a step.
fn decide_claims<'c, Store>(
    admission: &mut Admission<Store, Persons>,
    rules: &Rules,
    claimant: &'c str,
    claims: impl Iterator<Item = &'c Claim>,
    step: u64,
) -> Vec<Counted>
where
    Store: for<'a> IdStore<Id<'a> = (Option<&'a str>, &'a str)>,
{
    let person = rules.limits.is_some().then_some(claimant);
    // An id counts once, however much a person may add.
    let share = if person.is_some() { rules.share } else { Share::default() };
    let candidates = claims.map(|claim| Candidate {
        id: claim.id.as_deref().map(|id| (person, id)),
        counted: (rules.position(claim.key.as_deref()), claim.amount),
    });
    decide_step(admission, &share, person, step, candidates)
}

/// Known ids, and more of them on top.
struct IdsOnTop<'k> {
    known: &'k Ids,
    new: KnownIds,
}

impl IdStore for IdsOnTop<'_> {
    type Id<'a> = (Option<&'a str>, &'a str);

    fn contains(&self, id: Self::Id<'_>) -> bool {
        self.known.contains(id) || self.new.contains(id)
    }

    fn insert(&mut self, id: Self::Id<'_>, step: u64) {
        self.new.insert(id, step);
    }
}
