//! Reading bodies, with limits on size and time.
//!
//! **Guarantee.** Nothing is read before the token is checked, because every handler takes the token
//! first. A JSON body is refused as soon as it is known to be too large, which a length in its header
//! tells before anything is read. A client that stops sending is refused after
//! [`Options::body_timeout`]. A client that sends a byte now and then is refused when it falls behind
//! [`Options::min_body_bytes_per_second`]. An NDJSON stream may be slow, but not silent.

use crate::error::{Problem, Result};
use crate::options::Options;
use crate::state::App;
use axum::body::{Body, HttpBody};
use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, header};
use bytes::{Bytes, BytesMut};
use futures_util::FutureExt;
use http_body_util::BodyExt;
use serde::de::DeserializeOwned;
use std::time::Duration;
use tokio::time::Instant;

/// The media type of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MediaType {
    Json,
    Ndjson,
    /// No media type is given, which is allowed for an empty body.
    Absent,
}

impl MediaType {
    /// Refuses bodies that are neither JSON nor NDJSON, and compressed bodies.
    pub(crate) fn of(headers: &HeaderMap) -> Result<Self> {
        if headers.get(header::CONTENT_ENCODING).is_some_and(|encoding| encoding.as_bytes() != b"identity") {
            return Err(Problem::media_type("bodies must be sent without a Content-Encoding"));
        }
        let Some(value) = headers.get(header::CONTENT_TYPE) else { return Ok(Self::Absent) };
        let essence = value.to_str().unwrap_or_default().split(';').next().unwrap_or_default();
        match essence.trim().to_ascii_lowercase().as_str() {
            "application/json" => Ok(Self::Json),
            "application/x-ndjson" => Ok(Self::Ndjson),
            _ => Err(Problem::media_type(
                "the body must be application/json, or for events application/x-ndjson",
            )),
        }
    }
}

/// A body that is read in chunks.
pub(crate) struct Chunks {
    body: Body,
    patience: Duration,
    /// When the last chunk arrived.
    progress: Instant,
    /// The rate that the body must keep, for bodies that are read at once.
    pace: Option<Pace>,
}

struct Pace {
    bytes_per_second: f64,
    started: Instant,
    received: usize,
}

impl Chunks {
    /// A stream of any length.
    pub(crate) fn stream(body: Body, options: &Options) -> Self {
        Self { body, patience: options.body_timeout, progress: Instant::now(), pace: None }
    }

    /// A body that must keep a rate.
    fn paced(body: Body, options: &Options) -> Self {
        let bytes_per_second = f64::from(options.min_body_bytes_per_second.max(1));
        let started = Instant::now();
        let pace = Pace { bytes_per_second, started, received: 0 };
        Self { body, patience: options.body_timeout, progress: started, pace: Some(pace) }
    }

    /// The next chunk, or none at the end. A caller may stop waiting and call again, which gives the
    /// client no more time.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>> {
        loop {
            let patience = self.progress + self.patience;
            let deadline =
                self.pace.as_ref().map_or(patience, |pace| patience.min(pace.deadline(self.patience)));
            // Small bodies arrive with their headers, and need no timer.
            let next = match self.body.frame().now_or_never() {
                Some(next) => next,
                None => tokio::time::timeout_at(deadline, self.body.frame())
                    .await
                    .map_err(|_| Problem::timeout())?,
            };
            let frame = match next {
                None => return Ok(None),
                Some(Err(_)) => return Err(Problem::bad("the body ended before it was complete")),
                Some(Ok(frame)) => frame,
            };
            // Trailers are ignored, and empty chunks are no progress.
            if let Some(chunk) = frame.into_data().ok().filter(|chunk| !chunk.is_empty()) {
                self.progress = Instant::now();
                if let Some(pace) = &mut self.pace {
                    pace.received += chunk.len();
                }
                return Ok(Some(chunk));
            }
        }
    }
}

impl Pace {
    fn deadline(&self, patience: Duration) -> Instant {
        self.started + patience + Duration::from_secs_f64(self.received as f64 / self.bytes_per_second)
    }
}

/// Reads a body to its end.
pub(crate) async fn read_all(body: Body, options: &Options) -> Result<Bytes> {
    let max = options.max_body_bytes;
    let too_large = || Problem::too_large(format!("the body must be at most {max} bytes"));
    if body.size_hint().lower() > max as u64 {
        return Err(too_large());
    }
    let expected = body.size_hint().exact().map_or(0, |size| size as usize);
    let mut chunks = Chunks::paced(body, options);
    let Some(first) = chunks.next().await? else { return Ok(Bytes::new()) };
    if first.len() == expected {
        return Ok(first);
    }
    // The announced size is trusted only up to a limit, because the bytes may never arrive.
    let mut all = BytesMut::with_capacity(expected.max(first.len()).min(1 << 20));
    let mut next = Some(first);
    while let Some(chunk) = next {
        if all.len() + chunk.len() > max {
            return Err(too_large());
        }
        all.extend_from_slice(&chunk);
        next = chunks.next().await?;
    }
    Ok(all.freeze())
}

/// A JSON body of a known shape.
pub(crate) struct Json<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<App> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &App) -> Result<Self> {
        if MediaType::of(request.headers())? != MediaType::Json {
            return Err(Problem::media_type("the body must be application/json"));
        }
        let bytes = read_all(request.into_body(), app.options()).await?;
        Ok(Self(parse(&bytes)?))
    }
}

/// A JSON body of a known shape, or none at all.
pub(crate) struct OptionalJson<T>(pub(crate) T);

impl<T: DeserializeOwned + Default> FromRequest<App> for OptionalJson<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &App) -> Result<Self> {
        let media_type = MediaType::of(request.headers())?;
        let bytes = read_all(request.into_body(), app.options()).await?;
        match media_type {
            _ if bytes.is_empty() => Ok(Self(T::default())),
            MediaType::Json => Ok(Self(parse(&bytes)?)),
            _ => Err(Problem::media_type("the body must be application/json")),
        }
    }
}

/// Refuses everything but objects: serde would also accept an array of the fields.
fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    if bytes.trim_ascii_start().first().is_some_and(|first| *first != b'{') {
        return Err(Problem::bad("the body must be a JSON object"));
    }
    serde_json::from_slice(bytes).map_err(|error| Problem::from_json(&error))
}
