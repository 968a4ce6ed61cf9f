//! The stored form of a spec.

use super::{Discover, Spec};
use crate::error::{Error, Result};
use evertally::{Mechanism, Neighbours, Objective, PlanSpec, Workload};
use evertally_stream::BucketLength;
use serde::{Deserialize, Serialize};

/// A spec as the ledger stores it. Its text is hashed, so that names, order and forms of the fields
/// stay what version 0.1 wrote.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StoredSpec {
    name: String,
    description: Option<String>,
    population: String,
    every_micros: Option<i64>,
    start_micros: Option<i64>,
    grace_micros: Option<i64>,
    steps: Option<u64>,
    epsilon: f64,
    delta: f64,
    mechanism: Option<Mechanism>,
    workload: Workload,
    keys: Vec<String>,
    participation: Option<(u64, u64)>,
    clamp: Option<(f64, f64)>,
    neighbours: Neighbours,
    objective: Objective,
    grid: Option<f64>,
    remember_ids: Option<u64>,
    /// Absent in the text of version 0.1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    noise_name: Option<u8>,
    /// Absent unless different persons are counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    distinct: Option<u64>,
    /// Absent unless keys are found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    discover: Option<StoredDiscover>,
}

/// How keys are found, with everything filled in.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredDiscover {
    key_delta: Option<f64>,
    share: Option<f64>,
    floor: Option<u64>,
    memory_limit: Option<u64>,
    persons_mechanism: Option<Mechanism>,
}

impl From<Discover> for StoredDiscover {
    fn from(discover: Discover) -> Self {
        let Discover { key_delta, share, floor, memory_limit, persons_mechanism } = discover;
        Self { key_delta, share, floor, memory_limit, persons_mechanism }
    }
}

impl From<StoredDiscover> for Discover {
    fn from(stored: StoredDiscover) -> Self {
        let StoredDiscover { key_delta, share, floor, memory_limit, persons_mechanism } = stored;
        Self { key_delta, share, floor, memory_limit, persons_mechanism }
    }
}

impl From<&Spec> for StoredSpec {
    fn from(spec: &Spec) -> Self {
        let plan = &spec.plan;
        Self {
            name: spec.name.clone(),
            description: spec.description.clone(),
            population: spec.population.clone(),
            every_micros: spec.every.map(BucketLength::micros),
            start_micros: spec.start,
            grace_micros: spec.grace.map(BucketLength::micros),
            steps: plan.horizon.steps(),
            epsilon: plan.budget.epsilon.unwrap_or_default(),
            delta: plan.budget.delta.unwrap_or_default(),
            mechanism: plan.mechanism,
            workload: plan.workload,
            keys: spec.declared_keys().to_vec(),
            participation: spec
                .person_bound()
                .filter(|_| spec.distinct.is_none())
                .map(|bound| (bound.max_steps(), bound.min_gap())),
            clamp: spec.value_range().map(|range| (range.lo(), range.hi())),
            neighbours: plan.neighbours,
            objective: plan.objective,
            grid: plan.grid,
            remember_ids: spec.remember_ids,
            noise_name: Some(spec.noise_name).filter(|version| *version != 1),
            distinct: spec.distinct,
            discover: spec.discover.map(StoredDiscover::from),
        }
    }
}

impl StoredSpec {
    /// The same without names and times, on which no plan depends.
    pub(super) fn anonymous(self) -> Self {
        let (name, population) = (String::new(), String::new());
        Self { name, population, description: None, start_micros: None, ..self }
    }

    /// Its text in the ledger.
    pub(crate) fn text(&self) -> Result<String> {
        serde_json::to_string(self).map_err(|error| Error::system("a counter cannot be written", &error))
    }

