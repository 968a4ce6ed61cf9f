//! What `answer` and `parity` share: the options of a batch of queries that is released once, and
//! the order of its checks. Budget, key and output are refused before any data is read. The input
//! is admitted and paid for before anything is written.

use super::shared::PrivacyArgs;
use crate::budget_file::{BudgetFileArgs, Charge, PERSON};
use crate::error::Result;
use crate::manners;
use crate::noise_key::{Key, NoiseKeyArgs, Watch};
use crate::output::{AnswerRow, Destination, ForceArgs, Header, check_outputs, known_ending, write_answers};
use clap::Args;
use evertally::research::batch::Answer;
use evertally::{Arithmetic, Budget, Neighbours, NoiseKey, NoiseName, Spend};
use evertally_keys::InputChain;
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
pub(super) struct BatchArgs {
    #[command(flatten)]
    privacy: PrivacyArgs,
    #[command(flatten)]
    noise_key: NoiseKeyArgs,
    #[command(flatten)]
    budget_file: BudgetFileArgs,
    /// The file to write. It appears only once it is complete [default: standard output]
    #[arg(long, short, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,
    /// Write one JSON object instead of CSV [default: by the name of --output]
    #[arg(long, help_heading = "Output")]
    json: bool,
    #[command(flatten)]
    force: ForceArgs,
}

/// A batch whose options are checked.
pub(super) struct Batch {
    pub(super) budget: Budget,
    pub(super) neighbours: Neighbours,
    key: Key,
    charge: Option<Charge>,
}

/// The right to release a batch, once its input is admitted.
pub(super) struct Admission {
    watch: Watch,
    charge: Option<Charge>,
}

impl BatchArgs {
    /// Checks budget, key and output. The first of the inputs is the data.
    pub(super) fn check(&self, command: &str, inputs: &[&Path]) -> Result<Batch> {
        let mut read: Vec<Option<&Path>> = inputs.iter().copied().map(Some).collect();
        read.extend([self.noise_key.path(), self.budget_file.path()]);
        check_outputs(&read, &[self.output.as_deref()], self.force.existing())?;
        self.ending()?;
        let (budget, neighbours) = (self.privacy.budget()?, self.privacy.neighbours);
        let key = self.noise_key.read()?;
        let charge = self.budget_file.charge(command, inputs[0], PERSON, neighbours)?;
        if let Some(charge) = &charge {
            charge.check(budget, key.tag())?;
        }
        manners::advise(budget, None);
        key.refuse_outputs(&[self.output.as_deref()])?;
        Ok(Batch { budget, neighbours, key, charge })
    }

    /// Opens the output. Call this before [`Admission::enter`]: an output that cannot be written
    /// must not cost any budget.
    pub(super) fn open_output(&self) -> Result<Destination> {
        Destination::open(self.output.as_deref(), self.force.existing())
    }

    /// The ending of the output's name.
    fn ending(&self) -> Result<Option<String>> {
        known_ending("--output", self.output.as_deref(), &["csv", "json"], "")
    }

    /// Writes the answers, each with its 95 % interval.
    pub(super) fn write(
        &self,
        destination: Destination,
        header: &Header,
        answers: impl Iterator<Item = (serde_json::Value, f64, f64)>,
    ) -> Result<()> {
        let margin = Answer { query: 0, value: 0.0, standard_error: 1.0 }.margin(0.95);
        let rows = answers.map(|(query, answer, standard_error)| {
            let (lower, upper) = (answer - margin * standard_error, answer + margin * standard_error);
            AnswerRow { query, answer, standard_error, lower, upper }
        });
        let is_json = self.json || self.ending()?.as_deref() == Some("json");
        write_answers(destination, header, rows, is_json)
    }
}

impl Batch {
    /// The key for noise of this name, and the right to release what is made with it.
    pub(super) fn key_for(self, name: &NoiseName) -> Result<(NoiseKey, Admission)> {
        let (key, watch) = self.key.watched(name)?;
        Ok((key, Admission { watch, charge: self.charge }))
    }
}

impl Admission {
    /// Admits the input under its key and spends the budget. When this returns, the answers may be
    /// shown. The header then says where the spending is recorded.
    pub(super) fn enter(
        mut self,
        spend: Spend,
        header: &mut Header,
        digests: impl FnOnce(&mut InputChain),
    ) -> Result<()> {
        let payment = self.charge.map(|charge| (charge, spend));
        if let Some(receipt) = self.watch.admit_whole(payment, digests)? {
            receipt.describe(header);
        }
        Ok(())
    }
}

/// Adds the size of the noise to a header, its cost, and the mean squared error beside the least
/// possible one.
pub(super) fn record_noise(
    header: &mut Header,
    budget: Budget,
    spend: Spend,
    sensitivity: f64,
    [error, least_error]: [f64; 2],
) {
    header.record("noise_multiplier", budget.noise_multiplier());
    header.record("rho", spend.rho());
    header.record("sensitivity", sensitivity);
    header.record("arithmetic", Arithmetic::Float.to_string());
    header.record("mean_squared_error", error);
    header.record("least_mean_squared_error", least_error);
}
