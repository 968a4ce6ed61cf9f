//! Memory that ends (`ulimit -v`): one clear line, and nothing is released, lost or left behind.

use crate::common::{Place, ROWS, Ran, TIMED, rows};

/// The program with this many KiB of address space.
fn run_with(place: &Place, kib: u32, line: &str) -> Ran {
    let program = env!("CARGO_BIN_EXE_evertally");
    let mut shell = std::process::Command::new("sh");
    let script = format!("ulimit -v {kib}; exec {program} {line}");
    // One thread for each core has a stack of its own.
    shell.current_dir(place.path("")).args(["-c", &script]).env("RAYON_NUM_THREADS", "2");
    // Each further arena of the allocator would reserve 64 MiB, whether it needs them or not.
    shell.env("MALLOC_ARENA_MAX", "1");
    Ran::of(shell.output().unwrap())
}

/// The run ended with a line of the program, and not with one of Rust.
#[track_caller]
fn refused(ran: &Ran) {
    assert_eq!((ran.code, ran.stderr.lines().count()), (Some(1), 1), "{}", ran.stderr);
    assert!(ran.stderr.contains("no memory left for"), "{}", ran.stderr);
}

/// Rows grew until the program was ended with code 134 and a line of Rust's library.
#[test]
fn rows_that_do_not_fit_are_an_error() {
    let place = Place::new();
    place.write("in.csv", format!("n\n{}", "1\n".repeat(6_000_000)));
    refused(&run_with(&place, 150_000, &format!("count in.csv {ROWS} --output out.csv --plot out.svg")));
    assert_eq!(place.files(), ["in.csv"]);
    place.write("short.csv", "n\n1\n2\n");
    let ran = run_with(&place, 150_000, &format!("count short.csv {ROWS}")).ok();
    assert_eq!(rows(&ran.stdout).len(), 2);
}

/// A line of many megabytes, in each format.
#[test]
fn lines_that_do_not_fit_are_an_error() {
    let place = Place::new();
    let long = "x".repeat(60 << 20);
    place.write("in.csv", format!("n,m\n1,{long}\n"));
    place.write("cells.csv", format!("n,m\n1{}\n", ",".repeat(60 << 20)));
    place.write("quoted.csv", format!("n,m\n1,\"{long}\"\n"));
    place.write("in.jsonl", format!("{{\"n\":1,\"m\":\"{long}\"}}\n"));
    place.write("in.json", format!("[{{\"n\":1,\"m\":\"{long}\"}}]"));
    drop(long);
    for file in ["in.csv", "cells.csv", "quoted.csv", "in.jsonl", "in.json"] {
        let ran = run_with(&place, 150_000, &format!("count {file} {ROWS}"));
        assert_eq!((ran.code, ran.stderr.lines().count()), (Some(1), 1), "{file}: {}", ran.stderr);
        assert!(ran.stderr.contains("out of memory") && ran.stderr.contains(file), "{file}: {}", ran.stderr);
        assert_eq!(ran.stdout, "");
    }
}

#[test]
fn groups_that_do_not_fit_are_an_error() {
    let place = Place::new();
    place.write("in.csv", "time,key\n2026-01-05,1\n");
    place.write("groups.txt", (0..300_000).map(|key| format!("{key}\n")).collect::<String>());
    let line = format!("count in.csv {TIMED} --group-by key --groups groups.txt --output out.csv");
    refused(&run_with(&place, 150_000, &line));
    assert_eq!(place.files(), ["groups.txt", "in.csv"]);
}

/// Events of persons go to the disk if there is little memory, with and without a limit of the user.
#[test]
fn events_of_persons_go_to_the_disk_before_memory_ends() {
    let place = Place::new();
    let line = |number: u32| {
        format!("2026-01-05T0{}:00:00Z,person {},{}{number}\n", number % 4, number / 2, "i".repeat(140))
    };
    place.write("in.csv", format!("time,person,id\n{}", (0..480_000).map(line).collect::<String>()));
    let line = format!("count in.csv {TIMED} --person person --max-steps 2 --id id");
    let ran = run_with(&place, 170_000, &line).ok();
    crate::common::assert_near(&ran.stdout, &[120_000.0, 240_000.0, 360_000.0, 480_000.0]);
}

/// Memory ended while the table was written, and a temporary file stayed.
#[test]
fn memory_that_ends_anywhere_leaves_no_file() {
    let place = Place::new();
    let line = |number: u32| format!("2026-01-05T00:{:02}:00Z,{}\n", number % 60, number % 7);
    place.write("in.csv", format!("time,key\n{}", (0..2000).map(line).collect::<String>()));
    let keys = (0..2000).map(|key| key.to_string()).collect::<Vec<_>>().join(",");
    let mut failed = 0;
    for kib in (40_000..400_000).step_by(20_000) {
        let line = format!("count in.csv {TIMED} --group-by key --groups {keys} --output out.csv");
        let ran = run_with(&place, kib, &line);
        if ran.code == Some(0) {
            std::fs::remove_file(place.path("out.csv")).unwrap();
        } else {
            failed += 1;
            assert!(!ran.stderr.contains("panicked"), "{kib}: {}", ran.stderr);
        }
        assert_eq!(place.files(), ["in.csv"], "{kib}: {}", ran.stderr);
    }
    assert!((1..18).contains(&failed), "{failed} runs had too little memory");
}
