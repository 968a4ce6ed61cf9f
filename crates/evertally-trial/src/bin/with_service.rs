//! `trial-with-service BINARY DIRECTORY COMMAND…`: runs a command while the service runs in a fresh
//! directory. `{url}` and `{token}` in its arguments are replaced by the service's address and its
//! first token, which has every permission. The service has a population `everyone` and two
//! counters, `clock` and `hand`.

use std::path::PathBuf;
use std::process::{Command, ExitCode};

use evertally_trial::http::Client;
use evertally_trial::program::Program;
use serde_json::json;

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<bool, String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [binary, directory, command, rest @ ..] = &arguments[..] else {
        return Err("usage: trial-with-service BINARY DIRECTORY COMMAND…".to_owned());
    };
    let program =
        Program { binary: PathBuf::from(binary), directory: PathBuf::from(directory), options: Vec::new() };
    let mut served = program.start()?;
    let ready = served.ready()?;
    let token = ready.token.ok_or("the directory is not fresh: no token was printed")?;
    let url = format!("http://{}", ready.address);
    let mut client = Client::new(ready.address, &token);
    let mut post =
        |path: &str, document| client.post(path, &document).map_err(|error| error.to_string())?.json();
    post("/v1/populations", json!({"name": "everyone", "rho": 1e6}))?;
    post("/v1/counters", json!({"name": "clock", "every": "1s", "epsilon": 1.0, "delta": 1e-6}))?;
    post(
        "/v1/counters",
        json!({"name": "hand", "keys": ["a", "b"], "steps": 100_000, "epsilon": 1.0, "delta": 1e-6}),
    )?;
    let filled = rest.iter().map(|argument| argument.replace("{url}", &url).replace("{token}", &token));
    let status = Command::new(command)
        .args(filled)
        .status()
        .map_err(|error| format!("cannot run {command}: {error}"))?;
    // The service must have survived all requests.
    served.kill()?;
    Ok(status.success())
}
