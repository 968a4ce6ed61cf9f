//! What an operator may set: limits, and what is told to whom.

use std::num::NonZeroU32;
use std::time::Duration;

/// The limits of the service, and what it tells. [`Options::default`] suits a machine on which
/// nothing else is known.
///
/// ```
/// use evertally_server::Options;
/// use std::time::Duration;
/// let idle_timeout = Duration::from_secs(30);
/// let options = Options { max_connections: 10_000, idle_timeout, ..Options::default() };
/// assert_eq!(options.largest_body, 8 << 20);
/// ```
#[derive(Debug, Clone)]
pub struct Options {
    /// The largest JSON body, in bytes. NDJSON has no limit as a whole.
    pub largest_body: usize,
    /// The longest line of NDJSON, in bytes.
    pub longest_line: usize,
    /// How long a new connection may take until its first request is there, the TLS handshake included.
    pub header_timeout: Duration,
    /// How long a body may pause, and, for JSON, how long it may take beyond what
    /// [`slowest_body`](Self::slowest_body) allows.
    pub body_timeout: Duration,
    /// The bytes a second that a JSON body must come at, on average.
    pub slowest_body: u32,
    /// How long a connection may stay without a request.
    pub idle_timeout: Duration,
    /// How long a client may leave what was sent to it unread.
    pub write_timeout: Duration,
    /// The most connections; further ones wait to be accepted.
    pub max_connections: u32,
    /// The most live streams.
    pub max_live_streams: u32,
    /// Requests a second and token; no limit where absent.
    pub rate: Option<NonZeroU32>,
    /// How long requests may take to finish when the service stops.
    pub shutdown_timeout: Duration,
    /// Whether `/metrics` can be read without a token.
    pub open_metrics: bool,
    /// Whether metrics tell how many events and how many posts of events there were. See
    /// [`metrics`](crate::metrics) for why they do not.
    pub event_metrics: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            largest_body: 8 << 20,
            longest_line: 64 << 10,
            header_timeout: Duration::from_secs(10),
            body_timeout: Duration::from_secs(15),
            slowest_body: 4 << 10,
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
