//! Every release that was ever shown.

use std::collections::BTreeMap;

use evertally_ledger::{ReadView, Status, StepRelease};

use super::model::{Counter, Life, Model};
use super::world::{Broken, expect};
use crate::LARGEST_ERROR;

/// How many steps that were shown before are looked at every time.
const LATEST: u64 = 3;

/// What was shown, by counter and step.
#[derive(Default)]
pub(super) struct Seen {
    releases: BTreeMap<(String, u64), StepRelease>,
    /// What was shown of steps that a restored file does not know, with their epochs: it may be
    /// shown again, in a later one.
    superseded: BTreeMap<(String, u64), u32>,
    /// Releases shown, those included that were superseded.
    count: u64,
}

impl Seen {
    /// How many releases were shown so far.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Forgets what a restored file does not hold.
    pub(super) fn roll_back(&mut self, model: &Model) {
        let held =
            |name: &str, step: u64| model.counters.get(name).is_some_and(|counter| step < counter.released);
        let releases = std::mem::take(&mut self.releases);
        for ((name, step), release) in releases {
            if held(&name, step) {
                self.releases.insert((name, step), release);
            } else {
                self.superseded.insert((name, step), release.epoch);
            }
        }
    }

    /// Compares everything that is shown with what was shown before and with the model; where a
    /// commit is in doubt, a counter may stand in either. Unless it is to be thorough, the latest
    /// steps are enough.
    pub(super) fn compare(
        &mut self,
        shown: &ReadView,
        model: &Model,
        or: Option<&Model>,
        is_thorough: bool,
    ) -> Result<(), Broken> {
        for (name, counter) in &model.counters {
            let published = shown.counter(name).ok_or_else(|| format!("{name} is not shown"))?;
            let released = published.next_step();
            let doubtful =
                or.and_then(|model| model.counters.get(name)).filter(|other| other.released == released);
            let counter = if released == counter.released { counter } else { doubtful.unwrap_or(counter) };
            expect(&format!("the released steps of {name}"), released, counter.released)?;
            if or.is_none() {
                let expected = status(counter);
                if published.status() != expected && published.status() != Status::Fenced {
                    return Err(format!("{name} is {:?} and must be {expected:?}", published.status()));
                }
            }
            let known =
                self.releases.range((name.clone(), 0)..).take_while(|((other, _), _)| other == name).count();
            let first = if is_thorough { 0 } else { (known as u64).saturating_sub(LATEST) };
            let releases =
                shown.releases(&published, first..released).map_err(|error| format!("{name}: {error}"))?;
            expect(
                &format!("the releases of {name}"),
                releases.len() as u64,
                released.saturating_sub(first),
            )?;
            for (step, release) in (first..).zip(releases) {
                self.compare_release(counter, step, release)?;
            }
        }
        Ok(())
    }

    fn compare_release(&mut self, counter: &Counter, step: u64, release: StepRelease) -> Result<(), Broken> {
        let name = &counter.shape.name;
        let place = (name.clone(), step);
        if let Some(before) = self.releases.get(&place) {
            return expect(&format!("step {step} of {name}, which was shown before"), &release, before);
        }
        expect("the step of a release", release.step, step)?;
        expect("the numbers of a release", release.values.len(), counter.shape.width())?;
        if let Some(epoch) = self.superseded.get(&place)
            && release.epoch <= *epoch
        {
            return Err(format!("step {step} of {name} was released again in epoch {}", release.epoch));
        }
        if counter.shape.is_exact {
            if release.standard_error > LARGEST_ERROR {
                return Err(format!(
                    "the error of {name} is {}, too large to compare",
                    release.standard_error
                ));
            }
            let totals: Vec<f64> =
                (0..counter.shape.width()).map(|lane| counter.total(step, lane) as f64).collect();
            let values: Vec<f64> = release.values.iter().map(|value| value.round()).collect();
            expect(&format!("step {step} of {name}"), values, totals)?;
        }
        self.releases.insert(place, release);
        self.count += 1;
        Ok(())
    }
}

fn status(counter: &Counter) -> Status {
    match counter.life {
        Life::Retired => Status::Retired,
        _ if counter.released == counter.shape.steps => Status::Ended,
        Life::Halted => Status::Fenced,
        Life::Running => Status::Running,
    }
}
