//! The program killed between its record and its releases.
//!
//! A run compares its input with the record beside its key, charges the budget file, extends the record,
//! and releases. Whatever is killed after the record, the same run must complete with the releases
//! that nobody saw, be charged once, and leave no room for another input. The tests kill a few
//! times, and `cargo xtask crash keys` a thousand times.

use crate::common::{Place, only_for_its_owner};
use std::path::Path;
use std::time::Instant;

/// The default number of kills.
const KILLS: usize = 16;

const STEPS: usize = 6000;
const COUNT: &str = "count v.csv --value n --horizon 6000 --epsilon 1 --delta 1e-6";

/// Whether there is a record with an entry.
fn is_recorded(uses: &Path) -> bool {
    let Ok(files) = std::fs::read_dir(uses) else { return false };
    // A record takes its name when its head is whole; entries follow the head of 64 bytes.
    let mut files = files.flatten().filter(|file| !file.file_name().to_string_lossy().starts_with('.'));
    files.any(|file| file.metadata().is_ok_and(|metadata| metadata.len() >= 80))
}

fn rows(changed: usize) -> String {
    let value = |row: usize| if row == changed { 9 } else { row % 4 };
    std::iter::once("n".to_owned())
        .chain((0..STEPS).map(|row| value(row).to_string()))
        .collect::<Vec<_>>()
        .join("\n")
}

fn write_key(place: &Place, name: &str, number: usize) {
    place.write(name, format!("{number:064x}"));
    only_for_its_owner(&place.path(name));
}

fn estimates(csv: &[u8]) -> Vec<String> {
    let text = String::from_utf8(csv.to_vec()).unwrap();
    // The header names the place in the budget file, which differs between the places.
    text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
}

fn entries(place: &Place, ledger: &str) -> usize {
    String::from_utf8(place.read(ledger))
        .unwrap()
        .lines()
        .filter(|line| line.starts_with("{\"spend\""))
        .count()
}

#[test]
fn killed_after_the_record_the_same_run_completes_and_another_is_refused() {
    let kills = std::env::var("EVERTALLY_KILLS").map_or(KILLS, |text| text.parse().unwrap());
    let begun = Instant::now();
    let (mut struck, mut missed) = (0, 0);
    while struck < kills {
        assert!(missed <= 20 * kills.max(20), "the moment was missed {missed} times");
        let place = Place::new();
        place.write("v.csv", rows(usize::MAX)).write("other.csv", rows(struck % STEPS));
        let number = struck + missed + 1;
        write_key(&place, "k", number);
        write_key(&place, "reference", number);
        place.run("budget new l --epsilon 1 --delta 1e-6").ok();
        let line = format!("{COUNT} --noise-key k --budget-file l --output out.csv");

        let mut child = place.command(&line).spawn().unwrap();
        while !is_recorded(&place.path("k.uses")) && child.try_wait().unwrap().is_none() {
            std::hint::spin_loop();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        if place.path("out.csv").exists() {
            missed += 1;
            continue;
        }
        struck += 1;
        assert_eq!(entries(&place, "l"), 1, "what was recorded was paid for");
        place.run(&line.replace("v.csv", "other.csv")).refused(&["k was used before", "other data"]);
        assert!(!place.path("out.csv").exists());
        place.run(&line).ok();
        assert_eq!(entries(&place, "l"), 1, "and is paid for once");
        place.run(&format!("{COUNT} --noise-key reference --output expected.csv")).ok();
        assert_eq!(estimates(&place.read("out.csv")), estimates(&place.read("expected.csv")));
        place.run(&line.replace("v.csv", "other.csv --force")).refused(&["k was used before"]);
    }
    let seconds = begun.elapsed().as_secs_f64();
    println!("{{\"kills\":{struck},\"missed\":{missed},\"seconds\":{seconds:.1}}}");
}
