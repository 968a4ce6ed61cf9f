//! `bench-regret`: runs the learner against adversaries that see its parameters, and against
//! planted distributions. It prints a line of JSON for each.
//!
//! For linear losses the comparison is with the best point of the unit ball, and the learner is
//! unconstrained. For planted data the learner stays in the ball whose best parameters it is
//! compared with. λ is the one that the bound recommends, or the paper's.

mod statistics;

use std::process::ExitCode;

use evertally::{Budget, Calibration, Error, Mechanism, NoiseKey};
use evertally_learn::adversary::{Adversary, Exploiter, Greedy, PlantedModel, RandomWalk, play};
use evertally_learn::bound::{RegretBound, printed, printed_lambda};
use evertally_learn::regret::RegretReport;
use evertally_learn::{Learner, LearningPlan, Losses, Set, Update};
use rayon::prelude::*;
use serde_json::json;
use statistics::mean_and_error;

const STEPS: u64 = 4096;
const DIMENSION: usize = 5;
const CLIP: f64 = 1.0;
const DISTANCE: f64 = 1.0;
const EPSILON: f64 = 0.5;
const DELTA: f64 = 1e-6;
const KEYS: u64 = 24;

const MECHANISMS: [&str; 6] =
    ["binary", "honaker-streaming", "honaker-full", "square-root", "graded-square-root", "blt"];

/// The opponents that choose the losses.
const OPPONENTS: [&str; 4] = ["greedy", "random walk", "exploiter", "planted logistic"];

fn main() -> ExitCode {
    match lines() {
        Ok(lines) => {
            lines.iter().for_each(|line| println!("{line}"));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn lines() -> Result<Vec<serde_json::Value>, Error> {
    let exact = Budget::new(EPSILON, DELTA)?;
    let paper = exact.with_calibration(Calibration::Paper)?;
    let sigma = paper.noise_multiplier();
    let corrected = RegretBound::corrected(STEPS, DIMENSION, CLIP, sigma)?.least(DISTANCE)?;
    let stated = printed(STEPS, DIMENSION, CLIP, sigma, DISTANCE)?;
    let mut lines = vec![json!({
        "steps": STEPS, "dimension": DIMENSION, "clip": CLIP, "epsilon": EPSILON, "delta": DELTA, "keys": KEYS,
        "corrected": corrected, "printed": stated,
    })];
    let mut add = |name: &str, plan: &LearningPlan, opponent: &str| -> Result<(), Error> {
        let (mean, error) = measured(plan, opponent)?;
        let bound = RegretBound::of_plan(plan)?.at(lambda(plan), DISTANCE)?;
        lines.push(json!({
            "mechanism": name, "opponent": opponent, "regret": mean, "regret_error": error, "bound": bound,
        }));
        Ok(())
    };
    for opponent in OPPONENTS {
        let set = if opponent.starts_with("planted") { Set::ball(DISTANCE)? } else { Set::Everything };
        let builder = || LearningPlan::new(DIMENSION, STEPS).clip(CLIP).set(set);
        for mechanism in MECHANISMS {
            let named = mechanism.parse::<Mechanism>()?;
            let run = builder().budget(exact).noise(|noise| noise.mechanism(named));
            let plan = run.recommended(DISTANCE).build()?;
            add(mechanism, &plan, opponent)?;
        }
        let regularization = printed_lambda(STEPS, DIMENSION, CLIP, sigma, DISTANCE)?;
        let plan = builder()
            .budget(paper)
            .noise(|noise| noise.mechanism(Mechanism::SquareRoot))
            .update(Update::Leader { regularization });
        add("the paper's algorithm", &plan.build()?, opponent)?;
    }
    Ok(lines)
}

fn lambda(plan: &LearningPlan) -> f64 {
    match plan.update() {
        Update::Leader { regularization } => regularization,
        _ => f64::NAN,
    }
}

/// Mean regret over keys, and its standard error.
fn measured(plan: &LearningPlan, opponent: &str) -> Result<(f64, f64), Error> {
    let regrets: Vec<f64> =
        (0..KEYS).into_par_iter().map(|seed| regret(plan, opponent, seed)).collect::<Result<_, Error>>()?;
    Ok(mean_and_error(&regrets))
}

fn regret(plan: &LearningPlan, opponent: &str, seed: u64) -> Result<f64, Error> {
    let mut learner = Learner::new(plan, NoiseKey::insecure_from_seed(seed))?;
    let loss: Losses = "logistic".parse()?;
    if opponent.starts_with("planted") {
        let mut source = PlantedModel::logistic(vec![2.0, -2.0, 1.0, 0.0, 1.0], seed)?;
        let game = play(&mut learner, &mut source, &loss, STEPS)?;
        let data = game.data.ok_or_else(|| Error::bad("game", "of examples", "one of gradients"))?;
        return Ok(RegretReport::new(&game.meter, plan, &loss, &data, None)?.regret);
    }
    let mut adversary: Box<dyn Adversary> = match opponent {
        "greedy" => Box::new(Greedy::new(CLIP)?),
        "random walk" => Box::new(RandomWalk::insecure_from_seed(CLIP, seed)?),
        _ => Box::new(Exploiter::new(CLIP, lambda(plan), DISTANCE, STEPS, plan.set())?),
    };
    let game = play(&mut learner, &mut *adversary, &loss, STEPS)?;
    let regret = game.meter.linear_regret(Set::ball(DISTANCE)?);
    regret.ok_or_else(|| Error::bad("set", "bounded", "one that is not"))
}
