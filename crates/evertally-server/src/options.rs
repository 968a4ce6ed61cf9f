//! What an operator may set: limits, and what metrics show.

use std::num::NonZeroU32;
use std::time::Duration;

/// The limits of the service, and what its metrics show. [`Options::default`] suits most machines.
///
/// ```
/// use evertally_server::Options;
/// use std::time::Duration;
/// let idle_timeout = Duration::from_secs(30);
/// let options = Options { max_connections: 10_000, idle_timeout, ..Options::default() };
/// assert_eq!(options.max_body_bytes, 8 << 20);
/// ```
#[derive(Debug, Clone)]
pub struct Options {
    /// The most bytes of a JSON body. An NDJSON body has no limit.
    pub max_body_bytes: usize,
    /// The most bytes of an NDJSON line.
    pub max_line_bytes: usize,
    /// How long a new connection may take to send the headers of its first request, including the TLS
    /// handshake.
    pub header_timeout: Duration,
    /// How long a body may pause. A JSON body may also take this much longer than
    /// [`min_body_bytes_per_second`](Self::min_body_bytes_per_second) allows.
    pub body_timeout: Duration,
    /// The least average rate of a JSON body.
    pub min_body_bytes_per_second: u32,
    /// How long a connection may stay without a request.
    pub idle_timeout: Duration,
    /// How long a client may leave an answer unread.
    pub write_timeout: Duration,
    /// The most connections. Further connections wait to be accepted.
    pub max_connections: u32,
    /// The most live streams.
    pub max_live_streams: u32,
    /// The most requests per second and token. Defaults to no limit.
    pub rate: Option<NonZeroU32>,
    /// How long requests may take to finish when the service stops.
    pub shutdown_timeout: Duration,
    /// Whether `/metrics` can be read without a token.
    pub open_metrics: bool,
    /// Whether metrics show the numbers of events and of requests that record events. The module
    /// [`metrics`](crate::metrics) explains why they do not by default.
    pub event_metrics: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            max_body_bytes: 8 << 20,
            max_line_bytes: 64 << 10,
            header_timeout: Duration::from_secs(10),
            body_timeout: Duration::from_secs(15),
            min_body_bytes_per_second: 4 << 10,
            idle_timeout: Duration::from_secs(75),
            write_timeout: Duration::from_secs(30),
            max_connections: 8_192,
            max_live_streams: 1_024,
            rate: None,
            shutdown_timeout: Duration::from_secs(10),
            open_metrics: false,
            event_metrics: false,
        }
    }
}
