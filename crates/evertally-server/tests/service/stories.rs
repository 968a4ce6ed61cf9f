//! What clients do when all goes well.

use crate::fixture::{SECOND, START, Server, events};
use serde_json::json;

#[test]
fn a_counter_lives_from_its_plan_to_its_end() {
    let server = Server::start();
    let population = server
        .post("/v1/populations", &json!({"name": "everyone", "epsilon": 3, "delta": 1e-6}))
        .expect(201)
        .json();
    assert_eq!(population["spent"]["rho"], 0.0);
    let draft = json!({"epsilon": 1, "delta": 1e-6, "steps": 1000, "every": "1s"});
    let preview = server.post("/v1/plan", &draft).expect(200).json();
    assert_eq!(preview["affordable"], true);
    assert_eq!(preview["warnings"], json!([]));
    let weak = json!({"epsilon": 11, "delta": 0.01, "steps": 1000, "every": "1s"});
    let warnings = server.post("/v1/plan", &weak).expect(200).json()["warnings"].clone();
    assert!(warnings[0].as_str().unwrap().starts_with("ε = 11 promises little"), "{warnings}");
    assert!(warnings[1].as_str().unwrap().starts_with("δ = 0.01 is large"), "{warnings}");
    let profile = preview["profile"].as_array().unwrap();
    assert!(profile.len() == 200 && profile[199]["step"] == 999);
    assert!(preview["accuracy"]["binary_tree_over"].as_f64().unwrap() > 1.0);
    assert_eq!(server.get("/v1/counters").json()["total"], 0, "a plan made a counter");

    let mut new = draft;
    new["name"] = json!("visits");
    new["description"] = json!("Visits to the harbour");
    let counter = server.post("/v1/counters", &new).expect(201).json();
    assert_eq!(counter["status"], "running");
    assert_eq!(counter["mechanism"], preview["mechanism"]);
    assert_eq!(counter["next_release"], "2026-01-05T08:00:02Z");
    assert_eq!(counter["rho"], preview["rho"]);
    assert_eq!(server.post("/v1/counters", &new).expect(409).class(), "conflict");
    let receipt = server
        .post("/v1/counters/visits/events", &events((0..10).map(|i| format!("e{i}"))))
        .expect(200)
        .json();
    assert_eq!((receipt["received"].as_u64(), receipt["counted"].as_u64()), (Some(10), Some(10)));
    let receipt = server.post("/v1/counters/visits/events", &json!({"id": "e3"})).expect(200).json();
    assert_eq!((receipt["received"].as_u64(), receipt["duplicate"].as_u64()), (Some(1), Some(1)));

    server.pass_until(3 * SECOND, "visits", 3);
    let shown = server.get("/v1/counters/visits").json();
    assert_eq!(shown["next_step"], 3);
    assert_eq!(shown["latest"][0]["time"], "2026-01-05T08:00:04Z");
    let releases = server.get("/v1/counters/visits/releases").json();
    assert_eq!(releases["releases"].as_array().unwrap().len(), 3);
    assert_eq!(releases["releases"][2], shown["latest"][0]);
    let (low, high) =
        (shown["latest"][0]["lower"].as_f64().unwrap(), shown["latest"][0]["upper"].as_f64().unwrap());
    assert!(low < high && shown["accuracy"]["now"].as_f64().unwrap() > 0.0);
    let late = json!([{"id": "late", "time": "2026-01-05T08:00:01.5Z"}, {"id": "early", "time": "2026-01-05T09:00:00Z"}]);
    let receipt = server.post("/v1/counters/visits/events", &late).expect(200).json();
    assert_eq!((receipt["late"].as_u64(), receipt["early"].as_u64()), (Some(1), Some(1)));
    assert_eq!(server.post("/v1/counters/visits/advance", &json!({})).expect(409).class(), "conflict");
    assert_eq!(server.delete("/v1/counters/visits").expect(409).class(), "conflict");

    let retired =
        server.send(&server.bearers.admin, "POST", "/v1/counters/visits/retire", &[], &[]).expect(200).json();
    assert_eq!(retired["status"], "retired");
    let receipt = server.post("/v1/counters/visits/events", &json!({"id": "after"})).expect(200).json();
    assert_eq!(receipt["ended"], 1);
    assert_eq!(server.get("/v1/counters/visits/releases").json(), releases);
    server.delete("/v1/counters/visits").expect(204);
    server.get("/v1/counters/visits").expect(404);
    assert_eq!(server.post("/v1/counters", &new).expect(409).class(), "conflict", "a name was used again");
    let populations = server.get("/v1/populations").json();
    assert_eq!(populations["populations"][0]["entries"][0]["counter"], "visits");
    assert!(populations["populations"][0]["spent"]["epsilon"].as_f64().unwrap() > 0.9);
}

