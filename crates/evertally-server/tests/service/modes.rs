//! The service when it stops, when its storage fails, and when its directory is a copy.

use crate::client::{Wire, head};
use crate::fixture::{START, Server, directory, events};
use evertally::NoiseKey;
use evertally_ledger::{Fence, Ledger, Location, Role};
use evertally_server::Options;
use redb::StorageBackend;
use redb::backends::InMemoryBackend;
use serde_json::json;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

const EVENTS: &str = "/v1/counters/visits/events";

#[test]
fn stopping_loses_nothing_that_was_acknowledged() {
    let mut server = Server::start().with_counter("visits");
    let address = server.address;
    let bearer = format!("Bearer {}", server.bearers.ingest);
    let progress = Arc::new(AtomicU64::new(0));
    let clients: Vec<_> = (0..4)
        .map(|client| {
            let (bearer, progress) = (bearer.clone(), Arc::clone(&progress));
            std::thread::spawn(move || {
                let mut wire = Wire::open(address);
                let mut acknowledged = 0_u64;
                loop {
                    let body = events((0..10).map(|i| format!("{client}-{acknowledged}-{i}"))).to_string();
                    let length = body.len().to_string();
                    let headers = [
                        ("Authorization", bearer.as_str()),
                        ("Content-Type", "application/json"),
                        ("Content-Length", length.as_str()),
                    ];
                    if wire.send(format!("{}{body}", head("POST", EVENTS, &headers)).as_bytes()).is_err() {
                        return acknowledged;
                    }
                    match wire.answer() {
                        Some(answer) if answer.status == 200 => {
                            acknowledged += 10;
                            progress.fetch_add(10, Ordering::SeqCst);
                        }
                        _ => return acknowledged,
                    }
                }
            })
        })
        .collect();
    while progress.load(Ordering::SeqCst) < 1_000 {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    server.begin_to_stop();
    server.wait();
    let acknowledged: u64 = clients.into_iter().map(|client| client.join().unwrap()).sum();
    assert!(acknowledged >= 1_000);
    let home = server.stop().unwrap();
    let server = Server::at(home, Options::default());
    let total = server.total("visits") as u64;
    // A request whose answer was lost may count too: at most one per client.
    assert!(
        (acknowledged..=acknowledged + 40).contains(&total),
        "{acknowledged} acknowledged, {total} counted"
    );
}

#[test]
fn a_request_that_was_begun_is_finished() {
    let mut server = Server::start().with_counter("visits");
    let bearer = format!("Bearer {}", server.bearers.ingest);
    let mut wire = Wire::open(server.address);
    let headers =
        [("Authorization", bearer.as_str()), ("Content-Type", "application/json"), ("Content-Length", "10")];
    wire.send(head("POST", EVENTS, &headers).as_bytes()).unwrap();
    wire.send(br#"{"id""#).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(100));
    server.begin_to_stop();
    std::thread::sleep(std::time::Duration::from_millis(100));
    wire.send(br#":"a"}"#).unwrap();
    assert_eq!(wire.answer().unwrap().expect(200).json()["counted"], 1);
    server.wait();
    assert!(std::net::TcpStream::connect(server.address).is_err());
}

#[test]
fn a_copy_takes_and_releases_nothing_until_a_new_epoch_is_paid_for() {
    let server = Server::start();
    server.post("/v1/populations", &json!({"name": "everyone", "epsilon": 2, "delta": 1e-6})).expect(201);
    server
        .post("/v1/counters", &json!({"name": "visits", "epsilon": 1, "delta": 1e-6, "steps": 50}))
        .expect(201);
    server.post(EVENTS, &json!({"id": "a"})).expect(200);
    server.post("/v1/counters/visits/advance", &json!({})).expect(200);
    let before = server.get("/v1/counters/visits/releases").json();
    let bearers = server.bearers.clone();
    let home = server.stop().unwrap();
    // A restored backup has the same content in another file.
    let file = directory(&home).join("ledger.redb");
    let copy = file.with_extension("copy");
    std::fs::copy(&file, &copy).unwrap();
    std::fs::remove_file(&file).unwrap();
    std::fs::rename(&copy, &file).unwrap();

    let mut server = Server::at(home, Options::default());
    server.bearers = bearers;
    let readiness = server.send("", "GET", "/readyz", &[], &[]).expect(503).json();
    assert_eq!(readiness["mode"], "fenced");
    assert!(!readiness["reason"].as_str().unwrap().is_empty());
    assert_eq!(server.send("", "GET", "/healthz", &[], &[]).status, 200);
    for answer in [
        server.post(EVENTS, &json!({"id": "b"})),
        server.post("/v1/counters/visits/advance", &json!({})),
        server.post("/v1/counters", &json!({"name": "more", "epsilon": 0.1, "delta": 1e-6})),
    ] {
        assert_eq!(answer.expect(503).class(), "fenced");
    }
    assert_eq!(server.get("/v1/counters/visits/releases").expect(200).json(), before);
    assert_eq!(server.get("/v1/counters/visits").json()["status"], "fenced");
    let preview = server.get("/v1/epoch").expect(200).json();
    assert_eq!(
        (preview["epoch"].as_u64(), preview["preview"][0]["affordable"].as_bool()),
        (Some(1), Some(true))
    );
    let started = server.post("/v1/epoch", &json!({"confirm": true})).expect(200).json();
    assert_eq!((started["epoch"].as_u64(), &started["restarted"]), (Some(2), &json!(["visits"])));
    server.send("", "GET", "/readyz", &[], &[]).expect(200);
    server.post(EVENTS, &json!({"id": "b"})).expect(200);
    let advanced = server.post("/v1/counters/visits/advance", &json!({})).expect(200).json();
    assert_eq!(advanced["releases"][0]["epoch"], 2);
    let population = server.get("/v1/populations").json();
    assert_eq!(population["populations"][0]["entries"].as_array().unwrap().len(), 2);
}

/// Storage in memory that fails or blocks on demand.
#[derive(Debug)]
struct Failing {
    memory: InMemoryBackend,
    fails: Arc<AtomicBool>,
    gate: Arc<Mutex<()>>,
}

impl Failing {
    fn check(&self) -> io::Result<()> {
        if self.fails.load(Ordering::SeqCst) { Err(io::Error::other("the disk is gone")) } else { Ok(()) }
    }
}

impl StorageBackend for Failing {
    fn len(&self) -> io::Result<u64> {
        self.memory.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.memory.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.check()?;
        self.memory.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        let _open = self.gate.lock().unwrap();
        self.check()?;
        self.memory.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.check()?;
        self.memory.write(offset, data)
    }
}

/// A fence in memory.
#[derive(Default)]
struct Remembered(Option<Vec<u8>>);

impl Fence for Remembered {
    fn read(&mut self) -> io::Result<Option<Vec<u8>>> {
        Ok(self.0.clone())
    }

    fn write(&mut self, content: &[u8]) -> io::Result<()> {
        self.0 = Some(content.to_vec());
        Ok(())
    }
}

/// A service on such storage, with the switches that make it fail and block.
fn on_failing_storage() -> (Server, Arc<AtomicBool>, Arc<Mutex<()>>) {
    let (fails, gate) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(())));
    let backend =
        Failing { memory: InMemoryBackend::new(), fails: Arc::clone(&fails), gate: Arc::clone(&gate) };
    let place = Location::on(backend, Remembered::default(), 1);
    let ledger = Ledger::open(place, NoiseKey::insecure_from_seed(1), START).unwrap();
    (Server::on(ledger, Options::default(), None).with_counter("visits"), fails, gate)
}

#[test]
fn a_full_queue_is_said_and_passes() {
    let (server, _, gate) = on_failing_storage();
    let held = gate.lock().unwrap();
    let ledger_thread = server.service.ledger_thread();
    // A change that must be written blocks the ledger, and the queue fills.
    ledger_thread.ask(|ledger, now| ledger.add_token("one more", Role::Read, None, now), drop).unwrap();
    let mut refusals = 0;
    while refusals < 40 {
        refusals = if ledger_thread.ask(|_, _| Ok(()), drop).is_ok() { 0 } else { refusals + 1 };
        if refusals > 0 {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }
    let refused = server.post(EVENTS, &json!({"id": "a"})).expect(503);
    assert_eq!((refused.class().as_str(), refused.header("retry-after")), ("busy", Some("1")));
    assert_eq!(server.get("/v1/counters/visits").expect(200).json()["status"], "running");
    drop(held);
    let begun = std::time::Instant::now();
    while server.post(EVENTS, &json!({"id": "a"})).status != 200 {
        assert!(begun.elapsed() < crate::client::PATIENCE);
    }
    assert_eq!(server.total("visits"), 1.0);
}

#[test]
fn storage_that_fails_makes_the_service_read_only() {
    let (server, fails, _) = on_failing_storage();
    server.post(EVENTS, &json!({"id": "a"})).expect(200);
    server.post("/v1/counters/visits/advance", &json!({})).expect(200);
    let before = server.get("/v1/counters/visits/releases").json();
    fails.store(true, Ordering::SeqCst);
    let refused = server.post(EVENTS, &json!({"id": "b"})).expect(503);
    assert_eq!((refused.class().as_str(), refused.header("retry-after")), ("read-only", Some("60")));
    // It stays read-only, even when the disk works again.
    fails.store(false, Ordering::SeqCst);
    assert_eq!(server.post(EVENTS, &json!({"id": "b"})).expect(503).class(), "read-only");
    assert_eq!(
        server.post("/v1/tokens", &json!({"name": "t", "role": "read"})).expect(503).class(),
        "read-only"
    );
    assert_eq!(server.send("", "GET", "/readyz", &[], &[]).expect(503).json()["mode"], "read-only");
    assert_eq!(server.get("/v1/counters/visits/releases").expect(200).json(), before);
    server.get("/v1/epoch").expect(200);
}
