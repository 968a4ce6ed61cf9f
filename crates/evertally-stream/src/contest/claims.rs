//! The claims of one claimant in one step.
//!
//! **Definition.** Where one claim of a step counts at most: of each id the first claim is held, of all
//! ids the first few, and none after a claim without an id: that one is no duplicate, so it decides the
//! step. Where several may count, all are held.
//!
//! **Cost.** O(log n) comparisons to place one of n claims. Up to [`MAX_LISTED`] claims are a sorted
//! list. More than that, which needs a person with as many steps, are a sorted set with an index by
//! id: a list would cost O(n) per event, and one person can send any number of events.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use crate::amount::Amount;

/// The most claims that are held as a list.
const MAX_LISTED: usize = 64;

/// What the system adds to each piece of memory.
pub(super) const ALLOCATION: usize = 16;

/// What one event asks for. Claims of one step are ordered as the rule says: by time, then by
/// content. No `Debug`: everything in it is private.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Claim {
    pub(super) time: i64,
    pub(super) id: Option<Box<str>>,
    pub(super) key: Option<Box<str>>,
    pub(super) amount: Amount,
}

/// The claims of one claimant in one step, in order.
#[derive(Clone)]
pub(super) enum Claims {
    Listed(Vec<Claim>),
    Indexed(Box<IndexedClaims>),
    /// All claims, each with how often it came.
    All(BTreeMap<Claim, u64>),
}

/// A hash table that grows has up to 16 places for 7 entries, and while it moves, half as many again.
/// This is the most bytes that an entry of this size takes.
pub(super) const fn in_table(entry_bytes: usize) -> u64 {
    (entry_bytes * 16 * 3 / (7 * 2)) as u64
}

/// The bytes of a leaf of a tree of claims. It has 11 places, and at least 5 of them are taken.
const LEAF_BYTES: u64 = (11 * size_of::<(Claim, u64)>() + 2 * ALLOCATION) as u64;

/// The bytes of a claim with its two places in [`IndexedClaims`], without its texts.
const INDEXED_BYTES: u64 = (size_of::<Claim>() + 2 * size_of::<Arc<Claim>>() + 2 * ALLOCATION) as u64
    + in_table(size_of::<(Option<Box<str>>, Arc<Claim>)>());

impl Claim {
    /// The bytes of its texts.
    fn text_bytes(&self) -> u64 {
        [&self.id, &self.key].into_iter().flatten().map(|text| (text.len() + ALLOCATION) as u64).sum()
    }
}

impl Claims {
    pub(super) fn one(claim: Claim) -> Self {
        Self::Listed(vec![claim])
    }

    /// The first claim, if all will be held.
    pub(super) fn all_from(claim: Claim) -> Self {
        Self::All(BTreeMap::from([(claim, 1)]))
    }

    pub(super) fn iter(&self) -> Box<dyn Iterator<Item = &Claim> + '_> {
        match self {
            Self::Listed(claims) => Box::new(claims.iter()),
            Self::Indexed(claims) => Box::new(claims.in_order.iter().map(|claim| &**claim)),
            Self::All(claims) => {
                Box::new(claims.iter().flat_map(|(claim, times)| (0..*times).map(move |_| claim)))
            }
        }
    }

    /// The bytes of all claims that are held.
    pub(super) fn bytes(&self) -> u64 {
        match self {
            Self::Listed(claims) => list_bytes(claims),
            Self::Indexed(claims) => claims.in_order.iter().map(|claim| IndexedClaims::bytes(claim)).sum(),
            Self::All(claims) => claims.keys().map(Claim::text_bytes).sum::<u64>() + tree_bytes(claims.len()),
        }
    }

    /// Puts a claim among the first `max_claims`, if it is one of them, or among all. Adds what it takes
    /// to the bytes that are held, and subtracts what it displaces.
    pub(super) fn offer(&mut self, claim: Claim, max_claims: usize, held: &mut u64) {
        match self {
            Self::Listed(claims) => {
                *held = held.saturating_sub(list_bytes(claims));
                offer_to_list(claims, claim, max_claims);
                if claims.len() <= MAX_LISTED {
                    *held += list_bytes(claims);
                } else {
                    let mut indexed = IndexedClaims::default();
                    claims.drain(..).for_each(|claim| indexed.insert(Arc::new(claim), held));
                    *self = Self::Indexed(Box::new(indexed));
                }
            }
            Self::Indexed(claims) => claims.offer(claim, max_claims, held),
            Self::All(claims) => match claims.get_mut(&claim) {
                Some(times) => *times += 1,
                None => {
                    let more = tree_bytes(claims.len() + 1) - tree_bytes(claims.len());
                    *held += claim.text_bytes() + more;
                    claims.insert(claim, 1);
                }
            },
        }
    }
}

fn list_bytes(claims: &Vec<Claim>) -> u64 {
    let places = claims.capacity() * size_of::<Claim>() + ALLOCATION;
    claims.iter().map(Claim::text_bytes).sum::<u64>() + places as u64
}

