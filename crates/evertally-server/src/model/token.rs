//! Tokens.

use crate::time;
use evertally_ledger::Role;
use serde::{Deserialize, Serialize};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

/// What a token is for. `admin` may do everything. `read` and `ingest` do not include each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Role)]
#[serde(rename_all = "lowercase")]
pub(crate) enum RoleName {
    Read,
    Ingest,
    Admin,
}

impl From<Role> for RoleName {
    fn from(role: Role) -> Self {
        match role {
            Role::Read => Self::Read,
            Role::Ingest => Self::Ingest,
            Role::Admin => Self::Admin,
        }
    }
}

impl From<RoleName> for Role {
    fn from(role: RoleName) -> Self {
        match role {
            RoleName::Read => Self::Read,
            RoleName::Ingest => Self::Ingest,
            RoleName::Admin => Self::Admin,
        }
    }
}

/// A token without its secret.
#[derive(Debug, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Token {
    id: String,
    name: String,
    role: RoleName,
    #[schema(format = DateTime)]
    created: String,
    #[schema(required, format = DateTime)]
    expires: Option<String>,
}

impl Token {
    pub(crate) fn of(token: &evertally_ledger::Token) -> Self {
        Self {
            id: token.id.clone(),
            name: token.name.clone(),
            role: token.role.into(),
            created: time::format(token.created),
            expires: token.expires.map(time::format),
        }
    }
}

/// All tokens.
#[derive(Debug, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tokens {
    pub(crate) tokens: Vec<Token>,
}

/// A new token and its secret, which is shown once.
// No `Debug`: it holds the secret.
#[derive(Serialize)]
pub(crate) struct CreatedToken {
    #[serde(flatten)]
    shown: Token,
    token: String,
}

impl CreatedToken {
    pub(crate) fn of(token: &evertally_ledger::Token, bearer: String) -> Self {
        Self { shown: Token::of(token), token: bearer }
    }
}

impl PartialSchema for CreatedToken {
    fn schema() -> RefOr<Schema> {
        let (mut schema, mut secret) = (Token::schema(), String::schema());
        if let (RefOr::T(Schema::Object(object)), RefOr::T(Schema::Object(text))) = (&mut schema, &mut secret)
        {
            object.description = Some("A new token and its secret, which is shown once.".to_owned());
            text.description = Some("The value for the header `Authorization: Bearer`.".to_owned());
            object.required.push("token".to_owned());
            object.properties.insert("token".to_owned(), secret);
        }
        schema
    }
}

impl ToSchema for CreatedToken {}

/// A request for a new token.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TokenDraft {
    /// The owner or the purpose of the token.
    #[schema(min_length = 1, max_length = 100, pattern = "^[A-Za-z0-9._ -]+$")]
    pub(crate) name: String,
    pub(crate) role: RoleName,
    /// When it stops working. Defaults to never.
    #[schema(format = DateTime)]
    pub(crate) expires: Option<String>,
}
