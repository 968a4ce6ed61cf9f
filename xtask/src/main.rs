//! `cargo xtask …`: everything a contributor runs.

mod audit;
mod bench;
mod crash;
mod crosscheck;
mod fit;
mod fuzz;
mod learning;
mod process;
mod python;
mod regret;
mod service;
mod simulate;
mod spark;
mod spark_crash;
mod statistics;
mod test;
mod tidy;
mod venv;

use std::process::ExitCode;

const HELP: &str = "\
Everything a contributor runs.

Usage: cargo xtask <TASK>

Tasks:
  test             formatting, lints, all tests, documentation, cross-checks, the Python package and licences, stopping at the first failure
  statistics       10⁸ draws of every kind of noise against its law: moments, tails, fits and correlations
  audit [TABLE]    each planted fault and each true mechanism audited 1,000 times; writes bench/audit.json and bench/audit.md.
                   TABLE is what the example power_table of evertally-audit printed elsewhere
  bench gamma      the certified optimum timed beside jax_privacy and numpy; writes bench/gamma.json and bench/gamma.md
  bench noise      square-root noise timed beside scipy; writes bench/noise.json and bench/noise.md
  bench stream     streamed noise timed beside scipy, jax_privacy and tree aggregation; writes bench/stream.json and bench/stream.md
  bench exact      exact whole-number noise, and releases, timed beside OpenDP; writes bench/exact.json and bench/exact.md.
                   bench exact quick takes half a minute and writes nothing
  learning         trains on real data with every mechanism and budget; writes bench/learning.json, bench/learning.md and a picture.
                   learning quick takes a minute or two and writes nothing
  regret           regret against adversaries that see the parameters, beside its bounds; writes bench/regret.json and bench/regret.md
  bench learn      steps of private training timed beside torch's SGD and jax_privacy; writes bench/learn.json and bench/learn.md.
                   bench learn quick takes a few minutes and writes nothing
  bench service    the service under load beside a bare endpoint, 10,000 counters that tick, 1,000 slow connections; writes bench/service.json and
                   bench/service.md. bench service quick takes half a minute and writes nothing
  bench spark      private counts on Spark beside plain ones, a closed step, and noise for vectors; writes bench/spark.json and bench/spark.md.
                   bench spark quick takes a few minutes and writes nothing
  crash [KILLS]    the service killed 1,000 times under load, and half as often while it recovers; writes bench/crash.json and bench/crash.md
  crash events [N] 10⁷ events with copies, out of order and with lost replies; writes bench/events.json and bench/events.md
  crash keys [KILLS]
                   the command line killed 1,000 times between its record of a key and its releases; writes bench/key-kills.json and
                   bench/key-kills.md
  crash spark      a query on Spark, its driver and executors killed at 26 points; writes bench/spark-crash.json and bench/spark-crash.md
  simulate [SEEDS] [FIRST]
                   the ledger on a simulated machine with faults, crashes and a clock that jumps: 1,000 seeds, or those named
  crosscheck sdp   γ_F against the paper's semidefinite programs, solved by Clarabel; part of test
  schemathesis     whatever the service's own document allows and forbids, posted to it; part of test
  page             the tests of the page in a headless browser, and whether it is built from its sources; part of test
  python           the Python package installed into a clean environment, and its tests, types and stubs; part of test
  tidy             whether comments keep to the width of the code; part of test
  fuzz [SECONDS]   every parser and counter on whatever libFuzzer thinks of, a minute each unless said otherwise; needs nightly and cargo-fuzz
  fit graded       fits graded-square-root again; rewrites its table of shapes
  help             this text
";

/// What a task returns: a failure is one line for the contributor, who has seen the output of the
/// command itself.
type Outcome = Result<(), String>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match arguments[..] {
        ["test"] => test::run(),
        ["tidy"] => tidy::run(),
        ["audit"] => audit::run(None),
        ["audit", table] => audit::run(Some(table)),
        ["statistics"] => statistics::run(),
        ["crosscheck", "sdp"] => crosscheck::sdp(),
        ["bench", "exact"] => bench::exact::run(),
        ["bench", "exact", "quick"] => bench::exact::run_quickly(),
        ["bench", "gamma"] => bench::gamma::run(),
        ["bench", "learn"] => bench::learn::run(),
        ["bench", "learn", "quick"] => bench::learn::run_quickly(),
        ["bench", "noise"] => bench::noise::run(),
        ["bench", "spark"] => bench::spark::run(),
        ["bench", "spark", "quick"] => bench::spark::run_quickly(),
        ["bench", "stream"] => bench::stream::run(),
        ["bench", "service"] => bench::service::run(),
        ["bench", "service", "quick"] => bench::service::run_quickly(),
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
        ["python"] => python::test(),
        ["schemathesis"] => service::schemathesis(),
        ["page"] => service::page(),
        ["regret"] => regret::run(),
        ["fuzz"] => fuzz::run(None),
        ["fuzz", seconds] => fuzz::run(Some(seconds)),
        ["fit", "graded"] => fit::graded(),
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
