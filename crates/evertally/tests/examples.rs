//! The examples for users run as a reader would run them.
#![allow(clippy::unwrap_used, reason = "a failed test is a failed test")]

use std::process::Command;

#[test]
fn every_example_runs_and_prints_something() {
    for example in ["counter", "keys", "resume", "vectors", "workloads"] {
        let run = ["run", "--quiet", "--package", "evertally", "--example", example];
        let output = Command::new(env!("CARGO")).args(run).output().unwrap();
        let (stdout, stderr) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{example}: {stderr}");
        assert!(stdout.contains('±') || stdout.contains("noise"), "{example}: {stdout}");
    }
}
