//! Logs: what happened to the service, and nothing of what it counts.
//!
//! **Guarantee.** A line holds a level, a message that is part of the program, and of a request its
//! method, the template of its path, status and time. Names of counters, queries, bodies, ids,
//! persons, tokens and counts are in none. Posts of events that succeed are not logged at all,
//! since the number of lines would tell how many there were ([`metrics`](crate::metrics)). Only
//! this project's crates are heard: libraries below log what they read.

use std::io::Write;
use tracing::Level;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::{Layer, Registry};

/// How lines are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line, for programs.
    Json,
}

/// Sends what the service logs to a writer, from now on and for the whole process.
///
/// Where something else in the process has taken the logs already, they stay there.
pub fn log_to<W, F>(format: LogFormat, writer: F)
where
    W: Write + 'static,
    F: for<'a> MakeWriter<'a, Writer = W> + Send + Sync + 'static,
{
    let ours = Targets::new().with_target("evertally", Level::INFO);
    let lines = tracing_subscriber::fmt::layer().with_writer(writer).with_ansi(false);
    let lines = match format {
        LogFormat::Text => lines.with_target(false).boxed(),
        LogFormat::Json => {
            lines.json().flatten_event(true).with_target(false).with_current_span(false).boxed()
        }
    };
    let _ = tracing::subscriber::set_global_default(Registry::default().with(lines.with_filter(ours)));
}
