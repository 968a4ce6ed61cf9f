//! The subcommands, one file or folder each.

pub(crate) mod bounds;
pub(crate) mod count;
pub(crate) mod demo;
pub(crate) mod paper;
pub(crate) mod plan;
mod shared;
