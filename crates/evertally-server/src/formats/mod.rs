//! Releases as JSON, CSV or Arrow, made piece by piece.
//!
//! **Definition.** An [`Encoder`] turns the releases of some steps into bytes; what it gives one
//! after the other, from [`Encoder::rows`] to [`Encoder::end`], is one document. **Cost.** A piece
//! holds some thousand rows, whatever the range: a range of years is never in memory at once, and
//! the next piece is made when the client has taken the last one.

mod arrow;
mod csv;
mod json;

use crate::error::{Problem, Result};
use crate::state::{App, off_thread};
use ::axum::body::Body;
use ::axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use ::axum::response::Response;
use bytes::Bytes;
use evertally_ledger::{CounterView, StepRelease};
use serde::Deserialize;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use utoipa::ToSchema;

/// About how many rows a piece has.
const ROWS: u64 = 4_096;

/// In which step to go on, for formats that have no place for it.
const NEXT: HeaderName = HeaderName::from_static("evertally-next");

/// How releases are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Format {
    Json,
    Csv,
    Arrow,
}

impl Format {
    /// The first that a client names in its header `Accept`, and else JSON.
    pub(crate) fn accepted(headers: &HeaderMap) -> Self {
        let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
        let mut kinds = accepted.flat_map(|value| value.split(','));
        let known = |kind: &str| match kind.split(';').next().unwrap_or_default().trim() {
            "application/json" => Some(Self::Json),
            "text/csv" => Some(Self::Csv),
            "application/vnd.apache.arrow.stream" => Some(Self::Arrow),
            _ => None,
        };
        kinds.find_map(known).unwrap_or(Self::Json)
    }

    fn media_type(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            Self::Json => "application/json",
            Self::Csv => "text/csv; charset=utf-8",
            Self::Arrow => "application/vnd.apache.arrow.stream",
        })
    }
}

/// Which releases, and what comes after them.
pub(crate) struct Selection {
    pub(crate) counter: Arc<CounterView>,
    pub(crate) steps: Steps,
    /// One key, or all.
    pub(crate) lane: Option<usize>,
    /// The step with which to go on.
    pub(crate) next: Option<u64>,
}

/// Which steps.
pub(crate) enum Steps {
    /// All of a range.
    All(Range<u64>),
    /// Some, in order.
    Some(VecDeque<u64>),
}

impl Steps {
    /// The steps of the next piece, as ranges.
    fn take(&mut self, most: u64) -> Vec<Range<u64>> {
        match self {
            Self::All(range) => {
                let end = range.end.min(range.start.saturating_add(most));
                let piece = range.start..end;
                range.start = end;
                if piece.is_empty() { Vec::new() } else { vec![piece] }
            }
            Self::Some(steps) => {
                let most = steps.len().min(most as usize);
                steps.drain(..most).map(|step| step..step + 1).collect()
            }
        }
    }
}

/// Makes a document piece by piece.
trait Encoder: Send {
    /// The releases of some steps, with whatever must stand before them.
    fn rows(&mut self, counter: &CounterView, steps: &[StepRelease], lane: Option<usize>) -> Result<Vec<u8>>;

    /// Whatever must stand at the end.
    fn end(&mut self) -> Result<Vec<u8>>;
}

/// An answer with these releases. The first piece is made before the answer begins, so that a
/// refusal has its status.
pub(crate) async fn answer(app: &App, selection: Selection, format: Format) -> Result<Response> {
    let encoder: Box<dyn Encoder> = match format {
        Format::Json => Box::new(json::Json::new(crate::state::name_of(&selection.counter), selection.next)),
        Format::Csv => Box::new(csv::Csv::default()),
        Format::Arrow => Box::new(arrow::Arrow::new()?),
    };
    let next = selection.next;
    let work = Work { app: app.clone(), selection, encoder, is_done: false };
    let Some((first, work)) = work.piece().await? else {
        return Err(Problem::system("nothing could be written"));
    };
    let rest = futures_util::stream::try_unfold(work, |work| async { work.piece().await.map_err(Broken) });
    let all = futures_util::StreamExt::chain(futures_util::stream::once(async { Ok(first) }), rest);
    let mut response = crate::reply::with_type(StatusCode::OK, format.media_type(), Body::from_stream(all));
    if let Some(next) = next {
        response.headers_mut().insert(NEXT, HeaderValue::from(next));
    }
    Ok(response)
}

/// Why an answer breaks off.
#[derive(Debug)]
struct Broken(Problem);

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "releases could not be read: status {}", self.0.status())
    }
}

impl std::error::Error for Broken {}

/// What is still to be written.
struct Work {
    app: App,
    selection: Selection,
    encoder: Box<dyn Encoder>,
    is_done: bool,
}

impl Work {
    /// The next piece, and what is left after it.
    async fn piece(mut self) -> Result<Option<(Bytes, Self)>> {
        if self.is_done {
            return Ok(None);
        }
        // Reading may wait for the disk.
        off_thread(move || {
            let Selection { counter, steps, lane, .. } = &mut self.selection;
            let width = lane.map_or_else(|| counter.planned().lane_names().map_or(1, <[String]>::len), |_| 1);
            let most = (ROWS / width as u64).max(1);
            let mut releases = Vec::new();
            for range in steps.take(most) {
                releases.append(&mut self.app.shown().releases(counter, range)?);
            }
            let mut bytes = self.encoder.rows(counter, &releases, *lane)?;
            if (releases.len() as u64) < most {
                bytes.append(&mut self.encoder.end()?);
                self.is_done = true;
            }
            Ok(Some((Bytes::from(bytes), self)))
        })
        .await
    }
}
