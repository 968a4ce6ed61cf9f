//! Limits on rates and connections.

use crate::client::{Wire, head, request};
use crate::fixture::Server;
use evertally_server::Options;
use std::num::NonZeroU32;
use std::time::Duration;

#[test]
fn a_token_that_asks_too_often_is_told_when_to_come_back() {
    let server = Server::with(Options { rate: NonZeroU32::new(2), ..Options::default() });
    let ask = |bearer: &str| server.send(bearer, "GET", "/v1/status", &[], &[]);
    let answers: Vec<_> = (0..12).map(|_| ask(&server.bearers.read)).collect();
    let refused: Vec<_> = answers.iter().filter(|answer| answer.status == 429).collect();
    assert!(!refused.is_empty() && answers[0].status == 200);
    assert_eq!(
        (refused[0].class().as_str(), refused[0].header("retry-after")),
        ("too-many-requests", Some("1"))
    );
    // Other tokens are not limited, nor are routes without a token.
    ask(&server.bearers.ingest).expect(200);
    server.send("", "GET", "/healthz", &[], &[]).expect(200);
    std::thread::sleep(Duration::from_millis(700));
    ask(&server.bearers.read).expect(200);
}

#[test]
fn connections_beyond_the_most_wait_for_a_place() {
    let server = Server::with(Options { max_connections: 2, ..Options::default() });
    let mut first = Wire::open(server.address);
    let mut second = Wire::open(server.address);
    let ask = head("GET", "/healthz", &[]);
    for wire in [&mut first, &mut second] {
        wire.send(ask.as_bytes()).unwrap();
        wire.answer().unwrap().expect(200);
    }
    let address = server.address;
    let third = std::thread::spawn(move || request(address, "GET", "/healthz", &[], &[]).status);
    std::thread::sleep(Duration::from_millis(100));
    assert!(!third.is_finished());
    drop(first);
    assert_eq!(third.join().unwrap(), 200);
    second.send(ask.as_bytes()).unwrap();
    second.answer().unwrap().expect(200);
}

#[test]
fn metrics_can_be_opened_to_all() {
    let server = Server::with(Options { open_metrics: true, ..Options::default() });
    assert!(server.send("", "GET", "/metrics", &[], &[]).expect(200).text().contains("evertally_mode"));
}
