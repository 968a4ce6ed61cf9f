//! Raw events, and what a face declares about them: keys, clamp, bound, ids.

use crate::admission::Admission;
use crate::amount::{Amount, Clamp};
use crate::contribution::{ContributionBound, KnownIds};
use crate::decide::Counted;
use crate::error::Result;
use crate::keys::KeySet;
use crate::memory::{Ids, Persons};
use crate::names::given_name;
use crate::share::Share;
use evertally::Participation;

/// One raw event. No `Debug`: everything in it is private.
#[derive(Clone, Copy, Default)]
pub struct Event<'a> {
    /// When it happened, in microseconds since 1970-01-01T00:00:00Z.
    pub time: i64,
    /// What it belongs to, if keys are declared.
    pub key: Option<&'a str>,
    /// Whose it is, if contributions are bounded.
    pub person: Option<&'a str>,
    /// Its identity, if duplicates are dropped.
    pub id: Option<&'a str>,
    /// Its value, if values are summed.
    pub value: Option<f64>,
}

/// What is declared about events. Without any declaration, every event counts as one under a single
/// total.
#[derive(Clone, Default)]
pub struct Rules {
    /// One total for each key of this set.
    pub keys: Option<KeySet>,
    /// Events count for their clamped value; an event without a value counts as one, clamped.
    pub clamp: Option<Clamp>,
    /// Persons are bounded.
    pub limits: Option<Participation>,
    /// What a person may add to one step, where persons are bounded. With [`Share::once_per_key`], keys
    /// are declared, `limits` are [`Share::limits`], and `has_ids` is true: a key is an id.
    pub share: Share,
    /// Events count for two totals of their key, from which a mean follows: how far their clamped
    /// value is above the low end of the clamp, and how far below its high end
    /// ([`Clamp::distances`]). It needs a clamp, and at most one event of a person in a step.
    pub is_mean: bool,
    /// A second event with the id of one that counted is dropped: copies of an event are the event.
    pub has_ids: bool,
}

impl Rules {
    /// The number of totals in each step.
    #[must_use]
    pub fn width(&self) -> usize {
        self.totals_per_key() * self.keys.as_ref().map_or(1, |keys| keys.names().len())
    }

    /// The clamp whose ends are what an event's two distances are from.
    fn split(&self) -> Option<&Clamp> {
        self.clamp.as_ref().filter(|_| self.is_mean)
    }

    fn totals_per_key(&self) -> usize {
        if self.split().is_some() { 2 } else { 1 }
    }

    /// Whether any event may compete with another.
    pub(crate) fn has_competition(&self) -> bool {
        self.limits.is_some() || self.has_ids
    }

    /// Whether an event names nobody although persons are bounded. Then its step does not matter.
    pub(crate) fn is_unnamed(&self, event: &Event<'_>) -> bool {
        self.limits.is_some() && given_name(event.person).is_none()
    }

    /// What an event counts for, if it counts.
    pub(crate) fn amount(&self, event: &Event<'_>) -> Result<Amount> {
        match (&self.clamp, event.value) {
            (Some(clamp), value) => clamp.apply(value.unwrap_or(1.0)),
            (None, Some(value)) => Amount::nearest(value),
            (None, None) => Ok(Amount::ONE),
        }
    }

    /// The event as admission sees it. Where a person counts once per key, the key is the id: another
    /// event of the same key is a copy.
    pub(crate) fn identified<'a>(&'a self, event: &Event<'a>) -> Event<'a> {
        let keys = self.keys.as_ref().filter(|_| self.share.is_once_per_key());
        match keys {
            Some(keys) => {
                let id = keys.names().get(self.position(event.key)).map(String::as_str);
                Event { id, ..*event }
            }
            None => *event,
        }
    }

    /// The place of a key among the declared ones.
    pub(crate) fn position(&self, key: Option<&str>) -> usize {
        self.keys.as_ref().map_or(0, |keys| keys.position(key.unwrap_or_default()))
    }

    /// The place of the first total of a key among the totals of a step.
    pub(crate) fn first_total(&self, place: usize) -> usize {
        self.totals_per_key() * place
    }

    /// Adds what counts to the totals of a step.
    #[inline]
    pub(crate) fn add(&self, totals: &mut [Amount], (place, amount): Counted) {
        self.add_at(totals, self.first_total(place), amount);
    }

    /// Adds an amount to totals, of which the first of its key is at this index.
    #[inline]
    pub(crate) fn add_at(&self, totals: &mut [Amount], first: usize, amount: Amount) {
        match self.split() {
            None => totals[first] += amount,
            Some(clamp) => {
                let [above, below] = clamp.distances(amount);
                totals[first] += above;
                totals[first + 1] += below;
            }
        }
    }

    /// Admission under these rules, with stores in memory, before the first event.
    pub(crate) fn admission(&self) -> Admission<Ids, Persons> {
        Admission {
            ids: self.has_ids.then(|| Ids::Here(KnownIds::default())),
            persons: self.limits.map(|limits| Persons::Here(ContributionBound::new(limits))),
        }
    }
}
