//! Authorization: bearer tokens and their roles.
//!
//! **Guarantee.** A handler that takes a [`Bearer`] runs only for a token that is known, has not expired
//! and has one of the roles. Handlers take it as their first argument, so that the path, the query and the
//! body are read only afterwards. Tests check every route against the OpenAPI document.

use crate::error::{Problem, Result};
use crate::state::App;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use evertally_ledger::{Role, Token};

const READ: u8 = 1 << Role::Read as u8;
const INGEST: u8 = 1 << Role::Ingest as u8;
const ADMIN: u8 = 1 << Role::Admin as u8;

/// Any token.
pub(crate) type Anyone = Bearer<{ READ | INGEST }>;
/// A token that may read releases.
pub(crate) type Reader = Bearer<READ>;
/// A token that may record events.
pub(crate) type Ingester = Bearer<INGEST>;
/// A token that may do everything.
pub(crate) type Administrator = Bearer<ADMIN>;

/// A token that may do what needs one of these roles.
pub(crate) struct Bearer<const NEEDS: u8>(pub(crate) Token);

impl<const NEEDS: u8> FromRequestParts<App> for Bearer<NEEDS> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self> {
        let token = authenticate(&parts.headers, app)?;
        if !may(token.role, NEEDS) {
            let roles = Role::ALL.into_iter().filter(|role| may(*role, NEEDS)).map(|role| role.to_string());
            let roles = roles.collect::<Vec<_>>().join(" or ");
            return Err(Problem::forbidden(format!(
                "this token's role is {}, but this request needs {roles}",
                token.role
            )));
        }
        app.check_rate(&token)?;
        Ok(Self(token))
    }
}

/// The token of a request, of any role.
fn authenticate(headers: &HeaderMap, app: &App) -> Result<Token> {
    let Some(value) = headers.get(header::AUTHORIZATION) else {
        return Err(Problem::unauthorized("a token is needed: send the header Authorization: Bearer evt_…"));
    };
    let malformed = || Problem::unauthorized("the header Authorization must have the form Bearer evt_…");
    let (scheme, bearer) = value.to_str().ok().and_then(|text| text.split_once(' ')).ok_or_else(malformed)?;
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(malformed());
    }
    let known = app.read_view().authenticate(bearer.trim());
    let token =
        known.ok_or_else(|| Problem::unauthorized("the token is unknown: it may have been revoked"))?;
    match token.expires {
        Some(expires) if expires <= app.now() => Err(Problem::unauthorized("the token has expired")),
        _ => Ok(token),
    }
}

/// Whether a role may do what needs one of these.
fn may(role: Role, needs: u8) -> bool {
    Role::ALL.into_iter().any(|needed| needs & (1 << needed as u8) != 0 && role.allows(needed))
}
