//! Which claims of a claimant count, and which never can.

use std::collections::{HashMap, HashSet};

use super::claim::Claim;
use super::symbols::Symbols;
use crate::admission::{Admission, IdStore, PersonStore};
use crate::contribution::admit_step;
use crate::decide::{Candidate, Counted, decide_step};
use crate::rules::Rules;
use crate::share::Share;
use evertally::Participation;

/// Up to this many keys of a person in a step are compared one by one.
const FEW_KEYS: usize = 16;

/// Decides on the claims of one claimant, which depend on nobody else's.
pub(super) struct Decider {
    /// The bound, where claimants are persons.
    limits: Option<Participation>,
    share: Share,
    has_ids: bool,
}

impl Decider {
    pub(super) fn new(rules: &Rules) -> Self {
        let Rules { limits, share, has_ids, .. } = *rules;
        Self { limits, share, has_ids }
    }

    /// How one claim joins others; `None` if ids decide it too.
    pub(super) fn joining(&self) -> Option<Joining> {
        let Some(limits) = self.limits else {
            return Some(Joining { most: 1, has_steps: false, counts_one: true, drops_last: true });
        };
        let most = usize::try_from(limits.max_steps()).unwrap_or(usize::MAX);
        let counts_one = self.counts_one();
        let drops_last = counts_one && limits.min_gap() == 1;
        (!self.has_ids).then_some(Joining { most, has_steps: true, counts_one, drops_last })
    }

    /// Whether the first event of a person in a step counts, and no other.
    fn counts_one(&self) -> bool {
        self.share.max_events() == Some(1) && !self.has_ids
    }

