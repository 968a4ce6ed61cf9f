//! The report of a finished run.

use super::checkpoint::{Measured, Score};
use super::model::{Privacy, Trained};
use super::table::Data;
use super::task::Task;
use crate::budget_file::BudgetReceipt;
use crate::error::{Result, name_of};
use crate::output::JsonObject;
use crate::plot::{CurveChart, Line};
use evertally_learn::regret::RegretReport;
use serde::Serialize;

/// The warning beside every figure about held-out rows.
const UNPROTECTED: &str = "exact figures about rows that the budget does not protect";

pub(super) struct Report<'a> {
    pub(super) task: &'a Task<'a>,
    pub(super) data: &'a Data,
    pub(super) trained: &'a Trained,
    pub(super) privacy: &'a Privacy,
    pub(super) curve: &'a [Measured],
    pub(super) receipt: Option<&'a BudgetReceipt>,
    /// Whether the resumed run was finished already.
    pub(super) was_finished: bool,
    /// What was computed from the data without noise, if the user asked for it.
    pub(super) regret_not_private: Option<&'a RegretReport>,
}

#[derive(Serialize)]
struct HeldOutJson {
    rows: usize,
    loss_of_last: f64,
    loss_of_average: f64,
    accuracy_of_last: Option<f64>,
    accuracy_of_average: Option<f64>,
}

impl Report<'_> {
    fn held_out(&self) -> Option<HeldOutJson> {
        let (rows, Measured { last, average, .. }) = (self.data.held_out.as_ref()?, *self.curve.last()?);
        Some(HeldOutJson {
            rows: rows.len(),
            loss_of_last: last.loss,
            loss_of_average: average.loss,
            accuracy_of_last: last.accuracy,
            accuracy_of_average: average.accuracy,
        })
    }

    pub(super) fn json(&self) -> Result<String> {
        JsonObject::default()
            .with("model", name_of(&self.task.args.model))
            .with("loss", self.task.loss.to_string())
            .with("parameters", self.parameters())
            .with("training", self.trained)
            .with("privacy", self.privacy)
            .with("was_finished", self.was_finished)
            .with_some("held_out_not_protected", self.held_out())
            .with_some("ledger", self.receipt)
            .with_some("regret_not_private", self.regret_not_private.map(regret_json))
            .line()
    }

    fn parameters(&self) -> usize {
        self.task.loss.parameters(self.data.train.width())
    }

    pub(super) fn text(&self) -> String {
        let (args, trained, privacy) = (self.task.args, self.trained, self.privacy);
        let plural = |count: u64, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
        let mut lines = vec![format!(
            "{}: {} of {} on {}, {}{}",
            name_of(&args.model),
            self.task.loss,
            args.label,
            plural(self.task.features.len() as u64, "feature"),
            plural(self.parameters() as u64, "parameter"),
            if self.was_finished { "; the run was finished already" } else { "" },
        )];
        lines.push(format!(
            "trained: {} in {} of {} rows, {}, {}",
            plural(trained.rows as u64, "row"),
            plural(trained.steps, "step"),
            trained.batch_size,
            plural(trained.epochs, "epoch"),
            trained.update,
        ));
        lines.push(format!("spent: {} of {}", privacy.in_words(), privacy.budget));
        lines.push(format!("protected: {}; it takes part in {}", privacy.unit, privacy.participation));
        lines.push(format!("noise: {}, gradients clipped at {}", privacy.mechanism, privacy.clip));
        lines.push(format!("public: {}", privacy.public));
        if let Some(receipt) = self.receipt {
            lines.push(format!("budget file: {}", receipt.in_words()));
        }
        if let Some(held_out) = self.held_out() {
            let figures = match (held_out.accuracy_of_average, held_out.accuracy_of_last) {
                (Some(average), Some(last)) => {
                    format!(
                        "{:.1} % right by the average, {:.1} % by the last",
                        100.0 * average,
                        100.0 * last
                    )
                }
                _ => format!(
                    "mean loss {:.6} of the average, {:.6} of the last",
                    held_out.loss_of_average, held_out.loss_of_last
                ),
            };
            let rows = plural(held_out.rows as u64, "row");
            lines.push(format!("held out: {rows}: {figures} parameters ({UNPROTECTED})"));
        }
        if let Some(regret) = self.regret_not_private {
            lines.push(format!("\nNOT PRIVATE, and not to be published:\n{regret}"));
        }
        lines.push(String::new());
        lines.join("\n")
    }

    /// The performance on the held-out rows, step by step.
    pub(super) fn chart(&self) -> CurveChart {
        let (task, privacy) = (self.task, self.privacy);
        let is_classified = self.curve.iter().all(|point| point.last.accuracy.is_some());
        let curve = |name: &str, value: &dyn Fn(&Measured) -> f64| {
            Line::plain(name, self.curve.iter().map(|point| (point.steps as f64, value(point))).collect())
        };
        let value = |score: Score| match score.accuracy.filter(|_| is_classified) {
            Some(accuracy) => 100.0 * accuracy,
            None => score.loss,
        };
        let rows = self.data.held_out.as_ref().map_or(0, evertally_learn::Dataset::len);
        CurveChart {
            title: format!("Private {} of {}", task.loss, task.args.label),
            subtitle: format!("{} · {} · {}", privacy.in_words(), privacy.neighbours, privacy.mechanism),
            warning: Some(format!("measured on {rows} rows that were held out: {UNPROTECTED}")),
            across: "step".to_owned(),
            up: if is_classified { "% right".to_owned() } else { "mean loss".to_owned() },
            curves: vec![
                curve("last parameters", &|point| value(point.last)),
                curve("their average", &|point| value(point.average)),
            ],
        }
    }
}

/// Average regret, the bounds on its expectation, and the excess risk of the average.
fn regret_json(report: &RegretReport) -> JsonObject {
    let model = &report.online_to_batch;
    JsonObject::default()
        .with("examples", report.examples)
        .with("average_loss", report.average_loss)
        .with("hindsight_loss", report.hindsight_loss)
        .with("regret", report.regret)
        .with("regret_at_most", report.regret_at_most)
        .with("distance", report.distance)
        .with("exact_bound", report.exact_bound)
        .with("exact_bound_at_best", report.exact_bound_at_best)
        .with("corrected_bound", report.corrected_bound)
        .with("printed_bound", report.printed_bound)
        .with("loss_of_average", model.risk.mean)
        .with("excess_of_average", model.excess)
        .with("held_out_excess_of_average", model.held_out_excess.map(|risk| risk.mean))
}
