//! The request for a counter.

use super::discover::DiscoverDraft;
use crate::error::{Problem, Result};
use evertally_ledger::Spec;
use evertally_stream::BucketLength;
use evertally_stream::time;
use serde::Deserialize;
use std::str::FromStr;
use utoipa::openapi::schema::{Schema, SchemaType, Type};
use utoipa::{PartialSchema, ToSchema, openapi::RefOr};

/// The placeholder for the name of a draft.
const UNNAMED: &str = "unnamed";

/// The maximum number of characters in a length of time.
const MAX_LENGTH: usize = 6;

/// The choices of a counter. All of them are public and must not depend on the data.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Draft {
    /// Its name.
    #[schema(min_length = 1, max_length = 100, pattern = "^[A-Za-z0-9._-]*[A-Za-z0-9_-][A-Za-z0-9._-]*$")]
    name: Option<String>,
    /// A description of what it counts, at most 1000 bytes.
    #[schema(max_length = 1000)]
    description: Option<String>,
    /// Whose events it counts: the population whose budget pays.
    #[schema(
        min_length = 1,
        max_length = 100,
        pattern = "^[A-Za-z0-9._-]*[A-Za-z0-9_-][A-Za-z0-9._-]*$",
        default = "everyone"
    )]
    population: Option<String>,
    /// The length of a step. Omit it for a counter that is advanced by hand.
    #[schema(max_length = 6, pattern = "^0*[1-9][0-9]*[smhdw]$", example = "15m")]
    every: Option<String>,
    /// When the first step begins. Defaults to the last multiple of `every`.
    #[schema(format = DateTime)]
    start: Option<String>,
    /// How long after its end a step still accepts its events. At most 7d.
    #[schema(max_length = 6, pattern = "^0*[1-9][0-9]*[smhdw]$", example = "30s")]
    grace: Option<String>,
    /// The number of steps. Omit it if the end is not known.
    #[schema(minimum = 1, maximum = 1152921504606846976_u64)]
    steps: Option<u64>,
    /// The ε of all releases together.
    #[schema(minimum = 0.000001, maximum = 1000.0)]
    epsilon: f64,
    /// The δ of all releases together. Zero asks for pure ε.
    #[schema(minimum = 0.0, exclusive_maximum = 1.0)]
    delta: f64,
    /// The mechanism. Defaults to the most accurate one that can stream.
    #[schema(min_length = 1, max_length = 100, example = "square-root")]
    mechanism: Option<String>,
    /// What is released at each step: `prefix-sum`, `window:60` or `decay:0.99`.
    #[schema(
        max_length = 40,
        pattern = "^(prefix-sum|window:[0-9]+|decay:0?\\.[0-9]+)$",
        default = "prefix-sum"
    )]
    workload: Option<String>,
    /// The declared keys, at most 256 bytes each. All other keys count as `other`, which is added.
    #[schema(max_items = 100000)]
    keys: Option<Vec<String>>,
    /// Finds keys that nobody declared: a key appears at the first step at which its private count of
    /// distinct persons reaches a public threshold. Needs `steps`, `max_steps` and δ above zero, and a
    /// population with `key_delta`.
    discover: Option<DiscoverDraft>,
    /// The maximum number of steps per person. Events without a `person` then do not count.
    #[schema(minimum = 1)]
    max_steps: Option<u64>,
    /// The minimum number of steps from one contribution of a person to the next. Needs `max_steps`.
    #[schema(minimum = 1)]
    min_gap: Option<u64>,
    /// Whether different persons are counted: each once, at their first event. Events without a
    /// `person` then do not count.
    distinct: Option<bool>,
    /// In how many keys a person counts, once in each. Needs `distinct`.
    #[schema(minimum = 1, default = 1)]
    max_keys: Option<u64>,
    /// The range that values are clamped to. Without it, every event counts as one.
    #[schema(example = json!([0.0, 100.0]), min_items = 2, max_items = 2)]
    clamp: Option<[f64; 2]>,
    /// Which change is hidden: adding or removing one event or person, or replacing one.
    #[schema(pattern = "^(add-remove|replace)$", default = "add-remove")]
    neighbours: Option<String>,
    /// The error to minimise. `anytime` is the mean over the steps so far, without a known end.
    #[schema(pattern = "^(mean|worst|anytime)$", default = "mean")]
    objective: Option<String>,
    /// The public grid that releases are rounded to. 1 releases whole numbers. Defaults to the largest
    /// power of two, up to 1 and to the largest value, that adds at most 0.01 % to the squared error.
    #[schema(exclusive_minimum = 0.0)]
    grid: Option<f64>,
    /// For how many steps ids are remembered. A copy that arrives later counts again.
    remember_ids: Option<u64>,
}

