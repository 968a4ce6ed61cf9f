//! A plan in parts: the same plan for other keys, so that several machines can share the keys.
//!
//! **Definition.** [`Plan::part`] keeps everything that was decided — the mechanism, its noise
//! scale, the units, the name of the noise — and changes the keys that are counted.
//! [`Plan::with_keys`] makes another plan: the one that a builder would have made for those
//! keys.
//!
//! **Guarantee.** Within a plan, a key's noise is derived from the key's name, and not from the
//! other keys of the part ([`crate::noise::KeyedField`]). Under one noise key it is the
//! same noise, bit for bit, in the full plan and in every part that has the key. Parts without a
//! common key therefore make the releases of the full plan, in pieces. Together they spend the
//! budget of the full plan once.
//!
//! A plan that declares other keys is another plan, with independent noise for every key. The
//! meaning of `other` depends on the other keys, and under common noise the difference of two
//! releases would be exact.
//!
//! **Cost.** No planning. The names are checked, and the memory of a counter of the part.

use std::sync::Arc;

use super::cost::check_limit;
use super::name::keys_digest;
use super::planner::check_keys;
use super::{Inner, Plan};
use crate::spec::Shape;
use crate::{Error, Result};

impl Plan {
    /// A part of this plan: the same plan for other keys, without planning again.
    ///
    /// A key has the same noise as in this plan. Counters of several parts under one noise key
    /// together make the releases of one counter of all keys, bit for bit. They spend the budget
    /// once, provided that **no key is in two of the parts**: a key that two counters count has the
    /// same noise in both, and the difference of their releases would have no noise.
    ///
    /// A part has its own fingerprint, so its counters do not resume the states of other parts, and
    /// the spec of the full plan ([`Plan::spec`]). The memory limit applies to each part.
    ///
    /// ```
    /// use evertally::{Budget, KeyedCounter, NoiseKey, Plan};
    /// let budget = Budget::new(1.0, 1e-6)?;
    /// let whole = Plan::prefix_sum(24).budget(budget).keys(["north", "south", "west"]).build()?;
    /// let part = whole.part(["west", "north"])?;
    /// let key = || NoiseKey::insecure_from_seed(1);
    /// let all = KeyedCounter::new(&whole, key())?.step(&[12.0, 7.0, 5.0])?;
    /// let some = KeyedCounter::new(&part, key())?.step(&[5.0, 12.0])?;
    /// assert_eq!(some, [all[2], all[0]]);
    /// # Ok::<(), evertally::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::BadParameter`] unless this is a plan for keys, declared or open, and for keys that
    /// a builder would refuse. [`Error::TooCostly`] if a counter of these keys would exceed the
    /// memory limit.
    pub fn part<K: Into<String>>(&self, keys: impl IntoIterator<Item = K>) -> Result<Self> {
        if !self.shape().is_keyed() {
            // The noise of a single total or a vector belongs to no key.
            return Err(Error::bad("plan", "one for keys to be given others", self.shape().kind()));
        }
        let keys: Vec<String> = keys.into_iter().map(Into::into).collect();
        check_keys(&keys)?;
        let whole = self.inner.whole.clone().or_else(|| Some(self.inner.shape.clone()));
        let inner = Inner { shape: Arc::new(Shape::Keyed { keys }), whole, ..Inner::clone(&self.inner) };
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
    /// let declared = open.with_keys(["north", "south"])?;
    /// assert_ne!(declared.noise_name(), open.noise_name());
    /// assert_eq!(declared.noise_name(), builder()?.keys(["south", "north"]).build()?.noise_name());
    /// # Ok::<(), evertally::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Plan::part`].
    pub fn with_keys<K: Into<String>>(&self, keys: impl IntoIterator<Item = K>) -> Result<Self> {
        let part = self.part(keys)?;
        let Shape::Keyed { keys } = part.shape() else { return Ok(part) };
        let declared_keys = Some(keys_digest(keys));
        let inner = Inner { declared_keys, whole: None, ..Inner::clone(&part.inner) };
        Ok(Self { inner: Arc::new(inner) })
    }
}
