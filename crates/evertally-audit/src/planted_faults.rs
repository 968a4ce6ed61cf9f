//! Mechanisms with one deliberate fault each, to show that the audits find them.
//!
//! Every fault is a wrapper around the public interface of the library, which contains none of this
//! code. It is compiled only for tests and with the feature `planted-faults`. Faults of keys and
//! vectors are in `multiple_lanes`, those of admission in `gates`.

mod gates;
mod multiple_lanes;

pub use gates::GateFault;

use std::f64::consts::{SQRT_2, TAU};

use evertally::internals::noise::copy_of;
use evertally::privacy::NoiseKind;
use evertally::{Budget, Error, Mechanism, NoiseKey, Participation, Plan, PlanBuilder, Result};

use crate::keys::Coins;
use crate::subject::{CounterSubject, Promise, Session, Subject};

/// The standard deviation of noise that is 15 % short, relative to the declared one.
const SHORT_FACTOR: f64 = 0.85;

/// The faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fault {
    /// Noise of 85 % of the declared standard deviation.
    ShortNoise,
    /// All noise is drawn again at every step, as if the draw were inside a loop.
    FreshNoise,
    /// Persons may take part in two steps, but noise was planned for one.
    MissedParticipation,
    /// Every run has the same key.
    RepeatedKey,
    /// Two streams have the same key.
    SharedKey,
    /// Box–Muller noise in double precision, added to the total and released without rounding.
    FloatNoise,
    /// The plan's calibration gives 85 % of the noise that its budget requires. Its declarations
    /// are consistent with that.
    ShortCalibration,
    /// A contribution may leave one key and appear in another, but noise was planned for one key
    /// alone.
    MissedMove,
    /// A key that was not released for a step has fresh noise when it is released again.
    SleepingKey,
    /// Vectors are clipped coordinate by coordinate, but noise was planned for their norm.
    WideVectors,
    /// One of four coordinates has 85 % of its noise.
    ShortCoordinate,
}

impl Fault {
    /// All faults.
    pub const ALL: [Self; 11] = [
        Self::ShortNoise,
        Self::FreshNoise,
        Self::MissedParticipation,
        Self::RepeatedKey,
        Self::SharedKey,
        Self::FloatNoise,
        Self::ShortCalibration,
        Self::MissedMove,
        Self::SleepingKey,
        Self::WideVectors,
        Self::ShortCoordinate,
    ];

    /// The fault in words.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ShortNoise => "noise 15 % short",
            Self::FreshNoise => "fresh noise at every step",
            Self::MissedParticipation => "one participation missed",
            Self::RepeatedKey => "every run under one key",
            Self::SharedKey => "two streams under one key",
            Self::FloatNoise => "float noise without a grid",
            Self::ShortCalibration => "calibration 15 % short",
            Self::MissedMove => "a move between keys missed",
            Self::SleepingKey => "open keys: fresh noise after sleep",
            Self::WideVectors => "vectors clipped by coordinate",
            Self::ShortCoordinate => "one coordinate of four 15 % short",
        }
    }

    /// A mechanism with this fault. Releases are rounded to the grid, unless the fault is missing
    /// rounding.
    ///
    /// # Errors
    /// The plan's errors, including [`Error::Unsupported`] for float noise, open keys and vectors
    /// with noise that is not Gaussian.
    pub fn plant(
        self,
        mechanism: Mechanism,
        horizon: u64,
        budget: Budget,
        grid: f64,
    ) -> Result<Box<dyn Subject>> {
        let builder = Plan::prefix_sum(horizon).mechanism(mechanism).budget(budget);
        let whole = |builder: &PlanBuilder| CounterSubject::new(builder.build()?)?.rounded_to(grid);
        Ok(match self {
            Self::ShortNoise => short_noise(builder.build()?, 1.0 - SHORT_FACTOR, grid)?,
            Self::FreshNoise => Box::new(faulty(whole(&builder)?, |whole, key| {
                Ok(Box::new(FreshNoise { whole, coins: coins_of(&key), taken: Vec::new() }))
            })),
            Self::MissedParticipation => {
                let participation = Participation::at_most(2, 1)?;
                overstated(whole(&builder)?, |promise| Promise { participation, ..promise })
            }
            Self::RepeatedKey => {
                Box::new(faulty(whole(&builder)?, |whole, _| whole.start(NoiseKey::insecure_from_seed(1))))
            }
            Self::SharedKey => Box::new(SharedKey {
                one: whole(&builder)?,
                both: builder.keys(["first", "second"]).build()?,
            }),
            Self::FloatNoise => Box::new(FloatNoise::new(builder.build()?)?),
            Self::ShortCalibration => {
                let short = whole(&builder.budget(understated_budget(budget)?))?;
                overstated(short, |promise| Promise { budget, ..promise })
            }
            Self::MissedMove => multiple_lanes::missed_move(&builder, grid)?,
            Self::SleepingKey => multiple_lanes::sleeping_key(&builder, grid)?,
            Self::WideVectors => multiple_lanes::wide_vectors(builder, grid)?,
            Self::ShortCoordinate => multiple_lanes::short_coordinate(builder, grid)?,
        })
    }
}

/// A counter whose noise has a standard deviation that is short by this share, rounded to the grid.
/// Its plan is for one number per step.
///
/// # Errors
/// As [`CounterSubject::new`].
pub fn short_noise(plan: Plan, short: f64, grid: f64) -> Result<Box<dyn Subject>> {
    let short = faulty(CounterSubject::new(plan)?, move |whole, key| {
        Ok(Box::new(ShortNoise { whole: whole.start(key)?, left: 1.0 - short, grid, total: 0.0 }))
    });
    Ok(Box::new(Faulty { grid, ..short }))
}

