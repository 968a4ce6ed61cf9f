//! Made-up counters and events, to try the service.
//!
//! A day of the demo lasts ten minutes. When the service starts, the latest day is replayed through
//! the same ledger with a faster clock. Afterwards events arrive like those of clients, with ids,
//! and a few of them twice.

use crate::draws::Draws;
use crate::error::Result;
use evertally::{Budget, Neighbours, NoiseKey, PlanSpec, Workload};
use evertally_ledger::{
    CounterView, Event, Ledger, LedgerThread, NewPopulation, PreparedEvent, ReadView, Spec,
};
use evertally_stream::BucketLength;
use std::f64::consts::TAU;
use std::sync::Arc;
use std::time::Duration;

const SECOND: i64 = 1_000_000;

/// A day of the demo, in microseconds.
const DAY: f64 = 600e6;

/// How often events are sent while the service runs.
const BEAT: Duration = Duration::from_millis(200);

/// How much of the past is replayed at the start, in seconds.
const PAST: i64 = 600;

/// Steps of a counter of one second: a week of real time.
const WEEK: u64 = 604_800;

/// Regions with their shares of all visits, and the part of the day at which they are busiest.
const REGIONS: [(&str, f64, f64); 5] = [
    ("north", 0.42, 0.70),
    ("south", 0.27, 0.52),
    ("east", 0.17, 0.38),
    ("west", 0.10, 0.80),
    ("harbour", 0.04, 0.58),
];

/// One made-up counter: its events per second on average, and their kind.
struct Stream {
    name: &'static str,
    description: &'static str,
    seconds: i64,
    steps: Option<u64>,
    epsilon: f64,
    workload: Workload,
    rate: f64,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Plain,
    ByRegion,
    Spending,
    /// Persons, who contribute to at most this many steps.
    People(u64),
}

const STREAMS: [Stream; 5] = [
    Stream {
        name: "visits-by-region",
        description: "Visits since the start, by region",
        seconds: 1,
        steps: Some(WEEK),
        epsilon: 1.0,
        workload: Workload::PrefixSum,
        rate: 60.0,
        kind: Kind::ByRegion,
    },
    Stream {
        name: "active-now",
        description: "Sign-ins of the last minute",
        seconds: 1,
        steps: Some(WEEK),
        epsilon: 1.0,
        workload: Workload::SlidingWindow { width: 60 },
        rate: 25.0,
        kind: Kind::Plain,
    },
    Stream {
        name: "revenue",
        description: "Spending since the start, at most 100 per event",
        seconds: 5,
        steps: Some(WEEK / 5),
        epsilon: 1.0,
        workload: Workload::PrefixSum,
        rate: 8.0,
        kind: Kind::Spending,
    },
    Stream {
        name: "errors",
        description: "Failed requests, without a known end",
        seconds: 5,
        steps: None,
        epsilon: 0.5,
        workload: Workload::PrefixSum,
        rate: 1.5,
        kind: Kind::Plain,
    },
    Stream {
        name: "people-served",
        description: "People served since the start; a person counts in at most 4 steps",
        seconds: 5,
        steps: Some(WEEK / 5),
        epsilon: 2.0,
        workload: Workload::PrefixSum,
        rate: 6.0,
        kind: Kind::People(4),
    },
];

impl Stream {
    fn spec(&self) -> evertally_ledger::Result<Spec> {
        let is_people = matches!(self.kind, Kind::People(_));
        let population = if is_people { "people" } else { "visits" };
        let spec = Spec::new(self.name, population, self.epsilon, 1e-6).steps(self.steps);
        let spec = match self.kind {
            Kind::ByRegion => spec.keys(REGIONS.iter().map(|(name, _, _)| *name)),
            Kind::People(max_steps) => spec.persons(max_steps, 1)?,
            Kind::Spending => spec.values(0.0, 100.0)?,
            _ => spec,
        };
        Ok(Spec {
            description: Some(self.description.to_owned()),
            every: Some(BucketLength::from_micros(self.seconds * SECOND)?),
            plan: PlanSpec { workload: self.workload, ..spec.plan },
            ..spec
        })
    }
}

