//! Posts events as fast as a few connections allow, to both sides alternately.

use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::LocalSet;

use crate::latency::Latencies;
use crate::template::{RequestKind, Template};
use crate::{Extent, Outcome, Target};

const JSON: &str = "application/json";

/// The kinds of requests. Every connection waits for its answer before it posts again.
const REQUEST_KINDS: [RequestKind; 4] = [
    RequestKind { name: "one event", kind: JSON, events: 1, connections: 64 },
    RequestKind { name: "batches of 100", kind: JSON, events: 100, connections: 32 },
    RequestKind { name: "batches of 1,000", kind: JSON, events: 1000, connections: 16 },
    RequestKind {
        name: "NDJSON of 1,000 lines",
        kind: "application/x-ndjson",
        events: 1000,
        connections: 16,
    },
];

/// The result of one round.
#[derive(Default)]
pub(crate) struct Measured {
    pub(crate) requests: u64,
    /// Requests with an answer other than 200.
    pub(crate) refused: u64,
    pub(crate) seconds: f64,
    pub(crate) latencies: Latencies,
}

/// The next unused id.
pub(crate) type Ids = Rc<Cell<u64>>;

/// Measures every kind of request, in rounds that alternate between the sides.
pub(crate) async fn beside(service: &Target, bare: &Target, extent: &Extent) -> Outcome<Vec<Value>> {
    let ids = Ids::default();
    let mut rows = Vec::new();
    for request in REQUEST_KINDS {
        let mut sides = [Measured::default(), Measured::default()];
        let mut ratios = Vec::new();
        for round in 0..=extent.rounds {
            let mut rates = [0.0; 2];
            for ((target, side), rate) in [service, bare].into_iter().zip(&mut sides).zip(&mut rates) {
                let measured = press(target, &request, extent.round, &ids).await?;
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
        let [service, bare] = sides.map(|side| side.summary(&request));
        eprintln!(
            "{}: {} and {} requests per second",
            request.name, service["requests_per_second"], bare["requests_per_second"]
        );
        rows.push(json!({
            "shape": request.name, "events": request.events, "connections": request.connections, "service": service, "bare": bare,
            "ratio": ratios[ratios.len() / 2], "min_ratio": ratios[0], "max_ratio": ratios[ratios.len() - 1],
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

    fn summary(mut self, request: &RequestKind) -> Value {
        let rate = self.requests as f64 / self.seconds;
        json!({
            "requests_per_second": rate, "events_per_second": rate * request.events as f64, "refused": self.refused,
            "latency": self.latencies.summary(),
        })
    }
}

/// Posts for some time on every connection.
pub(crate) async fn press(
    target: &Target,
    request: &RequestKind,
    time: Duration,
    ids: &Ids,
) -> Outcome<Measured> {
    let template = Template::new(target, "load", request);
    let mut connections = Vec::new();
    for _ in 0..request.connections {
        let connection = TcpStream::connect(target.address).await?;
        connection.set_nodelay(true)?;
        connections.push(connection);
    }
    let (local, since) = (LocalSet::new(), Instant::now());
    let events = request.events as u64;
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

/// One connection: sends a request, waits for its answer, and repeats.
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
            // A refusal costs the server almost nothing. Immediate retries would dominate the
            // measurement.
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
    Ok(measured)
}

/// Reads one answer with a content length, and returns its status.
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
