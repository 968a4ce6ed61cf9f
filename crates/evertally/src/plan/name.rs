//! How a plan's choices become the name of its noise.
//!
//! `second` writes the names of today, as fields. `first` keeps the text of version 0.1.

pub(crate) mod first;
mod second;
#[cfg(test)]
mod tests;
pub mod version_1;

use super::Plan;
use crate::noise_name::{Fields, Layout, Naming, NoiseName, Purpose, Value};
use crate::spec::Shape;
pub(super) use second::keys_digest;

impl Plan {
    /// The name of this plan's noise. Counters of plans with other names have independent noise
    /// under one key.
    ///
    /// A part of a plan ([`Plan::part`]) has the name of the full plan.
    #[must_use]
    pub fn noise_name(&self) -> NoiseName {
        NoiseName::new(match self.naming() {
            Naming::First => first::of(self).into_bytes(),
            Naming::Second => second::of(self),
        })
    }

    /// The name under which the inputs of this plan's counters are recorded. It is the name of the
    /// noise. For a part of a plan ([`Plan::part`]) it also contains the keys of the part,
    /// because each part has its own inputs.
    ///
    /// A record identifies a part by all of its keys. It does not detect that one key is in two
    /// parts.
    #[must_use]
    pub fn record_name(&self) -> NoiseName {
        let Shape::Keyed { keys } = self.shape() else { return self.noise_name() };
        let part = keys_digest(keys);
        if self.naming() == Naming::Second && self.declared_keys() == Some(part) {
            return self.noise_name();
        }
        let mut fields = Fields::new(*b"EVNQ", 2);
        fields.put(1, Value::new().raw(self.noise_name().as_bytes()));
        fields.put(2, Value::new().raw(&part));
        NoiseName::new(fields.into_bytes())
    }

    /// The label of one of the streams of this plan.
    pub(crate) fn stream_label(&self, purpose: Purpose, layout: Layout) -> Vec<u8> {
        match self.naming() {
            Naming::First => first::label(self, purpose, layout).into_bytes(),
            Naming::Second => second::label(self, purpose, layout),
        }
    }
}
