//! Metrics for Prometheus, and what they must not reveal.
//!
//! **Definition.** Requests by route, method and status with their durations, bytes received,
//! connections, live streams, the mode, counters by status, the delay of the latest tick, and the time
//! until events are durable.
//!
//! **Guarantee.** Everybody who may read releases may read metrics, and monitoring systems keep them for
//! years. The number of events is exactly what releases hide: for a client that sends one event per
//! request, the number of requests and of bytes would be a running total without noise. Therefore, by
//! default:
//!
//! - requests that record events are in no count, no sum of bytes and no histogram, because a histogram
//!   holds a count. Only those that are refused for their token, their path or their media type are
//!   counted, because they record nothing;
//! - their durations are not shown, because quantiles change with every request;
//! - the mean time of a commit has two digits, so that it does not reveal the number of commits;
//! - no label names a counter, a key, a person, an event or a token. Routes are the templates of paths.
//!
//! With [`Options::event_metrics`](crate::Options::event_metrics), the numbers of these requests and of
//! events by outcome are shown. They are exact and not private: show them only to people who may see the
//! data.
//!
//! **Cost.** A hash and an atomic addition per request.

use crate::model::event::Receipt;
use metrics::{Key, KeyName, Label, Level, Metadata, Recorder};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle, PrometheusRecorder};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The bounds of histogram buckets, in seconds.
const BUCKETS: [f64; 12] = [0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 2.5, 10.0];

/// The number of recent durations from which quantiles are computed.
const RECENT_COUNT: usize = 512;

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

const DESCRIPTIONS: [(&str, &str); 13] = [
    (
        REQUESTS,
        "Requests by route, method and status. Successful requests that record events are left out by default.",
    ),
    (
        SECONDS,
        "Seconds from a request to its answer. Successful requests that record events are left out by default.",
    ),
    (BYTES, "Announced bytes of bodies. Successful requests that record events are left out by default."),
    (EVENTS, "Events by outcome. Exact and not private, so not shown by default."),
    (DURABLE, "Quantiles of the seconds until events were durable, over the latest 512 requests."),
    (CONNECTIONS, "Open connections."),
    (LIVE, "Live streams."),
    (COUNTERS, "Counters by status."),
    (MODE, "One for the current mode of the service."),
    (LATE, "Seconds from the due time of the latest clocked step to its release."),
    (OVERDUE, "Seconds by which the most overdue step is late now."),
    (QUEUE, "Requests that wait for the ledger."),
    (
        COMMIT,
        "Mean seconds of a commit. The number of commits is not shown, because a client may cause one per event.",
    ),
];

/// The metrics of the service.
pub(crate) struct Metrics {
    recorder: PrometheusRecorder,
    handle: PrometheusHandle,
    shows_events: bool,
    recent: Mutex<RecentDurations>,
    connections: AtomicU64,
    live: AtomicU64,
}

/// The durations of the latest requests that recorded events, in seconds.
#[derive(Default)]
struct RecentDurations {
    seconds: Vec<f64>,
    next: usize,
}

/// What is known of a request once it is answered.
pub(crate) struct RequestRecord<'a> {
    /// The template of its path. None when no route matches.
    pub(crate) route: Option<&'a str>,
    pub(crate) method: &'static str,
    pub(crate) status: u16,
    pub(crate) bytes: u64,
    pub(crate) duration: Duration,
}

impl RequestRecord<'_> {
    /// Whether it reveals how many events there are.
    pub(crate) fn reveals_events(&self) -> bool {
        // These refusals come before the body is read. After other refusals, some lines may have been
        // recorded.
        let is_refused = matches!(self.status, 401 | 403 | 404 | 405 | 415);
        !is_refused && self.route.is_some_and(|route| route.ends_with("/events"))
    }
}

