//! Who may do what.

use crate::auth::Administrator;
use crate::body::Json;
use crate::error::Result;
use crate::model::draft::moment;
use crate::model::token::{TokenDraft, TokenMade, TokenShown, Tokens};
use crate::query::Name;
use crate::reply;
use crate::state::App;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;

/// All tokens, without their secrets.
#[utoipa::path(get, path = "/v1/tokens", tag = "tokens", security(("bearer" = ["admin"])), responses(
    (status = 200, description = "Every token.", body = Tokens),
))]
pub(crate) async fn list(_: Administrator, State(app): State<App>) -> Response {
    reply::ok(&Tokens { tokens: app.shown().tokens().iter().map(TokenShown::of).collect() })
}

/// Makes a token. Its secret is in this answer and nowhere else.
#[utoipa::path(post, path = "/v1/tokens", tag = "tokens", security(("bearer" = ["admin"])), request_body = TokenDraft, responses(
    (status = 201, description = "The token with its secret.", body = TokenMade),
))]
pub(crate) async fn make(
    _: Administrator,
    State(app): State<App>,
    Json(draft): Json<TokenDraft>,
) -> Result<Response> {
    let expires = draft.expires.map(|text| moment("expires", &text)).transpose()?;
    let (name, role) = (draft.name, draft.role.into());
    let (token, bearer) = app.ask(move |ledger, now| ledger.add_token(&name, role, expires, now)).await?;
    Ok(reply::json(StatusCode::CREATED, &TokenMade::of(&token, bearer)))
}

/// Revokes a token at once.
#[utoipa::path(delete, path = "/v1/tokens/{id}", tag = "tokens", security(("bearer" = ["admin"])),
    params(("id" = String, Path, description = "Its id.", min_length = 1, max_length = 100)), responses(
    (status = 204, description = "It is gone."),
))]
pub(crate) async fn revoke(_: Administrator, State(app): State<App>, Name(id): Name) -> Result<Response> {
    app.ask(move |ledger, _| ledger.remove_token(&id)).await?;
    Ok(reply::nothing())
}