/// The most bytes of a tree of so many claims.
fn tree_bytes(claims: usize) -> u64 {
    LEAF_BYTES * claims.div_ceil(5) as u64
}

fn offer_to_list(claims: &mut Vec<Claim>, claim: Claim, max_claims: usize) {
    if let Some(place) = claims.iter().position(|other| other.id == claim.id) {
        if claims[place] <= claim {
            return;
        }
        claims.remove(place);
    }
    let place = claims.partition_point(|other| *other < claim);
    if place > 0 && claims[place - 1].id.is_none() {
        return;
    }
    let end = if claim.id.is_none() { place + 1 } else { usize::MAX };
    claims.insert(place, claim);
    claims.truncate(end.min(max_claims));
}

/// Many claims, found by their order and by their id.
#[derive(Clone, Default)]
pub(super) struct IndexedClaims {
    in_order: BTreeSet<Arc<Claim>>,
    by_id: HashMap<Option<Box<str>>, Arc<Claim>>,
}

impl IndexedClaims {
    fn bytes(claim: &Claim) -> u64 {
        let in_index = claim.id.as_ref().map_or(0, |id| id.len() + ALLOCATION);
        INDEXED_BYTES + claim.text_bytes() + in_index as u64
    }

    fn insert(&mut self, claim: Arc<Claim>, held: &mut u64) {
        *held += Self::bytes(&claim);
        self.by_id.insert(claim.id.clone(), claim.clone());
        self.in_order.insert(claim);
    }

    fn drop_last(&mut self, held: &mut u64) {
        if let Some(last) = self.in_order.pop_last() {
            *held = held.saturating_sub(Self::bytes(&last));
            self.by_id.remove(&last.id);
        }
    }

    fn offer(&mut self, claim: Claim, max_claims: usize, held: &mut u64) {
        // No claim stands after one without an id.
        let decides = self.by_id.get(&None).is_some_and(|other| **other <= claim);
        let earlier = self.by_id.get(&claim.id).cloned();
        if decides || earlier.as_ref().is_some_and(|other| **other <= claim) {
            return;
        }
        if let Some(later) = earlier {
            *held = held.saturating_sub(Self::bytes(&later));
            self.in_order.remove(&later);
        }
        let claim = Arc::new(claim);
        self.insert(claim.clone(), held);
        while claim.id.is_none() && self.in_order.last() != Some(&claim) {
            self.drop_last(held);
        }
        while self.in_order.len() > max_claims {
            self.drop_last(held);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A person who may count in 100,000 steps sent as many ids in one step: each was compared with
    /// all that were held, ten thousand million times. Both forms hold the same claims.
    #[test]
    fn many_claims_are_indexed() {
        let claim = |number: i64| Claim {
            time: -number,
            id: Some(number.to_string().into()),
            key: None,
            amount: Amount::ONE,
        };
        let mut claims = Claims::one(claim(0));
        let mut held = claims.bytes();
        (1..100_000).for_each(|number| claims.offer(claim(number), 100_000, &mut held));
        assert!(matches!(claims, Claims::Indexed(_)));
        assert_eq!(held, claims.bytes());
        assert!(claims.iter().map(|claim| claim.time).eq(-99_999..=0));
    }

    proptest! {
        #[test]
        fn the_index_holds_what_the_list_does(
            offers in prop::collection::vec((0_i64..40, 0_u8..30, 0_u8..3), 1..200), max_claims in 1_usize..40,
        ) {
            let (mut listed, mut indexed) = (Vec::new(), IndexedClaims::default());
            for (time, id, key) in offers {
                // One id in thirty is none.
                let id = (id > 0).then(|| id.to_string().into());
                let claim = Claim { time, id, key: Some(key.to_string().into()), amount: Amount::ONE };
                offer_to_list(&mut listed, claim.clone(), max_claims);
                indexed.offer(claim, max_claims, &mut 0);
                prop_assert!(indexed.in_order.iter().map(|claim| &**claim).eq(&listed));
                prop_assert_eq!(indexed.by_id.len(), listed.len());
            }
        }

        /// What is held is counted as it grows and shrinks, so it must be the sum at any time.
        #[test]
        fn the_bytes_that_are_held_are_known(
            offers in prop::collection::vec((0_i64..400, 0_u8..200), 1..200), max_claims in 1_usize..90, all in any::<bool>(),
        ) {
            let claim = |(time, id): (i64, u8)| Claim {
                time, id: (id > 0).then(|| "x".repeat(id.into()).into()), key: None, amount: Amount::ONE,
            };
            let first = claim((500, 201));
            let mut claims = if all { Claims::all_from(first) } else { Claims::one(first) };
            let mut held = claims.bytes();
            for offer in offers {
                claims.offer(claim(offer), max_claims, &mut held);
                prop_assert_eq!(held, claims.bytes());
            }
        }
    }
}
