//! Faults that need several lanes: keys or coordinates.

use evertally::{Contribution, Neighbours, NoiseKey, PlanBuilder, Result};

use super::{Faulty, SHORT_FACTOR, coins_of, faulty, overstated};
use crate::open_keys::OpenKeysSubject;
use crate::subject::{CounterSubject, Promise, Session, Subject, rounded};

const NAMES: [&str; 2] = ["first", "second"];

/// The number of coordinates of vectors. Four coordinates of magnitude one have norm two.
const DIMENSION: usize = 4;

/// Planned for contributions that are added or removed, but promised for contributions that may
/// move to another key.
pub(super) fn missed_move(builder: &PlanBuilder, grid: f64) -> Result<Box<dyn Subject>> {
    let whole = CounterSubject::new(builder.clone().keys(NAMES).build()?)?.rounded_to(grid)?;
    Ok(overstated(whole, |promise| Promise { neighbours: Neighbours::Replace, ..promise }))
}

/// Keys with an odd index have noise of another stream at odd steps.
pub(super) fn sleeping_key(builder: &PlanBuilder, grid: f64) -> Result<Box<dyn Subject>> {
    let plan = builder.clone().open_keys().build()?;
    let whole = OpenKeysSubject::new(plan, NAMES)?.rounded_to(grid)?;
    Ok(Box::new(faulty(whole, |whole, key| {
        let asleep = whole.start(NoiseKey::insecure_from_seed(coins_of(&key).next()))?;
        Ok(Box::new(SleepingKey { awake: whole.start(key)?, asleep, step: 0 }))
    })))
}

struct SleepingKey<'a> {
    awake: Box<dyn Session + 'a>,
    asleep: Box<dyn Session + 'a>,
    step: usize,
}

impl Session for SleepingKey<'_> {
    fn step(&mut self, inputs: &[f64], out: &mut [f64]) -> Result<()> {
        let mut fresh = vec![0.0; out.len()];
        self.awake.step(inputs, out)?;
        self.asleep.step(inputs, &mut fresh)?;
        if self.step % 2 == 1 {
            out.iter_mut().zip(&fresh).skip(1).step_by(2).for_each(|(out, fresh)| *out = *fresh);
        }
        self.step += 1;
        Ok(())
    }
}

fn vectors(builder: PlanBuilder, grid: f64) -> Result<CounterSubject> {
    let plan = builder.dimension(DIMENSION).contribution(Contribution::norm(1.0)?).build()?;
    CounterSubject::new(plan)?.rounded_to(grid)
}

/// Planned for vectors of norm one, but promised for vectors whose coordinates are each at most
/// one.
pub(super) fn wide_vectors(builder: PlanBuilder, grid: f64) -> Result<Box<dyn Subject>> {
    let contribution = Contribution::norm((DIMENSION as f64).sqrt())?;
    Ok(overstated(vectors(builder, grid)?, |promise| Promise { contribution, ..promise }))
}

/// The last coordinate has too little noise.
pub(super) fn short_coordinate(builder: PlanBuilder, grid: f64) -> Result<Box<dyn Subject>> {
    let short = faulty(vectors(builder, 0.0)?, move |whole, key| {
        Ok(Box::new(ShortCoordinate { whole: whole.start(key)?, grid, total: 0.0 }))
    });
    Ok(Box::new(Faulty { grid, ..short }))
}

struct ShortCoordinate<'a> {
    whole: Box<dyn Session + 'a>,
    grid: f64,
    total: f64,
}

impl Session for ShortCoordinate<'_> {
    fn step(&mut self, inputs: &[f64], out: &mut [f64]) -> Result<()> {
        self.whole.step(inputs, out)?;
        let last = out.len() - 1;
        self.total += inputs[last];
        out[last] = self.total + SHORT_FACTOR * (out[last] - self.total);
        out.iter_mut().for_each(|out| *out = rounded(*out, self.grid));
        Ok(())
    }
}
