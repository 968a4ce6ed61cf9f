//! Many slow connections that never finish, and their effect on the others.

use std::rc::Rc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::LocalSet;

use crate::latency::Latencies;
use crate::load::{Ids, press};
use crate::template::RequestKind;
use crate::{Extent, Outcome, Target};

/// The ordinary connections. They are few, so that the machine is not saturated without the slow
/// ones.
const OTHERS: RequestKind =
    RequestKind { name: "others", kind: "application/json", events: 1, connections: 8 };

/// The pause between two bytes of a slow connection.
const TRICKLE: Duration = Duration::from_millis(500);

/// Measures the ordinary connections without and with slow ones, in alternating rounds.
pub(crate) async fn beside(target: &Target, extent: &Extent) -> Outcome<Value> {
    // Ids that the earlier load has not used.
    let ids = Ids::new(1_000_000_000_000.into());
    let mut without = Latencies::default();
    let mut with = Latencies::default();
    let (mut refused, mut reconnected) = (0, 0);
    for _ in 0..extent.rounds {
        without.append(press(target, &OTHERS, extent.round, &ids).await?.latencies);
        let local = LocalSet::new();
        let reconnections = Rc::new(std::cell::Cell::new(0_u64));
        for number in 0..extent.slow_connections {
            local.spawn_local(trickle(target.clone(), number, reconnections.clone()));
        }
        let measured = local
            .run_until(async {
                // Wait until all of them have connected.
                tokio::time::sleep(Duration::from_secs(1)).await;
                press(target, &OTHERS, extent.round, &ids).await
            })
            .await?;
        refused += measured.refused;
        reconnected += reconnections.get();
        with.append(measured.latencies);
    }
    let ratio = with.quantile(0.99) / without.quantile(0.99);
    Ok(json!({
        "slow_connections": extent.slow_connections, "connections": OTHERS.connections, "refused": refused, "reconnected": reconnected,
        "without": without.summary(), "with": with.summary(), "ratio_of_p99": ratio,
    }))
}

/// Half of them send a head byte by byte, the others a body. They reconnect when they are
/// disconnected.
async fn trickle(target: Target, number: usize, reconnections: Rc<std::cell::Cell<u64>>) {
    let line = format!("POST /v1/counters/load/events HTTP/1.1\r\nhost: {}\r\n", target.address);
    let whole = format!(
        "{line}authorization: Bearer {}\r\ncontent-type: application/json\r\ncontent-length: 100000\r\n\r\n[",
        target.token
    );
    let at_once = if number.is_multiple_of(2) { line } else { whole };
    let byte: &[u8] = if number.is_multiple_of(2) { b"x" } else { b" " };
    loop {
        if let Ok(mut connection) = TcpStream::connect(target.address).await {
            let mut sent = connection.write_all(at_once.as_bytes()).await;
            while sent.is_ok() {
                let mut answer = [0; 256];
                tokio::select! {
                    // Any answer ends this connection.
                    _ = connection.read(&mut answer) => break,
                    () = tokio::time::sleep(TRICKLE) => sent = connection.write_all(byte).await,
                }
            }
        }
        reconnections.set(reconnections.get() + 1);
        tokio::time::sleep(TRICKLE).await;
    }
}
