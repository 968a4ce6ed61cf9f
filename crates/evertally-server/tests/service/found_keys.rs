//! Keys that a counter finds, and different persons. What is hidden is in no answer, page, live stream,
//! metric or log.

use crate::client::{Wire, head};
use crate::fixture::{SECOND, START, Server};
use evertally::NoiseKey;
use evertally_ledger::simulated::SimulatedMachine;
use evertally_ledger::{Fence, Ledger, Location};
use evertally_server::Options;
use serde_json::{Value, json};

fn new(name: &str) -> Value {
    json!({"name": name, "population": "people", "epsilon": 2, "delta": 0.02, "steps": 9, "every": "1s",
        "max_steps": 2, "discover": {"key_delta": 0.015}})
}

fn server() -> Server {
    let server = Server::start();
    make(&server);
    server
}

/// The population and the counter.
fn make(server: &Server) {
    let people = json!({"name": "people", "unit": "person", "rho": 1e5, "key_delta": 0.1});
    server.post("/v1/populations", &people).expect(201);
    server.post("/v1/counters", &new("pages")).expect(201);
}

/// So many visitors of a page, each of whom comes once.
fn visits(page: &str, persons: std::ops::Range<u64>) -> Value {
    let event =
        |person| json!({"id": format!("{page} {person}"), "key": page, "person": format!("{page} {person}")});
    json!(persons.map(event).collect::<Vec<_>>())
}

/// The answers of all routes that show a counter.
fn everything_shown(server: &Server) -> Vec<(String, String)> {
    let lists = ["", "?format=csv", "?format=arrow", "?key=front", "?key=hidden", "?points=2", "?limit=1"];
    let lists = lists.iter().map(|query| format!("/v1/counters/pages/releases{query}"));
    let others = [
        "/v1/counters/pages",
        "/v1/counters",
        "/v1/populations",
        "/v1/counters/pages/sum?key=front",
        "/v1/counters/pages/sum?key=hidden",
        "/v1/counters/pages/sum?key=nothing",
        "/v1/counters/pages/sum",
    ];
    let paths = lists.chain(others.map(str::to_owned));
    paths.map(|path| (path.clone(), String::from_utf8_lossy(&server.get(&path).body).into_owned())).collect()
}

/// What a live stream sends up to a step.
fn live(server: &Server, steps: usize) -> String {
    let mut wire = Wire::open(server.address);
    let bearer = format!("Bearer {}", server.bearers.read);
    let headers = [("Authorization", bearer.as_str())];
    wire.send(head("GET", "/v1/counters/pages/live?from=0", &headers).as_bytes()).unwrap();
    wire.head().unwrap().expect(200);
    let mut text = String::new();
    while text.matches("event: release").count() < steps || !text.ends_with("\n\n") {
        text.push_str(&String::from_utf8(wire.chunk().unwrap()).unwrap());
    }
    text
}

