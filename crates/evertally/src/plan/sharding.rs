//! A plan in parts: the same plan for other keys, so that several machines can share the keys.
//!
//! **Definition.** [`Plan::with_keys`] keeps everything that was decided — the mechanism, its noise
//! scale, the units, the name of the noise — and changes the keys that are counted.
//! [`Plan::declaring_keys`] makes another plan of it, the one that a builder would have made for
//! those keys.
//!
//! **Guarantee.** Within a plan, a key's noise is derived from the key's name, and not from the
//! keys that a part counts beside it ([`crate::noise::KeyedField`]). Under one noise key it is the
//! same noise, bit for bit, in the whole plan and in every part that has the key. Parts that have
//! no key in common therefore make the releases of the whole plan, in pieces. All of them together
//! spend the budget once, because a contribution counts for one key and so in one part.
//!
//! A plan that declares other keys is another plan, with independent noise for every key: what
//! `other` means changes with the keys beside it, and under common noise the difference of two
//! releases would be exact.
//!
//! **Cost.** No planning: one check of the names, and one of the memory that a counter of the part holds.

use std::sync::Arc;

use super::cost::check_limit;
use super::name::keys_digest;
use super::planner::check_keys;
use super::{Inner, Plan};
use crate::spec::Shape;
use crate::{Error, Result};

impl Plan {
    /// The same plan for other declared keys, without planning again.
    ///
    /// The noise of a key is what it is in this plan, so that counters of several parts under one
    /// noise key release together what one counter of all keys would, bit for bit. They spend the
    /// budget once, provided that **no key is in two of the parts**: a key that two counters count
    /// has the same noise in both, and the difference of their releases would be bare.
    ///
    /// A part has a fingerprint of its own: its counters do not resume the states of other parts.
    /// The limit on memory holds for each part.
    ///
    /// ```
    /// use evertally::{Budget, KeyedCounter, NoiseKey, Plan};
    /// let budget = Budget::new(1.0, 1e-6)?;
    /// let whole = Plan::prefix_sum(24).budget(budget).keys(["north", "south", "west"]).build()?;
    /// let part = whole.with_keys(["west", "north"])?;
    /// let key = || NoiseKey::insecure_from_seed(1);
    /// let all = KeyedCounter::new(&whole, key())?.step(&[12.0, 7.0, 5.0])?;
    /// let some = KeyedCounter::new(&part, key())?.step(&[5.0, 12.0])?;
    /// assert_eq!(some, [all[2], all[0]]);
    /// # Ok::<(), evertally::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::BadParameter`] unless this is a plan for keys, declared or open, and for keys that
    /// a builder would refuse; [`Error::TooCostly`] if a counter of these keys would hold more
    /// than the limit on memory.
    pub fn with_keys<K: Into<String>>(&self, keys: impl IntoIterator<Item = K>) -> Result<Self> {
        if !self.shape().is_keyed() {
            // A single total and a vector have noise that no key has.
            return Err(Error::bad("plan", "one for keys to be given others", self.shape().kind()));
        }
        let keys: Vec<String> = keys.into_iter().map(Into::into).collect();
        check_keys(&keys)?;
        let inner = Inner { shape: Arc::new(Shape::Keyed { keys }), ..Inner::clone(&self.inner) };
        let plan = Self { inner: Arc::new(inner) };
        check_limit(plan.mechanism(), plan.cost(), plan.shape(), plan.memory_limit())?;
        Ok(plan)
    }

    /// The plan that a builder would have made for these keys, without planning again. Its noise is
    /// independent of that of this plan.
    ///
    /// ```
    /// use evertally::{Budget, Plan};
    /// let builder = || Ok::<_, evertally::Error>(Plan::prefix_sum(24).budget(Budget::new(1.0, 1e-6)?));
    /// let open = builder()?.open_keys().build()?;
    /// let declared = open.declaring_keys(["north", "south"])?;
    /// assert_ne!(declared.noise_name(), open.noise_name());
    /// assert_eq!(declared.noise_name(), builder()?.keys(["south", "north"]).build()?.noise_name());
    /// # Ok::<(), evertally::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Plan::with_keys`].
    pub fn declaring_keys<K: Into<String>>(&self, keys: impl IntoIterator<Item = K>) -> Result<Self> {
        let part = self.with_keys(keys)?;
        let Shape::Keyed { keys } = part.shape() else { return Ok(part) };
        let inner = Inner { declared_keys: Some(keys_digest(keys)), ..Inner::clone(&part.inner) };
        Ok(Self { inner: Arc::new(inner) })
    }
}