/// Makes the missing counters, and replays the latest day.
pub(super) fn prepare(ledger: &mut Ledger, now: i64) -> Result<()> {
    if ledger.read_view().counter(STREAMS[0].name).is_some() {
        return Ok(());
    }
    let start = now - PAST * SECOND;
    ledger.grant(&population("visits", "event", 3.0)?)?;
    ledger.grant(&population("people", "person", 4.0)?)?;
    for stream in &STREAMS {
        ledger.create(&stream.spec()?.plan(start)?, start)?;
    }
    ledger.commit(start)?;
    let mut town = Town::new()?;
    for second in 1..=PAST {
        let at = start + second * SECOND;
        for (counter, arrivals) in town.events(&ledger.read_view(), at - SECOND, 1.0)? {
            ledger.submit(&counter, &arrivals, at - SECOND)?;
        }
        // Ten seconds of the past are made durable at once.
        if second % 10 == 0 || second == PAST {
            while ledger.close_due(at)? {
                ledger.commit(at)?;
            }
            ledger.commit(at)?;
        }
    }
    Ok(())
}

fn population(name: &str, unit: &str, epsilon: f64) -> evertally_ledger::Result<NewPopulation> {
    Ok(NewPopulation {
        name: name.to_owned(),
        unit: unit.to_owned(),
        neighbours: Neighbours::AddRemove,
        total: Budget::new(epsilon, 1e-6)?,
        pure_part: 0.0,
        key_delta: 0.0,
    })
}

/// Sends events for as long as the service runs.
pub(super) async fn feed(ledger_thread: LedgerThread) {
    let Ok(mut town) = Town::new() else { return };
    let mut beats = tokio::time::interval(BEAT);
    beats.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
    loop {
        beats.tick().await;
        let Ok(events) = town.events(ledger_thread.read_view(), evertally_server::now(), BEAT.as_secs_f64())
        else {
            return;
        };
        for (counter, arrivals) in events {
            // Made-up events may be lost when the queue is full.
            let _ = ledger_thread.submit(counter, arrivals, drop);
        }
    }
}

/// Events on their way to a counter.
type Post = (Arc<CounterView>, Vec<PreparedEvent>);

/// The source of the events.
struct Town {
    draws: Draws,
    /// Ids must differ from those of earlier runs on the same directory.
    run: String,
    next: u64,
}

impl Town {
    fn new() -> evertally_ledger::Result<Self> {
        // A name for this run from the system's randomness; it protects nothing.
        let bytes = *NoiseKey::from_os()?.expose_bytes();
        let word = u64::from_le_bytes(std::array::from_fn(|i| bytes[i]));
        Ok(Self { draws: Draws::new(word), run: format!("{word:016x}"), next: 0 })
    }

    /// The events of this many seconds, ready for the ledger.
    fn events(&mut self, shown: &ReadView, now: i64, seconds: f64) -> evertally_ledger::Result<Vec<Post>> {
        let mut all = Vec::new();
        for stream in &STREAMS {
            // A counter that was retired or deleted gets no more events.
            let Some(counter) = shown.counter(stream.name) else { continue };
            let mut arrivals = Vec::new();
            for (key, rate) in rates(stream, now) {
                for _ in 0..self.draws.count(rate * seconds) {
                    let arrival = self.event(stream.kind, &counter, key)?;
                    arrivals.push(arrival.clone());
                    // One event in a hundred is sent twice, like a retry of a client.
                    if self.draws.unit() < 0.01 {
                        arrivals.push(arrival);
                    }
                }
            }
            if !arrivals.is_empty() {
                all.push((counter, arrivals));
            }
        }
        Ok(all)
    }

    fn event(
        &mut self,
        kind: Kind,
        counter: &CounterView,
        key: Option<&str>,
    ) -> evertally_ledger::Result<PreparedEvent> {
        self.next += 1;
        let id = format!("{}-{}", self.run, self.next);
        let person = matches!(kind, Kind::People(_)).then(|| format!("{}-{}", self.run, self.next / 2));
        let value = (kind == Kind::Spending)
            .then(|| (5.0 + 20.0 * self.draws.unit() + 6.0 * self.draws.bell()).max(0.5));
        counter.intake().prepare(&Event { id: &id, time: None, key, person: person.as_deref(), value })
    }
}

/// Events per second by key: more by day, and each region at its own time.
fn rates(stream: &Stream, now: i64) -> Vec<(Option<&'static str>, f64)> {
    let of_day = |busiest: f64| {
        let phase = (now as f64 / DAY).fract();
        1.0 + 0.8 * ((phase - busiest) * TAU).cos()
    };
    if stream.kind == Kind::ByRegion {
        return REGIONS
            .iter()
            .map(|(name, share, busiest)| (Some(*name), stream.rate * share * of_day(*busiest)))
            .collect();
    }
    vec![(None, stream.rate * of_day(0.6))]
}
