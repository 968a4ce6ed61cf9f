//! `evertally serve`: counters that run for years.

mod demo;
mod files;
mod options;

pub(crate) use options::ServeArgs;

use crate::error::{CliError, Result};
use crate::progress::with_progress;
use evertally_ledger::{Ledger, Location, Role, read_or_make_key};
use evertally_server::{Service, Tls, log_to, now};
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use tokio::net::TcpListener;

pub(crate) fn run(args: &ServeArgs) -> Result<()> {
    let tls = match (&args.tls_cert, &args.tls_key) {
        (Some(certificates), Some(key)) => Some(Tls::from_files(certificates, key).map_err(CliError::bad)?),
        _ => None,
    };
    if tls.is_none() && !args.plain_http && !args.listen.ip().is_loopback() {
        return Err(CliError::bad(
            "--listen: other machines could connect, and tokens would not be encrypted: give --tls-cert and --tls-key, or --plain-http",
        ));
    }
    // First of all: a first token that is made but never shown would lock everybody out.
    let listener = if args.verify { None } else { Some(listen(args.listen)?) };
    let (directory, _temporary) = home(args)?;
    if args.verify && !directory.join("ledger.redb").exists() {
        return Err(CliError::bad(format!(
            "{} holds no ledger: there is nothing to verify",
            directory.display()
        )));
    }
    let mut ledger = open(&directory, args.fence.as_deref())?;
    let Some(listener) = listener else { return verify(&ledger) };
    let tokens = first_tokens(args, &mut ledger)?;
    if args.demo {
        demo::prepare(&mut ledger, now())?;
    }
    files::allow_many();
    log_to(args.log.into(), io::stderr);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| CliError::Failure(format!("the service cannot start: {error}")))?;
    runtime.block_on(serve(args, listener, ledger, tls, &tokens))
}

fn listen(address: SocketAddr) -> Result<std::net::TcpListener> {
    let listener = std::net::TcpListener::bind(address)
        .and_then(|listener| listener.set_nonblocking(true).map(|()| listener));
    listener.map_err(|error| CliError::bad(format!("{address} cannot be listened on: {error}")))
}

async fn serve(
    args: &ServeArgs,
    listener: std::net::TcpListener,
    ledger: Ledger,
    tls: Option<Tls>,
    tokens: &[NewToken],
) -> Result<()> {
    let failed = |error| CliError::Failure(format!("{} cannot be listened on: {error}", args.listen));
    let listener = TcpListener::from_std(listener).map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let scheme = if tls.is_some() { "https" } else { "http" };
    greet(&format!("{scheme}://{address}"), tokens, ledger.read_view().mode())?;
    let stop = stop_signal()?;
    let service = Service::start(ledger, args.options(), now);
    let feed = args.demo.then(|| tokio::spawn(demo::feed(service.ledger_thread().clone())));
    service.serve(listener, tls, stop).await;
    if let Some(feed) = feed {
        feed.abort();
    }
    Ok(())
}

/// The directory of the counters. A temporary one lasts for as long as its second part.
fn home(args: &ServeArgs) -> Result<(PathBuf, Option<TempDir>)> {
    if let Some(directory) = &args.directory {
        return Ok((directory.clone(), None));
    }
    let made = tempfile::Builder::new().prefix("evertally-demo-").tempdir();
    let made =
        made.map_err(|error| CliError::Failure(format!("no temporary directory can be made: {error}")))?;
    // A directory inside it, so that the fence beside that one is removed as well.
    Ok((made.path().join("counters"), Some(made)))
}

fn open(directory: &Path, fence: Option<&Path>) -> Result<Ledger> {
    let opened = Location::directory(directory, fence).and_then(|place| {
        let key = read_or_make_key(directory)?;
        with_progress("opening", |_| Ledger::open(place, key, now()))
    });
    opened.map_err(|error| CliError::from(error).in_file(directory))
}

fn verify(ledger: &Ledger) -> Result<()> {
    let verified = with_progress("verifying", |_| ledger.verify())?;
    say(&format!("whole: {} counters, {} releases", verified.counters, verified.releases))
}

/// A token that was just made. No `Debug`: it holds the secret.
struct NewToken {
    role: Role,
    bearer: String,
}

/// The first token of a ledger without tokens, and the one that `--new-token` asks for.
fn first_tokens(args: &ServeArgs, ledger: &mut Ledger) -> Result<Vec<NewToken>> {
    let first = ledger.read_view().tokens().is_empty().then_some(Role::Admin);
    let roles: Vec<Role> = first.into_iter().chain(args.new_token.map(Role::from)).collect();
    let mut tokens = Vec::new();
    for role in roles {
        let (_, bearer) = ledger.add_token(&format!("{role} from the command line"), role, None, now())?;
        tokens.push(NewToken { role, bearer });
    }
    ledger.commit(now())?;
    Ok(tokens)
}

/// Prints the address. Tokens go to standard output, once, and never to the logs.
fn greet(address: &str, tokens: &[NewToken], mode: evertally_ledger::Mode) -> Result<()> {
    for token in tokens {
        say(&format!("{} token, shown this once: {}", token.role, token.bearer))?;
    }
    if let Some(token) = tokens.first() {
        say(&format!("open {address}/#token={}", token.bearer))?;
    }
    if let evertally_ledger::Mode::Fenced { reason } = mode {
        say(&format!(
            "nothing is accepted or released until a new epoch is started ({reason}): see the page, or GET /v1/epoch"
        ))?;
    }
    say(&format!("listening on {address}"))
}

fn say(line: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")
        .and_then(|()| out.flush())
        .map_err(|error| CliError::writing("standard output", &error))
}

/// Completes when the operator asks the service to stop.
fn stop_signal() -> Result<impl Future<Output = ()>> {
    let failed = |error: io::Error| CliError::Failure(format!("signals cannot be received: {error}"));
    #[cfg(unix)]
    let mut terminate =
        tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()).map_err(failed)?;
    Ok(async move {
        #[cfg(unix)]
        tokio::select! {
            _ = terminate.recv() => {}
            _ = tokio::signal::ctrl_c() => {}
        }
        #[cfg(not(unix))]
        let _ = tokio::signal::ctrl_c().await;
    })
}
