//! A counter as it is asked for.

use crate::error::{Problem, Result};
use crate::time;
use evertally_ledger::Spec;
use evertally_stream::BucketLength;
use serde::Deserialize;
use std::str::FromStr;
use utoipa::openapi::schema::{Schema, SchemaType, Type};
use utoipa::{PartialSchema, ToSchema, openapi::RefOr};

/// The name that a draft has while it has none.
const UNNAMED: &str = "unnamed";

/// The most characters of a length of time.
const MAX_LENGTH: usize = 6;

/// What a counter is to be. Everything is public, and chosen without looking at the data.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Draft {
    /// Its name.
    #[schema(min_length = 1, max_length = 100, pattern = "^[A-Za-z0-9._-]*[A-Za-z0-9_-][A-Za-z0-9._-]*$")]
    name: Option<String>,
    /// What it counts, in words; at most 1000 bytes.
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
    /// The length of a step; absent for a counter that is advanced by hand.
    #[schema(max_length = 6, pattern = "^0*[1-9][0-9]*[smhdw]$", example = "15m")]
    every: Option<String>,
    /// When the first step begins; the last whole multiple of `every` where absent.
    #[schema(format = DateTime)]
    start: Option<String>,
    /// How long after its end a step still takes events with a time in it; at most 7d.
    #[schema(max_length = 6, pattern = "^0*[1-9][0-9]*[smhdw]$", example = "30s")]
    grace: Option<String>,
    /// The number of steps; absent where nobody knows the end.
    #[schema(minimum = 1, maximum = 1152921504606846976_u64)]
    steps: Option<u64>,
    /// ε of all releases together.
    #[schema(minimum = 0.000001, maximum = 1000.0)]
    epsilon: f64,
    /// δ of all releases together; zero for pure ε.
    #[schema(minimum = 0.0, exclusive_maximum = 1.0)]
    delta: f64,
    /// The mechanism; the most accurate one that streams where absent.
    #[schema(min_length = 1, max_length = 100, example = "square-root")]
    mechanism: Option<String>,
    /// What is released at each step: `prefix-sum`, `window:60` or `decay:0.99`.
    #[schema(
        max_length = 40,
        pattern = "^(prefix-sum|window:[0-9]+|decay:0?\\.[0-9]+)$",
        default = "prefix-sum"
    )]
    workload: Option<String>,
    /// The declared keys, at most 256 bytes each; any other counts as `other`, which is added.
    #[schema(max_items = 100000)]
    keys: Option<Vec<String>>,
    /// The most steps in which a person may take part: events without a `person` do not count then.
    #[schema(minimum = 1)]
    max_steps: Option<u64>,
    /// The fewest steps between two in which a person takes part; needs `max_steps`.
    #[schema(minimum = 1)]
    min_gap: Option<u64>,
    /// The range that values are brought into; where absent, an event counts as one.
    #[schema(example = json!([0.0, 100.0]), min_items = 2, max_items = 2)]
    clamp: Option<[f64; 2]>,
    /// Which change is hidden: an event or person more or less, or one replaced by another.
    #[schema(pattern = "^(add-remove|replace)$", default = "add-remove")]
    neighbours: Option<String>,
    /// Which error is kept small.
    #[schema(pattern = "^(mean|worst)$", default = "mean")]
    objective: Option<String>,
    /// The public grid on which releases lie.
    #[schema(exclusive_minimum = 0.0)]
    grid: Option<f64>,
    /// For how many steps ids are remembered: a copy that comes later counts again.
    remember_ids: Option<u64>,
}

/// The same with its name.
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
    /// The request in the ledger's own terms.
    pub(crate) fn spec(self) -> Result<Spec> {
        let mut spec = Spec::new(
            self.name.as_deref().unwrap_or(UNNAMED),
            self.population.as_deref().unwrap_or("everyone"),
            self.epsilon,
            self.delta,
        )
        .steps(self.steps)
        .keys(self.keys.unwrap_or_default());
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
            ..spec
        })
    }
}

/// A time of a request.
pub(crate) fn moment(what: &str, text: &str) -> Result<i64> {
    time::parse(text).ok_or_else(|| Problem::bad_field(what, time::EXPECTED))
}

fn length(what: &str, text: &str) -> Result<BucketLength> {
    let length = text.parse::<BucketLength>().ok().filter(|_| text.len() <= MAX_LENGTH);
    length.ok_or_else(|| Problem::bad_field(what, "like 30s, 15m, 1h, 1d or 1w"))
}

/// A choice of the plan by its name. Messages repeat names, so they must not be long.
fn choice<T: FromStr<Err = evertally::Error>>(what: &str, name: &str) -> Result<T> {
    if name.chars().count() > 100 {
        return Err(Problem::bad_field(what, "at most 100 characters"));
    }
    Ok(name.parse()?)
}
