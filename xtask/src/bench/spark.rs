//! `cargo xtask bench spark`: compares a Spark query that counts privately with the same query that
//! counts plainly.

use std::fmt::Write as _;
use std::fs::{self, File};

use serde_json::{Value, json};

use super::{Machine, Worker, cores, duration, number, processor, spread, write_results};
use crate::Outcome;
use crate::process::root;
use crate::spark;

/// The extent of a measurement.
struct Extent {
    /// The number of reported rounds. One more runs before them and is discarded.
    rounds: usize,
    keys: usize,
    /// Numbers of events and partitions. The private part of a step matters less the more events it
    /// has.
    loads: &'static [(usize, usize)],
    /// Numbers of keys at which a step is timed, with few events.
    steps_of: &'static [usize],
    few_events: usize,
    dimension: usize,
    rows: usize,
    slices: &'static [usize],
}

const FULL: Extent = Extent {
    rounds: 3,
    keys: 10_000,
    loads: &[(12_000_000, 1), (12_000_000, 2), (12_000_000, 4), (30_000_000, 2), (1_000_000, 2)],
    steps_of: &[10_000, 100_000],
    few_events: 60_000,
    dimension: 1_000_000,
    rows: 20,
    slices: &[1, 2],
};
const QUICK: Extent = Extent {
    rounds: 1,
    keys: 1000,
    loads: &[(100_000, 2)],
    steps_of: &[1000],
    few_events: 6000,
    dimension: 10_000,
    rows: 10,
    slices: &[2],
};

/// Alternating measurements of both sides.
struct Pair {
    events: usize,
    keys: usize,
    partitions: usize,
    plain: Vec<Value>,
    private: Vec<Value>,
}

impl Pair {
    fn measure(
        worker: &mut Worker,
        rounds: usize,
        events: usize,
        keys: usize,
        partitions: usize,
    ) -> Result<Self, String> {
        let mut pair = Self { events, keys, partitions, plain: Vec::new(), private: Vec::new() };
        for round in 0..=rounds {
            let mut kinds = [("plain", &mut pair.plain), ("private", &mut pair.private)];
            // The order alternates, so that neither side always benefits from caches that the other
            // has warmed.
            if round % 2 == 1 {
                kinds.reverse();
            }
            for (kind, kept) in kinds {
                let answer = ask(worker, &format!("query {kind} {events} {keys} {partitions}"))?;
                eprintln!(
                    "round {round}: {kind}, {events} events, {keys} keys, {partitions} partitions in {}",
                    duration(number(&answer["seconds"]))
                );
                if round > 0 {
                    kept.push(answer);
                }
            }
        }
        Ok(pair)
    }

    /// Plain seconds over private ones, round by round: the relative speed of the private query.
    fn ratios(&self, field: &str) -> [f64; 3] {
        let rounds = self.plain.iter().zip(&self.private);
        spread(rounds.map(|(plain, private)| number(&plain[field]) / number(&private[field])))
    }

    fn document(&self) -> Value {
        json!({
            "events": self.events,
            "keys": self.keys,
            "partitions": self.partitions,
            "plain": self.plain,
            "private": self.private,
            "ratio": self.ratios("seconds")[0],
            "ratio_after_the_first_batch": self.ratios("going_seconds")[0],
        })
    }
}

/// All measurements.
struct Figures {
    loads: Vec<Pair>,
    steps: Vec<Pair>,
    /// The number of slices, and the seconds of every round.
    noise: Vec<(usize, Vec<f64>)>,
}

/// A quick run shows that the benchmark works. Its figures are not for publication and are not written.
pub(crate) fn run(is_quick: bool) -> Outcome {
    let extent = if is_quick { &QUICK } else { &FULL };
    let (figures, versions) = (measure(extent)?, versions()?);
    let text = text(&figures, extent, &versions);
    if is_quick {
        println!("{text}");
        return Ok(());
    }
    let each = |pairs: &[Pair]| pairs.iter().map(Pair::document).collect::<Vec<_>>();
    let noise = figures.noise.iter();
    let noise =
        noise.map(|(slices, seconds)| json!({"slices": slices, "rows": FULL.rows, "seconds": seconds}));
    let document = json!({
        "benchmark": "private counts on Spark", "cores": cores(), "processor": processor(), "versions": versions,
        "loads": each(&figures.loads), "steps": each(&figures.steps), "noise": noise.collect::<Vec<_>>(),
    });
    write_results("spark", &document, &text)
}

fn measure(extent: &Extent) -> Result<Figures, String> {
    eprintln!("installing the release build of the package");
    let python = spark::environment()?;
    let folder = root().join("target/spark/bench");
    fs::create_dir_all(&folder).map_err(|error| format!("cannot create target/spark/bench: {error}"))?;
    // Spark's workers print many messages.
    let log = File::create(folder.join("log")).map_err(|error| format!("cannot write a log: {error}"))?;
    let mut worker = Worker::start(spark::program(&python)?.arg("bench/spark.py").arg(&folder).stderr(log))?;
    let mut figures = Figures { loads: Vec::new(), steps: Vec::new(), noise: Vec::new() };
    for &(events, partitions) in extent.loads {
        let pair = Pair::measure(&mut worker, extent.rounds, events, extent.keys, partitions)?;
        figures.loads.push(pair);
    }
    for &keys in extent.steps_of {
        let pair = Pair::measure(&mut worker, extent.rounds, extent.few_events, keys, 2)?;
        figures.steps.push(pair);
    }
    for &slices in extent.slices {
        let request = format!("noise {} {} {slices}", extent.dimension, extent.rows);
        let mut seconds = Vec::new();
        for _ in 0..=extent.rounds {
            seconds.push(number(&ask(&mut worker, &request)?["seconds"]));
        }
        figures.noise.push((slices, seconds.split_off(1)));
    }
    Ok(figures)
}