/// Values that are read when metrics are rendered.
pub(crate) struct Snapshot {
    pub(crate) mode: &'static str,
    pub(crate) counters: [(&'static str, usize); 4],
    /// By how much the most overdue step is late.
    pub(crate) overdue_micros: i64,
    pub(crate) ledger: evertally_ledger::Statistics,
}

impl Metrics {
    pub(crate) fn new(shows_events: bool) -> Self {
        let builder = PrometheusBuilder::new();
        // Only empty buckets would be refused.
        let recorder = match builder.set_buckets(&BUCKETS) {
            Ok(builder) => builder.build_recorder(),
            Err(_) => PrometheusBuilder::new().build_recorder(),
        };
        for (name, description) in DESCRIPTIONS {
            let name = KeyName::from_const_str(name);
            match name.as_str() {
                SECONDS => recorder.describe_histogram(name, None, description.into()),
                REQUESTS | BYTES | EVENTS => recorder.describe_counter(name, None, description.into()),
                _ => recorder.describe_gauge(name, None, description.into()),
            }
        }
        let (recent, connections, live) = (Mutex::default(), AtomicU64::new(0), AtomicU64::new(0));
        Self { handle: recorder.handle(), recorder, shows_events, recent, connections, live }
    }

    /// Counts a request.
    pub(crate) fn request(&self, request: &RequestRecord<'_>) {
        if request.reveals_events() && !self.shows_events {
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
        self.recorder.register_histogram(&by_route, &METADATA).record(request.duration.as_secs_f64());
        self.recorder.register_counter(&Key::from_static_name(BYTES), &METADATA).increment(request.bytes);
    }

    /// Counts the events of a request by outcome.
    pub(crate) fn events(&self, receipt: &Receipt, duration: Duration) {
        if !self.shows_events {
            return;
        }
        self.recent.lock().unwrap_or_else(PoisonError::into_inner).push(duration.as_secs_f64());
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

    /// Counts a connection until the guard is dropped.
    pub(crate) fn connection(&self) -> GaugeGuard<'_> {
        GaugeGuard::new(&self.connections)
    }

    /// Counts a live stream that starts (`true`) or ends.
    pub(crate) fn live(&self, starts: bool) {
        if starts {
            self.live.fetch_add(1, Ordering::Relaxed)
        } else {
            self.live.fetch_sub(1, Ordering::Relaxed)
        };
    }

    /// All metrics in the format of Prometheus.
    pub(crate) fn render(&self, snapshot: &Snapshot) -> String {
        self.gauge(CONNECTIONS, None, self.connections.load(Ordering::Relaxed) as f64);
        self.gauge(LIVE, None, self.live.load(Ordering::Relaxed) as f64);
        self.gauge(OVERDUE, None, snapshot.overdue_micros.max(0) as f64 / 1e6);
        self.gauge(LATE, None, snapshot.ledger.lateness.as_secs_f64());
        self.gauge(QUEUE, None, snapshot.ledger.waiting as f64);
        let commits = snapshot.ledger.commits.max(1) as f64;
        self.gauge(COMMIT, None, two_digits(snapshot.ledger.commit_time.as_secs_f64() / commits));
        for mode in ["running", "fenced", "read-only"] {
            self.gauge(
                MODE,
                Some(Label::from_static_parts("mode", mode)),
                f64::from(u8::from(mode == snapshot.mode)),
            );
        }
        for (status, count) in snapshot.counters {
            self.gauge(COUNTERS, Some(Label::from_static_parts("status", status)), count as f64);
        }
        for (name, quantile) in [("0.5", 0.5), ("0.99", 0.99)].into_iter().filter(|_| self.shows_events) {
            let seconds = self.recent.lock().unwrap_or_else(PoisonError::into_inner).quantile(quantile);
            if let Some(seconds) = seconds {
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

impl RecentDurations {
    fn push(&mut self, seconds: f64) {
        if self.seconds.len() < RECENT_COUNT {
            self.seconds.push(seconds);
        } else {
            self.seconds[self.next] = seconds;
        }
        self.next = (self.next + 1) % RECENT_COUNT;
    }

    fn quantile(&self, quantile: f64) -> Option<f64> {
        let mut sorted = self.seconds.clone();
        sorted.sort_by(f64::total_cmp);
        sorted.get((quantile * (sorted.len() - 1) as f64).round() as usize).copied()
    }
}

/// Rounds a number to two digits.
fn two_digits(number: f64) -> f64 {
    format!("{number:.1e}").parse().unwrap_or_default()
}

/// Counts in a gauge until it is dropped.
pub(crate) struct GaugeGuard<'a>(&'a AtomicU64);

impl<'a> GaugeGuard<'a> {
    fn new(count: &'a AtomicU64) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for GaugeGuard<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot() -> Snapshot {
        Snapshot {
            mode: "running",
            counters: [("running", 2), ("fenced", 0), ("retired", 1), ("ended", 0)],
            overdue_micros: -5,
            ledger: evertally_ledger::Statistics { waiting: 3, ..Default::default() },
        }
    }

    fn after_posts(shows_events: bool) -> String {
        let metrics = Metrics::new(shows_events);
        for status in [200, 200, 200, 400, 401] {
            let route = Some("/v1/counters/{name}/events");
            let duration = Duration::from_millis(2);
            metrics.request(&RequestRecord { route, method: "POST", status, bytes: 7_000, duration });
        }
        let receipt = Receipt { received: 4711, counted: 4711, ..Receipt::default() };
        metrics.events(&receipt, Duration::from_millis(2));
        metrics.render(&snapshot())
    }

    #[test]
    fn the_number_of_events_is_shown_only_on_request() {
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
    fn current_values_are_shown() {
        let metrics = Metrics::new(true);
        let connection = metrics.connection();
        metrics.live(true);
        for _ in 0..600 {
            metrics.events(&Receipt::default(), Duration::from_millis(250));
        }
        let text = metrics.render(&snapshot());
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
        assert!(metrics.render(&snapshot()).contains("evertally_connections 0"));
    }
}
