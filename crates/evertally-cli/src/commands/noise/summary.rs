//! The summary of a file of noise: everything except the noise.

use super::options::Precision;
use crate::budget_file::BudgetReceipt;
use crate::commands::shared::bytes_in_words;
use crate::error::Result;
use crate::output::json_line;
use evertally::Plan;
use serde::Serialize;

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

#[derive(Serialize)]
struct NoiseJson {
    file: String,
    dtype: &'static str,
    shape: Vec<u64>,
    bytes: u64,
    first_step: u64,
    steps: u64,
    horizon: u64,
    unbounded: bool,
    workload: String,
    mechanism: String,
    budget: String,
    neighbours: String,
    participation: String,
    norm: f64,
    noise_multiplier: f64,
    rho: f64,
    sensitivity: f64,
    /// σ·Δ·C with the factor for replacement: the standard deviation of g before L.
    scale: f64,
    /// Absent for an unbounded stream: a mean up to a cap that is never reached says nothing.
    mean_error: Option<f64>,
    max_error: Option<f64>,
    rmse: Option<f64>,
    first_standard_error: f64,
    last_standard_error: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    ledger: Option<BudgetReceipt>,
}

impl Summary<'_> {
    pub(super) fn json(&self) -> Result<String> {
        let plan = self.plan;
        let (first, last) = self.errors()?;
        let over_all_steps = (!plan.is_unbounded()).then(|| plan.accuracy());
        let whole = NoiseJson {
            file: self.name.clone(),
            dtype: self.precision.name(),
            shape: if self.dim == 1 { vec![self.count] } else { vec![self.count, self.dim as u64] },
            bytes: self.bytes,
            first_step: self.first,
            steps: self.count,
            horizon: plan.horizon(),
            unbounded: plan.is_unbounded(),
            workload: plan.workload().to_string(),
            mechanism: plan.mechanism().to_string(),
            budget: plan.budget().to_string(),
            neighbours: plan.neighbours().to_string(),
            participation: plan.participation().to_string(),
            norm: plan.contribution().magnitude(),
            noise_multiplier: plan.noise_multiplier(),
            rho: plan.spend().rho(),
            sensitivity: plan.sensitivity(),
            scale: plan.noise_scale(),
            mean_error: over_all_steps.map(|accuracy| accuracy.mean_error),
            max_error: over_all_steps.map(|accuracy| accuracy.max_error),
            rmse: over_all_steps.map(|accuracy| accuracy.rmse),
            first_standard_error: first,
            last_standard_error: last,
            ledger: self.receipt.clone(),
        };
        json_line(&whole)
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
