//! The identity of a run: the name of its noise, and the fingerprint of its states.
//!
//! **Guarantee.** Runs that differ in any choice, even only in λ, have independent noise under one
//! key: they take gradients at other parameters, and common noise would cancel between them. The
//! segments of a run have independent noise too.
//!
//! Version 2 encodes every choice as fields ([`evertally::internals::noise_name`]). Version 1 is the
//! text that 0.1 wrote, kept word for word for states that started under it.

use evertally::internals::noise_name::{Fields, Value, version_1};
use evertally::{NoiseName, Plan};

use super::{LearningPlan, Update};
use crate::schedule::Schedule;
use crate::set::Set;

const MAGIC: [u8; 4] = *b"EVNL";
const VERSION: u8 = 2;

impl LearningPlan {
    /// The plan of a segment. Segments differ only in the name of their noise.
    pub(crate) fn segment(&self, number: u64) -> Plan {
        if self.segment.has_first_noise_name() {
            let run = blake3::Hash::from_bytes(self.fingerprint()).to_hex();
            return self.segment.with_stream(format!("learning {number}|{run}"));
        }
        let mut fields = Fields::new(MAGIC, VERSION);
        fields.put(1, Value::new().integer(number));
        fields.put(2, Value::new().raw(&self.fingerprint()));
        self.segment.with_definition(fields.into_bytes())
    }

    /// The name under which a run's gradients are recorded: that of the noise of its first segment,
    /// which holds the fingerprint of the whole run.
    #[must_use]
    pub fn noise_name(&self) -> NoiseName {
        self.segment(0).noise_name()
    }

    /// What a saved state must have in common with the plan that resumes it.
    #[must_use]
    pub fn fingerprint(&self) -> [u8; 32] {
        if self.segment.has_first_noise_name() {
            return self.first_fingerprint();
        }
        let mut fields = Fields::new(MAGIC, VERSION);
        fields.put(3, Value::new().raw(&self.segment.fingerprint()));
        fields.put(4, Value::new().integer(self.segments.length).integer(self.segments.steps));
        fields.put(5, self.segments.participation.name_value());
        fields.put(6, self.budget.name_value());
        fields.put(7, Value::new().integer(self.batch_size as u64).real(self.clip).real(self.momentum));
        fields.put(8, set_value(self.set));
        fields.put(9, update_value(self.update));
        let start = self.start.iter().fold(Value::new(), |value, theta| value.real(*theta));
        fields.put(10, start);
        blake3::derive_key("evertally learning plan fingerprint 2", &fields.into_bytes())
    }

    /// The same run with the noise that version 0.1 gave it. Use it only for states that started
    /// under version 0.1.
    #[must_use]
    pub fn with_first_noise_name(&self) -> Self {
        Self { segment: self.segment.with_first_noise_name(), ..self.clone() }
    }

    fn first_fingerprint(&self) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new_derive_key("evertally learning plan fingerprint 1");
        hasher.update(&self.segment.fingerprint());
        let (segments, momentum) = (self.segments, self.momentum.to_bits());
        let words = format!(
            "{}|{}|{}|{}|{}|{}|{}|{momentum}|{}",
            segments.length,
            segments.steps,
            version_1::participation(segments.participation),
            self.batch_size,
            self.clip.to_bits(),
            set_words(self.set),
            update_words(self.update),
            version_1::budget(self.budget)
        );
        hasher.update(words.as_bytes());
        self.start.iter().for_each(|value| {
            hasher.update(&value.to_le_bytes());
        });
        *hasher.finalize().as_bytes()
    }
}

fn set_value(set: Set) -> Value {
    match set {
        Set::Everything => Value::new().code(0),
        Set::Ball { radius } => Value::new().code(1).real(radius),
        Set::Box { lo, hi } => Value::new().code(2).real(lo).real(hi),
    }
}

fn update_value(update: Update) -> Value {
    match update {
        Update::Leader { regularization } => Value::new().code(0).real(regularization),
        Update::Descent { rate } => {
            let shape = match rate {
                Schedule::Constant(_) => 0,
                Schedule::Linear(_) => 1,
                Schedule::Cosine(_) => 2,
                Schedule::InverseRoot(_) => 3,
            };
            Value::new().code(1).code(shape).real(rate.first())
        }
    }
}

fn set_words(set: Set) -> String {
    match set {
        Set::Everything => "Everything".to_owned(),
        Set::Ball { radius } => format!("Ball {{ radius: {radius:?} }}"),
        Set::Box { lo, hi } => format!("Box {{ lo: {lo:?}, hi: {hi:?} }}"),
    }
}

fn update_words(update: Update) -> String {
    match update {
        Update::Leader { regularization } => format!("Leader {{ regularization: {regularization:?} }}"),
        Update::Descent { rate } => {
            let shape = match rate {
                Schedule::Constant(_) => "Constant",
                Schedule::Linear(_) => "Linear",
                Schedule::Cosine(_) => "Cosine",
                Schedule::InverseRoot(_) => "InverseRoot",
            };
            format!("Descent {{ rate: {shape}({:?}) }}", rate.first())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Noise of 0.1 depends on these texts, which were the `Debug` of the types at the time.
    #[test]
    fn words_of_version_1_are_frozen() {
        for (set, words) in [
            (Set::Everything, "Everything"),
            (Set::Ball { radius: 10.0 }, "Ball { radius: 10.0 }"),
            (Set::Box { lo: -0.5, hi: 1e20 }, "Box { lo: -0.5, hi: 1e20 }"),
        ] {
            assert_eq!(set_words(set), words);
        }
        let descent = |rate| Update::Descent { rate };
        for (update, words) in [
            (Update::Leader { regularization: 0.25 }, "Leader { regularization: 0.25 }"),
            (descent(Schedule::Constant(0.1)), "Descent { rate: Constant(0.1) }"),
            (descent(Schedule::Linear(1.0)), "Descent { rate: Linear(1.0) }"),
            (descent(Schedule::Cosine(1e-9)), "Descent { rate: Cosine(1e-9) }"),
            (descent(Schedule::InverseRoot(2.0)), "Descent { rate: InverseRoot(2.0) }"),
        ] {
            assert_eq!(update_words(update), words);
        }
    }
}
