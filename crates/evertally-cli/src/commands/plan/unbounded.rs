//! `evertally plan --horizon unbounded`: the cost of not knowing the end.

use super::{aligned, budget_of, privacy_in_words, shape_in_words};
use crate::commands::shared::{bytes_in_words, delta_in_words};
use crate::error::Result;
use crate::manners::with_head;
use crate::mechanism::{UnboundedPlan, state_bytes};
use crate::output::JsonObject;
use crate::plot::{Line, ProfileChart, grouped};
use evertally::{Mechanism, PlanSpec, Workload};

/// The plan in a shape that other programs rely on.
pub(super) fn json(spec: &PlanSpec, unbounded: &UnboundedPlan) -> Result<String> {
    let milestones = unbounded.milestones.iter().map(|milestone| {
        JsonObject::default()
            .with("steps", milestone.step)
            .with("standard_error", milestone.standard_error)
            .with("known_horizon", milestone.known_horizon)
            .with("ratio", milestone.ratio())
            .with("optimum", milestone.optimum)
            .with("ratio_to_optimum", milestone.ratio_to_optimum())
            .with("rmse_so_far", milestone.rmse_so_far)
            .with("ratio_so_far", milestone.ratio_so_far())
    });
    let (plan, (epsilon, delta)) = (&unbounded.plan, budget_of(spec));
    JsonObject::default()
        .with("horizon", spec.horizon)
        .with("cap", plan.horizon())
        .with("epsilon", epsilon)
        .with("delta", delta)
        .with("noise_multiplier", plan.noise_multiplier())
        .with("mechanism", plan.mechanism().to_string())
        .with("sensitivity", plan.sensitivity())
        .with("worst_rmse", plan.accuracy().worst_rmse)
        .with("state_bytes", state_bytes(plan))
        .with("milestones", milestones.collect::<Vec<_>>())
        .line()
}

/// The plan for people.
#[expect(clippy::unnecessary_wraps, reason = "the same signature as `json`")]
pub(super) fn table(spec: &PlanSpec, unbounded: &UnboundedPlan) -> Result<String> {
    let plan = &unbounded.plan;
    // Without a certificate, the optimum would be the plan for a known horizon once more.
    let is_certified = unbounded.milestones.iter().any(|milestone| milestone.optimum.is_some());
    let columns = if is_certified { 8 } else { 6 };
    let head = [
        "",
        "steps",
        "",
        "standard error",
        "known horizon",
        "mse / known horizon",
        "mse / optimum",
        "mean so far / optimum",
    ];
    let mut rows = vec![head[..columns].iter().map(|word| (*word).to_owned()).collect()];
    for milestone in &unbounded.milestones {
        let or_unknown =
            |number: Option<f64>| number.map_or("unknown".to_owned(), |number| format!("{number:.4}"));
        let mut row: Vec<String> = vec![
            String::new(),
            power(milestone.step),
            grouped(milestone.step as f64, 0),
            format!("{:.4}", milestone.standard_error),
            or_unknown(milestone.known_horizon),
            or_unknown(milestone.ratio()),
            estimated(milestone.ratio_to_optimum(), milestone.optimum.is_some()),
            estimated(milestone.ratio_so_far(), milestone.optimum.is_some()),
        ];
        row.truncate(columns);
        rows.push(row);
    }
    let explained = if is_certified { CERTIFIED } else { "" };
    Ok(format!(
        "{} without a known end{}, at {}: noise multiplier σ = {:.6}\n{}\n\n\
         {}: sensitivity Δ = {:.6}, worst step {:.4}, memory {}, {:.0} operations per step\n\n{}\n\
         known horizon: the typical error (rmse) of the plan for exactly that many steps, had it been asked for\n\
         {explained}",
        subject(spec.workload),
        shape_in_words(spec),
        privacy_in_words(spec),
        plan.noise_multiplier(),
        cap_in_words(spec.workload, plan.mechanism(), plan.horizon()),
        plan.mechanism(),
        plan.sensitivity(),
        plan.accuracy().worst_rmse,
        bytes_in_words(state_bytes(plan)),
        plan.cost().operations_per_step,
        with_head(&aligned(&rows, 0..2), |_| None),
    ))
}

