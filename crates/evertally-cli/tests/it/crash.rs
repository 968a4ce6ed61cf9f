//! The program killed for a moment, and events with copies: what `cargo xtask crash` does for longer.

use std::path::Path;
use std::time::Duration;

use evertally_trial::{crash, flood};

fn binary() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_evertally"))
}

#[test]
fn nothing_is_lost_or_changed_when_the_service_is_killed() {
    let home = tempfile::tempdir().unwrap();
    let extent = crash::Extent {
        kills_under_load: 12,
        kills_in_recovery: 6,
        longest_life: Duration::from_millis(300),
        seed: 1,
    };
    let report = crash::run(binary(), &home.path().join("ledger"), &extent, |_| {}).unwrap();
    assert!(report.kills >= 18 && report.kills_in_recovery == 6, "{report:?}");
    assert!(report.events > 100 && report.sent > report.events && report.releases > 10, "{report:?}");
}

#[test]
fn copies_of_events_do_not_count() {
    let home = tempfile::tempdir().unwrap();
    let report = flood::run(binary(), &home.path().join("ledger"), 200_000, 1, |_| {}).unwrap();
    assert_eq!(report.unique, 200_000);
    assert!(report.duplicates > 10_000 && report.lost_replies > 3, "{report:?}");
}
