//! `evertally serve` as an operator meets it. What the service does is tested in its own crate.
#![cfg(unix)]

use crate::common::Place;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command};
use std::time::Duration;

/// A service in a process of its own.
struct Service {
    process: Child,
    lines: Vec<String>,
    address: String,
}

impl Service {
    fn start(place: &Place, options: &str) -> Self {
        let process = place.command(&format!("serve --listen 127.0.0.1:0 {options}")).spawn().unwrap();
        let mut service = Self { process, lines: Vec::new(), address: String::new() };
        for line in BufReader::new(service.process.stdout.take().unwrap()).lines().map(Result::unwrap) {
            let address = line.strip_prefix("listening on http://").map(str::to_owned);
            service.lines.push(line);
            if let Some(address) = address {
                service.address = address;
                return service;
            }
        }
        let mut errors = String::new();
        service.process.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
        panic!("the service did not start: {:?} {errors}", service.lines);
    }

    fn token(&self) -> Option<String> {
        self.lines.iter().find_map(|line| Some(line.split_once("shown this once: ")?.1.to_owned()))
    }

    /// Status and body.
    fn get(&self, path: &str, token: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
        (status, answer.split_once("\r\n\r\n").unwrap().1.to_owned())
    }

    /// Ends it in good order; what it logged.
    fn stop(mut self) -> String {
        let pid = self.process.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        assert_eq!(self.process.wait().unwrap().code(), Some(0));
        let mut logged = String::new();
        self.process.stderr.take().unwrap().read_to_string(&mut logged).unwrap();
        logged
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn the_first_start_makes_everything_and_the_second_finds_it() {
    let place = Place::new();
    let service = Service::start(&place, "counters --log json");
    let token = service.token().expect("a token");
    assert_eq!(service.lines[1], format!("open http://{}/#token={token}", service.address));
    let mode = |name: &str| std::fs::metadata(place.path(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("counters"), mode("counters/key"), mode("counters/ledger.redb")), (0o700, 0o600, 0o600));
    assert_eq!(service.get("/v1/status", &token).0, 200);
    assert_eq!(service.get("/v1/status", "evt_nobody").0, 401);
    let page = service.get("/", "");
    assert!(page.0 == 200 && page.1.contains("<html"), "{page:?}");
    // Another process cannot have the same directory.
    place.run("serve counters --listen 127.0.0.1:0").refused(&["another process"]);
    let logged = service.stop();
    assert!(logged.lines().any(|line| line.starts_with('{') && line.contains("/v1/status")), "{logged}");
    assert!(!logged.contains("evt_"));

    let again = Service::start(&place, "counters --new-token read");
    let read = again.token().expect("a token");
    assert_eq!(
        again.lines.iter().filter(|line| line.contains("shown this once")).count(),
        1,
        "{:?}",
        again.lines
    );
    assert!(again.lines[0].starts_with("read token"));
    assert_eq!((again.get("/v1/tokens", &token).0, again.get("/v1/tokens", &read).0), (200, 403));
    again.stop();
    let whole = place.run("serve counters --verify").ok();
    assert_eq!(whole.stdout, "whole: 0 counters, 0 releases\n");
}

#[test]
fn the_demo_is_alive_at_once_and_leaves_nothing() {
    let place = Place::new();
    let service = Service::start(&place, "--demo");
    let token = service.token().expect("a token");
    let (status, counters) = service.get("/v1/counters", &token);
    let counters: serde_json::Value = serde_json::from_str(&counters).unwrap();
    assert_eq!((status, counters["total"].as_u64()), (200, Some(5)));
    for counter in counters["counters"].as_array().unwrap() {
        // Ten minutes were played before the start.
        assert!(counter["next_step"].as_u64().unwrap() >= 119, "{counter}");
        let latest = counter["latest"][0]["value"].as_f64().unwrap();
        assert!(latest > 5.0 * counter["accuracy"]["now"].as_f64().unwrap(), "{counter}");
    }
    service.stop();
    assert!(place.files().is_empty());
}

#[test]
fn what_would_be_unsafe_is_refused() {
    let place = Place::new();
    place.run("serve counters --listen 0.0.0.0:0").refused(&["--tls-cert", "--plain-http"]);
    place.run("serve").refused(&["DIRECTORY"]);
    place.run("serve counters --tls-cert a.pem").refused(&["--tls-key"]);
    place.run("serve counters --tls-cert a.pem --tls-key b.pem").refused(&["a.pem"]);
    assert!(!place.path("counters").exists());
    std::fs::create_dir(place.path("open")).unwrap();
    std::fs::set_permissions(place.path("open"), std::fs::Permissions::from_mode(0o755)).unwrap();
    place.run("serve open").refused(&["chmod"]);
    // An address that is taken.
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    place.run(&format!("serve counters --listen {address}")).refused(&["cannot be listened on"]);
    // No token was made that nobody saw.
    assert!(!place.path("counters").exists());
}
