//! What the address of a request holds: names in its path, and its query.

use crate::error::{Problem, Result};
use crate::state::App;
use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use evertally_ledger::Published;
use serde::de::DeserializeOwned;
use std::sync::Arc;
use utoipa::IntoParams;

/// A query of a known shape. Unknown parameters are refused, and the refusal does not repeat them.
pub(crate) struct Query<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequestParts<App> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self> {
        let query = parts.uri.query().unwrap_or_default();
        serde_urlencoded::from_str(query).map(Self).map_err(|_| {
            Problem::bad(
                "the query has a parameter that is unknown, repeated or of the wrong type: see /openapi.json",
            )
        })
    }
}

/// The last name in the path.
pub(crate) struct PathName(pub(crate) String);

impl FromRequestParts<App> for PathName {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self> {
        let path = Path::<String>::from_request_parts(parts, app).await;
        path.map(|Path(name)| Self(name)).map_err(|_| Problem::bad("the name in the path cannot be read"))
    }
}

/// The counter that the path names.
pub(crate) struct PathCounter(pub(crate) Arc<Published>);

impl FromRequestParts<App> for PathCounter {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self> {
        let PathName(name) = PathName::from_request_parts(parts, app).await?;
        app.counter(&name).map(Self)
    }
}

/// How the document describes the name of a counter in a path.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
#[allow(dead_code, reason = "only its description is used")]
pub(crate) struct CounterPath {
    /// The name of the counter.
    #[param(min_length = 1, max_length = 100)]
    name: String,
}

/// A number of a query that must lie in a range.
pub(crate) fn within(
    name: &str,
    value: Option<u64>,
    range: std::ops::RangeInclusive<u64>,
) -> Result<Option<u64>> {
    match value {
        Some(value) if !range.contains(&value) => {
            let (min, max) = range.into_inner();
            Err(Problem::bad_field(name, format_args!("from {min} to {max}")))
        }
        value => Ok(value),
    }
}

/// A step of a query. There are at most 2⁶⁰ steps.
pub(crate) fn step(name: &str, value: Option<u64>) -> Result<Option<u64>> {
    within(name, value, 0..=1 << 60)
}
