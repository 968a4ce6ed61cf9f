//! Groups that are found: the plan, and closed steps as estimates.

use super::Intervals;
use super::readout::{Reading, Readout};
use crate::error::{CliError, Result};
use crate::output::{Header, Measured};
use crate::progress::with_progress;
use evertally::post::PostProcess;
use evertally::{DiscoveringCounter, Discovery, DiscoveryBuilder, Error, NoiseKey};
use evertally_stream::{Amount, OpenSteps};

/// A discovery that is ready to run.
pub(crate) struct Finding {
    pub(crate) discovery: Discovery,
    post_processing: PostProcess,
    intervals: Intervals,
}

impl Finding {
    /// Makes both plans and the threshold, and refuses bad parameters by the names of their options.
    pub(crate) fn new(
        builder: &DiscoveryBuilder,
        post_processing: PostProcess,
        intervals: Intervals,
    ) -> Result<Self> {
        let discovery = with_progress("planning", |_| builder.build()).map_err(refusal)?;
        Ok(Self { discovery, post_processing, intervals })
    }

    /// Adds the facts of the plan to a header.
    pub(crate) fn describe(&self, header: &mut Header) {
        let discovery = &self.discovery;
        let (persons, totals) = (discovery.persons(), discovery.totals());
        let (epsilon, delta, key_delta) = (discovery.epsilon(), discovery.delta(), discovery.key_delta());
        header.record(
            "budget",
            format!("(ε = {epsilon}, δ = {delta:e})-DP for everything released, groups that appear included"),
        );
        header.record("mechanism", totals.mechanism().to_string());
        header.record("objective", totals.objective().to_string());
        header.record("workload", totals.workload().to_string());
        header.record("neighbours", totals.neighbours().to_string());
        header.record("noise_multiplier", totals.noise_multiplier());
        header.record("rho", discovery.spend().rho());
        header.record("sensitivity", totals.sensitivity());
        header.record("arithmetic", totals.arithmetic().to_string());
        if let Some(grid) = totals.grid() {
            header.record("grid", grid);
        }
        header.record("rmse", totals.accuracy().rmse);
        header.record(
            "discovery",
            "a group appears at the first step at which its private count of distinct persons reaches the threshold, and stays",
        );
        header.record("threshold", self.threshold_in_words());
        header
            .record("floor", format!("a group with fewer than {} persons never appears", discovery.floor()));
        header.record("groups_per_person", format!("at most {}, enforced", discovery.keys_per_person()));
        header.record("delta_of_groups", key_delta);
        header.record(
            "split",
            format!(
                "{} of the budget for the counts of persons (noise multiplier {}), the rest for the totals",
                discovery.share(),
                persons.noise_multiplier()
            ),
        );
    }

    /// The thresholds of the first and the last step, and what they are made of.
    fn threshold_in_words(&self) -> String {
        let discovery = &self.discovery;
        let at = |step| discovery.threshold(step).map_or_else(|_| String::new(), |at| format!("{at}"));
        format!(
            "{} persons at the first step and {} at the last: {} standard errors above the floor",
            at(0),
            at(discovery.horizon().saturating_sub(1)),
            (1e3 * discovery.quantile()).ceil() / 1e3,
        )
    }

    /// The counter before its first step. A run that would not fit in memory is refused here, before
    /// anything is released.
    pub(crate) fn start(&self, key: NoiseKey, steps: &OpenSteps) -> Result<DiscoveringCounter> {
        let counter = DiscoveringCounter::new(&self.discovery, key)?;
        counter.check_room(steps.persons())?;
        Ok(counter)
    }

    /// Feeds a step to the counter, and passes on the rows of the groups that have appeared.
    pub(crate) fn step(
        &self,
        counter: &mut DiscoveringCounter,
        steps: &OpenSteps,
        step: u64,
        mut each: impl FnMut(&str, Measured) -> Result<()>,
    ) -> Result<()> {
        for in_key in steps.of_step(step) {
            let amount = in_key.amount.grid_steps();
            counter.add_amount(in_key.key, amount, Amount::GRID_EXPONENT, in_key.new_persons)?;
        }
        let found = counter.close_step()?;
        let releases: Vec<_> = found.iter().map(|row| row.release).collect();
        let post = vec![self.post_processing.clone(); releases.len()];
        let mut readout = Readout { intervals: self.intervals, post, reading: Reading::Totals };
        let rows = readout.read(self.discovery.totals(), &releases);
        found.iter().zip(rows).try_for_each(|(row, measured)| each(row.key, measured))
    }
}

/// The refusal of a choice, with the name of its option.
fn refusal(error: Error) -> CliError {
    let Error::BadParameter { name, expected, got } = error else { return error.into() };
    let option = match name {
        "key_delta" => "--discover-delta",
        "share" => "--discover-share",
        "floor" => "--discover-floor",
        "the threshold" => "--discover: the threshold",
        _ => return Error::BadParameter { name, expected, got }.into(),
    };
    CliError::bad(format!("{option} must be {expected}, got {got}"))
}
