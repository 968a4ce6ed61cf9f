//! The choices of a discovery, and how its budget is split.
//!
//! **Definition.** δ − δ_key and ε determine the noise multiplier σ of everything that is released. The
//! counts of persons have noise of multiplier σ/√β, and the totals of σ/√(1 − β). μ² = 1/σ² adds up
//! ([`Spend`]), so both together cost what σ costs.
//!
//! **Guarantee.** The [`Spend`] of both plans, with what their integer noise charges, is within (ε, δ −
//! δ_key). It is compared after both plans are made, and σ is raised until it is.
//!
//! A person is new in at most K keys, each at a step of its own. In each key that moves one step of one
//! lane by one. Lanes have noise of their own, so the squares of K column norms add up, and the plan of
//! the persons declares one step with K keys and a norm of at most √K. Two neighbours under replacement
//! are at most √2 times as far apart if no two columns of R point away from each other, and twice
//! otherwise, which is the factor of the plan.

use super::threshold::Levels;
use super::{Discovery, keys_that_differ, out_of_reach};
use crate::factorization::Mechanism;
use crate::noise_name::{Fields, Value};
use crate::plan::{Plan, raises};
use crate::privacy::{Budget, BudgetSpec, Contribution, Neighbours, Participation, Spend, round_up};
use crate::spec::{Arithmetic, PlanSpec, Shape};
use crate::workload::Workload;
use crate::{Error, Result};

/// Half of δ is for keys that appear, unless stated otherwise. The noise depends on ln δ, so this costs
/// little.
const DEFAULT_KEY_SHARE_OF_DELTA: f64 = 0.5;
/// Half of the budget is for the counts of persons.
const DEFAULT_SHARE: f64 = 0.5;
/// A key of one person never appears.
const DEFAULT_FLOOR: u64 = 2;

/// More persons than there are.
const MOST_PERSONS: f64 = 1e10;

/// What the encoding of a discovery starts with, and its version.
const MAGIC: [u8; 4] = *b"EVKD";
const VERSION: u8 = 1;

/// Collects the choices of a [`Discovery`]. [`DiscoveryBuilder::build`] checks all of them.
#[derive(Debug, Clone, PartialEq)]
#[must_use]
pub struct DiscoveryBuilder {
    spec: PlanSpec,
    persons_mechanism: Option<Mechanism>,
    key_delta: Option<f64>,
    share: f64,
    floor: u64,
}

/// The spec of the totals. Its budget is that of everything that is released.
impl From<PlanSpec> for DiscoveryBuilder {
    fn from(spec: PlanSpec) -> Self {
        Self { spec, persons_mechanism: None, key_delta: None, share: DEFAULT_SHARE, floor: DEFAULT_FLOOR }
    }
}

impl DiscoveryBuilder {
    /// The privacy budget of everything that is released: ε with a δ above zero. Required.
    pub fn budget(mut self, budget: impl Into<BudgetSpec>) -> Self {
        self.spec.budget = budget.into();
        self
    }

    /// In how many steps one person may take part. By default, in one.
    pub fn participation(mut self, participation: Participation) -> Self {
        self.spec.participation = participation;
        self
    }

    /// In how many keys of a step one person may count. By default, in one. If in several, the
    /// contribution bounds the norm of what they add to them.
    pub fn keys_per_step(mut self, keys: u64) -> Self {
        self.spec.keys_per_step = keys;
        self
    }

    /// How large the contribution of a person to a step may be. By default, between zero and one.
    pub fn contribution(mut self, contribution: Contribution) -> Self {
        self.spec.contribution = contribution;
        self
    }

    /// Which change of the input is hidden. By default, that one person is present or absent.
    pub fn neighbours(mut self, neighbours: Neighbours) -> Self {
        self.spec.neighbours = neighbours;
        self
    }

    /// The mechanism of the totals. By default, the most accurate one that fits.
    pub fn mechanism(mut self, mechanism: Mechanism) -> Self {
        self.spec.mechanism = Some(mechanism);
        self
    }

