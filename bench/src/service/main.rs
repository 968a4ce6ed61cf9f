//! The worker of `cargo xtask bench service`: `bench-service BINARY DIRECTORY (quick|full)`. It
//! prints one line of JSON.
//!
//! The service and the bare endpoint run as separate processes. This process is the client of both,
//! on one thread. All three share the machine, so the client's load affects both sides equally.

mod bare;
mod latency;
mod load;
mod slow;
mod template;
mod ticks;

use std::error::Error;
use std::net::SocketAddr;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use evertally_trial::http::Client;
use evertally_trial::program::{Process, Program};
use serde_json::{Value, json};

/// Any error ends the worker.
type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// The extent of a measurement.
struct Extent {
    rounds: usize,
    round: Duration,
    counters: usize,
    ticks: Duration,
    slow_connections: usize,
}

const FULL: Extent = Extent {
    rounds: 3,
    round: Duration::from_secs(2),
    counters: 10_000,
    ticks: Duration::from_secs(20),
    slow_connections: 1000,
};
const QUICK: Extent = Extent {
    rounds: 2,
    round: Duration::from_millis(700),
    counters: 300,
    ticks: Duration::from_secs(4),
    slow_connections: 1000,
};

/// The address of a server, and a token.
#[derive(Clone)]
struct Target {
    address: SocketAddr,
    token: String,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match arguments[..] {
        ["bare"] => bare::serve().map(|()| None),
        [binary, directory, "full"] => run(Path::new(binary), Path::new(directory), &FULL).map(Some),
        [binary, directory, "quick"] => run(Path::new(binary), Path::new(directory), &QUICK).map(Some),
        _ => Err("usage: bench-service BINARY DIRECTORY (quick|full)".into()),
    };
    match outcome {
        Ok(report) => {
            report.iter().for_each(|report| println!("{report}"));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(binary: &Path, directory: &Path, extent: &Extent) -> Outcome<Value> {
    let client = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (service, target) = start(binary, &directory.join("load"))?;
    create_counter(&target, "load", "1s")?;
    let bare = bare::start()?;
    let loads = client.block_on(load::beside(&target, &bare.target, extent))?;
    let slow = client.block_on(slow::beside(&target, extent))?;
    let memory = service.resident_memory();
    drop((service, bare));
    let (service, target) = start(binary, &directory.join("ticks"))?;
    let creation = ticks::create(&target, extent.counters)?;
    let ticks = client.block_on(ticks::measure(&target, extent))?;
    Ok(json!({
        "loads": loads, "memory_after_load": memory, "slow": slow, "creation": creation, "ticks": ticks,
        "memory_of_counters": service.resident_memory(),
    }))
}

/// Starts the service in a fresh directory, with a population whose budget suffices for all
/// counters.
fn start(binary: &Path, directory: &Path) -> Outcome<(Process, Target)> {
    let program = Program { binary: binary.to_owned(), directory: directory.to_owned(), options: Vec::new() };
    let mut served = program.start()?;
    let ready = served.ready()?;
    let target =
        Target { address: ready.address, token: ready.token.ok_or("the first start printed no token")? };
    let population = json!({"name": "bench", "rho": 1e6});
    Client::new(target.address, &target.token).post("/v1/populations", &population)?.json()?;
    Ok((served, target))
}

fn create_counter(target: &Target, name: &str, every: &str) -> Outcome<()> {
    let counter = json!({"name": name, "population": "bench", "every": every, "epsilon": 1.0, "delta": 1e-9});
    Client::new(target.address, &target.token).post("/v1/counters", &counter)?.json()?;
    Ok(())
}
