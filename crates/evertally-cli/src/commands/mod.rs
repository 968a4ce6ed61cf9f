//! The subcommands, one file or folder each.

pub(crate) mod count;
pub(crate) mod demo;
pub(crate) mod plan;
mod shared;
