//! Connections: accepted, limited, and shut down in order.
//!
//! **Guarantee.** There are never more than [`Options::max_connections`]; further connections wait to be
//! accepted. When the service stops, it accepts no connection, finishes the requests that have started,
//! ends live streams, and then stops the ledger.

mod connection;
mod tls;
mod write_timeout;

pub use tls::Tls;

use crate::options::Options;
use crate::state::App;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};

/// How long to wait when accepting fails, usually because there are no file descriptors left.
const PAUSE: Duration = Duration::from_millis(50);

/// Serves until `stop` is ready.
pub(crate) async fn serve(
    app: App,
    router: axum::Router,
    listener: TcpListener,
    tls: Option<Tls>,
    stop: impl Future<Output = ()>,
) {
    let max = app.options().max_connections.max(1);
    let places = Arc::new(Semaphore::new(max as usize));
    // Connections are first asked to end, and cut off if they do not.
    let (cut, is_cut) = watch::channel(false);
    let shared = Shared { app: app.clone(), router, tls, is_cut };
    tokio::select! {
        () = accept_all(&listener, &places, &shared) => {}
        () = stop => {}
    }
    drop(listener);
    app.stop();
    let Options { shutdown_timeout, .. } = *app.options();
    if tokio::time::timeout(shutdown_timeout, places.acquire_many(max)).await.is_err() {
        tracing::warn!("some connections did not end in time and were cut off");
        cut.send_replace(true);
        let _ = tokio::time::timeout(Duration::from_secs(1), places.acquire_many(max)).await;
    }
}

/// What all connections share.
#[derive(Clone)]
struct Shared {
    app: App,
    router: axum::Router,
    tls: Option<Tls>,
    is_cut: watch::Receiver<bool>,
}

/// Accepts connections forever.
async fn accept_all(listener: &TcpListener, places: &Arc<Semaphore>, shared: &Shared) {
    loop {
        let Ok(place) = Arc::clone(places).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((socket, _)) => {
                let shared = shared.clone();
                tokio::spawn(async move {
                    let _place = place;
                    connect(socket, shared).await;
                });
            }
            // The client has already left.
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset
                ) => {}
            Err(error) => {
                tracing::error!(reason = %error.kind(), "cannot accept connections");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

async fn connect(socket: TcpStream, shared: Shared) {
    let app = shared.app.clone();
    let _count = app.metrics().connection();
    // Answers are small and must not wait for more data.
    let _ = socket.set_nodelay(true);
    match &shared.tls {
        None => connection::serve(socket, &shared).await,
        Some(tls) => {
            let patience = app.options().header_timeout;
            if let Ok(Ok(stream)) = tokio::time::timeout(patience, tls.accept(socket)).await {
                connection::serve(stream, &shared).await;
            }
        }
    }
}
