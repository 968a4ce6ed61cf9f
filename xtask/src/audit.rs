//! `cargo xtask audit`: measures how often the audit finds each planted fault, and how often it
//! passes each correct mechanism.

use serde_json::json;
use std::fmt::Write as _;

use crate::Outcome;
use crate::bench::write_results;
use crate::process::{cargo, command, output};

/// The number of audits per subject.
const AUDITS: u32 = 1000;

/// The minimum share of audits that must find a fault.
const MIN_POWER: f64 = 0.999;

/// The maximum number of false alarms in [`AUDITS`] audits at a rate of 10⁻⁴. More occur once in
/// 250,000 times.
const MAX_FALSE_ALARMS: u32 = 3;

/// The maximum number of [`AUDITS`] audits in which separation may miss the shortage that it states
/// to find with probability 0.99. More occur once in 10⁶ times.
const MAX_MISSES: u32 = 28;

/// The attacks, in the order of the example's output.
const ATTACKS: [&str; 7] =
    ["one run", "error rates", "separation", "replay", "covariance", "low bits", "admission"];

/// The index of separation in [`ATTACKS`].
const SEPARATION: usize = 2;

/// The audits of one subject.
struct Row {
    is_fault: bool,
    name: String,
    mechanism: String,
    steps: u32,
    audits: u32,
    failures: u32,
    by_attack: Vec<u32>,
    bound: Option<f64>,
    seconds: f64,
}

impl Row {
    fn parse(line: &str) -> Option<Self> {
        let mut fields = line.split('\t');
        let is_fault = fields.next()? == "fault";
        let (name, mechanism) = (fields.next()?.to_owned(), fields.next()?.to_owned());
        let mut number = || fields.next()?.parse::<u32>().ok();
        let (steps, audits, failures) = (number()?, number()?, number()?);
        let by_attack = ATTACKS.iter().map(|_| number()).collect::<Option<_>>()?;
        let bound = fields.next()?.parse().ok();
        let seconds = fields.next()?.parse().ok()?;
        Some(Self { is_fault, name, mechanism, steps, audits, failures, by_attack, bound, seconds })
    }

    /// The share of audits with the right verdict.
    fn rate(&self) -> f64 {
        let right = if self.is_fault { self.failures } else { self.audits - self.failures };
        f64::from(right) / f64::from(self.audits)
    }

    fn is_good_enough(&self) -> bool {
        if self.is_fault { self.rate() >= MIN_POWER } else { self.failures <= MAX_FALSE_ALARMS }
    }
}

/// The power that the audits state: the first line of the table.
struct Power {
    percent_short: f64,
    probability: f64,
}

impl Power {
    fn parse(line: &str) -> Option<Self> {
        let (percent_short, probability) = line.strip_prefix("power\t")?.split_once('\t')?;
        Some(Self { percent_short: percent_short.parse().ok()?, probability: probability.parse().ok()? })
    }

    /// Whether separation found the stated shortage as often as stated.
    fn is_as_stated(&self, rows: &[Row]) -> bool {
        let name = format!("noise {} % short", self.percent_short);
        let row = rows.iter().find(|row| row.is_fault && row.name == name);
        row.is_some_and(|row| row.audits - row.by_attack[SEPARATION] <= MAX_MISSES)
    }
}

/// Audits every subject, or reads the table that `power_table` printed on another machine. A
/// thousand audits of each take three quarters of an hour on one core.
pub(crate) fn run(table: Option<&str>) -> Outcome {
    let table = match table {
        Some(path) => {
            std::fs::read_to_string(path).map_err(|error| format!("cannot read {path}: {error}"))?
        }
        None => audit_every_subject()?,
    };
    let mut lines = table.lines();
    let power = lines.next().and_then(Power::parse);
    let rows: Option<Vec<Row>> = lines.map(Row::parse).collect();
    let (power, rows) = power.zip(rows).ok_or("the power table cannot be read")?;
    let text = text(&power, &rows)?;
    write_results("audit", &document(&power, &rows), &text)?;
    let mut bad: Vec<_> =
        rows.iter().filter(|row| !row.is_good_enough()).map(|row| row.name.as_str()).collect();
    if !power.is_as_stated(&rows) {
        bad.push("the stated power");
    }
    if bad.is_empty() { Ok(()) } else { Err(format!("the audit is not good enough on: {}", bad.join(", "))) }
}

