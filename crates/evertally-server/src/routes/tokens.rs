//! Tokens: listed, created and revoked.

use crate::address::PathName;
use crate::auth::Administrator;
use crate::body::Json;
use crate::error::Result;
use crate::model::draft::moment;
use crate::model::token::{CreatedToken, Token, TokenDraft, Tokens};
use crate::reply;
use crate::state::App;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;

/// Lists all tokens, without their secrets.
#[utoipa::path(get, path = "/v1/tokens", tag = "tokens", security(("bearer" = ["admin"])), responses(
    (status = 200, description = "Every token.", body = Tokens),
))]
pub(crate) async fn list(_: Administrator, State(app): State<App>) -> Response {
    reply::ok(&Tokens { tokens: app.read_view().tokens().iter().map(Token::of).collect() })
}

/// Creates a token. Only this answer holds its secret.
#[utoipa::path(post, path = "/v1/tokens", tag = "tokens", security(("bearer" = ["admin"])), request_body = TokenDraft, responses(
    (status = 201, description = "The token and its secret.", body = CreatedToken),
))]
pub(crate) async fn create(
    _: Administrator,
    State(app): State<App>,
    Json(draft): Json<TokenDraft>,
) -> Result<Response> {
    let expires = draft.expires.map(|text| moment("expires", &text)).transpose()?;
    let (name, role) = (draft.name, draft.role.into());
    let (token, bearer) = app.ask(move |ledger, now| ledger.add_token(&name, role, expires, now)).await?;
    Ok(reply::json(StatusCode::CREATED, &CreatedToken::of(&token, bearer)))
}

/// Revokes a token immediately.
#[utoipa::path(delete, path = "/v1/tokens/{id}", tag = "tokens", security(("bearer" = ["admin"])),
    params(("id" = String, Path, description = "The id of the token.", min_length = 1, max_length = 100)), responses(
    (status = 204, description = "The token is revoked."),
))]
pub(crate) async fn revoke(
    _: Administrator,
    State(app): State<App>,
    PathName(id): PathName,
) -> Result<Response> {
    app.ask(move |ledger, _| ledger.remove_token(&id)).await?;
    Ok(reply::no_content())
}
