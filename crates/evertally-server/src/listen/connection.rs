//! One connection, HTTP/1.1 or HTTP/2, and its timeouts.
//!
//! **Guarantee.** A connection without a request is closed. Before its first request this happens after
//! [`Options::header_timeout`], which covers clients that send nothing, a part of a header or half a
//! handshake; later it happens after [`Options::idle_timeout`]. A request is over when its answer is sent,
//! so that live streams and long answers keep their connection.

use super::Shared;
use super::write_timeout::WriteTimeout;
use crate::options::Options;
use axum::body::Body;
use hyper::Request;
use hyper::body::{Body as HttpBody, Bytes, Frame, Incoming, SizeHint};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use std::convert::Infallible;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Instant, sleep_until};

/// The most open requests of one HTTP/2 connection.
const MAX_HTTP2_STREAMS: u32 = 128;

/// The most bytes of a request's headers.
const MAX_HEAD_BYTES: usize = 64 << 10;

/// Serves a connection to its end.
pub(super) async fn serve<S>(stream: S, shared: &Shared)
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let options = shared.app.options();
    let activity = Activity::new();
    let (router, watched) = (TowerToHyperService::new(shared.router.clone()), activity.clone());
    let service = service_fn(move |request: Request<Incoming>| {
        let busy = watched.start();
        let answer = hyper::service::Service::call(&router, request);
        async move { Ok::<_, Infallible>(answer.await?.map(|body| Answer { body, _busy: busy })) }
    });
    let builder = builder(options);
    let mut connection = pin!(
        builder.serve_connection(TokioIo::new(WriteTimeout::new(stream, options.write_timeout)), service)
    );
    let (mut stopping, mut is_cut) = (shared.app.stopping(), shared.is_cut.clone());
    let mut is_asked = false;
    loop {
        tokio::select! {
            // An error concerns one client, which sees it too.
            _ = connection.as_mut() => return,
            () = sleep_until(activity.deadline(options)) => {
                if activity.is_overdue(options) {
                    return;
                }
            }
            _ = stopping.wait_for(|stopping| *stopping), if !is_asked => {
                is_asked = true;
                connection.as_mut().graceful_shutdown();
            }
            _ = is_cut.wait_for(|is_cut| *is_cut) => return,
        }
    }
}

fn builder(options: &Options) -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    // Without a timer, hyper's own timeouts have no effect.
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(options.idle_timeout)
        .max_buf_size(MAX_HEAD_BYTES);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(MAX_HTTP2_STREAMS)
        .max_header_list_size(MAX_HEAD_BYTES as u32)
        .keep_alive_interval(options.idle_timeout)
        .keep_alive_timeout(options.write_timeout);
    builder
}

/// What a connection is doing. Clones share it.
#[derive(Clone)]
struct Activity {
    state: Arc<Mutex<State>>,
}

#[derive(Clone, Copy)]
struct State {
    requests: usize,
    had_one: bool,
    idle_since: Instant,
}

impl Activity {
    fn new() -> Self {
        let state = State { requests: 0, had_one: false, idle_since: Instant::now() };
        Self { state: Arc::new(Mutex::new(state)) }
    }

    /// Starts a request, which ends when the guard is dropped.
    fn start(&self) -> Busy {
        self.change(|state| {
            state.requests += 1;
            state.had_one = true;
        });
        Busy(self.clone())
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn get(&self) -> State {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// When to check again whether the connection is idle.
    fn deadline(&self, options: &Options) -> Instant {
        match self.get() {
            State { requests: 0, had_one: false, idle_since } => idle_since + options.header_timeout,
            State { requests: 0, idle_since, .. } => idle_since + options.idle_timeout,
            _ => Instant::now() + options.idle_timeout,
        }
    }

    fn is_overdue(&self, options: &Options) -> bool {
        self.get().requests == 0 && self.deadline(options) <= Instant::now()
    }
}

/// An open request.
struct Busy(Activity);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.change(|state| {
            state.requests -= 1;
            state.idle_since = Instant::now();
        });
    }
}

/// The body of an answer. It is dropped when it is sent or abandoned.
struct Answer {
    body: Body,
    _busy: Busy,
}

impl HttpBody for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
