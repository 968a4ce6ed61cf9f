//! The examples for users run and print a result.
//!
//! `cargo test` builds them beside the tests. Starting cargo once more would compile the
//! dependencies again, with other features.

use std::path::PathBuf;
use std::process::Command;

/// The directory of built examples, which is beside that of this test.
fn examples() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().and_then(|deps| deps.parent()).unwrap().join("examples")
}

#[test]
fn every_example_runs_and_prints_something() {
    for example in ["counter", "keys", "resume", "vectors", "workloads"] {
        let program = examples().join(example).with_extension(std::env::consts::EXE_EXTENSION);
        assert!(program.exists(), "{example} is not built: run `cargo build --examples` first");
        let output = Command::new(program).output().unwrap();
        let (stdout, stderr) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{example}: {stderr}");
        assert!(stdout.contains('±') || stdout.contains("noise"), "{example}: {stdout}");
    }
}
