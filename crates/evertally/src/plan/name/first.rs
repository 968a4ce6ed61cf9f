//! Version 1: the names of 0.1, for states and ledgers that started under them.
//!
//! Such a name is a line of text, made of the words that messages used at the time. The words are
//! repeated here, so that messages may change while old noise stays the same. Nothing new uses
//! these names, because they omit the grid, the declared keys and the selection of events.

use crate::noise_name::{Layout, Purpose};
use crate::objective::Objective;
use crate::plan::Plan;
use crate::privacy::{Calibration, Contribution, Guarantee, Neighbours, Participation};
use crate::spec::{Arithmetic, Shape};
use crate::workload::Workload;

/// The name of a plan's noise.
pub(super) fn of(plan: &Plan) -> String {
    let digest = plan.factorization().digest().map(blake3::Hash::from_bytes);
    format!(
        "evertally noise 1|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}:{}",
        workload(plan.workload()),
        plan.horizon(),
        // The names of mechanisms never change.
        plan.mechanism(),
        budget(plan.budget().guarantee()),
        neighbours(plan.neighbours()),
        participation(plan.participation()),
        contribution(plan.contribution()),
        objective(plan.objective()),
        digest.map(|digest| digest.to_hex().to_string()).unwrap_or_default(),
        arithmetic(plan.arithmetic()),
        // With its length, so that no name can imitate what follows it.
        plan.stream_name().len(),
        plan.stream_name(),
    )
}

/// The label of one stream of a plan.
pub(super) fn label(plan: &Plan, purpose: Purpose, layout: Layout) -> String {
    let layout = match layout {
        Layout::Scalar => "scalar".to_owned(),
        Layout::Vector(dimension) => format!("vector {dimension}"),
        Layout::Keys => "keys".to_owned(),
    };
    format!("{}|{}{layout}", of(plan), words(purpose))
}

/// The text of a purpose.
pub(crate) fn words(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Float => "",
        Purpose::Integer => "whole ",
        Purpose::Singles => "noise f32|",
        Purpose::Doubles => "noise f64|",
    }
}

/// What version 1 saved in a state to identify its plan.
pub(crate) fn fingerprint(plan: &Plan) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key("evertally plan fingerprint 1");
    let grid = plan.grid().unwrap_or(0.0).to_bits().to_le_bytes();
    hasher.update(of(plan).as_bytes()).update(b"|").update(&grid).update(b"|");
    match plan.shape() {
        Shape::Scalar => hasher.update(b"scalar"),
        Shape::Vector { dimension } => hasher.update(format!("vector {dimension}").as_bytes()),
        Shape::Keyed { keys } => {
            for (i, key) in keys.iter().enumerate() {
                let comma = if i == 0 { "" } else { "," };
                hasher.update(format!("{comma}{}:", key.len()).as_bytes()).update(key.as_bytes());
            }
            &mut hasher
        }
        Shape::OpenKeys => hasher.update(b"open keys"),
    };
    *hasher.finalize().as_bytes()
}

fn workload(workload: Workload) -> String {
    match workload {
        Workload::PrefixSum => "prefix-sum".to_owned(),
        Workload::SlidingWindow { width } => format!("window:{width}"),
        Workload::Decay { factor } => format!("decay:{factor}"),
    }
}

/// The text of a budget in 0.1. Plans for learning depend on it too.
pub(crate) fn budget(guarantee: Guarantee) -> String {
    match guarantee {
        Guarantee::Approximate { epsilon, delta, calibration, .. } => {
            let how = match calibration {
                Calibration::Exact => "exact Gaussian calibration",
                Calibration::Zcdp => "Gaussian calibration by zCDP",
                Calibration::Paper => "Gaussian calibration by the paper's closed form",
            };
            format!("(ε = {}, δ = {})-DP, {how}", number(epsilon), number(delta))
        }
        Guarantee::Concentrated { rho } => format!("(ρ = {})-zCDP", number(rho)),
        Guarantee::Pure { epsilon } => format!("(ε = {})-DP, pure", number(epsilon)),
    }
}

fn number(value: f64) -> String {
    if value != 0.0 && !(1e-3..1e6).contains(&value.abs()) { format!("{value:e}") } else { value.to_string() }
}

fn neighbours(neighbours: Neighbours) -> &'static str {
    match neighbours {
        Neighbours::AddRemove => "add-remove",
        Neighbours::Replace => "replace",
    }
}

/// The text of a participation in 0.1.
pub(crate) fn participation(participation: Participation) -> String {
    match (participation.max_steps(), participation.min_gap()) {
        // 0.1 had none. Its name must be that of nothing else.
        _ if participation.is_in_turn() || participation.squares().is_some() => participation.to_string(),
        (1, _) => "one step".to_owned(),
        (steps, gap) => format!("at most {steps} steps, at least {gap} apart"),
    }
}

fn contribution(contribution: Contribution) -> String {
    if contribution.is_vector() {
        format!("a vector of norm at most {}", contribution.hi())
    } else {
        format!("a value in [{}, {}]", contribution.lo(), contribution.hi())
    }
}

fn objective(objective: Objective) -> &'static str {
    match objective {
        Objective::Mean => "mean",
        Objective::Worst => "worst",
        Objective::Report => "report",
        Objective::Anytime => "anytime",
    }
}

fn arithmetic(arithmetic: Arithmetic) -> &'static str {
    match arithmetic {
        Arithmetic::Exact => "exact",
        Arithmetic::Float => "float",
    }
}
