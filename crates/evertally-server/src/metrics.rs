//! Metrics for Prometheus, and what they must not tell.
//!
//! **Definition.** Requests by route, method and status with their times, bytes taken in,
//! connections, live streams, the mode, counters by status, how late the latest tick is, and how
//! long it takes until events are durable.
//!
//! **Guarantee.** Metrics are read by whoever may read releases, and often by a monitoring system
//! that keeps them for years. How many events there were is exactly what releases hide: a client
//! that posts one event a request would make the number of requests, and of bytes, a running total
//! without noise. So, unless [`Options::event_metrics`](crate::Options::event_metrics) says
//! otherwise:
//!
//! - posts of events are in no count, no sum of bytes and no histogram, since a histogram holds a
//!   count; only those that are refused for who sends them, or to what, are counted like any other
//!   request, because nothing of them was recorded;
//! - how long they take is not shown: quantiles change with every post;
//! - the mean time of a commit has two digits, so that the number of commits cannot be read off it;
//! - nothing is ever labelled by a counter, a key, a person, an event or a token. Routes are the
//!   templates of paths.
//!
//! With the option, counts of posts and of events by outcome are shown. They are exact, and not
//! private: whoever may read them must be trusted with the data.
//!
//! **Cost.** A hash and an atomic addition a request.

use crate::model::event::Receipt;
use metrics::{Key, KeyName, Label, Level, Metadata, Recorder};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle, PrometheusRecorder};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Seconds at which histograms are divided.
const BUCKETS: [f64; 12] = [0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 2.5, 10.0];

/// How many times of posts are remembered.
const REMEMBERED: usize = 512;

const METADATA: Metadata<'static> = Metadata::new("evertally", Level::INFO, None);

const REQUESTS: &str = "evertally_http_requests_total";
const SECONDS: &str = "evertally_http_request_seconds";
const BYTES: &str = "evertally_http_request_bytes_total";
const EVENTS: &str = "evertally_events_total";
const DURABLE: &str = "evertally_durable_seconds";
const CONNECTIONS: &str = "evertally_connections";
const LIVE: &str = "evertally_live_streams";
const COUNTERS: &str = "evertally_counters";
const MODE: &str = "evertally_mode";
const LATE: &str = "evertally_tick_late_seconds";
const OVERDUE: &str = "evertally_tick_overdue_seconds";
const QUEUE: &str = "evertally_queue_length";
const COMMIT: &str = "evertally_commit_seconds_mean";

const WORDS: [(&str, &str); 13] = [
    (
        REQUESTS,
        "Requests by route, method and status; without posts of events that succeeded, unless they are asked for.",
    ),
    (
        SECONDS,
        "Seconds from a request to its answer; without posts of events that succeeded, unless they are asked for.",
    ),
    (
        BYTES,
        "Bytes of bodies as announced; without posts of events that succeeded, unless they are asked for.",
    ),
    (EVENTS, "Events by outcome. Exact and not private: shown only where it is asked for."),
    (DURABLE, "Quantiles of the seconds until events were durable, over the latest 512 posts."),
    (CONNECTIONS, "Open connections."),
    (LIVE, "Live streams."),
    (COUNTERS, "Counters by status."),
    (MODE, "One for the present mode of the service."),
    (LATE, "Seconds by which the latest step by the clock was shown after it was due."),
    (OVERDUE, "Seconds by which the step that is due longest is late at present."),
    (QUEUE, "Requests that wait for the ledger."),
    (
        COMMIT,
        "Mean seconds of a commit. How many there were is not shown: one client may cause one commit an event.",
    ),
];

/// What the service tells about itself.
pub(crate) struct Metrics {
    recorder: PrometheusRecorder,
    handle: PrometheusHandle,
    tells_events: bool,
    latest: Mutex<Latest>,
    connections: AtomicU64,
    live: AtomicU64,
}

/// The times of the latest posts, in seconds.
#[derive(Default)]
struct Latest {
    seconds: Vec<f64>,
    next: usize,
}

/// A request that was answered.
pub(crate) struct Answered<'a> {
    /// The template of its path; none where there is no such route.
    pub(crate) route: Option<&'a str>,
    pub(crate) method: &'static str,
    pub(crate) status: u16,
    pub(crate) bytes: u64,
    pub(crate) took: Duration,
}

