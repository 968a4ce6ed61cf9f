//! Which claims of a claimant count, and which never can.

use std::collections::{HashMap, HashSet};

use super::claim::Claim;
use super::symbols::Symbols;
use crate::admission::{Admission, IdStore, PersonStore};
use crate::buckets::Buckets;
use crate::contribution::admit_step;
use crate::decide::{Candidate, Counted, decide_step};
use crate::rules::Rules;
use crate::share::Share;
use evertally::Participation;

/// Decides on the claims of one claimant, which depend on nobody else's.
pub(super) struct Decider {
    buckets: Buckets,
    /// The bound, where claimants are persons.
    limits: Option<Participation>,
    share: Share,
    has_ids: bool,
}

impl Decider {
    pub(super) fn new(rules: &Rules, buckets: Buckets) -> Self {
        let Rules { limits, share, has_ids, .. } = *rules;
        Self { buckets, limits, share, has_ids }
    }

    /// Drops claims that cannot count whatever else comes, and adds up those that can only count
    /// together. The claims are in the order of the rule.
    ///
    /// - Of an id alone, the first claim counts.
    /// - Of the events of a person in a step and key, only the first few can count: m without ids, and
    ///   with ids km different ones, because fewer than km others can have counted.
    /// - If all events of a step count, those of a key have one clamp. Without ids they are one claim,
    ///   at the place of the first.
    /// - Without ids, a person who can count in k steps counts in none after the k-th of them. Another
    ///   step can only move it forward: the j-th step that counts is the first that is far enough from
    ///   the one before, and both can only become earlier. With ids this does not hold, because an
    ///   earlier copy takes the step of a later one.
    pub(super) fn reduce(&self, claims: &mut Vec<Claim>, symbols: &Symbols) {
        let Some(limits) = self.limits else {
            claims.truncate(1);
            return;
        };
        let (mut counting, mut step, mut kept) = (Vec::new(), None, 0);
        let mut in_step = InStep::default();
        for next in 0..claims.len() {
            let this = self.step_of(&claims[next]);
            if step.replace(this) != Some(this) {
                in_step.keys.clear();
                in_step.ids.clear();
                if !self.has_ids {
                    if counting.len() as u64 == limits.max_steps() {
                        break;
                    }
                    admit_step(limits, &mut counting, this);
                }
            }
            // Those that are kept move to the front.
            let (before, rest) = claims.split_at_mut(next);
            if self.is_kept(&rest[0], &mut before[..kept], &mut in_step, limits, symbols) {
                claims.swap(kept, next);
                kept += 1;
            }
        }
        claims.truncate(kept);
    }

    /// Whether a claim may count beside those that are kept. If not, it may be added to one of them.
    fn is_kept(
        &self,
        claim: &Claim,
        kept: &mut [Claim],
        in_step: &mut InStep,
        limits: Participation,
        symbols: &Symbols,
    ) -> bool {
        let place = symbols.place_of(claim.key);
        let known = in_step.keys.iter().position(|key| key.place == place);
        let index = known.unwrap_or_else(|| {
            in_step.keys.push(InKey { place, held: 0, first: kept.len() });
            in_step.keys.len() - 1
        });
        let key = &mut in_step.keys[index];
        let is_copy = claim.id.clone().is_some_and(|id| !in_step.ids.insert((place, id)));
        let most = match (self.share.max_events(), self.has_ids) {
            (None, false) if key.held > 0 => {
                kept[key.first].amount += claim.amount;
                return false;
            }
            (None, _) => u64::MAX,
            (Some(events), false) => events,
            (Some(events), true) => events.saturating_mul(limits.max_steps()),
        };
        let is_kept = !is_copy && key.held < most;
        key.held += u64::from(is_kept);
        is_kept
    }

    /// Passes on what counts of the claims of one claimant, which are in the order of the rule.
    pub(super) fn decide(&self, claims: &[Claim], symbols: &Symbols, mut count: impl FnMut(u64, Counted)) {
        let counted = |claim: &Claim| (symbols.place_of(claim.key), claim.amount);
        let Some(limits) = self.limits else {
            if let Some(first) = claims.first() {
                count(self.step_of(first), counted(first));
            }
            return;
        };
        let mut numbers = HashMap::new();
        let mut admission = Admission {
            ids: self.has_ids.then(OwnIds::default),
            persons: Some(OwnSteps { limits, steps: Vec::new() }),
        };
        for claims in claims.chunk_by(|one, other| self.step_of(one) == self.step_of(other)) {
            let step = self.step_of(&claims[0]);
            let candidates = claims.iter().map(|claim| Candidate {
                id: claim.id.as_deref().map(|id| {
                    let next = numbers.len();
                    *numbers.entry(id).or_insert(next)
                }),
                counted: counted(claim),
            });
            let sums = decide_step(&mut admission, &self.share, Some(()), step, candidates);
            sums.into_iter().for_each(|counted| count(step, counted));
        }
    }

    /// The step of a claim. Its time lies in the declared range.
    fn step_of(&self, claim: &Claim) -> u64 {
        self.buckets.step_in_any_range(claim.time)
    }
}

/// What is kept of one step.
#[derive(Default)]
struct InStep {
    keys: Vec<InKey>,
    /// The ids by the place of their key.
    ids: HashSet<(usize, Box<str>)>,
}

/// What is kept of one step and key.
struct InKey {
    place: usize,
    held: u64,
    /// The first claim among all that are kept.
    first: usize,
}

/// The steps in which one person has counted.
struct OwnSteps {
    limits: Participation,
    steps: Vec<u64>,
}

impl PersonStore for OwnSteps {
    type Person<'a> = ();

    fn admit(&mut self, (): (), step: u64) -> bool {
        admit_step(self.limits, &mut self.steps, step)
    }
}

/// The ids of one person that have counted, by number.
#[derive(Default)]
struct OwnIds(HashSet<usize>);

impl IdStore for OwnIds {
    type Id<'a> = usize;

    fn contains(&self, id: usize) -> bool {
        self.0.contains(&id)
    }

    fn insert(&mut self, id: usize, _step: u64) {
        self.0.insert(id);
    }
}
