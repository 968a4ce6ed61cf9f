//! What one person may add to one step.
//!
//! **Definition.** The events of a person in a step are taken in the order of
//! [`admission`](crate::admission). Of those that are no duplicates, the first `max_events` in the
//! first `max_keys` keys count. The amounts of each key are added up, and each sum is clamped to
//! `sum`. By default the first event of a step counts alone.
//!
//! **Guarantee.** Let an event count for an amount in [l, h], m be `max_events`, q `max_keys`, and
//! [s, t] the clamp of sums. What a person adds to a step is a vector v over the keys with
//!
//! - at most j = min(q, m) entries that are not zero, because every key with an entry has an event;
//! - |v_i| ≤ M: a sum of one to m events lies between min(l, ml) and max(h, mh), and clamping moves it
//!   into [s, t] and no further than these ends are moved;
//! - Σ|v_i| ≤ m·max(|l|, |h|), if sums are not clamped or 0 is in [s, t]: clamping then moves no sum
//!   away from zero.
//!
//! So ‖v‖₁ ≤ B = min(jM, m·max(|l|, |h|)) (the second where it holds). A convex function is largest at
//! a corner, so ‖v‖₂² ≤ ⌊B/M⌋M² + (B − ⌊B/M⌋M)². Gaussian noise is scaled to the bound on ‖v‖₂, and
//! Laplace noise to B ([`Share::contribution`]). The tests compare both with all people of a small
//! universe, and find people who attain them.
//!
//! **Once per key.** [`Share::once_per_key`] is a share of all steps together: a person counts as one in
//! each of their first q keys, in the step of their first event of that key (the module `decide` has the
//! rule). In each key a person changes one step by one, so ‖R v‖² ≤ qΔ² for every encoder R whose
//! columns have norms of at most Δ, and ‖R v‖₁ ≤ qΔ₁: the bounds of one step in which q keys have one
//! event each.

use evertally::{Contribution, Participation};

use crate::amount::Clamp;
use crate::error::{Error, Result};

/// Roundings of doubles between the bounds and the result, each at most half a unit.
const ROUNDINGS: u32 = 8;

/// What one person may add to one step, where persons are bounded.
///
/// ```
/// use evertally_stream::{Clamp, Share};
/// let baskets = Share::new(None, 3, Some(Clamp::new(0.0, 200.0)?))?;
/// assert_eq!(baskets.in_words(true), "the sums of all events in the first 3 groups, each clamped to 0,200");
/// assert_eq!(Share::default().in_words(false), "the first event");
/// # Ok::<(), evertally_stream::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Share {
    max_events: Option<u64>,
    max_keys: u64,
    sum: Option<Clamp>,
    /// Whether the keys are those of all steps, and an event of a key counts once.
    is_once_per_key: bool,
}

impl Default for Share {
    fn default() -> Self {
        Self { max_events: Some(1), max_keys: 1, sum: None, is_once_per_key: false }
    }
}

impl Share {
    /// At most `max_events` events (`None`: all of them) in at most `max_keys` keys, with the sum of
    /// each key clamped to `sum`.
    ///
    /// # Errors
    /// [`evertally::Error::BadParameter`] if a number is zero, or if nothing bounds the sum.
    pub fn new(max_events: Option<u64>, max_keys: u64, sum: Option<Clamp>) -> Result<Self> {
        if max_events == Some(0) {
            return Err(Error::bad("the events of a person in a step", "at least 1", 0));
        }
        if max_keys == 0 {
            return Err(Error::bad("the keys of a person in a step", "at least 1", 0));
        }
        if max_events.is_none() && sum.is_none() {
            return Err(Error::bad(
                "what a person adds to a step",
                "bounded by a number of events or by a clamp of their sum",
                "neither",
            ));
        }
        Ok(Self { max_events, max_keys, sum, is_once_per_key: false })
    }

    /// One in each of the first `max_keys` keys of a person, in the step of their first event of that
    /// key. Within one key, or without keys, this is the default share of a person who may count in one
    /// step.
    ///
    /// ```
    /// use evertally_stream::Share;
    /// assert_eq!(Share::once_per_key(1)?, Share::default());
    /// let pages = Share::once_per_key(3)?;
    /// assert_eq!(pages.in_words(true), "one in each of the first 3 groups, at the first event there");
    /// assert_eq!(pages.limits(), Some(evertally::Participation::at_most(3, 1)?));
    /// # Ok::<(), evertally_stream::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`evertally::Error::BadParameter`] for no key.
    pub fn once_per_key(max_keys: u64) -> Result<Self> {
        if max_keys == 1 {
            return Ok(Self::default());
        }
        let one = Clamp::new(0.0, 1.0)?;
        Ok(Self { is_once_per_key: true, ..Self::new(Some(max_keys), max_keys, Some(one))? })
    }

