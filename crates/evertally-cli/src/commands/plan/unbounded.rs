//! `evertally plan --horizon unbounded`: what not knowing the end costs.

use super::{aligned, budget_of, printed, privacy_in_words, shape_in_words};
use crate::commands::shared::{bytes_in_words, delta_in_words};
use crate::error::Result;
use crate::mechanism::Endless;
use crate::plot::{Profile, ProfileChart, grouped};
use evertally::{Horizon, PlanSpec, Workload};
use serde::Serialize;

#[derive(Serialize)]
struct EndlessJson<'a> {
    horizon: Horizon,
    cap: u64,
    epsilon: f64,
    delta: f64,
    noise_multiplier: f64,
    mechanism: &'a str,
    sensitivity: f64,
    worst_rmse: f64,
    state_bytes: u64,
    milestones: Vec<MomentJson>,
}

#[derive(Serialize)]
struct MomentJson {
    steps: u64,
    standard_error: f64,
    known_horizon: Option<f64>,
    ratio: Option<f64>,
}

/// The plan in a shape that other programs rely on.
pub(super) fn json(spec: &PlanSpec, endless: &Endless) -> Result<String> {
    let milestones = endless.milestones.iter().map(|moment| MomentJson {
        steps: moment.steps,
        standard_error: moment.standard_error,
        known_horizon: moment.known_horizon,
        ratio: moment.ratio,
    });
    let (epsilon, delta) = budget_of(spec);
    printed(&EndlessJson {
        horizon: spec.horizon,
        cap: endless.cap,
        epsilon,
        delta,
        noise_multiplier: endless.noise_multiplier,
        mechanism: &endless.mechanism,
        sensitivity: endless.sensitivity,
        worst_rmse: endless.worst_rmse,
        state_bytes: endless.state_bytes,
        milestones: milestones.collect(),
    })
}

/// The plan for people.
#[expect(clippy::unnecessary_wraps, reason = "the same shape as that of its JSON")]
pub(super) fn table(spec: &PlanSpec, endless: &Endless) -> Result<String> {
    let head = ["", "steps", "", "standard error", "known horizon", "mse / known horizon"];
    let mut rows = vec![head.map(str::to_owned)];
    for moment in &endless.milestones {
        let or_unknown =
            |number: Option<f64>| number.map_or("unknown".to_owned(), |number| format!("{number:.4}"));
        rows.push([
            String::new(),
            power(moment.steps),
            grouped(moment.steps as f64, 0),
            format!("{:.4}", moment.standard_error),
            or_unknown(moment.known_horizon),
            or_unknown(moment.ratio),
        ]);
    }
    Ok(format!(
        "{} without a known end{}, at {}: noise multiplier σ = {:.6}\n{}\n\n\
         {}: sensitivity Δ = {:.6}, worst step {:.4}, memory {}, {:.0} operations per step\n\n{}\n\
         known horizon: the typical error (rmse) of the plan for exactly that many steps, had it been asked for\n",
        subject(spec.workload),
        shape_in_words(spec),
        privacy_in_words(spec),
        endless.noise_multiplier,
        cap_in_words(spec.workload, endless.cap),
        endless.mechanism,
        endless.sensitivity,
        endless.worst_rmse,
        bytes_in_words(endless.state_bytes),
        endless.operations_per_step,
        aligned(&rows, 2),
    ))
}

fn subject(workload: Workload) -> String {
    match workload {
        Workload::SlidingWindow { width } => format!("sums over the last {width} steps"),
        Workload::Decay { factor } => format!("sums decayed by {factor} per step"),
        _ => "running totals".to_owned(),
    }
}

/// Which cap is declared, and why.
fn cap_in_words(workload: Workload, cap: u64) -> String {
    match workload {
        Workload::SlidingWindow { .. } | Workload::Decay { .. } => format!(
            "it forgets, so that it runs for ever at a finite sensitivity of its own: {} steps, after which there\n\
             are no more numbers for noise",
            power(cap)
        ),
        _ => format!(
            "a cap of {} = {} steps is declared, because the noise of a total of everything grows with the number\n\
             of steps and must be set before the first; at one step per millisecond it is reached after {:.1} years",
            power(cap),
            grouped(cap as f64, 0),
            cap as f64 / (1000.0 * 86_400.0 * 365.25),
        ),
    }
}

/// A power of two as one; any other number as itself.
fn power(steps: u64) -> String {
    if steps.is_power_of_two() && steps > 1 { format!("2^{}", steps.ilog2()) } else { steps.to_string() }
}

pub(super) fn chart(spec: &PlanSpec, endless: &Endless) -> ProfileChart {
    let (epsilon, delta) = budget_of(spec);
    let delta = delta_in_words(delta);
    let without_end =
        Profile { name: "end unknown".to_owned(), errors: endless.profile.clone(), chosen: true };
    let known =
        Profile { name: "end known in advance".to_owned(), errors: endless.known.clone(), chosen: false };
    ProfileChart {
        title: format!("What not knowing the end costs: {}", subject(spec.workload)),
        subtitle: format!(
            "{} capped at {} steps · ε = {epsilon}, δ = {delta} · {}",
            endless.mechanism,
            power(endless.cap),
            spec.neighbours
        ),
        profiles: vec![without_end, known],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caps_are_explained() {
        let total = cap_in_words(Workload::PrefixSum, 1 << 40);
        assert!(total.contains("2^40 = 1,099,511,627,776 steps") && total.contains("34.8 years"), "{total}");
        let decay = cap_in_words(Workload::Decay { factor: 0.5 }, 1 << 60);
        assert!(decay.contains("runs for ever") && decay.contains("2^60"), "{decay}");
        assert_eq!((power(1), power(32), power(33)), ("1".to_owned(), "2^5".to_owned(), "33".to_owned()));
    }
}
