//! Arbitrary plans with short horizons.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use evertally::{
    Arithmetic, Budget, Calibration, Contribution, Mechanism, Neighbours, NoiseKey, Objective, Participation,
    Plan, PlanBuilder, Result, Workload,
};

use crate::check_line;
use crate::choices::Choices;

/// The kind of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Numbers, vectors or declared keys.
    Declared,
    /// Open keys.
    Open,
}

/// Names of keys that a careless parser or hash might confuse with each other, or with no name.
pub(crate) const NAMES: [&str; 10] = [
    "",
    "a",
    "b",
    "ab",
    "\0",
    "a\0b",
    "ü",
    "\u{202e}other",
    "1:a",
    " a very long name, as they come in web logs: /index.html?q=1",
];

const HORIZONS: [u64; 14] = [1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 17, 24, 33, 70];
const EPSILONS: [f64; 7] = [1.0, 1e-6, 1e-3, 0.5, 10.0, 100.0, 1000.0];
const DELTAS: [f64; 7] = [1e-6, 1e-300, 1e-100, 1e-12, 0.1, 0.5, 0.9];
const GRIDS: [f64; 12] = [
    1.0,
    0.25,
    0.1,
    1e9,
    1.0 / 1_073_741_824.0,
    3.0,
    1e-12,
    1e-300,
    1e300,
    f64::MAX,
    f64::MIN_POSITIVE,
    1e18,
];

/// Built plans, by the bytes that chose them. libFuzzer tries many inputs on one plan, and some
/// plans take a tenth of a second to build.
pub(crate) struct Built<T>(Mutex<Option<HashMap<Vec<u8>, Option<T>>>>);

static BUILT: Built<Plan> = Built::new();

/// The maximum number of kept plans.
const MAX_KEPT_PLANS: usize = 512;

impl<T: Clone> Built<T> {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(None))
    }

    /// What these bytes chose, or `None` if it is refused.
    pub(crate) fn get(&self, spent: Vec<u8>, build: impl FnOnce() -> Result<T>) -> Option<T> {
        let mut made = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let made = made.get_or_insert_default();
        if made.len() > MAX_KEPT_PLANS {
            made.clear();
        }
        let plan = made.entry(spent).or_insert_with(|| match build() {
            Ok(plan) => Some(plan),
            Err(error) => {
                check_line(&error.to_string());
                None
            }
        });
        plan.clone()
    }
}

/// The key of every counter here.
pub(crate) fn key() -> NoiseKey {
    NoiseKey::insecure_from_seed(20)
}

/// The plan that the next bytes choose, or `None` if it is refused.
pub(crate) fn plan(kind: Kind, choices: &mut Choices<'_>) -> Option<Plan> {
    let before = choices.rest();
    let builder = builder(kind, choices);
    let mut spent = before[..before.len() - choices.rest().len()].to_vec();
    spent.push(kind as u8);
    BUILT.get(spent, || builder?.build())
}

fn builder(kind: Kind, choices: &mut Choices<'_>) -> Result<PlanBuilder> {
    let mut builder = Plan::for_workload(choices.one_of(&HORIZONS), workload(choices));
    if let Some(mechanism) = mechanism(choices) {
        builder = builder.mechanism(mechanism);
    }
    // One byte for several rare choices: most plans are ordinary, because most bytes in libFuzzer's
    // corpus are zero.
    let unusual = choices.byte();
    builder = builder.budget(budget(choices)?);
    builder = match kind {
        Kind::Open => builder.open_keys().contribution(range(choices)?),
        Kind::Declared => match choices.below(4) {
            0 | 1 => builder.contribution(range(choices)?),
            2 => {
                let keys = choices.below(4) + 1;
                builder.keys(NAMES[..keys + 1].iter().copied()).contribution(range(choices)?)
            }
            _ => {
                let norm = choices.one_of(&[1.0, 1e-5, 1e300, 1e-300]);
                builder.dimension(choices.one_of(&[1, 2, 5])).contribution(Contribution::norm(norm)?)
            }
        },
    };
    if unusual & 1 != 0 {
        builder = builder.neighbours(Neighbours::Replace);
    }
    if unusual & 2 != 0 {
        builder = builder.objective(Objective::Worst);
    }
    if unusual & 4 != 0 {
        let (steps, gap) = (choices.one_of(&[2, 3, 70, u64::MAX]), choices.one_of(&[1, 2, 9, u64::MAX]));
        builder = builder.participation(Participation::at_most(steps, gap)?);
    }
    if unusual & 8 != 0 {
        builder = builder.grid(choices.one_of(&GRIDS));
    }
    if unusual & 16 != 0 {
        builder = builder.memory_limit(choices.one_of(&[0, 100, 2000, 1 << 16]));
    }
    match unusual >> 6 {
        1 => Ok(builder.arithmetic(Arithmetic::Exact)),
        2 => Ok(builder.arithmetic(Arithmetic::Float)),
        _ => Ok(builder),
    }
}

fn workload(choices: &mut Choices<'_>) -> Workload {
    match choices.below(4) {
        0 | 1 => Workload::PrefixSum,
        2 => Workload::SlidingWindow { width: choices.one_of(&[3, 1, 2, 5, 8, 40, u64::MAX, 1 << 60]) },
        _ => {
            let factor =
                choices.one_of(&[0.5, 0.9, 0.999_999, 1.0 - f64::EPSILON / 2.0, 1e-9, 1e-300, 0.0, 1.0]);
            Workload::Decay { factor }
        }
    }
}

fn mechanism(choices: &mut Choices<'_>) -> Option<Mechanism> {
    let number = |choices: &mut Choices<'_>| Some(choices.one_of(&[1, 2, 3, 8, 1000, u64::MAX]));
    match choices.below(24) {
        0..4 => None,
        4 => Some(Mechanism::Blt { buffers: number(choices) }),
        5 => Some(Mechanism::GradedSquareRoot { decays: number(choices) }),
        6 => Some(Mechanism::BandedSquareRoot { band: number(choices) }),
        7 => Some(Mechanism::BandedInverseSquareRoot { band: number(choices) }),
        other => Some(Mechanism::ALL[(other - 8) % Mechanism::ALL.len()]),
    }
}

fn budget(choices: &mut Choices<'_>) -> Result<Budget> {
    match choices.below(8) {
        0..4 => Budget::new(choices.one_of(&EPSILONS), choices.one_of(&DELTAS)),
        4 => Budget::new(choices.one_of(&EPSILONS), choices.one_of(&DELTAS))?
            .with_calibration(Calibration::Zcdp),
        5 => Budget::new(0.5, choices.one_of(&DELTAS))?.with_calibration(Calibration::Paper),
        6 => Budget::zcdp(choices.one_of(&[0.5, 1e-18, 1e-6, 1e6])),
        _ => Budget::pure(choices.one_of(&EPSILONS)),
    }
}

pub(crate) fn range(choices: &mut Choices<'_>) -> Result<Contribution> {
    match choices.below(8) {
        0..3 => Ok(Contribution::unit()),
        3 => Contribution::range(-1.0, 1.0),
        4 => Contribution::range(0.0, 100.0),
        5 => Contribution::range(0.0, choices.one_of(&[1e300, 1e-300, f64::MAX, 5e-324, 1e18, 1e-9])),
        6 => Contribution::range(-3.0, 0.0),
        _ => Contribution::range(choices.real(), choices.real()),
    }
}
