//! The tests of the command line, in one program, because each program has to link the whole
//! library. All of them run `evertally` as a process of its own, in a directory of its own.

#![allow(clippy::unwrap_used, reason = "a failed test is a failed test")]

mod answer;
mod audit;
mod bad_input;
mod bounds;
mod budget;
mod calendar;
mod canaries;
mod common;
mod completions;
mod config;
mod count;
mod crash;
mod demo;
mod discover;
mod distinct;
mod follow;
mod gamma;
mod going_on;
mod graph;
mod graph_nodes;
mod histogram;
mod inputs;
mod key_kills;
mod keys;
mod learn;
mod learn_bad_input;
mod learn_noise;
mod learn_resume;
mod manners;
mod means;
#[cfg(target_os = "linux")]
mod memory;
mod needs;
mod noise;
mod paper;
mod parity;
mod plan;
mod predict;
mod presence;
mod quantiles;
mod rates;
mod reports;
mod serve;
mod state;
mod unnamed;
mod version_1;
