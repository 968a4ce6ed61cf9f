//! The status of the service.

use super::token::RoleName;
use evertally_ledger::Mode;
use serde::Serialize;
use utoipa::ToSchema;

/// The status of the service.
#[derive(Debug, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ServiceStatus {
    pub(crate) version: String,
    pub(crate) mode: ModeName,
    /// Why the service is not running. Null when it is.
    #[schema(required)]
    pub(crate) reason: Option<String>,
    /// The time by the service's clock.
    #[schema(format = DateTime)]
    pub(crate) now: String,
    #[schema(format = DateTime)]
    pub(crate) started: String,
    pub(crate) counters: CountersByStatus,
    /// The role of the token that was sent.
    pub(crate) role: RoleName,
    pub(crate) token_name: String,
}

/// The number of counters of each status.
#[derive(Debug, Default, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CountersByStatus {
    pub(crate) running: usize,
    pub(crate) fenced: usize,
    pub(crate) retired: usize,
    pub(crate) ended: usize,
}

/// Whether the service records events and releases steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Mode)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ModeName {
    Running,
    Fenced,
    ReadOnly,
}

impl ModeName {
    /// The name of a mode, and its reason.
    pub(crate) fn of(mode: Mode) -> (Self, Option<String>) {
        match mode {
            Mode::Running => (Self::Running, None),
            Mode::Fenced { reason } => (Self::Fenced, Some(reason)),
            Mode::ReadOnly { reason } => (Self::ReadOnly, Some(reason)),
        }
    }
}

/// Whether the service can be used.
#[derive(Debug, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Readiness {
    pub(crate) mode: ModeName,
    #[schema(required)]
    pub(crate) reason: Option<String>,
}
