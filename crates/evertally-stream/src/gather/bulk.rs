//! Events by columns: the same totals, without an [`Event`](crate::Event) for each row.
//!
//! **Definition.** An event that competes with no other is a time, the place of its key and a value. One
//! that competes has a tag and an id in addition, and waits in a [`ClaimBatch`]. A reader that holds a
//! whole column looks up each distinct key and name once, and threads read with batches of their own.
//! **Guarantee.** [`Gather::push`] is the oracle: the tests compare the two on the same events.
//! **Cost.** One division and one addition per event, and a hash of the name of an event that competes.

use super::log::{ClaimBatch, Moment};
use super::{Gather, moment_of, open};
use crate::amount::Amount;
use crate::error::Result;
use crate::rules::Event;

impl Gather {
    /// Whether events can be added by columns. If some compete, there are [batches](Self::claim_batch)
    /// for them. Where a person counts once per key, keys stand for ids, and only events have them.
    #[must_use]
    pub fn takes_columns(&self) -> bool {
        !self.rules.share.is_once_per_key() && (self.log.is_some() || !self.rules.has_competition())
    }

    /// An empty batch for events that compete; `None` if none does.
    #[must_use]
    pub fn claim_batch(&self) -> Option<ClaimBatch> {
        self.log.as_ref().map(super::log::Log::batch)
    }

    /// Takes the events of a batch, which is empty then. They are decided at the end.
    ///
    /// # Errors
    /// [`Error::TooManyClaims`](crate::Error::TooManyClaims) and [`Error::Spill`](crate::Error::Spill),
    /// after which the input cannot be gathered.
    pub fn take(&mut self, batch: &mut ClaimBatch) -> Result<()> {
        match &mut self.log {
            Some(log) => log.take(batch),
            None => Ok(()),
        }
    }

    /// The place of a time among the steps.
    ///
    /// # Errors
    /// [`Error::OutsideRange`](crate::Error::OutsideRange).
    #[inline]
    pub fn moment_of(&self, time: i64) -> Result<Moment> {
        moment_of(&self.buckets, time)
    }

    /// Whether an event may name this key: any one where keys are declared, and a name otherwise.
    #[inline]
    #[must_use]
    pub fn takes_key(&self, key: Option<&str>) -> bool {
        !self.is_open || open::name_of(key).is_ok()
    }

    /// The place of a key among the totals of a step.
    #[must_use]
    pub fn place_of(&self, key: Option<&str>) -> usize {
        self.rules.position(key)
    }

    /// The cell of the table that an event of this time and place belongs to. An event of a step that is
    /// not taken belongs to a cell that is in no total.
    ///
    /// # Errors
    /// [`Error::OutsideRange`](crate::Error::OutsideRange).
    #[inline]
    pub fn cell_of(&self, time: i64, place: usize) -> Result<usize> {
        let step = self.buckets.step_of(time)?;
        if step < self.steps.start {
            return Ok(self.cells);
        }
        if step >= self.steps.end {
            return Ok(self.cells + 1);
        }
        // The table was allocated for every step and key.
        let row = (step - self.steps.start) as usize;
        Ok(row * self.rules.width() + self.rules.first_total(place))
    }

    /// What an event with this value counts for.
    ///
    /// # Errors
    /// Those of values.
    #[inline]
    pub fn amount_of(&self, value: Option<f64>) -> Result<Amount> {
        self.rules.amount(&Event { value, ..Event::default() })
    }

    /// Adds an event to the cell that [`cell_of`](Self::cell_of) gave.
    #[inline]
    pub fn add_to_cell(&mut self, cell: usize, amount: Amount) {
        if cell < self.cells {
            self.rules.add_at(&mut self.totals, cell, amount);
        } else {
            self.totals[cell] += Amount::ONE;
        }
    }

    /// Whether events before and after the steps of the table were added by columns.
    #[must_use]
    pub fn left_out(&self) -> [bool; 2] {
        [0, 1].map(|side| self.totals.get(self.cells + side).is_some_and(|count| *count != Amount::default()))
    }

    /// The bytes of the table.
    #[must_use]
    pub fn table_bytes(&self) -> usize {
        size_of_val(&self.totals[..])
    }

    /// The same declarations with totals of zero, for the events of a thread that do not compete.
    #[must_use]
    pub fn zeroed(&self) -> Self {
        let totals = vec![Amount::default(); self.totals.len()];
        let (buckets, rules, steps) = (self.buckets.clone(), self.rules.clone(), self.steps.clone());
        let (cells, is_open) = (self.cells, self.is_open);
        Self { buckets, rules, steps, totals, cells, log: None, run: None, is_open }
    }

    /// Adds the totals that another thread gathered under the same declarations.
    pub fn add_all(&mut self, other: &Self) {
        for (total, more) in self.totals.iter_mut().zip(&other.totals) {
            *total += *more;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::Outcome;
    use crate::amount::Clamp;
    use crate::buckets::Buckets;
    use crate::keys::KeySet;
    use crate::memory::Memory;
    use crate::rules::Rules;
    use evertally::NoiseKey;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn columns_give_what_events_give(
            events in prop::collection::vec((-1_000_000_i64..5_000_000, 0_usize..4, prop::option::of(-9.0..9.0)), 0..80),
            clamped in any::<bool>(),
            is_mean in any::<bool>(),
            run in prop::option::of((0_u64..4, 0_u64..5)),
        ) {
            let names = [Some("a"), Some(" b "), Some("undeclared"), None];
            let rules = Rules {
                keys: Some(KeySet::new(["a", "b"]).unwrap()),
                clamp: clamped.then(|| Clamp::new(-1.5, 2.0).unwrap()),
                is_mean,
                ..Rules::default()
            };
            let buckets = Buckets::new(0, "1s".parse().unwrap(), 4).unwrap();
            let some = |(first, end): (u64, u64)| {
                let memory = Memory::new(&rules, &NoiseKey::insecure_from_seed(1), b"x").unwrap();
                Gather::of_steps(buckets.clone(), rules.clone(), memory, first..end.max(first), 1 << 20)
            };
            let all = || Gather::new(buckets.clone(), rules.clone(), 1 << 20);
            let mut by_events = run.map_or_else(all, some).unwrap();
            let mut left_out = [false; 2];
            let mut halves = [by_events.zeroed(), by_events.zeroed()];
            prop_assert!(by_events.takes_columns());
            for (number, (time, key, value)) in events.into_iter().enumerate() {
                let pushed = by_events.push(&Event { time, key: names[key], value, ..Event::default() });
                for (side, outcome) in [Outcome::Late, Outcome::Early].into_iter().enumerate() {
                    left_out[side] |= pushed == Ok(Some(outcome));
                }
                let half = &mut halves[number % 2];
                match half.cell_of(time, half.place_of(names[key])) {
                    Ok(cell) => half.add_to_cell(cell, half.amount_of(value).ok().unwrap()),
                    Err(error) => prop_assert_eq!(pushed, Err(error)),
                }
            }
            let [mut sum, other] = halves;
            sum.add_all(&other);
            prop_assert_eq!(sum.left_out(), left_out);
            let totals = |gather: Gather| gather.finish().unwrap().flat_map(|step| step.totals).collect::<Vec<_>>();
            prop_assert!(totals(sum) == totals(by_events));
        }
    }
}