    /// Whether a person counts once in each key, in all steps together.
    #[must_use]
    pub fn is_once_per_key(&self) -> bool {
        self.is_once_per_key
    }

    /// The limits on a person that this share needs in [`Rules`](crate::Rules), if it decides them: one
    /// slot for each key. They bound what admission stores, and are no participation of a plan: in each
    /// key, a person counts in one step.
    #[must_use]
    pub fn limits(&self) -> Option<Participation> {
        let slots = self.is_once_per_key.then_some(self.max_keys)?;
        Participation::at_most(slots, 1).ok()
    }

    /// The slot of a person who counts in a step after `earlier` others of their keys there: a number that
    /// no other step has, so that the limits count keys. `None` beyond 2⁶⁴ slots: nobody counts there.
    pub(crate) fn slot(&self, step: u64, earlier: usize) -> Option<u64> {
        if !self.is_once_per_key {
            return Some(step);
        }
        step.checked_mul(self.max_keys)?.checked_add(earlier as u64)
    }

    /// The slots that a person may take in a step, in order: for steps the step itself.
    pub(crate) fn slots(&self, step: u64) -> impl Iterator<Item = u64> + '_ {
        let most =
            if self.is_once_per_key { usize::try_from(self.max_keys).unwrap_or(usize::MAX) } else { 1 };
        (0..most).map_while(move |earlier| self.slot(step, earlier))
    }

    /// The most events of a person that count in a step; `None` if all do.
    #[must_use]
    pub fn max_events(&self) -> Option<u64> {
        self.max_events
    }

    /// The most keys of a step in which events of a person count.
    #[must_use]
    pub fn max_keys(&self) -> u64 {
        self.max_keys
    }

    /// In how many keys of a step a person may count: no more than they have events.
    #[must_use]
    pub fn keys(&self) -> u64 {
        self.max_keys.min(self.max_events.unwrap_or(u64::MAX))
    }

    /// The clamp of the sum of a person in a step and key.
    #[must_use]
    pub fn sum(&self) -> Option<Clamp> {
        self.sum
    }

    /// The share in words, for a person who reads the header of a release. If there are keys, the words
    /// speak of groups.
    #[must_use]
    pub fn in_words(&self, has_keys: bool) -> String {
        if self.is_once_per_key {
            return format!("one in each of the first {} groups, at the first event there", self.max_keys);
        }
        let events = match self.max_events {
            Some(1) => return self.clamped("the first event".to_owned(), ""),
            Some(events) => format!("the first {events} events"),
            None => "all events".to_owned(),
        };
        match self.max_keys {
            _ if !has_keys => self.clamped(format!("the sum of {events}"), ""),
            1 => self.clamped(format!("the sum of {events} in the first group"), ""),
            keys => self.clamped(format!("the sums of {events} in the first {keys} groups"), "each "),
        }
    }

    fn clamped(&self, sum: String, each: &str) -> String {
        match self.sum {
            Some(clamp) => format!("{sum}, {each}clamped to {},{}", clamp.lo(), clamp.hi()),
            None => sum,
        }
    }

    /// What one person may contribute to one step, as a plan takes it: with the bound on ‖v‖₁ for
    /// pure ε, which Laplace noise covers, and with the bound on ‖v‖₂ otherwise. `event` is the range
    /// of the amount of an event, `None` if only sums are clamped.
    ///
    /// # Errors
    /// [`evertally::Error::BadParameter`] if nothing bounds the sum, if it can only be zero, or if the
    /// bound is not finite.
    pub fn contribution(&self, event: Option<(f64, f64)>, is_pure: bool) -> Result<Contribution> {
        let events = self.max_events.map_or(f64::INFINITY, above);
        let (low, high) = event.unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
        let mut range = (low.min(times(events, low)), high.max(times(events, high)));
        if let Some(clamp) = self.sum {
            range = (range.0.clamp(clamp.lo(), clamp.hi()), range.1.clamp(clamp.lo(), clamp.hi()));
        }
        let keys = above(self.keys());
        let largest = range.0.abs().max(range.1.abs());
        if keys == 1.0 || largest == 0.0 {
            return Ok(Contribution::range(range.0, range.1)?);
        }
        let mut total = times(keys, largest);
        if self.sum.is_none_or(|clamp| clamp.lo() <= 0.0 && clamp.hi() >= 0.0) {
            total = total.min(times(events, low.abs().max(high.abs())));
        }
        let full = (total / largest).floor();
        let rest = total - full * largest;
        let length = (full * largest * largest + rest * rest).sqrt();
        let bound = rounded_up(if is_pure { total } else { length });
        Ok(match range {
            (low, _) if low >= 0.0 => Contribution::range(0.0, bound)?,
            (_, high) if high <= 0.0 => Contribution::range(-bound, 0.0)?,
            _ => Contribution::range(-bound, bound)?,
        })
    }
}