#[test]
fn found_keys_are_shown_in_every_format_and_hidden_ones_in_none() {
    let server = server();
    let post = |events: &Value| server.post("/v1/counters/pages/events", events).expect(200).json();
    let receipt = post(&visits("front", 0..80));
    assert_eq!(receipt["counted"], 80);
    // A key that is hidden, one that is known and one that is new are answered alike.
    let one = |key: &str, person: &str| {
        server.post("/v1/counters/pages/events", &json!({"id": person, "key": key, "person": person}))
    };
    let answers = [one("hidden", "a"), one("hidden", "b"), one("front", "c"), one("hidden too", "d")];
    let shape = |answer: &crate::client::Answer| {
        let headers: Vec<_> = answer.headers.iter().filter(|(name, _)| name != "date").cloned().collect();
        (answer.status, headers, answer.body.clone())
    };
    assert!(answers.iter().all(|answer| shape(answer) == shape(&answers[0])));
    server.pass_until(SECOND, "pages", 1);
    post(&visits("late", 0..90));
    server.pass_until(SECOND, "pages", 2);
    let shown = server.get("/v1/counters/pages").json();
    assert_eq!(shown["keys"], json!(["front", "late"]));
    assert_eq!((&shown["budget"]["epsilon"], &shown["discover"]["key_delta"]), (&json!(2.0), &json!(0.015)));
    assert_eq!((&shown["discover"]["floor"], &shown["discover"]["keys_per_person"]), (&json!(2), &json!(2)));
    let (first, last) = (&shown["discover"]["first_threshold"], &shown["discover"]["last_threshold"]);
    assert!(first.as_f64() < last.as_f64() && last.as_f64() < Some(80.0), "{first} {last}");
    let rows = |path: &str| server.get(path).json()["releases"].as_array().unwrap().clone();
    let keys: Vec<Value> =
        rows("/v1/counters/pages/releases").iter().map(|row| json!([row["step"], row["key"]])).collect();
    assert_eq!(json!(keys), json!([[0, "front"], [1, "front"], [1, "late"]]));
    let only = rows("/v1/counters/pages/releases?key=late");
    assert!(only.len() == 1 && only[0]["lower"].as_f64() < only[0]["value"].as_f64());
    let csv = server.get("/v1/counters/pages/releases?format=csv").text();
    assert_eq!(csv.lines().count(), 4);
    let sum = server.get("/v1/counters/pages/sum?key=front&first=1").expect(200).json();
    assert_eq!(sum["first"], 1);
    let early = server.get("/v1/counters/pages/sum?key=late&first=1").expect(400);
    assert_eq!(early.json()["error"]["field"], "first");
    let (hidden, never) =
        (server.get("/v1/counters/pages/sum?key=hidden"), server.get("/v1/counters/pages/sum?key=never"));
    assert_eq!(hidden.text(), never.text());
    let stream = live(&server, 2);
    assert!(stream.contains("late"));
    let mut texts: Vec<String> = everything_shown(&server).into_iter().map(|(_, text)| text).collect();
    texts.extend([stream, server.get("/metrics").text()]);
    assert!(texts.iter().all(|text| !text.contains("hidden")));
}

/// One ledger goes on twice, once with hundreds of hidden keys besides: every answer is the same, byte for
/// byte.
#[test]
fn answers_with_and_without_hidden_keys_are_the_same_bytes() {
    let machine = SimulatedMachine::new(1);
    let open = |machine: &SimulatedMachine| {
        let place = Location::on(machine.disk(), machine.fence(), 1);
        let ledger = Ledger::open(place, NoiseKey::insecure_from_seed(3), START).unwrap();
        Server::on(ledger, Options::default(), None)
    };
    let server = open(&machine);
    make(&server);
    drop(server.stop());
    let (image, mark) = (machine.image(), machine.fence().read().unwrap().unwrap());
    let run = |hidden: bool| {
        let machine = SimulatedMachine::new(2);
        machine.restore(image.clone());
        machine.fence().write(&mark).unwrap();
        let server = open(&machine);
        for step in 1..4 {
            server.post("/v1/counters/pages/events", &visits(&format!("page {step}"), 0..70)).expect(200);
            if hidden {
                let pages = (0..300).map(|number| visits(&format!("hidden {step} {number}"), 0..1));
                let events: Vec<Value> = pages.map(|page| page[0].clone()).collect();
                server.post("/v1/counters/pages/events", &json!(events)).expect(200);
            }
            server.pass_until(SECOND, "pages", step);
        }
        let mut shown = everything_shown(&server);
        shown.push(("live".to_owned(), live(&server, 3)));
        shown
    };
    let (with, without) = (run(true), run(false));
    assert!(without[0].1.contains("page 1"), "{}", without[0].1);
    for ((path, without), (_, with)) in without.iter().zip(&with) {
        assert_eq!(without, with, "{path}");
    }
}

