//! Tokens.

use evertally_ledger::{Role, Token};
use evertally_stream::time;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What a token is for. `admin` may do everything; `read` and `ingest` do not include each other.
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
#[schema(as = Token)]
#[serde(deny_unknown_fields)]
pub(crate) struct TokenShown {
    id: String,
    name: String,
    role: RoleName,
    #[schema(format = DateTime)]
    created: String,
    #[schema(required, format = DateTime)]
    expires: Option<String>,
}

impl TokenShown {
    pub(crate) fn of(token: &Token) -> Self {
        Self {
            id: token.id.clone(),
            name: token.name.clone(),
            role: token.role.into(),
            created: time::format_capped(token.created),
            expires: token.expires.map(time::format_capped),
        }
    }
}

/// All tokens.
#[derive(Debug, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tokens {
    pub(crate) tokens: Vec<TokenShown>,
}

/// A new token with its secret, which is shown this once.
// No `Debug`: it holds the secret.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TokenMade {
    id: String,
    name: String,
    role: RoleName,
    #[schema(format = DateTime)]
    created: String,
    #[schema(required, format = DateTime)]
    expires: Option<String>,
    /// What goes into the header `Authorization: Bearer`.
    token: String,
}

impl TokenMade {
    pub(crate) fn of(token: &Token, bearer: String) -> Self {
        let TokenShown { id, name, role, created, expires } = TokenShown::of(token);
        Self { id, name, role, created, expires, token: bearer }
    }
}

/// A token as it is asked for.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TokenDraft {
    /// Whose it is, or what for.
    #[schema(min_length = 1, max_length = 100, pattern = "^[A-Za-z0-9._ -]+$")]
    pub(crate) name: String,
    pub(crate) role: RoleName,
    /// When it stops working; never where absent.
    #[schema(format = DateTime)]
    pub(crate) expires: Option<String>,
}
