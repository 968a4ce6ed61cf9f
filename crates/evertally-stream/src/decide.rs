//! What one claimant counts for in one step.
//!
//! **Definition.** The claims of a step are taken in the order of the rule
//! ([`admission`](crate::admission)). The first that is no duplicate spends the step of its person,
//! if the bound admits it; then further ones count as far as the [`Share`] of a person goes. A claim
//! that does not count changes nothing: its id stays unknown.
//!
//! **Guarantee.** What is added to a key is clamped as the share says, so one person adds no more than
//! [`Share::contribution`](crate::Share::contribution) states.
//!
//! **Once per key.** Where a person counts once in each of their first q keys
//! ([`Share::once_per_key`](crate::Share::once_per_key)), the id of a claim is its key. So a key that has
//! counted is a duplicate in every later step. Each key that counts takes a slot of the person, and there
//! are q slots. A slot is a number of its own in the place of a step, so the same stores bound keys
//! instead of steps.

use crate::admission::{Admission, IdStore, Outcome, PersonStore};
use crate::amount::Amount;
use crate::share::Share;

/// What counts: the place of its total, and the amount.
pub(crate) type Counted = (usize, Amount);

/// A claim as it is decided.
pub(crate) struct Candidate<Id> {
    /// Its id, if ids are compared and it has one.
    pub(crate) id: Option<Id>,
    /// The place of its total, and its amount.
    pub(crate) counted: Counted,
}

/// Decides on the claims of one claimant in a step, and gives what counts, one entry per key.
pub(crate) fn decide_step<'c, Ids: IdStore, Persons: PersonStore>(
    admission: &mut Admission<Ids, Persons>,
    share: &Share,
    person: Option<Persons::Person<'_>>,
    step: u64,
    claims: impl Iterator<Item = Candidate<Ids::Id<'c>>>,
) -> Vec<Counted> {
    if share.is_once_per_key() {
        return once_per_key(admission, share, person, step, claims);
    }
    let mut sums: Vec<Counted> = Vec::new();
    let mut events = 0;
    for Candidate { id, counted: (place, amount) } in claims {
        let entry = sums.iter().position(|(other, _)| *other == place);
        if events == 0 {
            match admission.decide(id, person, Ok(step)) {
                Outcome::Counted { .. } => sums.push((place, amount)),
                Outcome::Duplicate => continue,
                // The step is refused to all events of the person.
                _ => break,
            }
        } else {
            let is_over = entry.is_none() && sums.len() as u64 == share.max_keys();
            if is_over || admission.is_known(id) {
                continue;
            }
            admission.learn(id, step);
            match entry {
                Some(entry) => sums[entry].1 += amount,
                None => sums.push((place, amount)),
            }
        }
        events += 1;
        if share.max_events() == Some(events) {
            break;
        }
    }
    if let Some(clamp) = share.sum() {
        sums.iter_mut().for_each(|(_, sum)| *sum = clamp.apply_to_sum(*sum));
    }
    sums
}

/// The same for a share of all steps: each key that has not counted yet takes a slot of the person.
fn once_per_key<'c, Ids: IdStore, Persons: PersonStore>(
    admission: &mut Admission<Ids, Persons>,
    share: &Share,
    person: Option<Persons::Person<'_>>,
    step: u64,
    claims: impl Iterator<Item = Candidate<Ids::Id<'c>>>,
) -> Vec<Counted> {
    let mut counted = Vec::new();
    for Candidate { id, counted: (place, _) } in claims {
        // A claim without its key could count twice in it.
        let (Some(id), Some(slot)) = (id, share.slot(step, counted.len())) else { continue };
        match admission.decide(Some(id), person, Ok(slot)) {
            Outcome::Counted { .. } => counted.push((place, Amount::ONE)),
            Outcome::Duplicate => {}
            // No slot is left.
            _ => break,
        }
    }
    counted
}
