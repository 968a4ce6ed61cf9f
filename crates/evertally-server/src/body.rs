//! Reading bodies, with limits of size and of patience.
//!
//! **Guarantee.** Nothing is read before the token was checked, because handlers ask for it first.
//! A JSON body is refused as soon as it is known to be too large, before it is read where it says
//! so itself. A client that stops sending is refused after [`Options::body_timeout`], and one that
//! sends a byte now and then when it falls behind [`Options::slowest_body`]. An NDJSON stream may
//! be slow, but not silent.

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

/// What a body says it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MediaType {
    Json,
    Ndjson,
    /// Nothing is said, which an empty body may do.
    Absent,
}

impl MediaType {
    /// Refuses what is neither JSON nor NDJSON, and what is packed.
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

/// A body that is read piece by piece.
pub(crate) struct Pieces {
    body: Body,
    patience: Duration,
    /// When something came last.
    progress: Instant,
    /// Where the whole must come at a certain rate: bytes a second, and what has come.
    pace: Option<Pace>,
}

struct Pace {
    bytes_a_second: f64,
    started: Instant,
    received: usize,
}

impl Pieces {
    /// A stream of any length.
    pub(crate) fn stream(body: Body, options: &Options) -> Self {
        Self { body, patience: options.body_timeout, progress: Instant::now(), pace: None }
    }

    /// A body that is wanted whole.
    fn whole(body: Body, options: &Options) -> Self {
        let bytes_a_second = f64::from(options.slowest_body.max(1));
        let started = Instant::now();
        let pace = Pace { bytes_a_second, started, received: 0 };
        Self { body, patience: options.body_timeout, progress: started, pace: Some(pace) }
    }

    /// The next piece; none at the end. A caller may stop waiting and ask again, which gives the
    /// client no more time.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>> {
        loop {
            let patience = self.progress + self.patience;
            let deadline =
                self.pace.as_ref().map_or(patience, |pace| patience.min(pace.deadline(self.patience)));
            // Small bodies have come with their heads, and need no clock.
            let next = match self.body.frame().now_or_never() {
                Some(next) => next,
                None => tokio::time::timeout_at(deadline, self.body.frame())
                    .await
                    .map_err(|_| Problem::timeout())?,
            };
            let frame = match next {
                None => return Ok(None),
                Some(Err(_)) => return Err(Problem::bad("the body broke off")),
                Some(Ok(frame)) => frame,
            };
            // Trailers are nothing to us, and empty pieces no progress.
            if let Some(piece) = frame.into_data().ok().filter(|piece| !piece.is_empty()) {
                self.progress = Instant::now();
                if let Some(pace) = &mut self.pace {
                    pace.received += piece.len();
                }
                return Ok(Some(piece));
            }
        }
    }
}

impl Pace {
    fn deadline(&self, patience: Duration) -> Instant {
        self.started + patience + Duration::from_secs_f64(self.received as f64 / self.bytes_a_second)
    }
}

/// All of a body.
pub(crate) async fn whole(body: Body, options: &Options) -> Result<Bytes> {
    let largest = options.largest_body;
    let too_large = || Problem::too_large(format!("the body must be at most {largest} bytes"));
    if body.size_hint().lower() > largest as u64 {
        return Err(too_large());
    }
    let expected = body.size_hint().exact().map_or(0, |size| size as usize);
    let mut pieces = Pieces::whole(body, options);
    let Some(first) = pieces.next().await? else { return Ok(Bytes::new()) };
    if first.len() == expected {
        return Ok(first);
    }
    // What a client says about the size is believed up to a point only: it may never come.
    let mut all = BytesMut::with_capacity(expected.max(first.len()).min(1 << 20));
    let mut next = Some(first);
    while let Some(piece) = next {
        if all.len() + piece.len() > largest {
            return Err(too_large());
        }
        all.extend_from_slice(&piece);
        next = pieces.next().await?;
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
        let bytes = whole(request.into_body(), app.options()).await?;
        Ok(Self(parse(&bytes)?))
    }
}

/// A JSON body of a known shape, or none at all.
pub(crate) struct OptionalJson<T>(pub(crate) T);

impl<T: DeserializeOwned + Default> FromRequest<App> for OptionalJson<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &App) -> Result<Self> {
        let media_type = MediaType::of(request.headers())?;
        let bytes = whole(request.into_body(), app.options()).await?;
        match media_type {
            _ if bytes.is_empty() => Ok(Self(T::default())),
            MediaType::Json => Ok(Self(parse(&bytes)?)),
            _ => Err(Problem::media_type("the body must be application/json")),
        }
    }
}

/// All such bodies are objects: left to itself, serde would take an array of the fields as well.
fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    if bytes.trim_ascii_start().first().is_some_and(|first| *first != b'{') {
        return Err(Problem::bad("the body must be a JSON object"));
    }
    serde_json::from_slice(bytes).map_err(|error| Problem::from_json(&error))
}