/// What the ratios to the optimum are ratios to.
const CERTIFIED: &str = "\
    mse / optimum: beside the least possible mean squared error over exactly that many steps, which a certificate\n\
    proves; ≈ where it is not computed, and the plan for that horizon stands for it\n\
    mean so far: the mean squared error of all steps up to that one\n";

/// A ratio, marked if it is not to a proven optimum.
fn estimated(ratio: Option<f64>, is_proven: bool) -> String {
    let mark = if is_proven { "" } else { "≈ " };
    ratio.map_or("unknown".to_owned(), |ratio| format!("{mark}{ratio:.4}"))
}

fn subject(workload: Workload) -> String {
    match workload {
        Workload::SlidingWindow { width } => format!("sums over the last {width} steps"),
        Workload::Decay { factor } => format!("sums decayed by {factor} per step"),
        _ => "running totals".to_owned(),
    }
}

/// The declared cap, and the reason for it.
fn cap_in_words(workload: Workload, mechanism: Mechanism, cap: u64) -> String {
    match workload {
        Workload::SlidingWindow { .. } | Workload::Decay { .. } => format!(
            "it forgets, so that it runs for ever at a finite sensitivity of its own: {} steps, after which there\n\
             are no more numbers for noise",
            power(cap)
        ),
        _ => {
            let reason = match mechanism {
                Mechanism::EndlessSquareRoot => {
                    "for which its numbers are made; the noise of a step does not depend on how\nmany follow"
                }
                _ => {
                    "is declared, because the noise of a total of everything grows with the number\n\
                     of steps and must be set before the first"
                }
            };
            format!(
                "a cap of {} = {} steps {reason}; at one step per millisecond it is reached after {:.1} years",
                power(cap),
                grouped(cap as f64, 0),
                cap as f64 / (1000.0 * 86_400.0 * 365.25),
            )
        }
    }
}

/// A power of two as one; any other number as itself.
fn power(steps: u64) -> String {
    if steps.is_power_of_two() && steps > 1 { format!("2^{}", steps.ilog2()) } else { steps.to_string() }
}

pub(super) fn chart(spec: &PlanSpec, unbounded: &UnboundedPlan) -> ProfileChart {
    let (plan, (epsilon, delta)) = (&unbounded.plan, budget_of(spec));
    let delta = delta_in_words(delta);
    let unknown = Line::profile("end unknown", &unbounded.profile, true);
    let known = Line::profile("end known in advance", &unbounded.known, false);
    ProfileChart {
        title: format!("What not knowing the end costs: {}", subject(spec.workload)),
        subtitle: format!(
            "{} capped at {} steps · ε = {epsilon}, δ = {delta} · {}",
            plan.mechanism(),
            power(plan.horizon()),
            spec.neighbours
        ),
        profiles: vec![unknown, known],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caps_are_explained() {
        let total = cap_in_words(Workload::PrefixSum, Mechanism::SquareRoot, 1 << 40);
        let endless = cap_in_words(Workload::PrefixSum, Mechanism::EndlessSquareRoot, 1 << 40);
        assert!(endless.contains("does not depend") && !total.contains("does not depend"), "{endless}");
        assert!(total.contains("2^40 = 1,099,511,627,776 steps") && total.contains("34.8 years"), "{total}");
        let decay = cap_in_words(Workload::Decay { factor: 0.5 }, Mechanism::SquareRoot, 1 << 60);
        assert!(decay.contains("runs for ever") && decay.contains("2^60"), "{decay}");
        assert_eq!((power(1), power(32), power(33)), ("1".to_owned(), "2^5".to_owned(), "33".to_owned()));
    }
}
