//! Bad input is refused with a reason, and changes nothing.

use crate::client::{Wire, head, request};
use crate::documented::DOCUMENT;
use crate::fixture::{Server, events};
use serde_json::{Value, json};

const EVENTS: &str = "/v1/counters/visits/events";

#[test]
fn bad_bodies_of_events_are_refused_and_record_nothing() {
    let server = Server::start().with_counter("visits");
    let good = r#"{"id":"good"}"#;
    let deep = format!("[{good},{}{}]", "[".repeat(100_000), "]".repeat(100_000));
    let long = format!(r#"{{"id":"{}"}}"#, "x".repeat(257));
    let bodies: Vec<(&str, Vec<u8>)> = vec![
        ("empty", b"".to_vec()),
        ("spaces", b"   ".to_vec()),
        ("no JSON", b"hello".to_vec()),
        ("broken off", format!("[{good}").into_bytes()),
        ("more after it", format!("[{good}] {good}").into_bytes()),
        ("a comma", format!("[{good},]").into_bytes()),
        ("null", b"null".to_vec()),
        ("a number", b"1".to_vec()),
        ("an array of arrays", format!("[[{good}]]").into_bytes()),
        ("fields without names", br#"["a"]"#.to_vec()),
        ("fields without names among others", format!(r#"[{good},["a"]]"#).into_bytes()),
        ("deep", deep.into_bytes()),
        ("no id", format!("[{good},{{}}]").into_bytes()),
        ("an empty id", br#"{"id":""}"#.to_vec()),
        ("a long id", long.into_bytes()),
        ("a number as id", br#"{"id":7}"#.to_vec()),
        ("id twice", br#"{"id":"a","id":"b"}"#.to_vec()),
        ("an unknown field", format!(r#"[{good},{{"id":"b","more":1}}]"#).into_bytes()),
        ("no time", br#"{"id":"a","time":"yesterday"}"#.to_vec()),
        ("a number as time", br#"{"id":"a","time":1767600000}"#.to_vec()),
        ("a time for a counter without a clock", br#"{"id":"a","time":"2026-01-05T08:00:00Z"}"#.to_vec()),
        ("a key for a counter without keys", br#"{"id":"a","key":"k"}"#.to_vec()),
        ("a value for a counter of events", br#"{"id":"a","value":1}"#.to_vec()),
        ("NaN", br#"{"id":"a","value":NaN}"#.to_vec()),
        ("NaN in words", br#"{"id":"a","value":"NaN"}"#.to_vec()),
        ("a huge number", br#"{"id":"a","value":1e999}"#.to_vec()),
        ("many digits", format!(r#"{{"id":"a","value":{}}}"#, "9".repeat(10_000)).into_bytes()),
        ("no UTF-8", b"{\"id\":\"\xff\"}".to_vec()),
        ("half a surrogate", br#"{"id":"\ud800"}"#.to_vec()),
    ];
    for (name, body) in bodies {
        let answer = server.post_text(EVENTS, "application/json", &body);
        assert_eq!(answer.status, 400, "{name}: {}", answer.text());
        assert_eq!(answer.class(), "bad-parameter", "{name}");
        assert!(
            answer.text().contains("nothing was recorded") || name == "no UTF-8",
            "{name}: {}",
            answer.text()
        );
    }
    let index = server.post_text(EVENTS, "application/json", format!("[{good},{good},{{}}]").as_bytes());
    assert!(index.text().contains("event 2: "), "{}", index.text());
    assert_eq!(server.total("visits"), 0.0);
}

#[test]
fn a_bad_line_ends_a_stream_after_what_stood_before_it() {
    let server = Server::start().with_counter("visits");
    let mut lines: Vec<String> = (0..10_000).map(|i| format!(r#"{{"id":"{i}"}}"#)).collect();
    lines[9_000] = r#"{"id":"canary","canary":1}"#.to_owned();
    let answer = server.post_text(EVENTS, "application/x-ndjson", lines.join("\n").as_bytes()).expect(400);
    let message = answer.json()["error"]["message"].as_str().unwrap().to_owned();
    assert!(
        message.starts_with("line 9001: ") && message.ends_with("the first 9000 lines are recorded"),
        "{message}"
    );
    assert!(!message.contains("canary"));
    assert_eq!(server.total("visits"), 9_000.0);
    // Sending all lines again without the fault is harmless because of their ids.
    lines[9_000] = r#"{"id":"9000"}"#.to_owned();
    let receipt =
        server.post_text(EVENTS, "application/x-ndjson", lines.join("\n").as_bytes()).expect(200).json();
    assert_eq!((receipt["counted"].as_u64(), receipt["duplicate"].as_u64()), (Some(1_000), Some(9_000)));
    let long = format!("{{\"id\":\"fine\"}}\n{{\"id\":\"{}\"}}\n", "x".repeat(70_000));
    let answer = server.post_text(EVENTS, "application/x-ndjson", long.as_bytes()).expect(413);
    assert!(answer.text().contains("line 2") && answer.text().contains("first 1 lines"), "{}", answer.text());
    assert_eq!(server.total("visits"), 10_001.0);
}

#[test]
fn a_refusal_names_the_field_that_must_change() {
    let server = Server::start().with_counter("visits");
    server.post("/v1/populations", &json!({"name": "small", "epsilon": 0.01, "delta": 1e-6})).expect(201);
    let good = json!({"name": "new", "epsilon": 0.1, "delta": 1e-6, "steps": 9});
    let schema = &DOCUMENT["components"]["schemas"]["NewCounter"]["properties"];
    for (field, change) in [
        ("name", json!({"name": "visits"})),
        ("name", json!({"name": "a b"})),
        ("population", json!({"population": "nobody"})),
        ("epsilon", json!({"epsilon": -1.0})),
        ("epsilon", json!({"population": "small"})),
        ("population", json!({"max_steps": 2})),
        ("delta", json!({"delta": 2.0})),
        ("steps", json!({"steps": 0})),
        ("every", json!({"every": "soon"})),
        ("start", json!({"every": "1h", "start": "soon"})),
        ("mechanism", json!({"mechanism": "magic"})),
        ("mechanism", json!({"mechanism": "laplace-tree"})),
        ("workload", json!({"workload": "window:0"})),
        ("max_steps", json!({"max_steps": 0})),
        ("min_gap", json!({"min_gap": 3})),
        ("clamp", json!({"clamp": [3.0, 1.0]})),
        ("grid", json!({"grid": -1.0})),
        ("keys", json!({"keys": ["a", "a"]})),
    ] {
        let mut body = good.clone();
        body.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        let answer = server.post("/v1/counters", &body);
        assert_eq!(answer.json()["error"]["field"], field, "{change}: {}", answer.text());
        assert!(schema.get(field).is_some(), "{field} is not documented");
    }
    let answer = server.post("/v1/populations", &json!({"name": "everyone", "epsilon": 1, "delta": 0.5}));
    assert_eq!(answer.expect(409).json()["error"]["field"], "name");
    let answer = server.post("/v1/tokens", &json!({"name": "old", "role": "read", "expires": "soon"}));
    assert_eq!(answer.expect(400).json()["error"]["field"], "expires");
    // Other refusals name no field.
    assert!(server.get("/v1/counters/nothing").expect(404).json()["error"]["field"].is_null());
}

#[test]
fn what_is_too_large_is_refused_before_it_is_read() {
    let server = Server::start().with_counter("visits");
    // The body is announced but never sent, so only a refusal that does not wait can arrive.
    let mut wire = Wire::open(server.address);
    let bearer = format!("Bearer {}", server.bearers.ingest);
    let headers = [
        ("Authorization", bearer.as_str()),
        ("Content-Type", "application/json"),
        ("Content-Length", "9000000"),
    ];
    wire.send(head("POST", EVENTS, &headers).as_bytes()).unwrap();
    let answer = wire.answer().unwrap().expect(413);
    assert_eq!((answer.class().as_str(), answer.header("connection")), ("too-large", Some("close")));
    assert!(wire.is_closed());
    // A body without a length is refused once it exceeds the limit.
    let mut wire = Wire::open(server.address);
    let headers = [
        ("Authorization", bearer.as_str()),
        ("Content-Type", "application/json"),
        ("Transfer-Encoding", "chunked"),
    ];
    wire.send(head("POST", EVENTS, &headers).as_bytes()).unwrap();
    let chunk = format!("{:x}\r\n{}\r\n", 1 << 20, " ".repeat(1 << 20));
    for _ in 0..9 {
        if wire.send(chunk.as_bytes()).is_err() {
            break;
        }
    }
    wire.answer().unwrap().expect(413);
    // A batch just below the limit is recorded.
    let ids = (0..60_000).map(|i| format!("{i:0100}"));
    let receipt = server.post(EVENTS, &events(ids)).expect(200).json();
    assert_eq!(receipt["counted"], 60_000);
}

#[test]
fn other_media_types_are_refused() {
    let server = Server::start().with_counter("visits");
    let body = br#"{"id":"a"}"#;
    for media_type in
        ["text/plain", "application/xml", "application/jsonx", "", "application/x-www-form-urlencoded"]
    {
        assert_eq!(
            server.post_text(EVENTS, media_type, body).expect(415).class(),
            "unsupported-media-type",
            "{media_type}"
        );
    }
    server.send(&server.bearers.admin, "POST", EVENTS, &[], body).expect(415);
    let packed = [("Content-Type", "application/json"), ("Content-Encoding", "gzip")];
    server.send(&server.bearers.admin, "POST", EVENTS, &packed, body).expect(415);
    server.post_text("/v1/counters", "application/x-ndjson", body).expect(415);
    server.post_text(EVENTS, "Application/JSON; charset=utf-8", body).expect(200);
    assert_eq!(server.total("visits"), 1.0);
}

#[test]
fn counters_that_cannot_be_are_refused() {
    let server = Server::start();
    server.with_population();
    let good = json!({"name": "c", "epsilon": 1, "delta": 1e-6, "steps": 10});
    let bad = |field: &str, value: Value| {
        let mut new = good.clone();
        new[field] = value.clone();
        let answer = server.post("/v1/counters", &new);
        assert!(
            (400..=422).contains(&answer.status),
            "{field} = {value}: {} {}",
            answer.status,
            answer.text()
        );
        let plan = server.post("/v1/plan", &new);
        assert!(
            field == "name" || field == "population" || plan.status == answer.status,
            "{field} = {value}: {}",
            plan.text()
        );
    };
    for name in ["", ".", "..", "a b", "a/b", "é", "\u{0}", &"x".repeat(101)] {
        bad("name", json!(name));
    }
    bad("name", Value::Null);
    bad("name", json!(7));
    for value in [json!(0), json!(-1), json!("1"), json!(1e300), Value::Null] {
        bad("epsilon", value);
    }
    for value in [json!(-0.1), json!(1), json!(2), json!("0"), Value::Null] {
        bad("delta", value);
    }
    for value in [json!(0), json!(-5), json!(1.5), json!(1_u64 << 61), json!("10")] {
        bad("steps", value);
    }
    for value in ["0s", "1", "s", "1.5h", "-1h", "1y", "99999999999999999999s", "1s "] {
        bad("every", json!(value));
        bad("grace", json!(value));
    }
    bad("start", json!("noon"));
    bad("start", json!("2026-01-05T08:00:00Z")); // without a clock
    for value in ["", "median", "window:0", "window:", "decay:1", "decay:2", "window:-1"] {
        bad("workload", json!(value));
    }
    bad("mechanism", json!("magic"));
    bad("mechanism", json!("x".repeat(5_000_000)));
    for value in [json!(["a", "a"]), json!([""]), json!("a"), json!([1]), json!(["x".repeat(257)])] {
        bad("keys", value);
    }
    for value in [json!([1]), json!([2, 1]), json!([0, 1, 2]), json!(["0", "1"]), json!([0, 1e308])] {
        bad("clamp", value);
    }
    bad("max_steps", json!(0));
    bad("min_gap", json!(2));
    bad("neighbours", json!("friends"));
    bad("objective", json!("best"));
    bad("grid", json!(-1));
    bad("surprise", json!(1));
    assert_eq!(server.get("/v1/counters").json()["total"], 0);
    assert_eq!(server.get("/v1/populations").json()["populations"][0]["entries"], json!([]));
}

#[test]
fn other_requests_that_cannot_be_are_refused() {
    let server = Server::start().with_counter("visits");
    let before = (server.get("/v1/populations").json(), server.get("/v1/tokens").json());
    for body in [
        json!({"name": "p"}),
        json!({"name": "p", "epsilon": 1}),
        json!({"name": "p", "epsilon": 1, "delta": 1e-6, "rho": 1}),
        json!({"name": "p q", "epsilon": 1, "delta": 1e-6}),
        json!({"name": "p", "epsilon": -1, "delta": 1e-6}),
        json!({"name": "p", "epsilon": 1, "delta": 1e-6, "unit": ""}),
        json!({"name": "p", "epsilon": 1, "delta": 1e-6, "neighbours": "x"}),
        json!({"name": "p", "epsilon": 1, "delta": 1e-6, "pure_part": 2}),
        json!([]),
    ] {
        server.post("/v1/populations", &body).expect(400);
    }
    for body in [
        json!({"name": "t"}),
        json!({"name": "", "role": "read"}),
        json!({"name": "t", "role": "root"}),
        json!({"name": "t", "role": "read", "expires": "never"}),
        json!({"name": "x".repeat(101), "role": "read"}),
        json!(["t", "read", null]),
    ] {
        server.post("/v1/tokens", &body).expect(400);
    }
    for body in
        [json!({"steps": 0}), json!({"steps": 1001}), json!({"steps": -1}), json!({"step": 1}), json!([])]
    {
        server.post("/v1/counters/visits/advance", &body).expect(400);
    }
    server.post("/v1/epoch", &json!({"confirm": false})).expect(400);
    server.post("/v1/epoch", &json!({})).expect(400);
    for query in [
        "first=-1",
        "first=x",
        "first=",
        "first=1&first=2",
        "first=5&last=4",
        "limit=0",
        "points=0",
        "points=100001",
        "format=xml",
        "key=k",
        "unknown=1",
        "first=99999999999999999999",
        "%ff=1",
    ] {
        server.get(&format!("/v1/counters/visits/releases?{query}")).expect(400);
    }
    server.get("/v1/counters?limit=1001").expect(400);
    server.get(&format!("/v1/counters?after={}", "x".repeat(101))).expect(400);
    server.get("/v1/counters?status=asleep").expect(400);
    server.get("/v1/counters/visits/live?from=-1").expect(400);
    server.get("/v1/counters/nobody").expect(404);
    server.get("/v1/counters/nobody/live").expect(404);
    server.post("/v1/counters/nobody/events", &json!({"id": "a"})).expect(404);
    server.get("/v1/counters/%ff").expect(400);
    server.get(&format!("/v1/counters/{}", "x".repeat(5_000))).expect(404);
    assert_eq!(before, (server.get("/v1/populations").json(), server.get("/v1/tokens").json()));
    assert_eq!(server.get("/v1/counters/visits").json()["next_step"], 0);
}

#[test]
fn what_is_no_http_does_not_disturb_others() {
    let server = Server::start();
    for bytes in [
        &b"\0\0\0\0\0\0\0\0\r\n\r\n"[..],
        b"GET\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        &[b'A'; 100_000],
    ] {
        let mut wire = Wire::open(server.address);
        let _ = wire.send(bytes);
        let answer = wire.answer();
        assert!(answer.is_none_or(|answer| answer.status >= 400));
    }
    let many: Vec<(String, String)> = (0..200).map(|i| (format!("x-{i}"), "y".to_owned())).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert!(request(server.address, "GET", "/healthz", &many, &[]).status >= 400);
    assert_eq!(request(server.address, "GET", "/healthz", &[], &[]).status, 200);
}
