//! The subcommands, one file or folder each.

pub(crate) mod answer;
pub(crate) mod audit;
mod batch;
pub(crate) mod bounds;
pub(crate) mod budget;
pub(crate) mod certificate_file;
pub(crate) mod completions;
pub(crate) mod count;
pub(crate) mod demo;
pub(crate) mod gamma;
pub(crate) mod graph;
pub(crate) mod learn;
pub(crate) mod noise;
pub(crate) mod paper;
pub(crate) mod parity;
pub(crate) mod plan;
mod planning;
pub(crate) mod ranges;
mod report;
pub(crate) mod research;
#[cfg_attr(not(feature = "service"), path = "no_service.rs")]
pub(crate) mod serve;
pub(crate) mod shared;
