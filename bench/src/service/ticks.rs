//! Many counters that tick every second, and the delay of their releases.

use std::time::{Duration, Instant, SystemTime};

use evertally_trial::bar;
use evertally_trial::http::Client;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{sleep, timeout};

use crate::latency::Latencies;
use crate::load::{Ids, press};
use crate::template::RequestKind;
use crate::{Extent, Outcome, Target, create_counter};

/// The number of counters that are followed live. The others tick as well.
const FOLLOWED: usize = 200;

/// The requests that are posted during the second half.
const INGEST: RequestKind =
    RequestKind { name: "ingest", kind: "application/json", events: 100, connections: 8 };

/// Creates the counters, and reports the time.
pub(crate) fn create(target: &Target, counters: usize) -> Outcome<Value> {
    let (bar, since) = (bar("creating counters", counters as u64), Instant::now());
    let mut client = Client::new(target.address, &target.token);
    for number in 0..counters {
        let counter = json!({
            "name": format!("tick-{number}"), "population": "bench", "every": "1s", "steps": 100_000, "epsilon": 1.0, "delta": 1e-9,
        });
        client.post("/v1/counters", &counter)?.json()?;
        bar.inc(1);
    }
    bar.finish_and_clear();
    create_counter(target, "load", "1s")?;
    Ok(json!({"counters": counters, "seconds": since.elapsed().as_secs_f64()}))
}

/// An arrived release: its delay, its step and its follower.
struct Tick {
    follower: usize,
    step: u64,
    late: Duration,
}

/// Follows some of the counters without and with incoming events.
pub(crate) async fn measure(target: &Target, extent: &Extent) -> Outcome<Value> {
    let (sender, mut ticks) = unbounded_channel();
    let every = (extent.counters / FOLLOWED).max(1);
    let mut followers = Vec::new();
    for (follower, number) in (0..extent.counters).step_by(every).enumerate() {
        let (target, sender) = (target.clone(), sender.clone());
        followers.push(tokio::spawn(async move {
            follow(&target, &format!("tick-{number}"), follower, &sender).await
        }));
    }
    drop(sender);
    // The first releases to arrive are past ones.
    sleep(Duration::from_secs(2)).await;
    while ticks.try_recv().is_ok() {}
    let without = gather(&mut ticks, extent.ticks, async {
        sleep(extent.ticks).await;
        Ok(None)
    })
    .await?;
    let ids = Ids::default();
    let with = gather(&mut ticks, extent.ticks, async {
        let measured = press(target, &INGEST, extent.ticks, &ids).await?;
        Ok(Some(measured.requests as f64 * INGEST.events as f64 / measured.seconds))
    })
    .await?;
    for follower in followers {
        if follower.is_finished() {
            follower.await??;
        } else {
            follower.abort();
        }
    }
    Ok(json!({"followed": extent.counters.div_ceil(every), "without_ingest": without, "with_ingest": with}))
}

/// The delay of the ticks that arrive while other work runs.
async fn gather(
    ticks: &mut UnboundedReceiver<Tick>,
    time: Duration,
    meanwhile: impl Future<Output = Outcome<Option<f64>>>,
) -> Outcome<Value> {
    let mut late = Latencies::default();
    let (mut last, mut skipped) = (std::collections::BTreeMap::new(), 0);
    let until = Instant::now() + time;
    let collecting = async {
        while let Some(left) = until.checked_duration_since(Instant::now()) {
            let Ok(Some(tick)) = timeout(left, ticks.recv()).await else { break };
            let before = last.insert(tick.follower, tick.step);
            skipped += before.map_or(0, |before| tick.step - before - 1);
            late.add(tick.late);
        }
    };
    let (rate, ()) = tokio::join!(meanwhile, collecting);
    Ok(json!({"lateness": late.summary(), "skipped": skipped, "events_per_second": rate?}))
}

/// Reads server-sent events without end.
async fn follow(
    target: &Target,
    counter: &str,
    follower: usize,
    sender: &UnboundedSender<Tick>,
) -> Outcome<()> {
    let mut connection = TcpStream::connect(target.address).await?;
    let request = format!(
        "GET /v1/counters/{counter}/live HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\n\r\n",
        target.address, target.token
    );
    connection.write_all(request.as_bytes()).await?;
    let mut lines = BufReader::new(connection).lines();
    while let Some(line) = lines.next_line().await? {
        let Some(data) = line.strip_prefix("data:") else { continue };
        let now = SystemTime::now();
        let release: Value = serde_json::from_str(data)?;
        let (Some(step), Some(time)) = (release["step"].as_u64(), release["time"].as_str()) else { continue };
        let time = SystemTime::from(time.parse::<jiff::Timestamp>()?);
        let tick = Tick { follower, step, late: now.duration_since(time).unwrap_or_default() };
        if sender.send(tick).is_err() {
            break;
        }
    }
    Ok(())
}