/// The choices of a counter, and its name.
#[derive(Debug, Clone, Deserialize)]
#[serde(transparent)]
pub(crate) struct NewCounter(Draft);

impl PartialSchema for NewCounter {
    fn schema() -> RefOr<Schema> {
        let mut schema = Draft::schema();
        if let RefOr::T(Schema::Object(object)) = &mut schema {
            object.required.insert(0, "name".to_owned());
            if let Some(RefOr::T(Schema::Object(name))) = object.properties.get_mut("name") {
                name.schema_type = SchemaType::Type(Type::String);
            }
        }
        schema
    }
}

impl ToSchema for NewCounter {
    fn name() -> std::borrow::Cow<'static, str> {
        "NewCounter".into()
    }
}

impl NewCounter {
    pub(crate) fn spec(self) -> Result<Spec> {
        if self.0.name.is_none() {
            return Err(Problem::bad_field("name", "given"));
        }
        self.0.spec()
    }
}

impl Draft {
    /// The spec that the ledger takes.
    pub(crate) fn spec(self) -> Result<Spec> {
        let mut spec = Spec::new(
            self.name.as_deref().unwrap_or(UNNAMED),
            self.population.as_deref().unwrap_or("everyone"),
            self.epsilon,
            self.delta,
        )
        .steps(self.steps)
        .keys(self.keys.unwrap_or_default());
        match (self.distinct.unwrap_or_default(), self.max_keys) {
            (false, None) => {}
            (false, Some(_)) => {
                return Err(Problem::bad_field("max_keys", "given with distinct: true"));
            }
            (true, _) if self.max_steps.is_some() || self.min_gap.is_some() => {
                let field = if self.max_steps.is_some() { "max_steps" } else { "min_gap" };
                let expected = "left out with distinct: a person counts at their first event";
                return Err(Problem::bad_field(field, expected));
            }
            (true, max_keys) => spec = spec.distinct(max_keys.unwrap_or(1))?,
        }
        match (self.max_steps, self.min_gap) {
            (None, None) => {}
            (None, Some(_)) => {
                return Err(Problem::bad_field(
                    "min_gap",
                    "given with max_steps: a gap alone bounds nothing",
                ));
            }
            (Some(max_steps), min_gap) => spec = spec.persons(max_steps, min_gap.unwrap_or(1))?,
        }
        if let Some([lo, hi]) = self.clamp {
            spec = spec.values(lo, hi)?;
        }
        let plan = &mut spec.plan;
        plan.grid = self.grid;
        plan.mechanism = self.mechanism.map(|name| choice("mechanism", &name)).transpose()?;
        if let Some(name) = self.workload {
            plan.workload = choice("workload", &name)?;
        }
        if let Some(name) = self.neighbours {
            plan.neighbours = choice("neighbours", &name)?;
        }
        if let Some(name) = self.objective {
            plan.objective = choice("objective", &name)?;
        }
        Ok(Spec {
            description: self.description,
            every: self.every.map(|text| length("every", &text)).transpose()?,
            start: self.start.map(|text| moment("start", &text)).transpose()?,
            grace: self.grace.map(|text| length("grace", &text)).transpose()?,
            remember_ids: self.remember_ids,
            discover: self.discover.map(DiscoverDraft::discover),
            ..spec
        })
    }
}

/// Parses a time.
pub(crate) fn moment(what: &str, text: &str) -> Result<i64> {
    time::parse_timestamp(text).ok_or_else(|| Problem::bad_field(what, time::EXPECTED_TIMESTAMP))
}

fn length(what: &str, text: &str) -> Result<BucketLength> {
    let length = text.parse::<BucketLength>().ok().filter(|_| text.len() <= MAX_LENGTH);
    length.ok_or_else(|| Problem::bad_field(what, "like 30s, 15m, 1h, 1d or 1w"))
}

/// Parses a choice of the plan by its name. Messages repeat names, so long ones are refused.
fn choice<T: FromStr<Err = evertally::Error>>(what: &str, name: &str) -> Result<T> {
    if name.chars().count() > 100 {
        return Err(Problem::bad_field(what, "at most 100 characters"));
    }
    Ok(name.parse()?)
}
