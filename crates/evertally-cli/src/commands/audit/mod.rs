//! `evertally audit`: attacks a mechanism as it runs, and reports whether it keeps its promise.

mod options;

pub(crate) use options::AuditArgs;
use options::refusal;

use super::shared::{aligned, delta_in_words};
use crate::error::{CliError, Result};
use crate::manners::{ERROR, with_head};
use crate::output::{self, JsonObject, write_whole_file};
use crate::plot::{GameChart, PlotFormat, render};
use crate::progress::with_progress;
use evertally::privacy::NoiseKind;
use evertally::{Plan, Shape};
use evertally_audit::{
    Attack, Auditor, Bound, Clock, DEFAULT_STREAMS, Finding, Keys, Promise, Report, Settings, Verdict,
    audit_admission, deployed_gates,
};
use std::time::Instant;

pub(crate) fn run(args: &AuditArgs) -> Result<()> {
    let plot =
        args.plot.as_deref().map(|path| PlotFormat::of(path).map(|format| (path, format))).transpose()?;
    output::check_outputs(&[], &[args.plot.as_deref()], args.force.existing())?;
    let plan = args.plan()?;
    let rounded_to = args.grid_of(&plan);
    let refuse = |error| refusal(error, rounded_to);
    let subject = args.subject(plan.clone(), rounded_to)?;
    let length = plan.horizon().min(args.length);
    let settings = Settings {
        runs: args.runs_of(length, subject.lanes()),
        length: args.length,
        false_alarm: args.false_alarm,
        ..Settings::default()
    };
    let mut auditor = Auditor::new(&*subject, settings).map_err(refuse)?;
    if let Some(percent) = args.power {
        auditor = auditor.with_power(percent / 100.0).map_err(refuse)?;
    }
    let keys = args.seed.map_or(Keys::Os, Keys::SeededNotPrivate);
    let started = Instant::now();
    let clock = move || u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX);
    let clock: Option<&dyn Clock> = if args.no_timing { None } else { Some(&clock) };
    let mut report = with_progress("auditing", |progress| auditor.audit(keys, clock, progress))?;
    let admitted = with_progress("auditing admission", |_| admission(&plan, subject.lanes(), keys))?;
    report.findings.push(admitted);
    let audited =
        Audited { args, plan: &plan, runs: auditor.runs(), length: auditor.length(), grid: subject.grid() };
    let text = if args.json { audited.json(&report)? } else { audited.table(&report) };
    output::print(&text)?;
    if let Some((path, format)) = plot {
        write_whole_file(path, args.force.existing(), &render(&audited.chart(&report), format)?)?;
    }
    conclusion(&report)
}

/// Attacks the admission of events in front of the counter. Vectors are not made of events.
fn admission(plan: &Plan, lanes: usize, keys: Keys) -> Result<Finding> {
    if let Shape::Vector { .. } = plan.shape() {
        return Ok(Finding::skipped(Attack::Admission, "vectors are not made of events"));
    }
    let gates = deployed_gates(&Promise::of(plan), plan.horizon(), lanes);
    Ok(audit_admission(&gates, DEFAULT_STREAMS, keys)?)
}

/// Fails if any attack succeeded.
fn conclusion(report: &Report) -> Result<()> {
    let failures: Vec<String> = report.failures().map(|finding| finding.attack.to_string()).collect();
    if failures.is_empty() {
        return Ok(());
    }
    Err(CliError::Failure(format!("the audit failed: {}", failures.join(", "))))
}

/// What was audited, for the text around the findings.
struct Audited<'a> {
    args: &'a AuditArgs,
    plan: &'a Plan,
    runs: usize,
    length: usize,
    grid: f64,
}

