//! Events as fast as a few connections can post them, to both sides in turns.

use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::LocalSet;

use crate::latency::Latencies;
use crate::template::{Shape, Template};
use crate::{Extent, Outcome, Target};

const JSON: &str = "application/json";

/// What is posted. Every connection waits for its answer before it posts again.
const SHAPES: [Shape; 4] = [
    Shape { name: "one event", kind: JSON, events: 1, connections: 64 },
    Shape { name: "batches of 100", kind: JSON, events: 100, connections: 32 },
    Shape { name: "batches of 1,000", kind: JSON, events: 1000, connections: 16 },
    Shape { name: "NDJSON of 1,000 lines", kind: "application/x-ndjson", events: 1000, connections: 16 },
];

/// What came of one round.
#[derive(Default)]
pub(crate) struct Measured {
    pub(crate) requests: u64,
    /// Answered with something else than 200.
    pub(crate) refused: u64,
    pub(crate) seconds: f64,
    pub(crate) latencies: Latencies,
}

/// Ids that no request has had.
pub(crate) type Ids = Rc<Cell<u64>>;

/// Every shape, in rounds that alternate between the sides.
pub(crate) async fn beside(service: &Target, bare: &Target, extent: &Extent) -> Outcome<Vec<Value>> {
    let ids = Ids::default();
    let mut rows = Vec::new();
    for shape in SHAPES {
        let mut sides = [Measured::default(), Measured::default()];
        let mut ratios = Vec::new();
        for round in 0..=extent.rounds {
            let mut rates = [0.0; 2];
            for ((target, side), rate) in [service, bare].into_iter().zip(&mut sides).zip(&mut rates) {
                let measured = press(target, &shape, extent.round, &ids).await?;
                *rate = measured.requests as f64 / measured.seconds;
                // The first round warms up.
                if round > 0 {
                    side.add(measured);
                }
            }
            if round > 0 {
                ratios.push(rates[0] / rates[1]);
            }
        }
        ratios.sort_by(f64::total_cmp);
        let [service, bare] = sides.map(|side| side.summary(&shape));
        eprintln!(
            "{}: {} and {} requests a second",
            shape.name, service["requests_per_second"], bare["requests_per_second"]
        );
        rows.push(json!({
            "shape": shape.name, "events": shape.events, "connections": shape.connections, "service": service, "bare": bare,
            "ratio": ratios[ratios.len() / 2], "least_ratio": ratios[0], "most_ratio": ratios[ratios.len() - 1],
        }));
    }
    Ok(rows)
}

impl Measured {
    fn add(&mut self, other: Self) {
        self.requests += other.requests;
        self.refused += other.refused;
        self.seconds += other.seconds;
        self.latencies.append(other.latencies);
    }

    fn summary(mut self, shape: &Shape) -> Value {
        let rate = self.requests as f64 / self.seconds;
        json!({
            "requests_per_second": rate, "events_per_second": rate * shape.events as f64, "refused": self.refused,
            "latency": self.latencies.summary(),
        })
    }
}

/// Posts for a while on every connection of a shape.
pub(crate) async fn press(target: &Target, shape: &Shape, time: Duration, ids: &Ids) -> Outcome<Measured> {
    let template = Template::new(target, "load", shape);
    let mut connections = Vec::new();
    for _ in 0..shape.connections {
        let connection = TcpStream::connect(target.address).await?;
        connection.set_nodelay(true)?;
        connections.push(connection);
    }
    let (local, since) = (LocalSet::new(), Instant::now());
    let events = shape.events as u64;
    let tasks: Vec<_> = connections
        .into_iter()
        .map(|connection| {
            local.spawn_local(post(connection, template.clone(), events, since + time, ids.clone()))
        })
        .collect();
    let mut measured = Measured::default();
    local
        .run_until(async {
            for task in tasks {
                let part = task.await??;
                measured.requests += part.requests;
                measured.refused += part.refused;
                measured.latencies.append(part.latencies);
            }
            Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
        })
        .await?;
    measured.seconds = since.elapsed().as_secs_f64();
    Ok(measured)
}

/// One connection: a request, its answer, the next request.
async fn post(
    mut connection: TcpStream,
    mut template: Template,
    events: u64,
    until: Instant,
    ids: Ids,
) -> Outcome<Measured> {
    let mut measured = Measured::default();
    let mut buffer = Vec::with_capacity(4096);
    while Instant::now() < until {
        let first = ids.get();
        ids.set(first + events);
        let request = template.with_ids_from(first);
        let since = Instant::now();
        connection.write_all(request).await?;
        let status = answer(&mut connection, &mut buffer).await?;
        measured.latencies.add(since.elapsed());
        if status == 200 {
            measured.requests += 1;
        } else {
            measured.refused += 1;
            // A refusal costs the server nothing: asked again at once, it would be all that is measured.
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
    Ok(measured)
}

/// Reads one answer with a body of stated length, and returns its status.
async fn answer(connection: &mut TcpStream, buffer: &mut Vec<u8>) -> Outcome<u16> {
    buffer.clear();
    let head = loop {
        if connection.read_buf(buffer).await? == 0 {
            return Err("the connection was closed".into());
        }
        if let Some(end) = buffer.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
            break end + 4;
        }
    };
    let text = std::str::from_utf8(&buffer[..head])?;
    let status = text.get(9..12).and_then(|status| status.parse().ok()).ok_or("no status")?;
    let length = text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    let end = head + length.ok_or("an answer without a length")?;
    while buffer.len() < end {
        if connection.read_buf(buffer).await? == 0 {
            return Err("the connection was closed".into());
        }
    }
    Ok(status)
}
