//! The same counts with fresh noise.
//!
//! **What it costs.** The whole budget of the discovery once more, δ_key included: what was released before
//! and what follows are two discoveries of the same persons. Which keys have appeared is public by then, so
//! that they stay is a choice of the second one that depends on no data (docs/discovery.md).

use std::collections::HashSet;

use super::Discovery;
use super::counter::{Awake, DiscoveringCounter, Shown, may_name};
use crate::counter::{Candidates, SparseCounter};
use crate::noise::NoiseKey;
use crate::{Error, Result};

impl DiscoveringCounter {
    /// The same counts after the same number of steps, with noise of another stream
    /// ([`Discovery::with_stream`]) or key. Keys that have appeared stay. **It spends the budget of the
    /// discovery once more.**
    ///
    /// `names` include those of all keys that had inputs: records are found by hashes of names, so the
    /// counter does not know the names of keys below the floor. Names without inputs change nothing.
    ///
    /// ```
    /// use evertally::{Budget, DiscoveringCounter, NoiseKey, Plan};
    /// let discovery = Plan::discover(365).budget(Budget::new(1.0, 1e-6)?).build()?;
    /// let mut counter = DiscoveringCounter::new(&discovery, NoiseKey::from_os()?)?;
    /// counter.add("/", 1000.0, 1000)?;
    /// counter.add("/draft", 1.0, 1)?;
    /// let again = discovery.with_stream("after the backup");
    /// let mut fresh = counter.with_fresh_noise(&again, NoiseKey::from_os()?, ["/", "/draft"])?;
    /// assert_eq!(fresh.close_step()?.len(), 1);
    /// # Ok::<(), evertally::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::BadParameter`] for another discovery, for noise that is not fresh, and if a name is missing
    /// or comes twice.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "a caller who uses a key twice must see that they copied it"
    )]
    pub fn with_fresh_noise<'a>(
        &self,
        discovery: &Discovery,
        key: NoiseKey,
        names: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self> {
        let alike = |one: &Discovery| {
            let one = one.with_stream("");
            [one.persons.fingerprint(), one.totals.fingerprint()]
        };
        if alike(discovery) != alike(&self.discovery) {
            return Err(Error::bad(
                "discovery",
                "the counter's own, but for the name of its stream",
                "another",
            ));
        }
        let is_same = discovery.persons.fingerprint() == self.discovery.persons.fingerprint();
        if is_same && key.tag() == self.persons.key_tag() {
            return Err(Error::bad("noise", "of another stream or key", "what the counter runs on already"));
        }
        let persons = SparseCounter::starting_at(discovery.persons(), &key, self.closed, [])?;
        let counted = self.shown.iter().map(|key| (&*key.name, key.counted));
        let totals = SparseCounter::starting_at(discovery.totals(), &key, self.closed, counted)?;
        let mut fresh = Self::of(discovery, persons, totals);
        fresh.take_over(self, names)?;
        Ok(fresh)
    }

    /// Takes the counts of another counter, key by key.
    fn take_over<'a>(&mut self, other: &Self, names: impl IntoIterator<Item = &'a str>) -> Result<()> {
        let shown: HashSet<u32> = other.shown.iter().map(|key| key.place).collect();
        let mut tagger = other.tagger.clone();
        // Where the candidates of the other counter are in this one.
        let mut places = vec![None; other.candidates.len()];
        for name in names {
            let Some(from) = other.candidates.find(tagger.tag(name.as_bytes())) else { continue };
            let tag = self.tagger.tag(name.as_bytes());
            if !may_name(name) || places[from as usize].is_some() || self.candidates.find(tag).is_some() {
                return Err(not_all());
            }
            let candidate = other.candidates.get(from);
            let place = self.candidates.insert(tag);
            self.candidates.set(place, candidate);
            places[from as usize] = Some(place);
            self.held += Candidates::bytes_per_candidate();
            if candidate.persons >= self.discovery.floor() {
                self.held += self.bytes_awake(name);
                if !shown.contains(&from) {
                    self.awake.push(Awake { name: name.into(), place });
                }
            }
        }
        if places.iter().any(Option::is_none) {
            return Err(not_all());
        }
        for key in &other.shown {
            let place = places[key.place as usize].ok_or_else(not_all)?;
            let Shown { name, since, counted, .. } = key;
            self.shown.push(Shown { name: name.clone(), place, since: *since, counted: *counted });
        }
        Ok(())
    }
}

/// Says neither which name was wrong nor how many there are.
fn not_all() -> Error {
    Error::bad("names", "those of all keys that had inputs, each once", "others")
}