    pub(crate) fn spec(self) -> Result<Spec> {
        let length = |micros: Option<i64>| micros.map(BucketLength::from_micros).transpose();
        let mut spec = Spec::new(&self.name, &self.population, self.epsilon, self.delta)
            .steps(self.steps)
            .keys(self.keys);
        if let Some((max_steps, min_gap)) = self.participation {
            spec = spec.persons(max_steps, min_gap)?;
        }
        if let Some(max_keys) = self.distinct {
            spec = spec.distinct(max_keys)?;
        }
        if let Some((lo, hi)) = self.clamp {
            spec = spec.values(lo, hi)?;
        }
        Ok(Spec {
            description: self.description,
            every: length(self.every_micros)?,
            start: self.start_micros,
            grace: length(self.grace_micros)?,
            plan: PlanSpec {
                mechanism: self.mechanism,
                workload: self.workload,
                neighbours: self.neighbours,
                objective: self.objective,
                grid: self.grid,
                ..spec.plan
            },
            remember_ids: self.remember_ids,
            noise_name: self.noise_name.unwrap_or(1),
            discover: self.discover.map(Discover::from),
            ..spec
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evertally::{Arithmetic, Calibration, Participation, Shape};

    /// The text is hashed into the chain of frames: one character more and a ledger does not open.
    #[test]
    fn the_text_is_what_0_1_wrote() {
        let text = concat!(
            r#"{"name":"keyed","description":null,"population":"everyone","every_micros":1000000,"#,
            r#""start_micros":1700000000000000,"grace_micros":null,"steps":1000,"epsilon":900.0,"#,
            r#""delta":1e-6,"mechanism":"graded-square-root","workload":"window:60","#,
            r#""keys":["north"],"participation":[2,3],"clamp":[0.0,10.0],"neighbours":"add-remove","#,
            r#""objective":"mean","grid":0.5,"remember_ids":86400}"#
        );
        let spec = serde_json::from_str::<StoredSpec>(text).unwrap().spec().unwrap();
        assert_eq!((spec.noise_name, spec.bounds_persons, spec.takes_values), (1, true, true));
        assert_eq!(StoredSpec::from(&spec).text().unwrap(), text);
        let newer = Spec { noise_name: 2, ..spec };
        let text = text.replace("86400}", r#"86400,"noise_name":2}"#);
        assert_eq!(StoredSpec::from(&newer).text().unwrap(), text);
    }

    #[test]
    fn what_cannot_be_stored_is_refused() {
        let spec = || Spec::new("a", "everyone", 1.0, 1e-6).steps(10);
        assert!(spec().plan(0).is_ok());
        let plan = || spec().plan;
        let mut calibrated = plan();
        calibrated.budget.calibration = Some(Calibration::Zcdp);
        for plan in [
            calibrated,
            PlanSpec { shape: Shape::OpenKeys, ..plan() },
            PlanSpec { participation: Participation::at_most(2, 1).unwrap(), ..plan() },
            PlanSpec { stream: "s".to_owned(), ..plan() },
            PlanSpec { definition: vec![1], ..plan() },
            PlanSpec { arithmetic: Some(Arithmetic::Float), ..plan() },
            PlanSpec { memory_limit: Some(1 << 30), ..plan() },
        ] {
            let error = Spec { plan, ..spec() }.plan(0).unwrap_err().to_string();
            assert!(error.contains("choices that a ledger stores"), "{error}");
        }
    }

    /// Version 0.1 stored no grid unless one was named, and rounded to whole numbers. Today's default, which
    /// follows the noise, is stored.
    #[test]
    fn a_spec_without_a_grid_is_of_whole_numbers() {
        let spec = Spec::new("a", "everyone", 1.0, 1e-6).steps(100);
        let new = spec.plan(0).unwrap();
        assert_eq!((new.plan().grid(), new.spec().plan.grid), (Some(0.25), Some(0.25)));
        let text = StoredSpec::from(new.spec()).text().unwrap();
        let built =
            |text: &str| serde_json::from_str::<StoredSpec>(text).unwrap().spec().unwrap().build().unwrap();
        assert_eq!(built(&text).plan().fingerprint(), new.plan().fingerprint());
        let old = built(&text.replace(r#""grid":0.25"#, r#""grid":null"#));
        assert_eq!((old.plan().grid(), old.spec().plan.grid), (Some(1.0), None));
        let whole = Spec { plan: PlanSpec { grid: Some(1.0), ..spec.plan.clone() }, ..spec }.plan(0).unwrap();
        assert_eq!(old.plan().fingerprint(), whole.plan().fingerprint());
        assert_eq!(old.plan().accuracy(), whole.plan().accuracy());
    }

    /// The cap of an exact window without a known end depends on no mechanism being named. A stored
    /// name made another plan when the ledger was opened again.
    #[test]
    fn a_stored_spec_makes_the_same_plan() {
        for workload in ["prefix-sum", "window:60", "decay:0.99"] {
            let spec = Spec::new("a", "everyone", 1.0, 1e-6);
            let plan = PlanSpec { workload: workload.parse().unwrap(), ..spec.plan };
            let counter_plan = Spec { plan, ..spec }.plan(0).unwrap();
            let text = StoredSpec::from(counter_plan.spec()).text().unwrap();
            let again = serde_json::from_str::<StoredSpec>(&text).unwrap().spec().unwrap().build().unwrap();
            assert_eq!(again.plan().fingerprint(), counter_plan.plan().fingerprint(), "{workload}");
        }
    }
}
