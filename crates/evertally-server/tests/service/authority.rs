//! Every route with every token that it must refuse.

use crate::documented::routes;
use crate::fixture::Server;

/// A path with existing names filled in, so that no refusal is for a missing name.
fn concrete(path: &str, token: &str) -> String {
    path.replace("{name}", "visits").replace("{id}", token)
}

#[test]
fn every_route_refuses_every_token_that_is_not_its_own() {
    let server = Server::start().with_counter("visits");
    let tokens = server.get("/v1/tokens").json();
    let id = tokens["tokens"][1]["id"].as_str().unwrap().to_owned();
    let bearers = server.bearers.clone();
    let unknown = format!("{}x", &bearers.admin[..bearers.admin.len() - 1]);
    let mut guarded = 0;
    for (path, method, roles) in routes() {
        let Some(roles) = roles else {
            assert!(matches!(path.as_str(), "/healthz" | "/readyz"), "{path} needs no token");
            continue;
        };
        guarded += 1;
        let path = concrete(&path, &id);
        let refused = |bearer: &str, status: u16, words: &str| {
            // The body is invalid and of unknown type, which shows that it is not read.
            let answer = server.send(bearer, &method, &path, &[("Content-Type", "text/canary")], b"{canary");
            assert_eq!(answer.status, status, "{method} {path}: {}", answer.text());
            assert!(answer.text().contains(words), "{method} {path}: {}", answer.text());
            if status == 401 {
                assert!(answer.header("www-authenticate").unwrap().starts_with("Bearer"));
            }
        };
        refused("", 401, "a token is needed");
        refused(&unknown, 401, "unknown");
        refused("evt_nothing", 401, "unknown");
        refused(&bearers.expired, 401, "expired");
        for (role, bearer) in [("read", &bearers.read), ("ingest", &bearers.ingest)] {
            if !roles.iter().any(|allowed| allowed == role) {
                refused(bearer, 403, "role");
            }
        }
        for malformed in ["Basic dXNlcjpwYXNz", "Bearer", bearers.admin.as_str(), "Bearer  "] {
            let answer =
                crate::client::request(server.address, &method, &path, &[("Authorization", malformed)], &[]);
            assert_eq!(answer.status, 401, "{method} {path} with {malformed:?}");
        }
    }
    assert!(guarded >= 18, "only {guarded} routes are guarded");
    // None of these requests changed anything.
    assert_eq!(server.get("/v1/tokens").json(), tokens);
    assert_eq!(server.get("/v1/counters/visits").json()["status"], "running");
    assert_eq!(server.get("/v1/counters/visits").json()["next_step"], 0);
}

#[test]
fn every_role_opens_what_it_is_for() {
    let server = Server::start().with_counter("visits");
    for (path, method, roles) in routes() {
        // Live streams do not end, and other tests cover requests that change something.
        if path.ends_with("/live") || method == "DELETE" || path.ends_with("/retire") {
            continue;
        }
        for role in roles.unwrap_or_default() {
            let bearer = match role.as_str() {
                "read" => &server.bearers.read,
                "ingest" => &server.bearers.ingest,
                _ => &server.bearers.admin,
            };
            let answer = server.send(bearer, &method, &concrete(&path, "none"), &[], &[]);
            assert!(!matches!(answer.status, 401 | 403), "{role} at {method} {path}: {}", answer.text());
        }
    }
}

#[test]
fn a_revoked_token_is_unknown_at_once_and_the_last_one_stays() {
    let server = Server::start();
    let made =
        server.post("/v1/tokens", &serde_json::json!({"name": "a page", "role": "read"})).expect(201).json();
    let bearer = made["token"].as_str().unwrap();
    let status = server.send(bearer, "GET", "/v1/status", &[], &[]).expect(200).json();
    assert_eq!((status["role"].as_str(), status["token_name"].as_str()), (Some("read"), Some("a page")));
    server.delete(&format!("/v1/tokens/{}", made["id"].as_str().unwrap())).expect(204);
    server.send(bearer, "GET", "/v1/status", &[], &[]).expect(401);
    server.delete("/v1/tokens/nobody").expect(404);
    let tokens = server.get("/v1/tokens").json();
    let admin = tokens["tokens"]
        .as_array()
        .unwrap()
        .iter()
        .find(|token| token["role"] == "admin" && token["expires"].is_null());
    let id = admin.unwrap()["id"].as_str().unwrap();
    assert_eq!(server.delete(&format!("/v1/tokens/{id}")).expect(409).class(), "conflict");
    assert!(!server.get("/v1/tokens").text().contains("evt_"));
}