    /// The mechanism of the counts of persons. By default, the most accurate one that fits.
    pub fn persons_mechanism(mut self, mechanism: Mechanism) -> Self {
        self.persons_mechanism = Some(mechanism);
        self
    }

    /// Everything that decides which events are counted and how ([`PlanSpec::definition`]).
    pub fn definition(mut self, definition: impl Into<Vec<u8>>) -> Self {
        self.spec.definition = definition.into();
        self
    }

    /// The maximum memory of a counter in bytes. By default, two gibibytes.
    pub fn memory_limit(mut self, bytes: u64) -> Self {
        self.spec.memory_limit = Some(bytes);
        self
    }

    /// The public grid to which totals are rounded ([`PlanSpec::grid`]).
    pub fn grid(mut self, step: f64) -> Self {
        self.spec.grid = Some(step);
        self
    }

    /// δ_key: the part of δ for keys that appear although one person decides whether they can. By
    /// default, half of δ.
    pub fn key_delta(mut self, key_delta: f64) -> Self {
        self.key_delta = Some(key_delta);
        self
    }

    /// The part of the budget for the counts of persons, above zero and below one. By default, one half.
    /// A larger part lets keys appear at fewer persons, and makes totals less accurate.
    pub fn share(mut self, share: f64) -> Self {
        self.share = share;
        self
    }

    /// The number of persons below which a key never appears, at least one. By default, two. The
    /// threshold is this much higher, and a key below the floor needs neither noise nor its name.
    pub fn floor(mut self, persons: u64) -> Self {
        self.floor = persons;
        self
    }

    /// Checks everything and makes both plans and the threshold.
    ///
    /// # Errors
    /// [`Error::BadParameter`] for a value outside its range, and for a threshold that no key can reach.
    /// [`Error::Unsupported`] or [`Error::TooCostly`] if no mechanism can serve.
    pub fn build(&self) -> Result<Discovery> {
        let (epsilon, delta) = self.check()?;
        let key_delta = self.key_delta.unwrap_or(delta * DEFAULT_KEY_SHARE_OF_DELTA);
        if !(key_delta > 0.0 && key_delta < delta) {
            return Err(Error::bad("key_delta", format!("above zero and below δ = {delta}"), key_delta));
        }
        let noise_delta = (delta - key_delta).next_down();
        let for_noise = BudgetSpec { delta: Some(noise_delta), ..self.spec.budget }.budget()?;
        let horizon = PlanSpec { shape: Shape::OpenKeys, ..self.spec.clone() }.steps();
        let keys_per_person =
            self.spec.participation.bounded(horizon).saturating_mul(self.spec.keys_per_step);
        let (persons, totals) = self.plans(&for_noise, (epsilon, noise_delta), keys_per_person, key_delta)?;
        let each = key_delta / keys_that_differ(keys_per_person, self.spec.neighbours) as f64;
        let levels = Levels::new(&persons, each.next_down())?;
        let discovery = Discovery {
            persons,
            totals,
            epsilon,
            delta,
            key_delta,
            share: self.share,
            floor: self.floor,
            keys_per_person,
            levels,
        };
        let least = discovery.threshold(0)?;
        if least > MOST_PERSONS { Err(out_of_reach(least)) } else { Ok(discovery) }
    }

