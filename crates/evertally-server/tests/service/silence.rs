//! Logs, metrics and refusals hold nothing that clients send.

use crate::fixture::Server;
use serde_json::json;
use std::io;
use std::sync::{Arc, Mutex};

/// What was logged.
#[derive(Clone, Default)]
struct Logged(Arc<Mutex<Vec<u8>>>);

impl io::Write for Logged {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Ids, persons, keys, values and a number of events that are easy to find.
const CANARIES: [&str; 6] = ["canary", "4711", "918273", "evt_", "kanarienvogel", "0.123456789"];

/// Whether a text holds a canary: numbers as whole words, because times and latencies have all
/// kinds of digits.
fn holds(text: &str, canary: &str) -> bool {
    if canary.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.split(|c: char| !c.is_alphanumeric() && c != '.').any(|word| word == canary);
    }
    text.contains(canary)
}

#[test]
fn logs_metrics_and_refusals_repeat_nothing() {
    let logged = Logged::default();
    let writer = logged.clone();
    evertally_server::log_to(evertally_server::LogFormat::Json, move || writer.clone());
    let server = Server::start();
    server.post("/v1/populations", &json!({"name": "everyone", "rho": 1e5})).expect(201);
    let people = json!({"name": "people", "unit": "person", "rho": 1e5, "key_delta": 0.1});
    server.post("/v1/populations", &people).expect(201);
    let spent = json!({"name": "canary-counter", "epsilon": 900, "delta": 1e-6, "steps": 9, "keys": ["canary-key"], "clamp": [0, 1]});
    server.post("/v1/counters", &spent).expect(201);
    let served = json!({"name": "served", "population": "people", "epsilon": 900, "delta": 1e-6, "steps": 9, "max_steps": 1});
    server.post("/v1/counters", &served).expect(201);
    let finding = json!({"name": "finding", "population": "people", "epsilon": 2, "delta": 0.02, "steps": 9,
        "max_steps": 1, "discover": {"floor": 4}});
    server.post("/v1/counters", &finding).expect(201);
    let hidden: Vec<_> = (0..4711)
        .map(|i| json!({"id": format!("canary-{i}"), "key": format!("canary-{}", i / 3), "person": format!("kanarienvogel-{i}")}))
        .collect();
    server.post("/v1/counters/finding/events", &json!(hidden)).expect(200);
    let closed = server.post("/v1/counters/finding/advance", &json!({})).expect(200).json();
    assert_eq!(closed["releases"], json!([]), "a key of three persons is below the floor");
    let path = "/v1/counters/canary-counter/events";
    let batch: Vec<_> = (0..4711)
        .map(|i| json!({"id": format!("canary-{i}"), "key": "canary-key", "value": 0.123_456_789}))
        .collect();
    server.post(path, &json!(batch)).expect(200);
    server.post(path, &json!({"id": "canary-1"})).expect(200);
    server.post("/v1/counters/canary-counter/advance", &json!({})).expect(200);
    let person = json!({"id": "918273", "person": "kanarienvogel"});
    for _ in 0..3 {
        server.post("/v1/counters/served/events", &person).expect(200);
        server.post("/v1/counters/served/advance", &json!({})).expect(200);
    }

    let mut refusals = Vec::new();
    let mut refuse = |answer: crate::client::Answer| {
        assert!(answer.status >= 400, "{} after {refusals:?}", answer.text());
        refusals.push(answer.text());
    };
    let long = "canary".repeat(100);
    for body in [
        r#"{"id":"canary","value":"918273"}"#,
        r#"{"id":"canary","canary":4711}"#,
        r#"{"id":"canary","time":"canary"}"#,
        r#"{"id":918273}"#,
        r#"{"id":"canary","value":4711"#,
        r#"{"id":"canary"} canary"#,
        r#"["canary"]"#,
        &format!(r#"{{"id":"{long}"}}"#),
        &format!(
            r#"{{"id":"a","person":"kanarienvogel","value":1,"key":"{long}","time":"2026-01-05T08:00:00Z"}}"#
        ),
    ] {
        refuse(server.post_text(path, "application/json", body.as_bytes()));
        refuse(server.post_text(path, "application/x-ndjson", format!("\n{body}\n").as_bytes()));
        refuse(server.post_text("/v1/tokens", "application/json", body.as_bytes()));
        refuse(server.post_text("/v1/epoch", "application/json", body.as_bytes()));
    }
    refuse(server.post("/v1/counters/served/events", &json!({"id": long, "person": "kanarienvogel"})));
    refuse(server.post_text(path, "text/canary", b"canary"));
    refuse(server.get("/v1/counters/canary-counter/releases?key=canary"));
    refuse(server.get("/v1/counters/canary-counter/releases?canary=4711"));
    refuse(server.get("/v1/counters/canary-counter/sum?key=canary"));
    refuse(server.get("/v1/counters/finding/releases?key=canary-7"));
    refuse(server.get("/v1/counters/finding/sum?key=canary-7"));
    refuse(
        server.post("/v1/counters/finding/events", &json!({"id": "", "key": "canary-7", "person": "4711"})),
    );
    for shown in ["/v1/counters/finding", "/v1/counters/finding/releases", "/v1/populations"] {
        let text = server.get(shown).text();
        let is_known = |canary: &&&str| holds(&text.replace("canary-counter", ""), canary);
        assert_eq!(CANARIES.iter().find(is_known), None, "{text}");
    }
    refuse(server.get("/v1/counters/canary"));
    refuse(server.get("/canary"));
    refuse(server.send("evt_canary", "GET", "/v1/status", &[], &[]));
    refuse(server.send(&server.bearers.read, "POST", path, &[], b"canary"));
    let answer = server.send(&server.bearers.admin, "CANARY", "/v1/status", &[], &[]);
    refuse(answer);
    // An overlong person is not refused, and the answer does not repeat them either.
    let unnamed = json!({"id": "918273", "person": long});
    refusals.push(server.post("/v1/counters/served/events", &unnamed).expect(200).text());
    for text in &refusals {
        for canary in CANARIES {
            // The form in which a token is sent is public.
            let text = text.replace("Bearer evt_…", "");
            assert!(!holds(&text, canary), "{canary} in {text}");
        }
    }
    let metrics = server.get("/metrics").text();
    for canary in CANARIES {
        assert!(!holds(&metrics, canary), "{canary} in {metrics}");
    }
    // Neither metrics nor the lines of the log reveal how many requests recorded events.
    assert!(
        !metrics.contains(r#"route="/v1/counters/{name}/events",method="POST",status="200""#),
        "{metrics}"
    );
    drop(server.stop());
    let lines = String::from_utf8(logged.0.lock().unwrap().clone()).unwrap();
    assert!(lines.contains(r#""route":"/v1/counters/{name}/advance""#), "{lines}");
    for canary in CANARIES {
        assert!(!holds(&lines, canary), "{canary} in the logs");
    }
    let told =
        lines.lines().filter(|line| line.contains("/events") && line.contains("\"status\":200")).count();
    assert_eq!(told, 0);
    // The check can fail: it finds canaries where they are.
    let sent = json!([{"id": "canary-1", "value": 0.123_456_789}, {"n": 4711}, "918273"]).to_string();
    assert!(["canary", "4711", "918273", "0.123456789"].iter().all(|canary| holds(&sent, canary)), "{sent}");
}
