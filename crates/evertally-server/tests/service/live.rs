//! Live streams.

use crate::client::{Wire, head};
use crate::fixture::{SECOND, Server};
use serde_json::{Value, json};

/// A client that follows a counter.
struct Follower {
    wire: Wire,
    text: String,
}

impl Follower {
    fn new(server: &Server, query: &str, last: Option<&str>) -> Self {
        let mut wire = Wire::open(server.address);
        let bearer = format!("Bearer {}", server.bearers.read);
        let mut headers = vec![("Authorization", bearer.as_str())];
        headers.extend(last.map(|last| ("Last-Event-ID", last)));
        wire.send(head("GET", &format!("/v1/counters/visits/live{query}"), &headers).as_bytes()).unwrap();
        let answer = wire.head().unwrap().expect(200);
        assert_eq!(answer.header("content-type"), Some("text/event-stream"));
        Self { wire, text: String::new() }
    }

    /// The next event that is not a comment: its kind, id and data.
    fn event(&mut self) -> Option<(String, Option<u64>, Value)> {
        loop {
            while let Some((event, rest)) = self.text.split_once("\n\n") {
                let field = |name: &str| {
                    event
                        .lines()
                        .find_map(|line| line.strip_prefix(name))
                        .map(|value| value.trim_start().to_owned())
                };
                let found = field("event:").map(|kind| {
                    let id = field("id:").map(|id| id.parse().unwrap());
                    (kind, id, serde_json::from_str(&field("data:").unwrap()).unwrap())
                });
                self.text = rest.to_owned();
                if found.is_some() {
                    return found;
                }
            }
            let chunk = self.wire.chunk().filter(|chunk| !chunk.is_empty())?;
            self.text.push_str(&String::from_utf8(chunk).unwrap());
        }
    }

    fn step(&mut self) -> u64 {
        let (kind, id, data) = self.event().unwrap();
        assert_eq!((kind.as_str(), id), ("release", data["step"].as_u64()));
        id.unwrap()
    }
}

fn server() -> Server {
    let server = Server::start();
    server.with_population();
    let new =
        json!({"name": "visits", "epsilon": 1, "delta": 1e-6, "steps": 5000, "every": "1s", "keys": ["a"]});
    server.post("/v1/counters", &new).expect(201);
    server
}

#[test]
fn every_step_comes_once_and_in_order_also_after_a_break() {
    let server = server();
    server.pass_until(3 * SECOND, "visits", 3);
    let mut follower = Follower::new(&server, "?from=1", None);
    assert_eq!((follower.step(), follower.step()), (1, 2));
    server.pass(2 * SECOND);
    assert_eq!((follower.step(), follower.step()), (3, 4));
    drop(follower);
    server.pass_until(3000 * SECOND, "visits", 3005);
    // Many steps were missed. Last-Event-ID overrides `from`.
    let mut follower = Follower::new(&server, "?from=0", Some("4"));
    assert!((5..3005).all(|step| follower.step() == step));
    // The events equal the stored releases.
    server.pass(SECOND);
    let (_, _, data) = follower.event().unwrap();
    let stored = server.get("/v1/counters/visits/releases?first=3005&last=3005").json();
    assert_eq!(data["releases"], stored["releases"]);
    assert_eq!(data["time"], stored["releases"][0]["time"]);
    // Without either, the stream starts with the next release.
    let mut late = Follower::new(&server, "", None);
    server.pass(SECOND);
    assert_eq!((late.step(), follower.step()), (3006, 3006));
}

#[test]
fn streams_end_when_nothing_more_can_come() {
    let server = server();
    let mut follower = Follower::new(&server, "", None);
    server.send(&server.bearers.admin, "POST", "/v1/counters/visits/retire", &[], &[]).expect(200);
    let (kind, _, data) = follower.event().unwrap();
    assert_eq!((kind.as_str(), &data["reason"]), ("end", &json!("retired")));
    assert!(follower.event().is_none());
    let mut again = Follower::new(&server, "?from=0", None);
    assert_eq!(again.event().unwrap().0, "end");

    let new = json!({"name": "short", "epsilon": 1, "delta": 1e-6, "steps": 2});
    server.post("/v1/counters", &new).expect(201);
    let mut wire = Wire::open(server.address);
    let bearer = format!("Bearer {}", server.bearers.read);
    wire.send(head("GET", "/v1/counters/short/live", &[("Authorization", &bearer)]).as_bytes()).unwrap();
    wire.head().unwrap().expect(200);
    server.post("/v1/counters/short/advance", &json!({"steps": 2})).expect(200);
    let mut text = String::new();
    while let Some(chunk) = wire.chunk().filter(|chunk| !chunk.is_empty()) {
        text.push_str(&String::from_utf8(chunk).unwrap());
    }
    assert!(
        text.contains("id: 0") && text.contains("id: 1") && text.contains("\"reason\":\"ended\""),
        "{text}"
    );
}

#[test]
fn streams_end_when_the_service_stops() {
    let mut server = server();
    let mut follower = Follower::new(&server, "", None);
    server.begin_to_stop();
    let (kind, _, data) = follower.event().unwrap();
    assert_eq!((kind.as_str(), &data["reason"]), ("end", &json!("stopping")));
    server.wait();
}

#[test]
fn there_are_only_so_many_streams() {
    let options = evertally_server::Options { max_live_streams: 2, ..Default::default() };
    let server = Server::with(options);
    server.with_population();
    server.post("/v1/counters", &json!({"name": "visits", "epsilon": 1, "delta": 1e-6})).expect(201);
    let first = Follower::new(&server, "", None);
    let _second = Follower::new(&server, "", None);
    let refused = server.get("/v1/counters/visits/live").expect(503);
    assert_eq!((refused.class().as_str(), refused.header("retry-after")), ("busy", Some("1")));
    assert!(server.get("/metrics").text().contains("evertally_live_streams 2"));
    drop(first);
    // The place is free once a release or a comment cannot be sent.
    server.post("/v1/counters/visits/advance", &json!({"steps": 3})).expect(200);
    let begun = std::time::Instant::now();
    while !server.get("/metrics").text().contains("evertally_live_streams 1") {
        assert!(begun.elapsed() < crate::client::PATIENCE);
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let _third = Follower::new(&server, "", None);
}

#[test]
fn streams_end_with_their_tokens() {
    let server = server();
    let mut follower = Follower::new(&server, "", None);
    let tokens = server.get("/v1/tokens").json();
    let read = tokens["tokens"].as_array().unwrap().iter().find(|token| token["role"] == "read").unwrap();
    server.delete(&format!("/v1/tokens/{}", read["id"].as_str().unwrap())).expect(204);
    // The service notices before it sends the next release.
    server.pass(SECOND);
    let (kind, _, data) = follower.event().unwrap();
    assert_eq!((kind.as_str(), &data["reason"]), ("end", &json!("unauthorized")));
    assert!(follower.event().is_none());
}
