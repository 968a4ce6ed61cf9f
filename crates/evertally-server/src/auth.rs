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

const READ: u8 = 1;
const INGEST: u8 = 2;
const ADMIN: u8 = 4;

/// Any token.
pub(crate) type Anyone = Bearer<{ READ | INGEST | ADMIN }>;
/// A token that may read releases.
pub(crate) type Reader = Bearer<{ READ | ADMIN }>;
/// A token that may record events.
pub(crate) type Ingester = Bearer<{ INGEST | ADMIN }>;
/// A token that may do everything.
pub(crate) type Administrator = Bearer<ADMIN>;

/// A token with one of these roles.
pub(crate) struct Bearer<const ROLES: u8>(pub(crate) Token);

impl<const ROLES: u8> FromRequestParts<App> for Bearer<ROLES> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self> {
        let token = authenticate(&parts.headers, app)?;
        if bit(token.role) & ROLES == 0 {
            let message =
                format!("this token's role is {}, but this request needs {}", name(token.role), names(ROLES));
            return Err(Problem::forbidden(message));
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

fn bit(role: Role) -> u8 {
    match role {
        Role::Read => READ,
        Role::Ingest => INGEST,
        Role::Admin => ADMIN,
    }
}

/// The name of a role.
fn name(role: Role) -> &'static str {
    match role {
        Role::Read => "read",
        Role::Ingest => "ingest",
        Role::Admin => "admin",
    }
}

fn names(roles: u8) -> String {
    let all = [Role::Read, Role::Ingest, Role::Admin];
    let names: Vec<&str> = all.into_iter().filter(|role| bit(*role) & roles != 0).map(name).collect();
    names.join(" or ")
}