#[test]
fn releases_by_hand_are_the_truth_where_noise_rounds_to_nothing() {
    let server = Server::start().with_counter("visits");
    let path = "/v1/counters/visits/events";
    server.post(path, &events((0..7).map(|i| format!("a{i}")))).expect(200);
    let advanced = server.post("/v1/counters/visits/advance", &json!({"steps": 2})).expect(200).json();
    assert_eq!(advanced["next_step"], 2);
    assert_eq!(
        (advanced["releases"][0]["value"].as_f64(), advanced["releases"][1]["value"].as_f64()),
        (Some(7.0), Some(7.0))
    );
    assert!(advanced["releases"][0]["time"].is_null());
    // An array, a single event, NDJSON with empty lines, and copies.
    server.post(path, &events(["a1".to_owned(), "b1".to_owned()])).expect(200);
    server.post(path, &json!({"id": "b2"})).expect(200);
    let lines = b"{\"id\":\"c1\"}\r\n\n{\"id\":\"b2\"}\n  {\"id\": \"c2\"}";
    let receipt = server.post_text(path, "application/x-ndjson; charset=utf-8", lines).expect(200).json();
    assert_eq!(
        (receipt["received"].as_u64(), receipt["counted"].as_u64(), receipt["duplicate"].as_u64()),
        (Some(3), Some(2), Some(1))
    );
    assert_eq!(server.total("visits"), 11.0);
    let sum = server.get("/v1/counters/visits/sum?first=1&last=2").expect(200).json();
    assert_eq!(
        (sum["first"].as_u64(), sum["last"].as_u64(), sum["value"].as_f64()),
        (Some(1), Some(2), Some(4.0))
    );
    assert!(sum["key"].is_null() && sum["standard_error"].as_f64().unwrap() < 0.5);
    server.get("/v1/counters/visits/sum?first=2&last=1").expect(400);
    server.get("/v1/counters/visits/sum?last=3").expect(400);
    // An empty body, and none at all, close one step.
    server.send(&server.bearers.ingest, "POST", "/v1/counters/visits/advance", &[], &[]).expect(200);
    assert_eq!(
        server.post("/v1/counters/visits/advance", &json!({"steps": 1000})).expect(409).class(),
        "horizon-spent"
    );
}

