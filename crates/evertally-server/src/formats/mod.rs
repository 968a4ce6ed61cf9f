//! Releases as JSON, CSV or Arrow, written in chunks.
//!
//! **Definition.** An [`Encoder`] turns the releases of some steps into bytes. The results of all calls
//! of [`Encoder::rows`], followed by [`Encoder::end`], form one document. **Cost.** A chunk holds a few
//! thousand rows for any range. The next chunk is made when the client has read the last one.

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

/// About how many rows a chunk has.
const CHUNK_ROWS: u64 = 4_096;

/// The first step that a limit left out, for formats that have no place for it.
const NEXT: HeaderName = HeaderName::from_static("evertally-next");

/// The format of releases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Format {
    Json,
    Csv,
    Arrow,
}

impl Format {
    /// The first known format in the header `Accept`. Defaults to JSON.
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

/// The releases of an answer.
pub(crate) struct Selection {
    pub(crate) counter: Arc<CounterView>,
    pub(crate) steps: Steps,
    /// The position of one key. None for all keys.
    pub(crate) lane: Option<usize>,
    /// The first step that a limit left out.
    pub(crate) next: Option<u64>,
}

/// The steps of an answer.
pub(crate) enum Steps {
    /// All steps of a range.
    All(Range<u64>),
    /// Selected steps, in order.
    Some(VecDeque<u64>),
}

impl Steps {
    /// The steps of the next chunk, as ranges.
    fn take(&mut self, max: u64) -> Vec<Range<u64>> {
        match self {
            Self::All(range) => {
                let end = range.end.min(range.start.saturating_add(max));
                let chunk = range.start..end;
                range.start = end;
                if chunk.is_empty() { Vec::new() } else { vec![chunk] }
            }
            Self::Some(steps) => {
                let count = steps.len().min(max as usize);
                steps.drain(..count).map(|step| step..step + 1).collect()
            }
        }
    }
}

/// Writes a document in chunks.
trait Encoder: Send {
    /// The releases of some steps, preceded by the start of the document on the first call.
    fn rows(&mut self, counter: &CounterView, steps: &[StepRelease], lane: Option<usize>) -> Result<Vec<u8>>;

    /// The end of the document.
    fn end(&mut self) -> Result<Vec<u8>>;
}

/// An answer with these releases. The first chunk is made before the answer starts, so that a refusal
/// has its own status.
pub(crate) async fn answer(app: &App, selection: Selection, format: Format) -> Result<Response> {
    let encoder: Box<dyn Encoder> = match format {
        Format::Json => Box::new(json::Json::new(crate::state::name_of(&selection.counter), selection.next)),
        Format::Csv => Box::new(csv::Csv::default()),
        Format::Arrow => Box::new(arrow::Arrow::new()),
    };
    let next = selection.next;
    let writing = Writing { app: app.clone(), selection, encoder, is_done: false };
    let Some((first, writing)) = writing.next().await? else {
        return Err(Problem::system("the releases cannot be written"));
    };
    let rest = futures_util::stream::try_unfold(writing, |writing| async {
        writing.next().await.map_err(Interruption)
    });
    let all = futures_util::StreamExt::chain(futures_util::stream::once(async { Ok(first) }), rest);
    let mut response = crate::reply::with_type(StatusCode::OK, format.media_type(), Body::from_stream(all));
    if let Some(next) = next {
        response.headers_mut().insert(NEXT, HeaderValue::from(next));
    }
    Ok(response)
}

/// Why an answer ends before it is complete.
#[derive(Debug)]
struct Interruption(Problem);

impl std::fmt::Display for Interruption {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "releases could not be read: status {}", self.0.status())
    }
}

impl std::error::Error for Interruption {}

/// A document that is not complete yet.
struct Writing {
    app: App,
    selection: Selection,
    encoder: Box<dyn Encoder>,
    is_done: bool,
}

impl Writing {
    /// The next chunk, and the rest of the document.
    async fn next(mut self) -> Result<Option<(Bytes, Self)>> {
        if self.is_done {
            return Ok(None);
        }
        // Reading may block on the disk.
        off_thread(move || {
            let Selection { counter, steps, lane, .. } = &mut self.selection;
            let width = lane.map_or_else(|| counter.key_names().map_or(1, |names| names.len()), |_| 1);
            let max = (CHUNK_ROWS / width.max(1) as u64).max(1);
            let mut releases = Vec::new();
            for range in steps.take(max) {
                releases.append(&mut self.app.read_view().releases(counter, range)?);
            }
            let mut bytes = self.encoder.rows(counter, &releases, *lane)?;
            if (releases.len() as u64) < max {
                bytes.append(&mut self.encoder.end()?);
                self.is_done = true;
            }
            Ok(Some((Bytes::from(bytes), self)))
        })
        .await
    }
}