impl Audited<'_> {
    /// The findings as JSON. Other programs rely on exactly these fields.
    fn json(&self, report: &Report) -> Result<String> {
        let bounded = |object: JsonObject, bound: Option<Bound>| {
            object
                .with("epsilon_at_least", bound.map(|bound| bound.epsilon))
                .with("confidence", bound.map(|bound| bound.confidence))
        };
        let finding = |finding: &Finding| {
            let tried = JsonObject::default()
                .with("attack", finding.attack.to_string())
                .with("tried", &finding.tried)
                .with("measured", &finding.measured)
                .with("allowed", &finding.allowed);
            bounded(tried, finding.bound).with("verdict", finding.verdict.to_string().to_lowercase())
        };
        // The probability with which noise that is this many percent short is found.
        let power = report.power.map(|power| {
            JsonObject::default()
                .with("percent_short", power.percent_short())
                .with("probability", power.probability)
        });
        let whole = JsonObject::default()
            .with("mechanism", self.plan.mechanism().to_string())
            .with("workload", self.plan.workload().to_string())
            .with("horizon", self.args.planning.horizon)
            .with("keys", self.args.planning.group_count)
            .with("open_keys", self.args.open_groups)
            .with("dim", self.args.planning.dim)
            .with("epsilon", report.epsilon)
            .with("delta", report.delta)
            .with("neighbours", self.plan.neighbours().to_string())
            .with("runs", self.runs)
            .with("length", self.length)
            .with("round", self.grid)
            .with("seed", self.args.seed)
            .with("false_alarm", report.false_alarm)
            .with("passed", report.passed());
        bounded(whole, report.bound().map(|(_, bound)| bound))
            .with("power", power)
            .with("findings", report.findings.iter().map(finding).collect::<Vec<_>>())
            .line()
    }

    /// The findings as a table, one line per attack.
    fn table(&self, report: &Report) -> String {
        let head = ["attack", "tried", "measured", "allowed", "verdict", "ε at least"];
        let row = |finding: &Finding| {
            let bound = finding.bound.map_or_else(String::new, |bound| format!("{:.3}", bound.epsilon));
            [
                finding.attack.to_string(),
                finding.tried.clone(),
                finding.measured.clone(),
                finding.allowed.clone(),
                finding.verdict.to_string(),
                bound,
            ]
        };
        let rows: Vec<_> =
            std::iter::once(head.map(str::to_owned)).chain(report.findings.iter().map(row)).collect();
        let failed = Verdict::Failed.to_string();
        let table = with_head(&aligned(&rows, 0..5), |line| {
            line.split_whitespace().any(|word| word == failed).then_some(ERROR)
        });
        format!("{}\n{table}\n{}", self.summary(), closing(report))
    }

    fn summary(&self) -> String {
        let Self { args, plan, runs, length, grid } = self;
        let lanes = match plan.shape() {
            Shape::Keyed { keys } => format!(" of {} keys", keys.len()),
            Shape::OpenKeys => format!(" of {} open keys", args.planning.group_count.unwrap_or_default()),
            Shape::Vector { dimension } => format!(" of {dimension} coordinates"),
            _ => String::new(),
        };
        let keys = match args.seed {
            Some(seed) => format!("keys derived from seed {seed}: repeatable, NOT PRIVATE"),
            None => "fresh keys".to_owned(),
        };
        let rounded =
            if *grid == 0.0 { "as they come".to_owned() } else { format!("rounded to multiples of {grid}") };
        format!(
            "{}, {} over {} steps{lanes}, {}, {}, {}\n2 × {runs} runs of {length} steps under {keys}; releases {rounded}\n",
            plan.mechanism(),
            plan.workload(),
            args.planning.horizon,
            plan.budget(),
            plan.neighbours(),
            plan.participation(),
        )
    }

    fn chart(&self, report: &Report) -> GameChart {
        let (epsilon, delta) = (report.epsilon, delta_in_words(report.delta));
        GameChart {
            title: "Two neighbouring streams, told apart by the best linear test".to_owned(),
            subtitle: format!(
                "{} · {} over {} steps · ε = {epsilon}, δ = {delta} · {} + {} runs",
                self.plan.mechanism(),
                self.plan.workload(),
                self.args.planning.horizon,
                report.game.without.len(),
                report.game.with.len(),
            ),
            without: report.game.without.clone(),
            with: report.game.with.clone(),
            separation: report.game.separation,
            epsilon,
            delta: report.delta,
            is_gaussian: self.plan.budget().noise() == NoiseKind::Gaussian,
        }
    }
}

/// The verdict over all attacks.
fn closing(report: &Report) -> String {
    let verdict = if report.passed() {
        let skipped = report.findings.iter().filter(|finding| finding.verdict == Verdict::Skipped).count();
        let tried = report.findings.len() - skipped;
        format!("PASSED: none of {tried} attacks succeeded.")
    } else {
        format!("FAILED: {} of {} attacks succeeded.", report.failures().count(), report.findings.len())
    };
    let bound = match report.bound() {
        Some((attack, bound)) => format!(
            " ε is at least {:.3} by {attack}, with probability {}; {} was promised.",
            bound.epsilon, bound.confidence, report.epsilon
        ),
        None => String::new(),
    };
    let rate = format!(
        "A mechanism that keeps its promise fails such an audit once in {:.0} times at most.",
        1.0 / report.false_alarm
    );
    format!("{verdict}{bound}\n{rate}\n{}\n", power_in_words(report))
}

/// What the audit would have found.
fn power_in_words(report: &Report) -> String {
    match report.power {
        Some(power) => format!(
            "At these settings noise {} % short is found with probability {}.",
            power.percent_short(),
            power.probability
        ),
        None => {
            "At these settings no shortage of noise is found for certain: --runs N looks harder.".to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evertally_audit::{Bound, Game, Power};

    fn report(verdict: Verdict) -> Report {
        let finding = |attack, verdict| Finding {
            attack,
            tried: "something".to_owned(),
            measured: "something else".to_owned(),
            allowed: "nothing".to_owned(),
            bound: Some(Bound { epsilon: 0.5, confidence: 0.999 }),
            verdict,
        };
        Report {
            findings: vec![finding(Attack::Replay, Verdict::Passed), finding(Attack::Separation, verdict)],
            false_alarm: 1e-4,
            epsilon: 1.0,
            delta: 1e-6,
            power: Some(Power { short: 0.0744, probability: 0.99 }),
            game: Game { without: vec![0.0], with: vec![0.2], separation: 0.2 },
        }
    }

    #[test]
    fn a_successful_attack_is_a_failure_with_exit_code_one() {
        assert!(conclusion(&report(Verdict::Passed)).is_ok());
        assert!(conclusion(&report(Verdict::Skipped)).is_ok());
        let error = conclusion(&report(Verdict::Failed)).unwrap_err();
        assert_eq!((error.exit_code(), error.to_string().as_str()), (1, "the audit failed: separation"));
    }

    #[test]
    fn the_closing_words_say_what_it_comes_to() {
        let passed = closing(&report(Verdict::Passed));
        assert!(passed.starts_with("PASSED: none of 2 attacks succeeded. ε is at least 0.500"), "{passed}");
        assert!(passed.contains("once in 10000 times at most.\n"), "{passed}");
        assert!(
            passed.contains("At these settings noise 7.5 % short is found with probability 0.99"),
            "{passed}"
        );
        let blind = closing(&Report { power: None, ..report(Verdict::Passed) });
        assert!(blind.contains("no shortage of noise is found for certain"), "{blind}");
        assert!(closing(&report(Verdict::Failed)).starts_with("FAILED: 1 of 2 attacks succeeded."));
        assert!(closing(&report(Verdict::Skipped)).starts_with("PASSED: none of 1 attacks succeeded."));
    }
}