    /// Drops claims that cannot count whatever else comes, and adds up those that can only count
    /// together. The claims are in the order of the rule.
    ///
    /// - Of an id alone, the first claim counts.
    /// - If one event of a person counts in a step, it is the first, unless it may be a copy of another.
    /// - Of the events of a person in a step and key, only the first few can count: m without ids, and
    ///   with ids km different ones, because fewer than km others can have counted.
    /// - If all events of a step count, those of a key have one clamp. Without ids they are one claim,
    ///   at the place of the first.
    /// - Without ids, a person who can count in k steps counts in none after the k-th of them. Another
    ///   step can only move it forward: the j-th step that counts is the first that is far enough from
    ///   the one before, and both can only become earlier. With ids this does not hold, because an
    ///   earlier copy takes the step of a later one.
    pub(super) fn reduce<'c>(
        &self,
        claims: &mut Vec<Claim<'c>>,
        in_step: &mut InStep<'c>,
        symbols: &Symbols,
    ) {
        let Some(limits) = self.limits else {
            claims.truncate(1);
            return;
        };
        let (mut counting, mut step, mut kept) = (Counting::new(limits), None, 0);
        let has_one = self.counts_one();
        for next in 0..claims.len() {
            let claim = claims[next];
            if step.replace(claim.step) != Some(claim.step) {
                if !self.has_ids {
                    if counting.is_full() {
                        break;
                    }
                    counting.admit(claim.step);
                }
                in_step.clear();
            } else if has_one {
                continue;
            }
            // Those that are kept move to the front.
            if has_one || self.is_kept(&claim, &mut claims[..kept], in_step, limits, symbols) {
                claims[kept] = claim;
                kept += 1;
            }
        }
        claims.truncate(kept);
    }

    /// Whether a claim may count beside those that are kept. If not, it may be added to one of them.
    fn is_kept<'c>(
        &self,
        claim: &Claim<'c>,
        kept: &mut [Claim<'c>],
        in_step: &mut InStep<'c>,
        limits: Participation,
        symbols: &Symbols,
    ) -> bool {
        let place = symbols.place_of(claim.key);
        let index = in_step.index_of(place, kept.len());
        let key = &mut in_step.keys[index];
        let is_copy = claim.id.is_some_and(|id| !in_step.ids.insert((place, id)));
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
    pub(super) fn decide(
        &self,
        claims: &[Claim<'_>],
        symbols: &Symbols,
        mut count: impl FnMut(u64, Counted),
    ) {
        let counted = |claim: &Claim<'_>| (symbols.place_of(claim.key), claim.amount);
        let Some(limits) = self.limits else {
            if let Some(first) = claims.first() {
                count(first.step, counted(first));
            }
            return;
        };
        let in_steps = claims.chunk_by(|one, other| one.step == other.step);
        if !self.has_ids {
            let mut counting = Counting::new(limits);
            for claims in in_steps.filter(|claims| counting.admit(claims[0].step)) {
                self.decide_admitted(claims, &counted, &mut count);
            }
            return;
        }
        let mut numbers = HashMap::new();
        let mut admission =
            Admission { ids: Some(OwnIds::default()), persons: Some(OwnSteps { limits, steps: Vec::new() }) };
        for claims in in_steps {
            let step = claims[0].step;
            let candidates = claims.iter().map(|claim| Candidate {
                id: claim.id.map(|id| {
                    let next = numbers.len();
                    *numbers.entry(id).or_insert(next)
                }),
                counted: counted(claim),
            });
            let sums = decide_step(&mut admission, &self.share, Some(()), step, candidates);
            sums.into_iter().for_each(|counted| count(step, counted));
        }
    }

    /// Passes on what counts of the claims of a person in a step that is theirs, without ids.
    fn decide_admitted(
        &self,
        claims: &[Claim<'_>],
        counted: &impl Fn(&Claim<'_>) -> Counted,
        count: &mut impl FnMut(u64, Counted),
    ) {
        let step = claims[0].step;
        if let [claim] = claims {
            let (place, amount) = counted(claim);
            let sum = self.share.sum().map_or(amount, |clamp| clamp.apply_to_sum(amount));
            return count(step, (place, sum));
        }
        let mut admission = Admission::<OwnIds, OwnSteps> { ids: None, persons: None };
        let candidates = claims.iter().map(|claim| Candidate { id: None, counted: counted(claim) });
        let sums = decide_step(&mut admission, &self.share, None, step, candidates);
        sums.into_iter().for_each(|counted| count(step, counted));
    }
}

/// How one claim joins others of its claimant where time decides it alone.
#[derive(Clone, Copy)]
pub(super) struct Joining {
    /// So many claims can all be kept.
    pub(super) most: usize,
    /// Whether claims compete with those of their step only.
    pub(super) has_steps: bool,
    /// Whether the first of claims that compete is kept alone.
    pub(super) counts_one: bool,
    /// Whether the last claim is dropped if there are more.
    pub(super) drops_last: bool,
}

/// The steps in which a person counts, whose claims come in order.
struct Counting {
    limits: Participation,
    steps: u64,
    last: Option<u64>,
}

impl Counting {
    fn new(limits: Participation) -> Self {
        Self { limits, steps: 0, last: None }
    }

    fn is_full(&self) -> bool {
        self.steps == self.limits.max_steps()
    }

    /// Whether the person may count in this step as well, which is later than all before.
    fn admit(&mut self, step: u64) -> bool {
        let is_near = self.last.is_some_and(|last| step - last < self.limits.min_gap());
        let is_admitted = !is_near && !self.is_full();
        if is_admitted {
            self.steps += 1;
            self.last = Some(step);
        }
        is_admitted
    }
}

/// What is kept of one step.
#[derive(Default)]
pub(super) struct InStep<'c> {
    keys: Vec<InKey>,
    /// Where each place is among the keys, if there are more than a few. A person may have very many keys
    /// that nobody declared.
    places: HashMap<usize, usize>,
    /// The ids by the place of their key.
    ids: HashSet<(usize, &'c str)>,
}

impl InStep<'_> {
    /// Before the first claim of a step.
    fn clear(&mut self) {
        self.keys.clear();
        self.places.clear();
        self.ids.clear();
    }

    /// Where a key is among the keys. A new one begins with the claim at `first`.
    fn index_of(&mut self, place: usize, first: usize) -> usize {
        let known = if self.keys.len() <= FEW_KEYS {
            self.keys.iter().position(|key| key.place == place)
        } else {
            self.places.get(&place).copied()
        };
        known.unwrap_or_else(|| {
            self.keys.push(InKey { place, held: 0, first });
            if self.keys.len() > FEW_KEYS {
                let unplaced = self.places.len()..self.keys.len();
                self.places.extend(unplaced.map(|index| (self.keys[index].place, index)));
            }
            self.keys.len() - 1
        })
    }
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