/// A product in which nothing times anything is nothing, rounded away from zero.
fn times(count: f64, value: f64) -> f64 {
    if value == 0.0 {
        return 0.0;
    }
    let product = count * value;
    let is_exact = product.is_infinite() || count.mul_add(value, -product) == 0.0;
    match product > 0.0 {
        _ if is_exact => product,
        true => product.next_up(),
        false => product.next_down(),
    }
}

/// A double that is no smaller than the number.
fn above(number: u64) -> f64 {
    let nearest = number as f64;
    if number < 1 << f64::MANTISSA_DIGITS { nearest } else { nearest.next_up() }
}

fn rounded_up(bound: f64) -> f64 {
    (0..ROUNDINGS).fold(bound, |bound, _| bound.next_up())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clamp(lo: f64, hi: f64) -> Option<Clamp> {
        Some(Clamp::new(lo, hi).unwrap())
    }

    #[test]
    fn shares_that_bound_nothing_are_refused() {
        assert!(Share::new(None, 1, None).is_err());
        assert!(Share::new(Some(0), 1, None).is_err());
        assert!(Share::new(Some(1), 0, None).is_err());
        let only_zero = Share::new(None, 1, clamp(-3.0, 0.0)).unwrap();
        assert!(only_zero.contribution(Some((1.0, 1.0)), false).is_err(), "a sum of ones is never negative");
    }

    #[test]
    fn one_event_is_the_clamp_of_events() {
        let range = |lo, hi| Contribution::range(lo, hi).unwrap();
        assert_eq!(Share::default().contribution(Some((-2.0, 5.0)), false).unwrap(), range(-2.0, 5.0));
        let sum = Share::new(None, 1, clamp(0.0, 7.5)).unwrap();
        assert_eq!(sum.contribution(None, true).unwrap(), range(0.0, 7.5));
        assert_eq!(sum.contribution(Some((1.0, 1.0)), true).unwrap(), range(1.0, 7.5));
        let three = Share::new(Some(3), 1, None).unwrap();
        assert_eq!(three.contribution(Some((-2.0, 5.0)), false).unwrap(), range(-6.0, 15.0));
    }

    /// Every person with up to four events of three amounts in three keys.
    #[test]
    fn no_person_of_a_small_universe_exceeds_the_bounds_and_some_attain_them() {
        const AMOUNTS: [f64; 3] = [-1.0, 0.5, 2.0];
        let sums = [None, clamp(-1.5, 3.0), clamp(0.0, 2.5), clamp(1.0, 2.0), clamp(-4.0, -0.25)];
        for (events, keys) in (1..=4_u64).flat_map(|events| (1..=3_u64).map(move |keys| (events, keys))) {
            for sum in sums {
                let share = Share::new(Some(events), keys, sum).unwrap();
                let bound = |is_pure| share.contribution(Some((-1.0, 2.0)), is_pure).unwrap().magnitude();
                let (mut longest, mut largest) = (0.0_f64, 0.0_f64);
                for code in 0..10_usize.pow(events as u32) {
                    // Nine kinds of events, and none.
                    let mut added: [Option<f64>; 3] = [None; 3];
                    for place in 0..events as u32 {
                        let kind = code / 10_usize.pow(place) % 10;
                        if kind < 9 {
                            *added[kind / 3].get_or_insert(0.0) += AMOUNTS[kind % 3];
                        }
                    }
                    if added.iter().flatten().count() as u64 > keys {
                        continue;
                    }
                    let clamped = |added: f64| sum.map_or(added, |sum| added.clamp(sum.lo(), sum.hi()));
                    let added: Vec<f64> = added.into_iter().flatten().map(clamped).collect();
                    longest = longest.max(added.iter().map(|v| v * v).sum::<f64>().sqrt());
                    largest = largest.max(added.iter().map(|v| v.abs()).sum());
                }
                let name = format!("{}, {keys} keys", share.in_words(true));
                assert!(longest <= bound(false) && largest <= bound(true), "{name}: {longest}, {largest}");
                if sum.is_none() {
                    // The largest event in each key, and the rest in one of them.
                    assert!(longest > bound(false) * (1.0 - 1e-12), "{name}: {longest} {}", bound(false));
                    assert!(largest > bound(true) * (1.0 - 1e-12), "{name}");
                }
            }
        }
    }
}
