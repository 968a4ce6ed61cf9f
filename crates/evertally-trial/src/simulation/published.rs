//! Every published release.

use std::collections::{BTreeMap, BTreeSet};

use evertally_ledger::{KeyNames, ReadView, Status, StepRelease};

use super::definitions::CounterDefinition;
use super::model::{Counter, CounterState, Model};
use super::world::{BrokenPromise, expect};
use crate::MAX_ERROR;

/// The number of earlier steps that are compared every time.
const RECENT_STEPS: u64 = 3;

/// The published releases, by counter and step.
#[derive(Default)]
pub(super) struct Published {
    releases: BTreeMap<(String, u64), StepRelease>,
    /// Releases of steps that a restored file does not have, with their epochs. These steps may be
    /// released again in a later epoch.
    superseded: BTreeMap<(String, u64), u32>,
    /// The number of published releases, including superseded ones.
    count: u64,
    /// The values of keys that were found.
    found: u64,
}

impl Published {
    /// The number of published releases so far.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// The number of published values of keys that were found.
    pub(super) fn found(&self) -> u64 {
        self.found
    }

    /// Forgets the releases that a restored file does not have.
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

    /// Compares every published release with earlier observations and with the model. If a commit
    /// is in doubt, a counter may agree with either model. Unless the comparison is thorough, only
    /// recent steps are compared.
    pub(super) fn compare(
        &mut self,
        shown: &ReadView,
        model: &Model,
        or: Option<&Model>,
        is_thorough: bool,
    ) -> Result<(), BrokenPromise> {
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
            let first = if is_thorough { 0 } else { (known as u64).saturating_sub(RECENT_STEPS) };
            let releases =
                shown.releases(&published, first..released).map_err(|error| format!("{name}: {error}"))?;
            expect(
                &format!("the releases of {name}"),
                releases.len() as u64,
                released.saturating_sub(first),
            )?;
            for (step, release) in (first..).zip(releases) {
                self.compare_release(counter, step, release, published.key_names().as_ref())?;
            }
        }
        Ok(())
    }

    fn compare_release(
        &mut self,
        counter: &Counter,
        step: u64,
        release: StepRelease,
        names: Option<&KeyNames>,
    ) -> Result<(), BrokenPromise> {
        let name = &counter.definition.name;
        let place = (name.clone(), step);
        if let Some(before) = self.releases.get(&place) {
            return expect(&format!("step {step} of {name}, which was shown before"), &release, before);
        }
        expect("the step of a release", release.step, step)?;
        if counter.definition.finds_keys {
            compare_found(counter, step, &release, names)?;
            self.found += release.values.len() as u64;
        } else {
            expect("the numbers of a release", release.values.len(), counter.definition.width())?;
        }
        if let Some(epoch) = self.superseded.get(&place)
            && release.epoch <= *epoch
        {
            return Err(format!("step {step} of {name} was released again in epoch {}", release.epoch));
        }
        if counter.definition.is_exact {
            if release.standard_error > MAX_ERROR {
                return Err(format!(
                    "the error of {name} is {}, too large to compare",
                    release.standard_error
                ));
            }
            let totals: Vec<f64> =
                (0..counter.definition.width()).map(|lane| counter.total(step, lane) as f64).collect();
            let values: Vec<f64> = release.values.iter().map(|value| value.round()).collect();
            expect(&format!("step {step} of {name}"), values, totals)?;
        }
        self.releases.insert(place, release);
        self.count += 1;
        Ok(())
    }
}

/// The keys of a release that were found: each has persons, appears once, and its total is near. A value is
/// farther than ten standard errors away with probability below 10⁻²².
fn compare_found(
    counter: &Counter,
    step: u64,
    release: &StepRelease,
    names: Option<&KeyNames>,
) -> Result<(), BrokenPromise> {
    let name = &counter.definition.name;
    let mut seen = BTreeSet::new();
    for (place, value) in release.values.iter().enumerate() {
        let key = names.and_then(|names| names.get(place)).ok_or("a release has a value without a key")?;
        let lane = (0..=counter.definition.keys).find(|lane| CounterDefinition::key(*lane) == key);
        let lane = lane.ok_or_else(|| format!("{name} found a key that nobody named"))?;
        let total = counter.total(step, lane) as f64;
        if !seen.insert(lane) || counter.persons(step, lane) == 0 {
            return Err(format!("step {step} of {name} has a key twice, or without persons"));
        }
        if (value - total).abs() > 10.0 * release.standard_error {
            return Err(format!("step {step} of {name} has {value} where {total} counted"));
        }
    }
    Ok(())
}

fn status(counter: &Counter) -> Status {
    match counter.life {
        CounterState::Retired => Status::Retired,
        _ if counter.released == counter.definition.steps => Status::Ended,
        CounterState::Halted => Status::Fenced,
        CounterState::Running => Status::Running,
    }
}