    /// Refuses choices that do not fit together, and returns ε and δ.
    fn check(&self) -> Result<(f64, f64)> {
        let spec = &self.spec;
        if spec.workload != Workload::PrefixSum {
            return Err(Error::bad("workload", "prefix-sum for keys that are found", spec.workload));
        }
        if spec.report.is_some() {
            return Err(Error::bad("report", "left out for keys that are found", "a report"));
        }
        if !matches!(spec.shape, Shape::Scalar | Shape::OpenKeys) {
            return Err(Error::bad("shape", "left out: keys are found", spec.shape.kind()));
        }
        if spec.contribution.keys() > 1 {
            return Err(Error::bad("contribution", "one that is not split", spec.contribution));
        }
        let (epsilon, delta) = match (spec.budget.epsilon, spec.budget.delta) {
            (Some(epsilon), Some(delta)) if delta > 0.0 => (epsilon, delta),
            _ => {
                let expected = "ε with a δ above zero: with δ = 0 no key could ever appear";
                return Err(Error::bad("budget", expected, spec.budget));
            }
        };
        spec.budget.budget()?;
        if !(self.share > 0.0 && self.share < 1.0) {
            return Err(Error::bad("share", "above zero and below one", self.share));
        }
        if self.floor == 0 {
            return Err(Error::bad("floor", "at least 1", 0));
        }
        if spec.keys_per_step == 0 {
            return Err(Error::bad("keys_per_step", "at least 1", 0));
        }
        Ok((epsilon, delta))
    }

    /// The plans of persons and totals, whose noise together meets the budget.
    fn plans(
        &self,
        for_noise: &Budget,
        (epsilon, delta): (f64, f64),
        keys_per_person: u64,
        key_delta: f64,
    ) -> Result<(Plan, Plan)> {
        for raise in raises() {
            let sigma = for_noise.noise_multiplier() * (1.0 + raise);
            let part =
                |part: f64| Budget::of_noise_multiplier(round_up(sigma / part.sqrt(), 4.0 * f64::EPSILON));
            let contribution = Contribution::range(0.0, above_root(keys_per_person.max(1)))?;
            let for_persons = part(self.share)?;
            let persons_beside = |other: &[u8]| PlanSpec {
                budget: for_persons.into(),
                mechanism: self.persons_mechanism,
                participation: Participation::single(),
                contribution,
                keys_per_step: keys_per_person,
                arithmetic: Some(Arithmetic::Exact),
                grid: Some(1.0),
                ..self.part(0, key_delta, keys_per_person, other)
            };
            // The mechanism of the persons decides which keys appear, so it is in both names.
            let alone = persons_beside(&[]).build()?.noise_name();
            let totals = PlanSpec {
                budget: part((1.0 - self.share).next_down())?.into(),
                ..self.part(1, key_delta, keys_per_person, alone.as_bytes())
            };
            let totals = totals.build()?;
            let persons = persons_beside(totals.noise_name().as_bytes()).build()?;
            let spend = Spend::composed([persons.spend(), totals.spend()]);
            if spend.delta_at(epsilon)? <= delta {
                return Ok((persons, totals));
            }
        }
        // By default the two parts of δ are equal.
        if key_delta > 2.0 * delta {
            return Err(Error::bad("key_delta", "small enough to leave noise a part of δ", key_delta));
        }
        Err(Error::bad("epsilon", "small enough that the noise of two counts can be fitted to it", epsilon))
    }

    /// One of the two counts. Everything that decides which keys appear is in the name of its noise. The
    /// name of the totals has that of the persons alone, and the name of the persons has that of the totals.
    /// So two discoveries that share noise, of persons or of totals, are the same discovery, and a record
    /// under the name of the persons watches over both counts.
    fn part(&self, role: u8, key_delta: f64, keys_per_person: u64, of_other: &[u8]) -> PlanSpec {
        let mut fields = Fields::new(MAGIC, VERSION);
        fields.put(1, Value::new().code(role));
        fields.put(2, Value::new().real(key_delta).real(self.share));
        fields.put(3, Value::new().integer(self.floor).integer(keys_per_person));
        fields.put(4, Value::new().bytes(&self.spec.definition).raw(of_other));
        PlanSpec {
            shape: Shape::OpenKeys,
            definition: fields.into_bytes(),
            // The limit is kept for both counts together, by the counter.
            memory_limit: self.spec.memory_limit,
            ..self.spec.clone()
        }
    }
}

/// The root of a number, rounded up.
fn above_root(number: u64) -> f64 {
    let root = (number as f64).sqrt();
    if root * root == number as f64 && number < 1 << f64::MANTISSA_DIGITS {
        return root;
    }
    round_up(root, 4.0 * f64::EPSILON)
}
