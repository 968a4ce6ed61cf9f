//! Sums over periods, from the running totals at their ends.
//!
//! **Guarantee.** A sum is the difference of two releases, so it costs no budget. Its standard error is
//! that of the difference, including the rounding of both releases, and its interval covers both. All
//! sums of a period have the same error, which is computed once.

use super::readout::Readout;
use crate::error::Result;
use crate::output::Measured;
use evertally::{Division, Plan, Release};

/// The sums over one period.
pub(crate) struct PeriodSum {
    /// Which of the divisions.
    pub(crate) division: usize,
    /// The first step of the period. The last is the last that was released.
    pub(crate) first: u64,
    /// One per group, in order.
    pub(crate) rows: Vec<Measured>,
}

pub(super) struct Periods {
    divisions: Vec<Division>,
    /// The releases before the open period of each division. Before the first step there are none.
    before: Vec<Option<Vec<Release>>>,
    readout: Readout,
    ended: Vec<PeriodSum>,
}

impl Periods {
    pub(super) fn new(divisions: Vec<Division>, readout: &Readout) -> Self {
        let before = vec![None; divisions.len()];
        Self { divisions, before, readout: readout.of_periods(), ended: Vec::new() }
    }

    /// Takes the releases of a step, one per key.
    pub(super) fn step(&mut self, plan: &Plan, releases: &[Release]) -> Result<()> {
        self.ended.clear();
        let Some(step) = releases.first().map(|release| release.step) else { return Ok(()) };
        for (index, division) in self.divisions.iter().enumerate() {
            if let Some(first) = division.ending_with(step) {
                let before = self.before[index].as_deref();
                let rows = self.readout.read(plan, &sums(plan, before, releases)?);
                self.ended.push(PeriodSum { division: index, first, rows });
            }
            if division.is_boundary(step + 1) {
                self.before[index] = Some(releases.to_vec());
            }
        }
        Ok(())
    }

    /// The step and the values of the releases before the open period of each division.
    pub(super) fn before(&self) -> impl Iterator<Item = Option<(u64, Vec<f64>)>> + '_ {
        self.before.iter().map(|before| {
            let before = before.as_ref()?;
            Some((before.first()?.step, before.iter().map(|release| release.value).collect()))
        })
    }

    /// Goes on after these releases.
    pub(super) fn go_on(&mut self, plan: &Plan, before: Vec<Option<(u64, Vec<f64>)>>) -> Result<()> {
        for (place, before) in self.before.iter_mut().zip(before) {
            let Some((step, values)) = before else { continue };
            let spread = plan.spread(step)?;
            *place = Some(values.into_iter().map(|value| spread.around(value)).collect());
        }
        Ok(())
    }

    pub(super) fn take(&mut self) -> Vec<PeriodSum> {
        std::mem::take(&mut self.ended)
    }
}

/// The sums after the releases before a period up to those of its last step.
fn sums(plan: &Plan, before: Option<&[Release]>, releases: &[Release]) -> Result<Vec<Release>> {
    let earlier = |index: usize| before.and_then(|before| before.get(index));
    let Some(last) = releases.first() else { return Ok(Vec::new()) };
    let spread = plan.interval(earlier(0), last)?.spread();
    let sum = |(index, release): (usize, &Release)| {
        let difference = release.value - earlier(index).map_or(0.0, |earlier| earlier.value);
        let on_grid = plan.grid().map_or(difference, |grid| (difference / grid).round() * grid);
        spread.around(on_grid)
    };
    Ok(releases.iter().enumerate().map(sum).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mechanism::{Intervals, Reading};
    use evertally::post::PostProcess;
    use evertally::{Budget, Counter, NoiseKey};

    /// At a large budget the rounding of both ends of a period is all that an interval covers.
    #[test]
    fn intervals_of_sums_cover_the_rounding_of_both_ends() {
        for epsilon in [1.0, 30.0] {
            let budget = Budget::new(epsilon, 1e-9).unwrap();
            let plan = Plan::prefix_sum(9).budget(budget).grid(1.0).build().unwrap();
            let readout = Readout {
                intervals: Intervals::default(),
                post: vec![PostProcess::default()],
                reading: Reading::Totals,
            };
            let mut periods = Periods::new(vec![Division::every(3).unwrap()], &readout);
            let mut counter = Counter::new(&plan, NoiseKey::insecure_from_seed(1)).unwrap();
            let releases: Vec<_> = (0..9).map(|_| counter.step(5.0).unwrap()).collect();
            for (step, release) in releases.iter().enumerate() {
                periods.step(&plan, std::slice::from_ref(release)).unwrap();
                let Some(sum) = periods.take().pop() else { continue };
                let before = step.checked_sub(3).map(|before| &releases[before]);
                let expected = plan.interval(before, release).unwrap();
                let [Measured::Total(total)] = sum.rows[..] else { panic!("one total") };
                assert_eq!((total.value, total.standard_error), (expected.value, expected.standard_error));
                let margin = expected.margin(0.95);
                assert_eq!([total.lower, total.upper], [total.value - margin, total.value + margin]);
                let alone = evertally::Release { rounding: evertally::Rounding::NONE, ..expected };
                assert!(epsilon < 30.0 || margin > 1.2 * alone.margin(0.95), "{step}: the rounding is seen");
            }
        }
    }
}
