//! The endpoint that the service is compared with: it parses the same bodies into the same structs
//! with axum, and does nothing with them.

use std::borrow::Cow;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderMap, StatusCode, header};
use axum::routing::post;
use serde::Deserialize;

use crate::{Outcome, Target};

/// An event as the service parses it, with strings borrowed from the body.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "fields are parsed, and that is all")]
struct Event<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
    #[serde(borrow, default)]
    time: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    key: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    person: Option<Cow<'a, str>>,
    #[serde(default)]
    value: Option<f64>,
}

/// The endpoint as a child process. It is killed when this value is dropped.
pub(crate) struct Bare {
    child: Child,
    pub(crate) target: Target,
}

pub(crate) fn start() -> Outcome<Bare> {
    let mut child = Command::new(std::env::current_exe()?).arg("bare").stdout(Stdio::piped()).spawn()?;
    let mut line = String::new();
    BufReader::new(child.stdout.take().ok_or("no output")?).read_line(&mut line)?;
    let target = Target { address: line.trim().parse()?, token: "none".to_owned() };
    Ok(Bare { child, target })
}

impl Drop for Bare {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Prints its address, and serves until it is killed.
pub(crate) fn serve() -> Outcome<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        println!("{}", listener.local_addr()?);
        let router = Router::new().route("/v1/counters/{name}/events", post(parse));
        axum::serve(
            axum::serve::ListenerExt::tap_io(listener, |stream| {
                // As in the service, an answer does not wait for an acknowledgement.
                let _ = stream.set_nodelay(true);
            }),
            router,
        )
        .await?;
        Ok(())
    })
}

async fn parse(headers: HeaderMap, body: Bytes) -> Result<String, (StatusCode, String)> {
    let refuse = |error: &dyn std::fmt::Display| (StatusCode::BAD_REQUEST, error.to_string());
    let text = std::str::from_utf8(&body).map_err(|error| refuse(&error))?;
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let received = if kind == "application/x-ndjson" {
        let mut received = 0;
        for line in text.lines() {
            serde_json::from_str::<Event<'_>>(line).map_err(|error| refuse(&error))?;
            received += 1;
        }
        received
    } else if text.starts_with('[') {
        serde_json::from_str::<Vec<Event<'_>>>(text).map_err(|error| refuse(&error))?.len()
    } else {
        serde_json::from_str::<Event<'_>>(text).map_err(|error| refuse(&error))?;
        1
    };
    Ok(format!(
        r#"{{"received":{received},"counted":{received},"duplicate":0,"late":0,"early":0,"over_bound":0,"ended":0,"unnamed":0}}"#
    ))
}
