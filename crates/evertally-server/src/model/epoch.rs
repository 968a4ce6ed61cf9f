//! Epochs: what an operator starts after a backup was restored.

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
    /// Every counter that would be started again.
    pub(crate) preview: Vec<EpochCost>,
}

/// What one counter would cost again.
#[derive(Debug, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EpochCost {
    pub(crate) counter: String,
    pub(crate) population: String,
    pub(crate) rho: f64,
    pub(crate) affordable: bool,
}

/// Starts a new epoch.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EpochStart {
    /// Must be true: everything that runs is paid for once more.
    #[schema(schema_with = only_true)]
    pub(crate) confirm: bool,
}

fn only_true() -> Schema {
    ObjectBuilder::new().schema_type(Type::Boolean).enum_values(Some([true])).build().into()
}

/// What became of the counters.
#[derive(Debug, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EpochStarted {
    /// The epoch that has begun.
    pub(crate) epoch: u32,
    /// The counters that run in it.
    pub(crate) restarted: Vec<String>,
    /// Those that do not.
    pub(crate) left: Vec<EpochLeft>,
}

/// A counter that does not run in the new epoch.
#[derive(Debug, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EpochLeft {
    pub(crate) counter: String,
    /// Why not.
    pub(crate) reason: String,
}
