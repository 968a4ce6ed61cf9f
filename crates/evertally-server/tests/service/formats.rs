//! The same releases in every format, in chunks and in pages.

use crate::fixture::Server;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, TimestampMicrosecondType, UInt32Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use serde_json::{Value, json};

/// Columns of a release as plain values.
type Row = (u64, Option<i64>, u64, Option<String>, [f64; 4]);

fn row_of(release: &Value) -> Row {
    let number = |name: &str| release[name].as_f64().unwrap();
    let time = release["time"].as_str().map(|text| text.parse::<jiff::Timestamp>().unwrap().as_microsecond());
    let numbers = [number("value"), number("standard_error"), number("lower"), number("upper")];
    (
        release["step"].as_u64().unwrap(),
        time,
        release["epoch"].as_u64().unwrap(),
        release["key"].as_str().map(str::to_owned),
        numbers,
    )
}

fn from_json(body: &[u8]) -> Vec<Row> {
    let body: Value = serde_json::from_slice(body).unwrap();
    body["releases"].as_array().unwrap().iter().map(row_of).collect()
}

fn from_csv(body: &[u8]) -> Vec<Row> {
    let mut reader = csv::Reader::from_reader(body);
    let names: Vec<String> = reader.headers().unwrap().iter().map(str::to_owned).collect();
    assert_eq!(names, ["step", "time", "epoch", "key", "value", "standard_error", "lower", "upper"]);
    let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let row = |record: csv::StringRecord| {
        let number = |column: usize| record[column].parse::<f64>().unwrap();
        let time = some(&record[1]).map(|text| text.parse::<jiff::Timestamp>().unwrap().as_microsecond());
        let numbers = [number(4), number(5), number(6), number(7)];
        (record[0].parse().unwrap(), time, record[2].parse().unwrap(), some(&record[3]), numbers)
    };
    reader.records().map(|record| row(record.unwrap())).collect()
}

fn from_arrow(body: &[u8]) -> Vec<Row> {
    let reader = arrow_ipc::reader::StreamReader::try_new(body, None).unwrap();
    let batches: Vec<RecordBatch> = reader.map(Result::unwrap).collect();
    let mut rows = Vec::new();
    for batch in &batches {
        let number =
            |column: usize, row: usize| batch.column(column).as_primitive::<Float64Type>().value(row);
        for row in 0..batch.num_rows() {
            let time = batch.column(1).as_primitive::<TimestampMicrosecondType>();
            let key = batch.column(3).as_string::<i32>();
            rows.push((
                batch.column(0).as_primitive::<UInt64Type>().value(row),
                time.is_valid(row).then(|| time.value(row)),
                u64::from(batch.column(2).as_primitive::<UInt32Type>().value(row)),
                key.is_valid(row).then(|| key.value(row).to_owned()),
                [number(4, row), number(5, row), number(6, row), number(7, row)],
            ));
        }
    }
    rows
}

/// A counter by the clock with keys, and one by hand with many steps.
fn server() -> Server {
    let server = Server::start();
    server.with_population();
    let keyed = json!({"name": "keyed", "epsilon": 1, "delta": 1e-6, "steps": 100, "every": "1s", "keys": ["a", "b, \"c\""]});
    server.post("/v1/counters", &keyed).expect(201);
    server
        .post("/v1/counters", &json!({"name": "long", "epsilon": 1, "delta": 1e-6, "steps": 20_000}))
        .expect(201);
    for _ in 0..10 {
        server.post("/v1/counters/long/advance", &json!({"steps": 1000})).expect(200);
    }
    server.pass_until(5_000_000, "keyed", 5);
    server
}

#[test]
fn all_formats_say_the_same() {
    let server = server();
    for path in [
        "keyed/releases?",
        "keyed/releases?key=b, \"c\"&",
        "long/releases?",
        "long/releases?points=7&",
        "long/releases?first=20000&",
    ] {
        let path = format!("/v1/counters/{}", path.replace(' ', "%20").replace('"', "%22"));
        let json = from_json(&server.get(&format!("{path}format=json")).expect(200).body);
        let csv = from_csv(&server.get(&format!("{path}format=csv")).expect(200).body);
        let arrow = from_arrow(&server.get(&format!("{path}format=arrow")).expect(200).body);
        assert_eq!(json, csv, "{path}");
        assert_eq!(json, arrow, "{path}");
        assert_eq!(json.is_empty(), path.contains("20000"), "{path}");
    }
    for (accept, kind) in [
        ("text/csv", "text/csv; charset=utf-8"),
        ("application/vnd.apache.arrow.stream", "application/vnd.apache.arrow.stream"),
        ("text/html, text/csv;q=0.9", "text/csv; charset=utf-8"),
        ("*/*", "application/json"),
    ] {
        let answer = server.send(
            &server.bearers.read,
            "GET",
            "/v1/counters/keyed/releases",
            &[("Accept", accept)],
            &[],
        );
        assert_eq!(answer.expect(200).header("content-type"), Some(kind));
    }
}

#[test]
fn ranges_limits_and_points_pick_what_they_say() {
    let server = server();
    let steps = |query: &str| -> (Vec<u64>, Option<u64>) {
        let answer = server.get(&format!("/v1/counters/long/releases?{query}")).expect(200);
        let next = answer.json()["next"].as_u64();
        assert_eq!(answer.header("evertally-next").map(|next| next.parse().unwrap()), next);
        (from_json(&answer.body).into_iter().map(|row| row.0).collect(), next)
    };
    assert_eq!(steps("first=3&last=5"), (vec![3, 4, 5], None));
    assert_eq!(steps("first=9998&last=50000"), (vec![9998, 9999], None));
    assert_eq!(steps("limit=2"), (vec![0, 1], Some(2)));
    assert_eq!(steps("first=9990&limit=10"), ((9990..10_000).collect(), None));
    assert_eq!(steps("points=4"), (vec![2499, 4999, 7499, 9999], None));
    assert_eq!(steps("points=4&limit=3"), (vec![2499, 4999, 7499], Some(9999)));
    // Many releases arrive in chunks, complete and in order.
    assert_eq!(steps(""), ((0..10_000).collect(), None));
    // Selected releases equal the stored ones.
    let all = from_json(&server.get("/v1/counters/long/releases").body);
    let some = from_json(&server.get("/v1/counters/long/releases?points=50").body);
    assert!(some.len() == 50 && some.iter().all(|row| all[row.0 as usize] == *row));
}