fn audit_every_subject() -> Result<String, String> {
    eprintln!("auditing every subject {AUDITS} times; this takes several minutes");
    output(cargo().args(["run", "--quiet", "--release", "--package", "evertally-audit"]).args([
        "--features",
        "planted-faults",
        "--example",
        "power_table",
        "--",
        &AUDITS.to_string(),
    ]))
}

fn text(power: &Power, rows: &[Row]) -> Result<String, String> {
    let table = |title: &str, is_fault: bool| {
        let mut table = format!(
            "| subject | mechanism | steps | {title} | {} | median ε at least |\n",
            ATTACKS.join(" | ")
        );
        table.push_str("|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n");
        for row in rows.iter().filter(|row| row.is_fault == is_fault) {
            let attacks = row.by_attack.iter().map(u32::to_string).collect::<Vec<_>>().join(" | ");
            // Without noise, the bound is the largest that the library computes.
            let bound = row.bound.map_or_else(String::new, |bound| {
                if bound < 1e3 { format!("{bound:.2}") } else { "> 1000".to_owned() }
            });
            // Writing to a string cannot fail.
            let _ = writeln!(
                table,
                "| {} | {} | {} | {:.3} | {attacks} | {bound} |",
                row.name,
                row.mechanism,
                row.steps,
                row.rate(),
            );
        }
        table
    };
    let audits = rows.iter().map(|row| row.audits).min().unwrap_or(0);
    Ok(format!(
        "# What the audit finds\n\n\
         {audits} audits of each subject, each with separate keys, at ε = 1 and δ = 10⁻⁶ (δ = 0 for laplace-tree), 2 × 700 runs, at a false-alarm \
         rate of 10⁻⁴ for the whole audit, without timing. Releases are rounded to integers, except those of float \
         noise. Each attack's column is the number of audits in which it succeeded. Admission is attacked with 200 random streams of events for \
         each gate. Written by `cargo xtask audit`.\n\n\
         At these settings noise {} % short is found with probability {}, by separation alone. That is the smallest shortage \
         planted here.\n\n\
         ## Planted faults: the share that was found\n\n{}\n\
         ## Correct mechanisms: the share that passed\n\n{}\n\
         - **one run** cannot refute anything with so few canaries, and **error rates** are too coarse at such a δ. Both bound ε without assumptions \
         about the noise.\n\
         - **median ε at least**: by separation, of Gaussian noise.\n\n\
         evertally {}, {}.\n",
        power.percent_short,
        power.probability,
        table("found", true),
        table("passed", false),
        env!("CARGO_PKG_VERSION"),
        output(command("rustc").arg("--version"))?,
    ))
}

fn document(power: &Power, rows: &[Row]) -> serde_json::Value {
    let row = |row: &Row| {
        let attacks: serde_json::Map<_, _> = ATTACKS
            .iter()
            .zip(&row.by_attack)
            .map(|(name, count)| ((*name).to_owned(), json!(count)))
            .collect();
        json!({
            "kind": if row.is_fault { "fault" } else { "mechanism" },
            "name": row.name,
            "mechanism": row.mechanism,
            "steps": row.steps,
            "audits": row.audits,
            "failures": row.failures,
            "failures_by_attack": attacks,
            "median_epsilon_at_least": row.bound,
            "seconds": row.seconds,
        })
    };
    json!({
        "benchmark": "power of the audit",
        "percent_short_found": power.percent_short,
        "probability": power.probability,
        "results": rows.iter().map(row).collect::<Vec<_>>(),
    })
}
