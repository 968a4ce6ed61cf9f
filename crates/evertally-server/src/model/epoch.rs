//! Epochs: an operator starts a new one after a backup was restored.

use super::status::ModeName;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};

/// What starting a new epoch would cost.
#[derive(Debug, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EpochPreview {
    pub(crate) mode: ModeName,
    #[schema(required)]
    pub(crate) reason: Option<String>,
    /// The present epoch.
    pub(crate) epoch: u32,
    /// Every counter that would restart.
    pub(crate) preview: Vec<EpochCost>,
}

/// The cost of restarting one counter.
#[derive(Debug, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EpochCost {
    pub(crate) counter: String,
    pub(crate) population: String,
    pub(crate) rho: f64,
    pub(crate) affordable: bool,
}

/// A request for a new epoch.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EpochStart {
    /// Must be true: every running counter is paid for once more.
    #[schema(schema_with = only_true)]
    pub(crate) confirm: bool,
}

fn only_true() -> Schema {
    ObjectBuilder::new().schema_type(Type::Boolean).enum_values(Some([true])).build().into()
}

/// The result of starting an epoch.
#[derive(Debug, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EpochResult {
    /// The new epoch.
    pub(crate) epoch: u32,
    /// The counters that run in the new epoch.
    pub(crate) restarted: Vec<String>,
    /// The counters that do not.
    pub(crate) left: Vec<SkippedCounter>,
}

/// A counter that does not run in the new epoch.
#[derive(Debug, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SkippedCounter {
    pub(crate) counter: String,
    /// Why it does not.
    pub(crate) reason: String,
}
