//! Slow clients are disconnected, and do not affect others.

use crate::client::{Wire, head, request};
use crate::fixture::Server;
use evertally_server::Options;
use serde_json::json;
use std::time::Duration;

const EVENTS: &str = "/v1/counters/visits/events";

/// Short timeouts, so that tests are fast.
fn impatient() -> Options {
    Options {
        header_timeout: Duration::from_millis(600),
        body_timeout: Duration::from_millis(800),
        idle_timeout: Duration::from_millis(2_000),
        write_timeout: Duration::from_millis(800),
        min_body_bytes_per_second: 1_000,
        ..Options::default()
    }
}

#[test]
fn half_open_connections_are_closed_while_others_are_served() {
    let server = Server::with(impatient());
    let mut wires: Vec<Wire> = (0..100).map(|_| Wire::open(server.address)).collect();
    for (i, wire) in wires.iter_mut().enumerate() {
        // Nothing at all, part of a method, part of the headers, part of the preface of HTTP/2, and
        // all of it.
        let part: &[u8] = match i % 5 {
            0 => b"",
            1 => b"GE",
            2 => b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: ",
            3 => b"PRI * HTTP/2.0\r\n",
            _ => b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0",
        };
        wire.send(part).unwrap();
    }
    for _ in 0..20 {
        assert_eq!(request(server.address, "GET", "/healthz", &[], &[]).status, 200);
    }
    assert!(wires.iter_mut().all(Wire::is_closed));
}

#[test]
fn a_header_that_trickles_does_not_live_for_ever() {
    let server = Server::with(impatient());
    let mut wire = Wire::open(server.address);
    let mut sent = 0;
    // Bytes keep coming, but no request is ever there.
    while wire.send(b"X").is_ok() {
        sent += 1;
        assert!(sent < 1_000, "the connection is still open");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(wire.is_closed());
}

#[test]
fn idle_connections_are_closed_and_busy_ones_are_not() {
    let server = Server::with(impatient());
    let mut wire = Wire::open(server.address);
    for _ in 0..3 {
        wire.send(head("GET", "/healthz", &[]).as_bytes()).unwrap();
        wire.answer().unwrap().expect(200);
        // Longer than the first request may take, shorter than a connection may be idle.
        std::thread::sleep(Duration::from_millis(700));
    }
    assert!(wire.is_closed());
}

#[test]
fn slow_bodies_are_cut_off_and_record_nothing() {
    let server = Server::with(impatient()).with_counter("visits");
    let bearer = format!("Bearer {}", server.bearers.ingest);
    let begin = |media_type: &str, length: &str| {
        let mut wire = Wire::open(server.address);
        let headers =
            [("Authorization", bearer.as_str()), ("Content-Type", media_type), ("Content-Length", length)];
        wire.send(head("POST", EVENTS, &headers).as_bytes()).unwrap();
        wire
    };
    // A body that never comes.
    let mut silent = begin("application/json", "100");
    let answer = silent.answer().unwrap().expect(408);
    assert_eq!((answer.class().as_str(), answer.header("connection")), ("timeout", Some("close")));
    // One that comes a byte at a time, always before patience ends, and falls behind all the same.
    let mut trickle = begin("application/json", "100000");
    let mut sent = 0;
    while trickle.send(b" ").is_ok() && sent < 100 {
        sent += 1;
        std::thread::sleep(Duration::from_millis(20));
        if sent == 60 {
            trickle.answer().unwrap().expect(408);
        }
    }
    assert!(sent < 100);
    // A stream may be slow, but not silent; what came is recorded.
    let mut stream = begin("application/x-ndjson", "100000");
    for i in 0..6 {
        stream.send(format!("{{\"id\":\"{i}\"}}\n").as_bytes()).unwrap();
        std::thread::sleep(Duration::from_millis(150));
    }
    let answer = stream.answer().unwrap().expect(408);
    assert!(answer.text().contains("first 6 lines"), "{}", answer.text());
    assert_eq!(server.total("visits"), 6.0);
}

#[test]
fn a_reader_who_does_not_read_is_cut_off() {
    let server = Server::with(impatient());
    server.with_population();
    let keys: Vec<String> = (0..2_000).map(|i| format!("key number {i}")).collect();
    server
        .post(
            "/v1/counters",
            &json!({"name": "wide", "epsilon": 1, "delta": 1e-6, "steps": 400, "keys": keys}),
        )
        .expect(201);
    server.post("/v1/counters/wide/advance", &json!({"steps": 40})).expect(200);
    let bearer = format!("Bearer {}", server.bearers.read);
    let mut wire = Wire::open(server.address);
    wire.send(head("GET", "/v1/counters/wide/releases", &[("Authorization", &bearer)]).as_bytes()).unwrap();
    let mut live = Wire::open(server.address);
    live.send(head("GET", "/v1/counters/wide/live?from=0", &[("Authorization", &bearer)]).as_bytes())
        .unwrap();
    let begun = std::time::Instant::now();
    loop {
        let metrics = server.get("/metrics").text();
        // The one that asks.
        if metrics.contains("evertally_connections 1\n") && metrics.contains("evertally_live_streams 0\n") {
            break;
        }
        assert!(begun.elapsed() < crate::client::PATIENCE, "{metrics}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