impl Answered<'_> {
    /// Whether it tells how many events there are.
    pub(crate) fn is_telling(&self) -> bool {
        // A post that is refused for who sends it, or to what, has recorded nothing; of another,
        // parts may have been.
        let is_refused = matches!(self.status, 401 | 403 | 404 | 405 | 415);
        !is_refused && self.route.is_some_and(|route| route.ends_with("/events"))
    }
}

/// What is known only when it is asked.
pub(crate) struct Present {
    pub(crate) mode: &'static str,
    pub(crate) counters: [(&'static str, usize); 4],
    /// By how much the step that is due longest is late.
    pub(crate) overdue_micros: i64,
    pub(crate) ledger: evertally_ledger::Statistics,
}

impl Metrics {
    pub(crate) fn new(tells_events: bool) -> Self {
        let builder = PrometheusBuilder::new();
        // The buckets are not empty, which is all that could be refused.
        let recorder = match builder.set_buckets(&BUCKETS) {
            Ok(builder) => builder.build_recorder(),
            Err(_) => PrometheusBuilder::new().build_recorder(),
        };
        for (name, words) in WORDS {
            let name = KeyName::from_const_str(name);
            match name.as_str() {
                SECONDS => recorder.describe_histogram(name, None, words.into()),
                REQUESTS | BYTES | EVENTS => recorder.describe_counter(name, None, words.into()),
                _ => recorder.describe_gauge(name, None, words.into()),
            }
        }
        let (latest, connections, live) = (Mutex::default(), AtomicU64::new(0), AtomicU64::new(0));
        Self { handle: recorder.handle(), recorder, tells_events, latest, connections, live }
    }

    /// A request was answered.
    pub(crate) fn answered(&self, request: &Answered<'_>) {
        if request.is_telling() && !self.tells_events {
            return;
        }
        let route = request.route.unwrap_or("none").to_owned();
        let labels = vec![
            Label::new("route", route.clone()),
            Label::from_static_parts("method", request.method),
            Label::new("status", request.status.to_string()),
        ];
        self.recorder.register_counter(&Key::from_parts(REQUESTS, labels), &METADATA).increment(1);
        let by_route = Key::from_parts(SECONDS, vec![Label::new("route", route)]);
        self.recorder.register_histogram(&by_route, &METADATA).record(request.took.as_secs_f64());
        self.recorder.register_counter(&Key::from_static_name(BYTES), &METADATA).increment(request.bytes);
    }

    /// Events became durable, or were found to be copies, late or early.
    pub(crate) fn durable(&self, receipt: &Receipt, took: Duration) {
        if !self.tells_events {
            return;
        }
        self.latest.lock().unwrap_or_else(PoisonError::into_inner).push(took.as_secs_f64());
        for (outcome, count) in [
            ("counted", receipt.counted),
            ("duplicate", receipt.duplicate),
            ("late", receipt.late),
            ("early", receipt.early),
            ("over_bound", receipt.over_bound),
            ("ended", receipt.ended),
            ("unnamed", receipt.unnamed),
        ] {
            let key = Key::from_parts(EVENTS, vec![Label::from_static_parts("outcome", outcome)]);
            self.recorder.register_counter(&key, &METADATA).increment(count);
        }
    }

    /// One connection more, until what is returned is dropped.
    pub(crate) fn connection(&self) -> OneMore<'_> {
        OneMore::of(&self.connections)
    }

    /// A live stream begins (`true`) or ends.
    pub(crate) fn live(&self, begins: bool) {
        if begins {
            self.live.fetch_add(1, Ordering::Relaxed)
        } else {
            self.live.fetch_sub(1, Ordering::Relaxed)
        };
    }

    /// Everything in the form that Prometheus reads.
    pub(crate) fn render(&self, present: &Present) -> String {
        self.gauge(CONNECTIONS, None, self.connections.load(Ordering::Relaxed) as f64);
        self.gauge(LIVE, None, self.live.load(Ordering::Relaxed) as f64);
        self.gauge(OVERDUE, None, present.overdue_micros.max(0) as f64 / 1e6);
        self.gauge(LATE, None, present.ledger.lateness.as_secs_f64());
        self.gauge(QUEUE, None, present.ledger.waiting as f64);
        let commits = present.ledger.commits.max(1) as f64;
        self.gauge(COMMIT, None, two_digits(present.ledger.commit_time.as_secs_f64() / commits));
        for mode in ["running", "fenced", "read-only"] {
            self.gauge(
                MODE,
                Some(Label::from_static_parts("mode", mode)),
                f64::from(u8::from(mode == present.mode)),
            );
        }
        for (status, count) in present.counters {
            self.gauge(COUNTERS, Some(Label::from_static_parts("status", status)), count as f64);
        }
        for (name, quantile) in [("0.5", 0.5), ("0.99", 0.99)].into_iter().filter(|_| self.tells_events) {
            let latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner).quantile(quantile);
            if let Some(seconds) = latest {
                self.gauge(DURABLE, Some(Label::from_static_parts("quantile", name)), seconds);
            }
        }
        self.handle.run_upkeep();
        self.handle.render()
    }

