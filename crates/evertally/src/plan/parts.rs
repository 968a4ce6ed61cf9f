//! A plan in parts: the same plan for other keys, so that several machines can count some of them each.
//!
//! **Definition.** [`Plan::with_keys`] keeps everything that was decided — the mechanism, its noise scale, the units, the name of the stream — and
//! changes the declared keys alone. Of a plan for open keys it declares some.
//!
//! **Guarantee.** A key's noise is told by its name and by what the plan decided, and not by the keys beside it ([`crate::noise::KeyedField`]): under
//! one noise key it is the same noise, bit for bit, in the whole plan and in every part that declares the key. Parts that have no key in common
//! therefore make the releases of the whole plan, in pieces: all of them together spend the budget once, because a contribution counts for
//! one key and so in one part.
//!
//! **Cost.** No planning: one check of the names, and one of the memory that a counter of the part holds.

use std::sync::Arc;

use super::builder::check_keys;
use super::cost::check_limit;
use super::{Inner, Lanes, Plan};
use crate::{Error, Result};

impl Plan {
    /// The same plan for other declared keys, without planning again.
    ///
    /// The noise of a key is what it is in this plan, so that counters of several parts under one noise key release together what one counter of all
    /// keys would, bit for bit. They spend the budget once, provided that **no key is in two of the parts**: a key that two counters
    /// count has the same noise in both, and the difference of their releases would be bare.
    ///
    /// A part has a fingerprint of its own: its counters do not resume the states of other parts. The limit on memory holds for each part.
    ///
    /// ```
    /// use evertally::{Budget, KeyedCounter, NoiseKey, Plan};
    /// let whole = Plan::prefix_sum(24).budget(Budget::new(1.0, 1e-6)?).keys(["north", "south", "west"]).build()?;
    /// let part = whole.with_keys(["west", "north"])?;
    /// let key = || NoiseKey::insecure_from_seed(1);
    /// let all = KeyedCounter::new(&whole, key())?.step(&[12.0, 7.0, 5.0])?;
    /// let some = KeyedCounter::new(&part, key())?.step(&[5.0, 12.0])?;
    /// assert_eq!(some, [all[2], all[0]]);
    /// # Ok::<(), evertally::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::BadParameter`] unless this is a plan for keys, declared or open, and for keys that a builder would refuse;
    /// [`Error::TooCostly`] if a counter of so many keys would hold more than the limit on memory.
    pub fn with_keys<K: Into<String>>(&self, keys: impl IntoIterator<Item = K>) -> Result<Self> {
        if !self.lanes().are_named() {
            // A single total and a vector have noise that no key has.
            return Err(Error::bad("plan", "one for keys to be given others", self.lanes().shape()));
        }
        let keys: Vec<String> = keys.into_iter().map(Into::into).collect();
        check_keys(&keys)?;
        let inner = Inner { lanes: Arc::new(Lanes::Keyed { keys }), ..Inner::clone(&self.inner) };
        let plan = Self { inner: Arc::new(inner) };
        check_limit(plan.mechanism(), plan.cost(), plan.lanes(), plan.memory_limit())?;
        Ok(plan)
    }
}
