//! The target for steps of numbers, vectors and declared keys, with other operations between them.

use evertally::{Counter, Error, KeyedCounter, Plan, Result, Shape, VectorCounter};

use crate::check_line;
use crate::choices::Choices;
use crate::plans::{Kind, NAMES, key, plan};

/// A counter of declared lanes.
pub(crate) enum DeclaredCounter {
    One(Counter),
    Keys(KeyedCounter),
    Vector(VectorCounter),
}

impl DeclaredCounter {
    pub(crate) fn new(plan: &Plan) -> Result<Self> {
        Ok(match plan.shape() {
            Shape::Keyed { .. } => Self::Keys(KeyedCounter::new(plan, key())?),
            Shape::Vector { .. } => Self::Vector(VectorCounter::new(plan, key())?),
            _ => Self::One(Counter::new(plan, key())?),
        })
    }

    pub(crate) fn remember_releases(self) -> Result<Self> {
        Ok(match self {
            Self::One(counter) => Self::One(counter.remember_releases()?),
            Self::Keys(counter) => Self::Keys(counter.remember_releases()?),
            Self::Vector(counter) => Self::Vector(counter.remember_releases()?),
        })
    }

    pub(crate) fn resume(plan: &Plan, state: &[u8]) -> Result<Self> {
        Ok(match plan.shape() {
            Shape::Keyed { .. } => Self::Keys(KeyedCounter::resume(plan, key(), state)?),
            Shape::Vector { .. } => Self::Vector(VectorCounter::resume(plan, key(), state)?),
            _ => Self::One(Counter::resume(plan, key(), state)?),
        })
    }

    pub(crate) fn save(&self) -> Vec<u8> {
        match self {
            Self::One(counter) => counter.save(),
            Self::Keys(counter) => counter.save(),
            Self::Vector(counter) => counter.save(),
        }
    }

    pub(crate) fn steps_taken(&self) -> u64 {
        match self {
            Self::One(counter) => counter.steps_taken(),
            Self::Keys(counter) => counter.steps_taken(),
            Self::Vector(counter) => counter.steps_taken(),
        }
    }

    /// The released values. A counter of one number takes the first input.
    pub(crate) fn step(&mut self, inputs: &[f64]) -> Result<Vec<f64>> {
        Ok(match self {
            Self::One(counter) => vec![counter.step(inputs[0])?.value],
            Self::Keys(counter) => counter.step(inputs)?.iter().map(|release| release.value).collect(),
            Self::Vector(counter) => counter.step(inputs)?.values,
        })
    }

    /// The first released value between two steps, and its error.
    fn interval(&self, first: u64, last: u64) -> Result<(f64, f64)> {
        Ok(match self {
            Self::One(counter) => counter.interval(first, last).map(|r| (r.value, r.standard_error))?,
            Self::Keys(counter) => {
                counter.interval(NAMES[0], first, last).map(|r| (r.value, r.standard_error))?
            }
            Self::Vector(counter) => {
                counter.interval(first, last).map(|r| (r.values[0], r.standard_error))?
            }
        })
    }

    /// The `Debug` text of the counter.
    fn shown(&self) -> String {
        match self {
            Self::One(counter) => format!("{counter:?}"),
            Self::Keys(counter) => format!("{counter:?}"),
            Self::Vector(counter) => format!("{counter:?}"),
        }
    }
}

/// Takes steps with any inputs, with one counter that runs through and another that is saved and
/// resumed along the way.
pub fn steps(bytes: &[u8]) {
    let choices = &mut Choices::new(bytes);
    let Some(plan) = plan(Kind::Declared, choices) else { return };
    let is_remembered = choices.flag();
    let start = || {
        let counter = DeclaredCounter::new(&plan)?;
        if is_remembered { counter.remember_releases() } else { Ok(counter) }
    };
    let (Ok(mut going), Ok(mut resumed)) = (start(), start()) else { panic!("a valid plan can be run") };
    let width = plan.shape().width();
    while !choices.are_used() {
        match choices.below(8) {
            0 => resumed = again(&plan, &resumed),
            1 => {
                let (first, last) = (choices.word() % 80, choices.word() % 80);
                let (a, b) = (going.interval(first, last), resumed.interval(first, last));
                assert_eq!(bits(&a), bits(&b));
                assert!(a.is_err() || is_remembered && last < going.steps_taken());
            }
            2 if width > 1 => {
                let inputs = vec![0.0; choices.one_of(&[0, width - 1, width + 1])];
                step(&plan, &mut going, &mut resumed, &inputs);
            }
            _ => {
                let inputs: Vec<f64> = (0..width).map(|_| choices.real()).collect();
                step(&plan, &mut going, &mut resumed, &inputs);
            }
        }
    }
    assert_eq!(going.shown(), resumed.shown());
}

/// The same counter, saved and resumed.
fn again(plan: &Plan, counter: &DeclaredCounter) -> DeclaredCounter {
    let state = counter.save();
    match DeclaredCounter::resume(plan, &state) {
        Ok(resumed) => {
            assert!(resumed.save() == state, "a state is resumed as it was saved");
            resumed
        }
        Err(error) => panic!("a state was refused: {error}"),
    }
}

fn bits(interval: &Result<(f64, f64)>) -> std::result::Result<[u64; 2], &Error> {
    interval.as_ref().map(|(value, error)| [value.to_bits(), error.to_bits()])
}

/// Takes one step with both counters, and checks the promises of a step.
fn step(plan: &Plan, going: &mut DeclaredCounter, resumed: &mut DeclaredCounter, inputs: &[f64]) {
    let (before, taken) = (going.save(), going.steps_taken());
    let (released, beside) = (going.step(inputs), resumed.step(inputs));
    match (released, beside) {
        (Ok(released), Ok(beside)) => {
            assert!(taken < plan.horizon() && going.steps_taken() == taken + 1, "a step is taken");
            assert!(inputs.iter().all(|x| x.is_finite()), "numbers that are not finite are refused");
            check_release(plan, &released);
            let same = released.iter().zip(&beside).all(|(a, b)| a.to_bits() == b.to_bits());
            assert!(same && released.len() == beside.len(), "a resumed counter continues bit for bit");
        }
        (Err(refusal), Err(beside)) => {
            check_line(&refusal.to_string());
            assert_eq!(refusal, beside);
            let is_spent = matches!(refusal, Error::HorizonSpent { .. });
            assert_eq!(is_spent, taken == plan.horizon(), "{refusal}");
            assert!(going.save() == before && going.steps_taken() == taken, "a refusal changes nothing");
        }
        (released, _) => panic!("only one of two equal counters refused, the other: {}", released.is_ok()),
    }
}

/// Checks that releases are finite, and on the grid if there is one.
pub(crate) fn check_release(plan: &Plan, released: &[f64]) {
    for value in released {
        assert!(value.is_finite(), "a release is a number: {plan:?}");
        if let Some(grid) = plan.grid() {
            // Far from zero, the product with the grid is rounded, and the quotient cannot reveal
            // it.
            let steps = value / grid;
            assert!(
                steps.abs() > 1e15 || steps.round() * grid == *value,
                "a release lies on the grid: {plan:?}"
            );
        }
    }
}
