//! Logs: what happens to the service, and nothing about what it counts.
//!
//! **Guarantee.** A line holds a level and a constant message. A line about a request also holds its
//! method, the template of its path, its status and its duration. No line holds a counter's name, a query,
//! a body, an id, a person, a token or a count. Requests that record events are not logged when they
//! succeed, because the number of lines would be the number of requests ([`metrics`](crate::metrics)).
//! Only this project's crates are logged, because the libraries below log what they read.

use std::io::Write;
use tracing::Level;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::{Layer, Registry};

/// The format of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object per line, for programs.
    Json,
}

/// Sends the logs of the service to a writer, from now on and for the whole process.
///
/// If the process already has a subscriber for logs, it stays in place.
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