#[test]
fn keys_values_and_persons_count_as_declared() {
    let server = Server::start();
    server.post("/v1/populations", &json!({"name": "events", "rho": 1e5})).expect(201);
    server.post("/v1/populations", &json!({"name": "people", "unit": "person", "rho": 1e5})).expect(201);
    let new = json!({"name": "spent", "population": "events", "epsilon": 700, "delta": 1e-6, "steps": 4, "keys": ["a", "b"], "clamp": [0, 2]});
    assert_eq!(server.post("/v1/counters", &new).expect(201).json()["keys"], json!(["a", "b", "other"]));
    let batch = json!([
        {"id": "1", "key": "a", "value": 2}, {"id": "2", "key": "b", "value": 99}, {"id": "3", "key": "c", "value": 1.0}, {"id": "4", "key": "a"},
    ]);
    server.post("/v1/counters/spent/events", &batch).expect(200);
    let advanced = server.post("/v1/counters/spent/advance", &json!({})).expect(200).json();
    let values: Vec<f64> = advanced["releases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| r["value"].as_f64().unwrap().round())
        .collect();
    assert_eq!(values, [3.0, 2.0, 1.0]);
    let one = server.get("/v1/counters/spent/releases?key=b").json();
    assert_eq!(one["releases"].as_array().unwrap().len(), 1);
    assert_eq!(one["releases"][0]["key"], "b");
    server.get("/v1/counters/spent/releases?key=z").expect(400);
    server.get("/v1/counters/spent/sum").expect(400);
    assert_eq!(server.get("/v1/counters/spent/sum?key=other").expect(200).json()["key"], "other");

    let new = json!({"name": "served", "population": "people", "epsilon": 900, "delta": 1e-6, "steps": 4, "max_steps": 1});
    assert_eq!(
        server.post("/v1/counters", &new).expect(201).json()["participation"],
        json!({"max_steps": 1, "min_gap": 1, "unnamed": "left out"})
    );
    // An event that names nobody does not count, and keeps nobody else's out.
    let batch = json!([{"id": "0"}, {"id": "0", "person": " "}, {"id": "0", "person": "q"}]);
    let receipt = server.post("/v1/counters/served/events", &batch).expect(200).json();
    assert_eq!(
        (&receipt["unnamed"], &receipt["counted"], &receipt["received"]),
        (&json!(2), &json!(1), &json!(3))
    );
    // Nor does an overlong name, which is none.
    let batch = json!([{"id": "0", "person": "x".repeat(257)}, {"id": "0", "person": "r"}]);
    let receipt = server.post("/v1/counters/served/events", &batch).expect(200).json();
    assert_eq!((&receipt["unnamed"], &receipt["counted"]), (&json!(1), &json!(1)));
    server.post("/v1/counters/served/events", &json!({"id": " ", "person": "r"})).expect(400);
    server.post("/v1/counters/served/events", &json!({"id": "1", "person": "p"})).expect(200);
    server.post("/v1/counters/served/advance", &json!({})).expect(200);
    let receipt =
        server.post("/v1/counters/served/events", &json!({"id": "2", "person": "p"})).expect(200).json();
    assert_eq!(receipt["over_bound"], 1);
    assert_eq!(
        server
            .post("/v1/counters", &json!({"name": "x", "population": "people", "epsilon": 1, "delta": 1e-6}))
            .status,
        400
    );
    let window = json!({"name": "recent", "population": "events", "epsilon": 1, "delta": 1e-6, "workload": "window:3"});
    server.post("/v1/counters", &window).expect(201);
    server.post("/v1/counters/recent/advance", &json!({})).expect(200);
    assert_eq!(server.get("/v1/counters/recent/sum").expect(422).class(), "unsupported");
    assert!(server.get("/v1/counters/recent").json()["accuracy"]["rmse"].is_null());
}

#[test]
fn pages_of_counters_hold_every_one_once() {
    let server = Server::start();
    server.with_population();
    for i in 0..7 {
        server
            .post("/v1/counters", &json!({"name": format!("c{i}"), "epsilon": 1, "delta": 1e-6, "steps": 4}))
            .expect(201);
    }
    server.send(&server.bearers.admin, "POST", "/v1/counters/c3/retire", &[], &[]).expect(200);
    let (mut seen, mut after) = (Vec::new(), String::new());
    loop {
        let page = server.get(&format!("/v1/counters?limit=3{after}")).expect(200).json();
        assert_eq!(page["total"], 7);
        seen.extend(
            page["counters"].as_array().unwrap().iter().map(|c| c["name"].as_str().unwrap().to_owned()),
        );
        match page["next"].as_str() {
            Some(name) => after = format!("&after={name}"),
            None => break,
        }
    }
    assert_eq!(seen, (0..7).map(|i| format!("c{i}")).collect::<Vec<_>>());
    let running = server.get("/v1/counters?status=running").json();
    assert_eq!((running["total"].as_u64(), running["next"].as_str()), (Some(6), None));
    assert_eq!(server.get("/v1/counters?status=retired").json()["counters"][0]["name"], "c3");
}

#[test]
fn a_population_that_cannot_pay_refuses() {
    let server = Server::start();
    server.post("/v1/populations", &json!({"name": "everyone", "epsilon": 1, "delta": 1e-6})).expect(201);
    assert_eq!(
        server
            .post("/v1/populations", &json!({"name": "everyone", "epsilon": 9, "delta": 1e-6}))
            .expect(409)
            .class(),
        "conflict"
    );
    let new = json!({"name": "a", "epsilon": 0.9, "delta": 1e-6, "steps": 9});
    server.post("/v1/counters", &new).expect(201);
    let second = json!({"name": "b", "epsilon": 0.9, "delta": 1e-6, "steps": 9});
    assert_eq!(server.post("/v1/plan", &second).expect(200).json()["affordable"], false);
    assert_eq!(server.post("/v1/counters", &second).expect(409).class(), "budget-spent");
    assert!(
        server
            .post("/v1/plan", &json!({"population": "nobody", "epsilon": 1, "delta": 1e-6}))
            .expect(200)
            .json()["population"]
            .is_null()
    );
    server
        .post("/v1/counters", &json!({"name": "c", "population": "nobody", "epsilon": 1, "delta": 1e-6}))
        .expect(404);
}

#[test]
fn the_service_says_how_it_is() {
    let server = Server::start().with_counter("visits");
    assert_eq!(server.send("", "GET", "/healthz", &[], &[]).expect(200).text(), "ok");
    assert_eq!(server.send("", "GET", "/readyz", &[], &[]).expect(200).json()["mode"], "running");
    let status = server.get("/v1/status").json();
    assert_eq!(status["now"], "2026-01-05T08:00:01Z");
    assert_eq!(status["counters"]["running"], 1);
    let metrics = server.get("/metrics").expect(200);
    assert!(metrics.text().contains("evertally_counters{status=\"running\"} 1"), "{}", metrics.text());
    let document = server.send("", "GET", "/openapi.json", &[], &[]).expect(200).json();
    assert_eq!(document, *crate::documented::DOCUMENT);
    let epoch = server.get("/v1/epoch").expect(200).json();
    assert_eq!(
        (epoch["mode"].as_str(), epoch["preview"].as_array().map(Vec::len)),
        (Some("running"), Some(0))
    );
    assert_eq!(server.post("/v1/epoch", &json!({"confirm": true})).expect(409).class(), "conflict");
    assert_eq!(server.send("", "GET", "/nothing", &[], &[]).expect(404).class(), "not-found");
    let wrong = server.send("", "PUT", "/v1/status", &[], &[]).expect(405);
    assert!(wrong.header("allow").unwrap().contains("GET"));
    assert_eq!(wrong.class(), "method-not-allowed");
}

#[test]
fn the_page_is_there_and_allows_nothing_from_elsewhere() {
    let server = Server::start();
    for (path, kind) in [
        ("/", "text/html"),
        ("/app.js", "text/javascript"),
        ("/app.css", "text/css"),
        ("/icon.svg", "image/svg+xml"),
        ("/latin.woff2", "font/woff2"),
        ("/greek.woff2", "font/woff2"),
        ("/licenses.txt", "text/plain"),
    ] {
        let answer = server.send("", "GET", path, &[], &[]).expect(200);
        assert!(
            answer.header("content-type").unwrap().starts_with(kind) && !answer.body.is_empty(),
            "{path}"
        );
        let tag = answer.header("etag").unwrap();
        let again = server.send("", "GET", path, &[("If-None-Match", tag)], &[]).expect(304);
        assert!(again.body.is_empty());
        for (name, words) in [
            ("content-security-policy", "default-src 'self'; frame-ancestors 'none'; base-uri 'none'"),
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            ("cache-control", "no-cache"),
        ] {
            assert_eq!(answer.header(name), Some(words), "{path}");
        }
    }
    assert_eq!(server.get("/v1/status").header("cache-control"), Some("no-store"));
}

#[test]
fn times_are_those_of_the_service() {
    // What the other tests take for granted.
    let server = Server::start();
    assert_eq!(START, 1_767_600_000_000_000);
    let made = server
        .post("/v1/tokens", &json!({"name": "soon", "role": "read", "expires": "2026-01-05T08:00:05Z"}))
        .expect(201)
        .json();
    assert_eq!(made["expires"], "2026-01-05T08:00:05Z");
    let bearer = made["token"].as_str().unwrap();
    server.send(bearer, "GET", "/v1/status", &[], &[]).expect(200);
    server.pass(5 * SECOND);
    assert!(server.send(bearer, "GET", "/v1/status", &[], &[]).expect(401).text().contains("expired"));
}
