//! Runs every target for a second or two on its seeds, on mutations of them, and on random bytes.
//! The inputs are the same every time.
//!
//! **It can fail.** `a_broken_promise_is_found` runs a target that breaks a promise.

#![allow(clippy::unwrap_used, reason = "a failed test is a failed test")]

use std::path::PathBuf;

use evertally_fuzz::TARGETS;

/// The seed of all random numbers here. It is fixed so that a failure can be repeated.
const SEED: u64 = 20_260_105;

/// The number of inputs besides the seeds. It is smaller for slow targets.
fn inputs(target: &str) -> usize {
    match target {
        "steps" | "states" | "open_keys" | "noise" => 1500,
        "certificate" | "parquet" | "arrow" => 1000,
        "found_keys" => 600,
        "command_line" => 200,
        _ => 4000,
    }
}

/// Pseudorandom numbers: the high bits of a 64-bit linear congruence.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % end.max(1)
    }

    fn byte(&mut self) -> u8 {
        self.below(256) as u8
    }
}

fn seeds(target: &str) -> Vec<Vec<u8>> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(target);
    let mut paths: Vec<_> = std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{target} has no seeds: {error}"))
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    assert!(paths.len() >= 2, "{target} has a few seeds");
    paths.iter().map(|path| std::fs::read(path).unwrap()).collect()
}

/// A seed with a few bytes changed, inserted, repeated, removed, or taken from another seed.
fn mutated(seeds: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut bytes = seeds[random.below(seeds.len())].clone();
    for _ in 0..=random.below(6) {
        let at = random.below(bytes.len() + 1);
        let end = (at + random.below(16)).min(bytes.len());
        match random.below(7) {
            0 => bytes.truncate(at),
            1 => bytes.insert(at, random.byte()),
            2 => drop(bytes.drain(at..end)),
            3 => {
                let part = bytes[at..end].to_vec();
                bytes.splice(at..at, part);
            }
            4 => {
                let other = &seeds[random.below(seeds.len())];
                let from = random.below(other.len() + 1);
                bytes.splice(at..end, other[from..].iter().take(32).copied());
            }
            5 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
            _ if at < bytes.len() => bytes[at] = [0, 1, 0x7f, 0x80, 0xff, b'"', b'\n', b'9'][random.below(8)],
            _ => bytes.extend((0..random.below(9)).map(|_| random.byte())),
        }
    }
    bytes
}

fn random_bytes(random: &mut Random) -> Vec<u8> {
    (0..random.below(120)).map(|_| random.byte()).collect()
}

/// Runs a target on an input. An input that breaks a promise is printed, so that it can become a
/// seed.
fn try_on(name: &str, target: fn(&[u8]), input: &[u8]) {
    if let Err(panic) = std::panic::catch_unwind(|| target(input)) {
        eprintln!("{name} breaks on \"{}\"", input.escape_ascii());
        std::panic::resume_unwind(panic);
    }
}

fn run(name: &str) {
    let (_, target) = TARGETS.into_iter().find(|(other, _)| *other == name).unwrap();
    let (seeds, mut random) = (seeds(name), Random(SEED));
    seeds.iter().for_each(|seed| try_on(name, target, seed));
    for i in 0..inputs(name) {
        let input = if i % 4 == 3 { random_bytes(&mut random) } else { mutated(&seeds, &mut random) };
        try_on(name, target, &input);
    }
}

macro_rules! short_runs {
    ($($target:ident),*) => {
        $(#[test] fn $target() { run(stringify!($target)); })*

        #[test]
        fn every_target_has_a_short_run_and_a_long_one() {
            let names: Vec<&str> = TARGETS.iter().map(|(name, _)| *name).collect();
            assert_eq!(names, [$(stringify!($target)),*]);
            let fuzz = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
            let manifest = std::fs::read_to_string(fuzz.join("Cargo.toml")).unwrap();
            for name in names {
                let file = std::fs::read_to_string(fuzz.join(format!("targets/{name}.rs"))).unwrap();
                assert!(file.contains(&format!("evertally_fuzz::{name}(")), "{name}");
                assert!(manifest.contains(&format!("path = \"targets/{name}.rs\"")), "{name}");
            }
        }
    };
}

short_runs!(
    names,
    states,
    steps,
    open_keys,
    found_keys,
    noise,
    csv,
    jsonl,
    parquet,
    arrow,
    npy,
    matrix,
    certificate,
    ledger,
    training,
    options,
    command_line
);

/// A reader that trusts a length: the inputs above break it.
#[test]
fn a_broken_promise_is_found() {
    fn trusting(bytes: &[u8]) {
        let length = bytes.iter().position(|byte| *byte == b',').unwrap_or(0);
        assert!(bytes.get(length + 1..length + 5).is_some() || length == 0);
    }
    let (seeds, mut random) = (seeds("csv"), Random(SEED));
    let is_found = (0..inputs("csv")).any(|_| {
        let input = mutated(&seeds, &mut random);
        std::panic::catch_unwind(|| trusting(&input)).is_err()
    });
    assert!(is_found);
}