/// A subject that runs another one with a fault, or promises more than its plan covers.
struct Faulty<S, F> {
    whole: S,
    promise: Promise,
    grid: f64,
    start: F,
}

/// The promise and grid are those of the whole subject. Its streams are started with a fault.
fn faulty<S, F>(whole: S, start: F) -> Faulty<S, F>
where
    S: Subject,
    F: for<'a> Fn(&'a S, NoiseKey) -> Result<Box<dyn Session + 'a>> + Sync,
{
    Faulty { promise: whole.promise(), grid: whole.grid(), whole, start }
}

fn overstated(whole: CounterSubject, promise: impl FnOnce(Promise) -> Promise) -> Box<dyn Subject> {
    let promise = promise(whole.promise());
    Box::new(Faulty { promise, ..faulty(whole, |whole, key| whole.start(key)) })
}

impl<S, F> Subject for Faulty<S, F>
where
    S: Subject,
    F: for<'a> Fn(&'a S, NoiseKey) -> Result<Box<dyn Session + 'a>> + Sync,
{
    fn plan(&self) -> &Plan {
        self.whole.plan()
    }

    fn promise(&self) -> Promise {
        self.promise
    }

    fn lanes(&self) -> usize {
        self.whole.lanes()
    }

    fn grid(&self) -> f64 {
        self.grid
    }

    fn start(&self, key: NoiseKey) -> Result<Box<dyn Session + '_>> {
        (self.start)(&self.whole, key)
    }
}

struct ShortNoise<'a> {
    whole: Box<dyn Session + 'a>,
    left: f64,
    grid: f64,
    total: f64,
}

impl Session for ShortNoise<'_> {
    fn step(&mut self, inputs: &[f64], out: &mut [f64]) -> Result<()> {
        self.whole.step(inputs, out)?;
        self.total += inputs.iter().sum::<f64>();
        for out in out {
            // The noise already lies on a grid, so many shortened values lie halfway between two
            // grid points. Rounding them away from zero would compensate part of the shortage.
            let noise = self.left * (*out - self.total);
            let is_rounded = self.grid > 0.0;
            *out = self.total
                + if is_rounded { self.grid * (noise / self.grid).round_ties_even() } else { noise };
        }
        Ok(())
    }
}

struct FreshNoise<'a> {
    whole: &'a CounterSubject,
    coins: Coins,
    taken: Vec<f64>,
}

impl Session for FreshNoise<'_> {
    /// Runs the whole stream again under another key, and releases its last step.
    fn step(&mut self, inputs: &[f64], out: &mut [f64]) -> Result<()> {
        self.taken.extend_from_slice(inputs);
        let mut again = self.whole.start(NoiseKey::insecure_from_seed(self.coins.next()))?;
        self.taken.chunks(inputs.len()).try_for_each(|row| again.step(row, out))
    }
}

struct SharedKey {
    one: CounterSubject,
    both: Plan,
}

impl Subject for SharedKey {
    fn plan(&self) -> &Plan {
        &self.both
    }

    fn grid(&self) -> f64 {
        self.one.grid()
    }

    fn start(&self, key: NoiseKey) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(SharedKeySession(self.one.start(copy_of(&key))?, self.one.start(key)?)))
    }
}

struct SharedKeySession<'a>(Box<dyn Session + 'a>, Box<dyn Session + 'a>);

impl Session for SharedKeySession<'_> {
    fn step(&mut self, inputs: &[f64], out: &mut [f64]) -> Result<()> {
        self.0.step(&inputs[..1], &mut out[..1])?;
        self.1.step(&inputs[1..], &mut out[1..])
    }
}

/// A budget of the same kind whose multiplier is 85 % of the required one.
fn understated_budget(budget: Budget) -> Result<Budget> {
    let multiplier = SHORT_FACTOR * budget.noise_multiplier();
    match budget.noise() {
        NoiseKind::Gaussian => Budget::zcdp(0.5 / (multiplier * multiplier)),
        NoiseKind::Laplace => Budget::pure(SQRT_2 / multiplier),
    }
}

struct FloatNoise {
    plan: Plan,
    decoder: evertally::Matrix,
}

impl FloatNoise {
    fn new(plan: Plan) -> Result<Self> {
        if plan.budget().noise() != NoiseKind::Gaussian {
            return Err(Error::unsupported(plan.mechanism(), "Box–Muller makes Gaussian noise"));
        }
        Ok(Self { decoder: plan.dense()?.decoder, plan })
    }
}

impl Subject for FloatNoise {
    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn start(&self, key: NoiseKey) -> Result<Box<dyn Session + '_>> {
        let mut coins = coins_of(&key);
        let mut uniform = || ((coins.next() >> 11) as f64 + 1.0) / (1_u64 << 53) as f64;
        let mut normal = || (-2.0 * uniform().ln()).sqrt() * (TAU * uniform()).cos();
        let white = (0..self.decoder.columns()).map(|_| normal()).collect();
        Ok(Box::new(FloatNoiseSession { subject: self, white, step: 0, total: 0.0 }))
    }
}

struct FloatNoiseSession<'a> {
    subject: &'a FloatNoise,
    white: Vec<f64>,
    step: usize,
    total: f64,
}

impl Session for FloatNoiseSession<'_> {
    fn step(&mut self, inputs: &[f64], out: &mut [f64]) -> Result<()> {
        let row = self.subject.decoder.row(self.step).iter().zip(&self.white);
        let noise = self.subject.plan.noise_scale() * row.map(|(l, g)| l * g).sum::<f64>();
        self.total += inputs[0];
        out[0] = self.total + noise;
        self.step += 1;
        Ok(())
    }
}

fn coins_of(key: &NoiseKey) -> Coins {
    Coins::seeded(u64::from_le_bytes(key.tag()))
}

#[cfg(test)]
mod tests;
