//! `evertally demo`: a synthetic stream of events to try the program on.

use crate::error::{CliError, Result};
use crate::output::Destination;
use crate::time;
use clap::Args;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  Write eight weeks of visits, and count them privately by region and hour:
    evertally demo --out visits.csv
    evertally count visits.csv --time time --every 1h \\
      --from 2026-01-05 --steps 1344 \\
      --key region --keys north,south,east,west,harbour \\
      --epsilon 1 --delta 1e-6 --plot visits.svg

The same seed and number of days always give the same file. Nobody in it
is real.";

/// Write a synthetic file of events: time,person,region,amount
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DemoArgs {
    /// The file to write; standard output where absent
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// How many days to write, from Monday 2026-01-05 on
    #[arg(long, value_name = "N", default_value_t = 56, value_parser = clap::value_parser!(u32).range(1..=3650))]
    days: u32,
    /// Chooses the events; the same seed gives the same file
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
}

/// Monday, 5 January 2026, in Unix seconds.
const FIRST_DAY: i64 = 1_767_571_200;

/// Regions of very different size, with their share of all visits and the hour of day around which they are busiest.
const REGIONS: [(&str, f64, f64); 5] = [
    ("north", 0.42, 17.0),
    ("south", 0.27, 12.5),
    ("east", 0.17, 9.0),
    ("west", 0.10, 19.0),
    ("harbour", 0.04, 14.0),
];

const VISITS_A_WEEKDAY: f64 = 500.0;
const WEEKEND_SHARE: f64 = 1.45;
const PERSONS: u64 = 6_000;

pub(crate) fn run(args: &DemoArgs) -> Result<()> {
    let destination = Destination::open(args.out.as_deref())?;
    let name = destination.name();
    let mut out = BufWriter::new(destination);
    write_events(args, &mut out).map_err(|error| CliError::writing(&name, &error))?;
    out.into_inner().map_err(|error| CliError::writing(&name, error.error()))?.commit()
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

struct Visit {
    second: i64,
    person: u64,
    region: &'static str,
    cents: u64,
}

/// The visits of one day: more at the weekend, slowly growing over the weeks, each region around its own hour.
fn visits_of(day: u32, draws: &mut Draws) -> Vec<Visit> {
    let weekday = day % 7;
    let weekly = if weekday >= 5 { WEEKEND_SHARE } else { 1.0 + 0.05 * f64::from(weekday) };
    let trend = 1.0 + 0.004 * f64::from(day);
    let midnight = FIRST_DAY + 86_400 * i64::from(day);
    let mut visits = Vec::new();
    for (region, share, busiest) in REGIONS {
        let expected = VISITS_A_WEEKDAY * share * weekly * trend;
        for _ in 0..draws.count(expected) {
            // Most visits fall around the busy hour, some at any time of the day.
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

/// SplitMix64: a small, well-known generator. It makes example data and nothing else; the noise of releases comes from the
/// library's keyed source.
struct Draws {
    state: u64,
}

impl Draws {
    fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    fn word(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Uniform in [0, 1).
    fn unit(&mut self) -> f64 {
        (self.word() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// About standard normal: the sum of twelve uniform draws, centred.
    fn bell(&mut self) -> f64 {
        (0..12).map(|_| self.unit()).sum::<f64>() - 6.0
    }

    /// About Poisson: a rounded bell with the same mean and variance.
    fn count(&mut self, expected: f64) -> u64 {
        (expected + expected.sqrt() * self.bell()).round().max(0.0) as u64
    }
}
