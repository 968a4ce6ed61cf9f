//! The options of `evertally serve`.

use clap::{Args, ValueEnum};
use evertally_ledger::Role;
use evertally_server::{LogFormat, Options};
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  Try it, with made-up events, keeping nothing:
    evertally serve --demo

  Keep counters in a directory, which is made at the first start. The
  admin token is printed once, at the first start. Keep it:
    evertally serve counters

  Set a budget, make a counter, send an event, read the releases
  (with TOKEN set to the admin token):
    curl localhost:8740/v1/populations -H \"Authorization: Bearer $TOKEN\" \\
      -H 'Content-Type: application/json' \\
      -d '{\"name\":\"everyone\",\"epsilon\":2,\"delta\":1e-6}'
    curl localhost:8740/v1/counters -H \"Authorization: Bearer $TOKEN\" \\
      -H 'Content-Type: application/json' \\
      -d '{\"name\":\"visits\",\"every\":\"1m\",\"epsilon\":1,\"delta\":1e-6}'
    curl localhost:8740/v1/counters/visits/events \\
      -H \"Authorization: Bearer $TOKEN\" \\
      -H 'Content-Type: application/json' -d '{\"id\":\"visit-1\"}'
    curl localhost:8740/v1/counters/visits/releases \\
      -H \"Authorization: Bearer $TOKEN\"

  Serve others, over TLS:
    evertally serve counters --listen 0.0.0.0:8740 \\
      --tls-cert chain.pem --tls-key key.pem

The directory holds true totals and the key of all noise. Guard it like
the data. DIRECTORY.fence beside it is how the service recognises a
restored backup: leave it out of backups. An event is acknowledged once it
is on the disk. A release never changes. /openapi.json describes the
interface. SIGTERM or Ctrl-C ends the service in good order.";

/// Run private counters as a service: events in, releases out, over HTTP
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct ServeArgs {
    /// The directory that holds the counters. It is made if it does not exist
    #[arg(required_unless_present = "demo")]
    pub(super) directory: Option<PathBuf>,
    /// Make some counters and feed them with made-up events. Nothing is kept unless a directory is
    /// given
    #[arg(long)]
    pub(super) demo: bool,
    /// Check everything in the directory and exit, without serving
    #[arg(long, conflicts_with_all = ["demo", "new_token"])]
    pub(super) verify: bool,
    /// The file by which a copy or a restored backup is recognised [default: DIRECTORY.fence]
    #[arg(long, value_name = "FILE", conflicts_with = "demo")]
    pub(super) fence: Option<PathBuf>,
    /// Make another token with this role and print it
    #[arg(long, value_name = "ROLE")]
    pub(super) new_token: Option<RoleArg>,

    /// The address to listen on. Port 0 takes any free port
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8740", help_heading = "Connections")]
    pub(super) listen: SocketAddr,
    /// The TLS certificate and its chain, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_key", help_heading = "Connections")]
    pub(super) tls_cert: Option<PathBuf>,
    /// The private key of the TLS certificate, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert", help_heading = "Connections")]
    pub(super) tls_key: Option<PathBuf>,
    /// Accept connections from other machines without TLS. Tokens and events are then not encrypted
    #[arg(long, conflicts_with = "tls_cert", help_heading = "Connections")]
    pub(super) plain_http: bool,
    /// The most connections at a time
    #[arg(long, value_name = "N", default_value_t = Options::default().max_connections, value_parser = clap::value_parser!(u32).range(1..=1_000_000), help_heading = "Connections")]
    max_connections: u32,
    /// The most requests per second and token [default: no limit]
    #[arg(long, alias = "rate", value_name = "N", help_heading = "Connections")]
    max_requests_per_second: Option<NonZeroU32>,

    /// The format of the logs on standard error
    #[arg(long, value_name = "FORMAT", default_value = "text", help_heading = "Logs and metrics")]
    pub(super) log: LogArg,
    /// Serve /metrics without a token
    #[arg(long, help_heading = "Logs and metrics")]
    open_metrics: bool,
    /// Count events and requests with events in /metrics. These numbers are exact and NOT PRIVATE
    #[arg(long, help_heading = "Logs and metrics")]
    event_metrics: bool,
}

impl ServeArgs {
    pub(super) fn options(&self) -> Options {
        Options {
            max_connections: self.max_connections,
            rate: self.max_requests_per_second,
            open_metrics: self.open_metrics,
            event_metrics: self.event_metrics,
            ..Options::default()
        }
    }
}

/// What a token is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RoleArg {
    /// Read releases
    Read,
    /// Post events
    Ingest,
    /// Everything
    Admin,
}

impl From<RoleArg> for Role {
    fn from(role: RoleArg) -> Self {
        match role {
            RoleArg::Read => Self::Read,
            RoleArg::Ingest => Self::Ingest,
            RoleArg::Admin => Self::Admin,
        }
    }
}

/// How logs are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogArg {
    /// For people
    Text,
    /// One JSON object per line
    Json,
}

impl From<LogArg> for LogFormat {
    fn from(log: LogArg) -> Self {
        match log {
            LogArg::Text => Self::Text,
            LogArg::Json => Self::Json,
        }
    }
}
