//! What stands in the address of a request: names in its path, and its query.

use crate::error::{Problem, Result};
use crate::state::App;
use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use evertally_ledger::CounterView;
use serde::de::DeserializeOwned;
use std::sync::Arc;

/// A query of a known shape. Unknown parameters are refused, and what was given is not repeated.
pub(crate) struct Query<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequestParts<App> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self> {
        let query = parts.uri.query().unwrap_or_default();
        serde_urlencoded::from_str(query).map(Self).map_err(|_| {
            Problem::bad("the query has a parameter that is unknown, repeated or not of its type: /openapi.json lists them")
        })
    }
}

/// The last name in the path.
pub(crate) struct Name(pub(crate) String);

impl FromRequestParts<App> for Name {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self> {
        let path = Path::<String>::from_request_parts(parts, app).await;
        path.map(|Path(name)| Self(name)).map_err(|_| Problem::bad("the path holds no name that can be read"))
    }
}

/// The counter that the path names.
pub(crate) struct Named(pub(crate) Arc<CounterView>);

impl FromRequestParts<App> for Named {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self> {
        let Name(name) = Name::from_request_parts(parts, app).await?;
        app.counter(&name).map(Self)
    }
}

/// A number of a query that must lie in a range.
pub(crate) fn within(
    what: &str,
    value: Option<u64>,
    range: std::ops::RangeInclusive<u64>,
) -> Result<Option<u64>> {
    match value {
        Some(value) if !range.contains(&value) => {
            let (least, most) = range.into_inner();
            Err(Problem::bad(format!("{what} must be from {least} to {most}")))
        }
        value => Ok(value),
    }
}

/// A step, of which there are at most 2⁶⁰.
pub(crate) fn step(what: &str, value: Option<u64>) -> Result<Option<u64>> {
    within(what, value, 0..=1 << 60)
}