    fn gauge(&self, name: &'static str, label: Option<Label>, value: f64) {
        let key = Key::from_parts(name, label.into_iter().collect::<Vec<_>>());
        self.recorder.register_gauge(&key, &METADATA).set(value);
    }
}

impl Latest {
    fn push(&mut self, seconds: f64) {
        if self.seconds.len() < REMEMBERED {
            self.seconds.push(seconds);
        } else {
            self.seconds[self.next] = seconds;
        }
        self.next = (self.next + 1) % REMEMBERED;
    }

    fn quantile(&self, quantile: f64) -> Option<f64> {
        let mut sorted = self.seconds.clone();
        sorted.sort_by(f64::total_cmp);
        sorted.get((quantile * (sorted.len() - 1) as f64).round() as usize).copied()
    }
}

/// A number to two digits.
fn two_digits(number: f64) -> f64 {
    format!("{number:.1e}").parse().unwrap_or_default()
}

/// Counts for as long as it lives.
pub(crate) struct OneMore<'a>(&'a AtomicU64);

impl<'a> OneMore<'a> {
    fn of(count: &'a AtomicU64) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for OneMore<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn present() -> Present {
        Present {
            mode: "running",
            counters: [("running", 2), ("fenced", 0), ("retired", 1), ("ended", 0)],
            overdue_micros: -5,
            ledger: evertally_ledger::Statistics { waiting: 3, ..Default::default() },
        }
    }

    fn after_posts(tells_events: bool) -> String {
        let metrics = Metrics::new(tells_events);
        for status in [200, 200, 200, 400, 401] {
            let route = Some("/v1/counters/{name}/events");
            let took = Duration::from_millis(2);
            metrics.answered(&Answered { route, method: "POST", status, bytes: 7_000, took });
        }
        let receipt = Receipt { received: 4711, counted: 4711, ..Receipt::default() };
        metrics.durable(&receipt, Duration::from_millis(2));
        metrics.render(&present())
    }

    #[test]
    fn how_many_events_there_were_is_told_only_on_request() {
        let text = after_posts(false);
        assert!(text.contains(r#"evertally_http_requests_total{route="/v1/counters/{name}/events",method="POST",status="401"} 1"#), "{text}");
        assert!(!text.contains(r#"status="400""#), "parts of it may have been recorded");
        assert!(
            !text.contains(r#"status="200""#)
                && !text.contains("4711")
                && text.contains("bytes_total 7000\n"),
            "{text}"
        );
        assert!(!text.contains("evertally_durable_seconds{"), "{text}");
        let text = after_posts(true);
        assert!(text.contains(r#"status="200"} 3"#) && text.contains(r#"outcome="counted"} 4711"#), "{text}");
    }

    #[test]
    fn the_present_is_shown() {
        let metrics = Metrics::new(true);
        let connection = metrics.connection();
        metrics.live(true);
        for _ in 0..600 {
            metrics.durable(&Receipt::default(), Duration::from_millis(250));
        }
        let text = metrics.render(&present());
        for line in [
            "evertally_connections 1",
            "evertally_live_streams 1",
            "evertally_mode{mode=\"running\"} 1",
            "evertally_mode{mode=\"fenced\"} 0",
            "evertally_counters{status=\"retired\"} 1",
            "evertally_tick_overdue_seconds 0",
            "evertally_queue_length 3",
            "evertally_durable_seconds{quantile=\"0.99\"} 0.25",
        ] {
            assert!(text.lines().any(|shown| shown == line), "{line} is missing from\n{text}");
        }
        drop(connection);
        assert!(metrics.render(&present()).contains("evertally_connections 0"));
    }
}