#[test]
fn requests_that_cannot_be_are_refused_with_their_field() {
    let server = server();
    let refused = |change: Value| {
        let mut body = new("other");
        for (name, value) in change.as_object().unwrap() {
            body[name] = value.clone();
        }
        let answer = server.post("/v1/counters", &body);
        assert!(answer.status >= 400, "{}", answer.text());
        answer.json()["error"]["field"].as_str().unwrap_or_default().to_owned()
    };
    assert_eq!(refused(json!({"keys": ["a"]})), "keys");
    assert_eq!(refused(json!({"max_steps": null})), "max_steps");
    assert_eq!(refused(json!({"steps": null})), "steps");
    assert_eq!(refused(json!({"workload": "window:3"})), "workload");
    assert_eq!(refused(json!({"discover": {"key_delta": 0.02}})), "key_delta");
    assert_eq!(refused(json!({"discover": {"share": 1}})), "share");
    assert_eq!(refused(json!({"discover": {"floor": 0}})), "floor");
    assert_eq!(refused(json!({"discover": {"memory_limit": 1}})), "memory_limit");
    // No single field is to blame for a threshold that no key can reach.
    assert_eq!(refused(json!({"discover": {"floor": 100_000_000_000_u64}})), "");
    assert_eq!(refused(json!({"discover": {"key_delta": 1e-310}})), "key_delta");
    assert_eq!(refused(json!({"distinct": true, "max_steps": null})), "distinct");
    assert_eq!(refused(json!({"discover": null, "max_keys": 2})), "max_keys");
    assert_eq!(refused(json!({"discover": null, "distinct": true})), "max_steps");
    // More than is set aside for keys, and a population of events.
    assert_eq!(refused(json!({"delta": 0.5, "discover": {"key_delta": 0.2}})), "epsilon");
    let events = json!({"name": "everyone", "rho": 1e5, "key_delta": 0.1});
    server.post("/v1/populations", &events).expect(201);
    assert_eq!(refused(json!({"population": "everyone"})), "population");
    let bad = json!({"name": "bad", "epsilon": 1, "delta": 1e-6, "key_delta": 1e-6});
    assert_eq!(server.post("/v1/populations", &bad).expect(400).json()["error"]["field"], "key_delta");
    // Events: no key, a blank one and an overlong one are nobody's. Bytes that are no text are refused.
    let long = "x".repeat(1 << 20);
    for key in [json!(null), json!(""), json!(" \t"), json!(long)] {
        let event = json!({"id": "a", "key": key, "person": "p"});
        let receipt = server.post("/v1/counters/pages/events", &event).expect(200).json();
        assert_eq!((&receipt["unnamed"], &receipt["counted"]), (&json!(1), &json!(0)));
    }
    let huge = format!(r#"{{"id":"a","key":"{}","person":"p"}}"#, "x".repeat(10 << 20));
    server.post_text("/v1/counters/pages/events", "application/json", huge.as_bytes()).expect(413);
    let bytes = b"{\"id\":\"a\",\"key\":\"\xff\xfe\",\"person\":\"p\"}";
    server.post_text("/v1/counters/pages/events", "application/json", bytes).expect(400);
    let receipt =
        server.post("/v1/counters/pages/events", &json!({"id": "a", "key": "k"})).expect(200).json();
    assert_eq!(receipt["unnamed"], 1);
}

#[test]
fn delta_for_keys_is_shown_where_it_is_spent() {
    let server = server();
    let preview = server.post("/v1/plan", &new("other")).expect(200).json();
    assert_eq!((&preview["affordable"], &preview["discover"]["key_delta"]), (&json!(true), &json!(0.015)));
    let people = server.get("/v1/populations").json()["populations"][0].clone();
    assert_eq!((&people["total"]["key_delta"], &people["spent"]["key_delta"]), (&json!(0.1), &json!(0.015)));
    assert_eq!(people["entries"][0]["key_delta"], 0.015);
    assert!((people["left"]["key_delta"].as_f64().unwrap() - 0.085).abs() < 1e-12);
    assert_eq!(preview["rho"], people["entries"][0]["rho"]);
}

#[test]
fn different_persons_count_once_in_each_of_their_first_keys() {
    let server = server();
    let body = json!({"name": "people", "population": "people", "epsilon": 900, "delta": 1e-6, "steps": 9,
        "distinct": true, "max_keys": 2, "keys": ["a", "b"]});
    let made = server.post("/v1/counters", &body).expect(201).json();
    assert_eq!(
        (&made["distinct"], &made["unit"], &made["remember_ids"]),
        (&json!(2), &json!("person"), &json!(0))
    );
    let keys = ["a", "a", "b", "c"];
    let events: Vec<Value> = (0..)
        .zip(keys)
        .map(|(id, key)| json!({"id": format!("{id}"), "key": key, "person": "ann"}))
        .collect();
    let receipt = server.post("/v1/counters/people/events", &json!(events)).expect(200).json();
    assert_eq!(
        (&receipt["counted"], &receipt["duplicate"], &receipt["over_bound"]),
        (&json!(2), &json!(1), &json!(1))
    );
}