fn ask(worker: &mut Worker, request: &str) -> Result<Value, String> {
    let answer = worker.text(request)?;
    serde_json::from_str(&answer).map_err(|error| {
        format!("on {request} the worker printed {answer:?} ({error}): see target/spark/bench/log")
    })
}

fn text(figures: &Figures, extent: &Extent, versions: &Value) -> String {
    let Extent { rounds, keys, .. } = extent;
    let mut text = format!(
        "# Private counts on Spark compared with plain ones\n\n\
         Written by `cargo xtask bench spark`. The same query twice, alternately, in one session on two cores: the same files, watermark, join with the declared keys, totals by key and \
         minute, state in RocksDB, and sink, which discards rows. One of them takes private steps in between. Events of {keys} keys follow Zipf's law, an hour of them in 10 batches, each of which closes about six steps. Medians of {rounds} \
         rounds after a discarded one. Ratios have the minimum and maximum of the rounds.

\
         ## Events per second\n\n\
         | events | partitions | plain | private | private / plain | plain, after the first batch | private | private / plain |\n|--:|--:|--:|--:|--:|--:|--:|--:|\n"
    );
    for pair in &figures.loads {
        // Writing to a string cannot fail, here and below.
        let _ = write!(text, "| {} | {}", pair.events, pair.partitions);
        for (field, count) in [("seconds", None), ("going_seconds", Some("going_events"))] {
            for rows in [&pair.plain, &pair.private] {
                let rates = rows.iter().map(|row| {
                    count.map_or(pair.events as f64, |count| number(&row[count])) / number(&row[field])
                });
                let _ = write!(text, " | {:.0}", spread(rates)[0]);
            }
            let [median, least, most] = pair.ratios(field).map(|ratio| 100.0 * ratio);
            let _ = write!(text, " | **{median:.0} %** ({least:.0}–{most:.0})");
        }
        text.push_str(" |\n");
    }
    text.push_str(
        "\nThe first batch starts Python on the executors and creates the state of every key. This happens once per query.\n\n\
         ## Where the time goes\n\n\
         Seconds of a whole query, by its progress reports. *processor* is the processor time of all its processes. The times of the two operators are sums over their tasks, which run in parallel within *addBatch*: *totals* is Spark's aggregation, \
         *shards* the private steps, including the transfer to Python and back.\n\n| events | partitions | | processor |",
    );
    let parts = |pair: &Pair| {
        let of =
            |row: &Value| row["durations"].as_object().map(|parts| parts.keys().cloned().collect::<Vec<_>>());
        pair.private.first().and_then(of).unwrap_or_default()
    };
    let names = figures.loads.first().map(parts).unwrap_or_default();
    let _ = writeln!(text, " {} |\n|--:|--:|:--|--:|{}", names.join(" | "), "--:|".repeat(names.len()));
    for pair in &figures.loads {
        for (kind, rows) in [("plain", &pair.plain), ("private", &pair.private)] {
            let processor = spread(rows.iter().map(|row| number(&row["processor_seconds"])))[0];
            let _ = write!(text, "| {} | {} | {kind} | {processor:.1} |", pair.events, pair.partitions);
            for name in &names {
                let spent: Vec<f64> = rows.iter().filter_map(|row| row["durations"][name].as_f64()).collect();
                let shown = if spent.is_empty() { String::new() } else { format!("{:.1}", spread(spent)[0]) };
                let _ = write!(text, " {shown} |");
            }
            text.push('\n');
        }
    }
    let _ = write!(
        text,
        "\n## A closed step\n\n{} events, so that totals cost little: the time of a step beyond the plain query, in batches that close six, after the first; and the size of a key's state that a batch writes to the \
         checkpoint.

| keys | per step | per step and key | state per key |\n|--:|--:|--:|--:|\n",
        extent.few_events,
    );
    for pair in &figures.steps {
        let rounds = pair.plain.iter().zip(&pair.private);
        let seconds = spread(rounds.map(|(plain, private)| {
            (number(&private["going_seconds"]) - number(&plain["going_seconds"]))
                / number(&private["going_steps"])
        }))[0];
        let bytes = spread(pair.private.iter().map(|row| number(&row["state_bytes_per_key"])))[0];
        let per_key = duration(seconds / pair.keys as f64);
        let _ = writeln!(text, "| {} | {} | {per_key} | {bytes:.0} bytes |", pair.keys, duration(seconds));
    }
    let _ = write!(
        text,
        "\n## Noise for vectors\n\n{} steps of {} coordinates in double precision, made and passed to Spark.

| slices | rows per second | values per second |\n|--:|--:|--:|\n",
        extent.rows, extent.dimension,
    );
    for (slices, seconds) in &figures.noise {
        // A step is one row of every slice.
        let steps = extent.rows as f64 / spread(seconds.iter().copied())[0];
        let values = steps * extent.dimension as f64 / 1e6;
        let _ = writeln!(text, "| {slices} | {:.1} | {values:.1} M |", steps * *slices as f64);
    }
    let version = |name: &str| versions[name].as_str().unwrap_or_default().to_owned();
    let _ = write!(
        text,
        "\n{} cores ({}); evertally {}, {}, {}, {}, Java {}.\n",
        cores(),
        processor(),
        version("evertally"),
        version("rustc"),
        version("python"),
        version("packages"),
        version("java"),
    );
    text
}

fn versions() -> Result<Value, String> {
    let mut versions = Machine::with_packages(spark::SPARK)?.document("")["versions"].take();
    versions["java"] = spark::java()?.unwrap_or_default().to_string().into();
    Ok(versions)
}
