//! `evertally demo`: synthetic files to try the program on.

use crate::draws::Draws;
use crate::error::Result;
use crate::output::{self, Destination, ForceArgs};
use crate::progress::with_progress;
use clap::{Args, ValueEnum};
use evertally_stream::time;
use std::io::Write;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  Write eight weeks of visits, and count them privately by region and hour:
    evertally demo --output visits.csv
    evertally count visits.csv --time time --every 1h \\
      --from 2026-01-05 --horizon 1344 \\
      --group-by region --groups north,south,east,west,harbour \\
      --epsilon 1 --delta 1e-6 --plot visits.svg

  Write a file of customers, and learn privately who comes back:
    evertally demo --kind customers --output customers.csv
    evertally learn customers.csv --label returns --classes no,yes \\
      --loss logistic --feature-norm 1 --radius 10 --holdout 5 \\
      --epsilon 2 --delta 1e-6 --model model.json --plot model.svg

The same options always give the same file. Nobody in it is real.";

/// Write a file of made-up events to count, or of customers to learn from
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct DemoArgs {
    /// The file to write [default: standard output]
    #[arg(long, short, alias = "out", value_name = "FILE")]
    output: Option<PathBuf>,
    /// What to write
    #[arg(long, value_name = "KIND", default_value = "visits")]
    kind: Kind,
    /// The number of days of visits, starting on Monday 2026-01-05
    #[arg(long, value_name = "N", default_value_t = 56, value_parser = clap::value_parser!(u32).range(1..=3650))]
    days: u32,
    /// The number of customers
    #[arg(long, value_name = "N", default_value_t = 5000, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    rows: u32,
    /// The seed of the file. The same seed gives the same file
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    force: ForceArgs,
}

/// The files that can be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// Events: time,person,region,amount
    Visits,
    /// Labelled rows: six features from about -1 to 1, and whether the customer returns
    Customers,
}

/// The features of a customer with their weights in the planted model of returning.
const HABITS: [(&str, f64); 6] = [
    ("recency", -3.0),
    ("frequency", 4.0),
    ("basket", 1.5),
    ("distance", -2.0),
    ("age", 0.0),
    ("newsletter", 1.0),
];

/// Monday, 5 January 2026, in Unix seconds.
const FIRST_DAY: i64 = 1_767_571_200;

/// Regions of very different size, with their share of all visits and their busiest hour.
const REGIONS: [(&str, f64, f64); 5] = [
    ("north", 0.42, 17.0),
    ("south", 0.27, 12.5),
    ("east", 0.17, 9.0),
    ("west", 0.10, 19.0),
    ("harbour", 0.04, 14.0),
];

const VISITS_PER_WEEKDAY: f64 = 500.0;
const WEEKEND_SHARE: f64 = 1.45;
const PERSONS: u64 = 6_000;

pub(crate) fn run(args: &DemoArgs) -> Result<()> {
    let (path, existing) = (args.output.as_deref(), args.force.existing());
    output::check_outputs(&[], &[path], existing)?;
    output::known_ending("--output", path, &["csv"], "")?;
    let out = Destination::open(path, existing)?;
    with_progress("writing", |_| {
        out.write_with(|out| match args.kind {
            Kind::Visits => write_events(args, out),
            Kind::Customers => write_customers(args, out),
        })
    })
}

fn write_events(args: &DemoArgs, out: &mut impl Write) -> std::io::Result<()> {
    let mut draws = Draws::new(args.seed);
    writeln!(out, "time,person,region,amount")?;
    for day in 0..args.days {
        let mut visits = visits_of(day, &mut draws);
        visits.sort_by_key(|visit| visit.second);
        for visit in visits {
            let time = time::from_unix_seconds(visit.second).and_then(time::format).unwrap_or_default();
            let (whole, cents) = (visit.cents / 100, visit.cents % 100);
            writeln!(out, "{time},p{:04},{},{whole}.{cents:02}", visit.person, visit.region)?;
        }
    }
    Ok(())
}

/// Customers whose return is drawn from a logistic model of their habits.
fn write_customers(args: &DemoArgs, out: &mut impl Write) -> std::io::Result<()> {
    let mut draws = Draws::new(args.seed);
    for (habit, _) in HABITS {
        write!(out, "{habit},")?;
    }
    writeln!(out, "returns")?;
    for _ in 0..args.rows {
        let mut score = 0.0;
        for (_, weight) in HABITS {
            // The file has three digits, and the model uses what is in the file.
            let value = (400.0 * draws.bell()).round() / 1000.0;
            score += weight * value;
            write!(out, "{value:.3},")?;
        }
        let returns = draws.unit() * (1.0 + (-score).exp()) < 1.0;
        writeln!(out, "{}", if returns { "yes" } else { "no" })?;
    }
    Ok(())
}

struct Visit {
    second: i64,
    person: u64,
    region: &'static str,
    cents: u64,
}

/// The visits of one day: more at the weekend, growing slowly over the weeks, in each region around
/// its own hour.
fn visits_of(day: u32, draws: &mut Draws) -> Vec<Visit> {
    let weekday = day % 7;
    let weekly = if weekday >= 5 { WEEKEND_SHARE } else { 1.0 + 0.05 * f64::from(weekday) };
    let trend = 1.0 + 0.004 * f64::from(day);
    let midnight = FIRST_DAY + 86_400 * i64::from(day);
    let mut visits = Vec::new();
    for (region, share, busiest) in REGIONS {
        let expected = VISITS_PER_WEEKDAY * share * weekly * trend;
        for _ in 0..draws.count(expected) {
            // Most visits are around the busy hour, some at any time of the day.
            let hour = if draws.unit() < 0.85 { busiest + 2.8 * draws.bell() } else { 24.0 * draws.unit() };
            let second = (hour.rem_euclid(24.0) * 3_600.0) as i64;
            // A few persons come often and most come rarely.
            let person = (PERSONS as f64 * draws.unit().powi(3)) as u64;
            let cents = (100.0 * (2.4 + 0.7 * draws.bell()).exp()).clamp(50.0, 20_000.0) as u64;
            visits.push(Visit { second: midnight + second.min(86_399), person, region, cents });
        }
    }
    visits
}
