//! The summary of a file of noise: everything except the noise.

use super::options::Precision;
use crate::budget_file::BudgetReceipt;
use crate::commands::shared::bytes_in_words;
use crate::error::Result;
use crate::output::JsonObject;
use evertally::Plan;

pub(super) struct Summary<'a> {
    pub(super) plan: &'a Plan,
    pub(super) name: String,
    /// The first step that was written.
    pub(super) first: u64,
    /// The number of steps that were written.
    pub(super) count: u64,
    pub(super) dim: usize,
    pub(super) precision: Precision,
    pub(super) bytes: u64,
    /// The entry in the budget file, if there is one.
    pub(super) receipt: Option<BudgetReceipt>,
}

impl Summary<'_> {
    pub(super) fn json(&self) -> Result<String> {
        let plan = self.plan;
        let (first, last) = self.errors()?;
        // Absent for an unbounded stream: a mean up to a cap that is never reached says nothing.
        let over_all_steps = (!plan.is_unbounded()).then(|| plan.accuracy());
        let shape = [self.count, self.dim as u64];
        JsonObject::default()
            .with("file", &self.name)
            .with("dtype", self.precision.name())
            .with("shape", if self.dim == 1 { &shape[..1] } else { &shape })
            .with("bytes", self.bytes)
            .with("first_step", self.first)
            .with("steps", self.count)
            .with("horizon", plan.horizon())
            .with("unbounded", plan.is_unbounded())
            .with("workload", plan.workload().to_string())
            .with("mechanism", plan.mechanism().to_string())
            .with("budget", plan.budget().to_string())
            .with("neighbours", plan.neighbours().to_string())
            .with("participation", plan.participation().to_string())
            .with("norm", plan.contribution().magnitude())
            .with("noise_multiplier", plan.noise_multiplier())
            .with("rho", plan.spend().rho())
            .with("sensitivity", plan.sensitivity())
            // σ·Δ·C with the factor for replacement: the standard deviation of g before L.
            .with("scale", plan.noise_scale())
            .with("mean_error", over_all_steps.map(|accuracy| accuracy.mean_error))
            .with("max_error", over_all_steps.map(|accuracy| accuracy.max_error))
            .with("rmse", over_all_steps.map(|accuracy| accuracy.rmse))
            .with("first_standard_error", first)
            .with("last_standard_error", last)
            .with_some("ledger", self.receipt.as_ref())
            .line()
    }

    pub(super) fn text(&self) -> Result<String> {
        let plan = self.plan;
        let (first, last) = self.errors()?;
        let coordinates = if self.dim == 1 { String::new() } else { format!(" × {} coordinates", self.dim) };
        let last_step = self.first + self.count - 1;
        let of = if plan.is_unbounded() {
            format!("an unbounded stream, capped at {}", plan.horizon())
        } else {
            format!("{}", plan.horizon())
        };
        let spent = self.receipt.as_ref().map(|receipt| format!("budget file: {}\n", receipt.in_words()));
        let spent = spent.unwrap_or_default();
        Ok(format!(
            "{}: {} steps{coordinates} as {}, {}\n\
             steps {} to {last_step} of {of}, {}, {}\n\
             {}: sensitivity Δ = {:.6}, noise multiplier σ = {:.6}, scale {:.6}\n\
             standard error of a coordinate: {first:.4} at the first row, {last:.4} at the last\n\
             {spent}\
             anyone who has this file can subtract the noise from the releases: keep it as you keep the data, and delete it\n",
            self.name,
            self.count,
            self.precision.name(),
            bytes_in_words(self.bytes),
            self.first,
            plan.workload(),
            plan.budget(),
            plan.mechanism(),
            plan.sensitivity(),
            plan.noise_multiplier(),
            plan.noise_scale(),
        ))
    }

    /// The standard deviation of a number in the first and in the last row.
    fn errors(&self) -> Result<(f64, f64)> {
        let last = self.first + self.count - 1;
        Ok((self.plan.standard_error(self.first)?, self.plan.standard_error(last)?))
    }
}
