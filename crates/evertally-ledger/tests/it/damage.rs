//! Flipped bytes: a ledger that was changed by anybody but the service is refused, or what was
//! changed means nothing.

use crate::common::*;
use evertally_ledger::{Ledger, Spec};
use proptest::prelude::Rng;
use proptest::test_runner::{RngAlgorithm, TestRng};
use redb::{ReadableDatabase, ReadableTable, TableDefinition};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A ledger with frames, rows, persons, ids and a full chunk; half of it is cut from the journal
/// and half is not.
fn filled(home: &Home) {
    let mut ledger = home.open();
    ledger.grant(&everyone(plenty())).unwrap();
    ledger.grant(&population("people", "person", plenty())).unwrap();
    let wide = loud("wide").keys((0..40).map(|key| format!("k{key}")));
    ledger.create(&wide.plan(START).unwrap(), START).unwrap();
    let bounded = Spec { population: "people".into(), ..loud("bounded").persons(3, 1).unwrap() };
    let bounded = create(&mut ledger, &bounded);
    for step in 0..260 {
        let id = format!("{step}");
        let event = evertally_ledger::Event { id: &id, person: Some(&id[..1]), ..Default::default() };
        let event = bounded.intake().prepare(&event).unwrap();
        ledger.submit(&bounded, &[event], START).unwrap();
        ledger.advance("bounded", 1).unwrap();
        release_step(&mut ledger, "wide");
        if step == 200 {
            ledger.checkpoint_all().unwrap();
        }
    }
}

/// All that can be seen of a ledger, now and after one more step.
fn all_of(mut ledger: Ledger) -> evertally_ledger::Result<Vec<(u64, u32, Vec<u64>)>> {
    ledger.verify()?;
    let bounded = ledger.read_view().counter("bounded").unwrap();
    let again = ledger.submit(&bounded, &[], START)?;
    assert_eq!(again.received(), 0);
    ledger.advance("bounded", 1)?;
    ledger.advance("wide", 1)?;
    ledger.commit(START)?;
    let mut all = released(&ledger.read_view(), "wide");
    all.extend(released(&ledger.read_view(), "bounded"));
    Ok(all)
}

#[test]
fn flipped_bytes_are_noticed_or_mean_nothing() {
    let home = Home::new();
    filled(&home);
    let (file, fence) = (home.file(), home.directory.with_extension("fence"));
    let (whole, mark) = (std::fs::read(&file).unwrap(), std::fs::read(&fence).unwrap());
    // Files are written over in place: a ledger remembers its file.
    let restore = |bytes: &[u8]| {
        std::fs::write(&file, bytes).unwrap();
        std::fs::write(&fence, &mark).unwrap();
    };
    let expected = all_of(home.open()).unwrap();
    let mut random = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let used: Vec<usize> = (0..whole.len()).filter(|at| whole[*at] != 0).collect();
    let (mut refused, mut harmless) = (0, 0);

    // Most bytes of the file are of pages that are not in use any more, so it takes several to find one
    // that matters.
    while refused < 6 && harmless < 1000 {
        let at = used[(random.next_u64() % used.len() as u64) as usize];
        let mut changed = whole.clone();
        changed[at] ^= 1 << (random.next_u64() % 8);
        restore(&changed);
        let seen = catch_unwind(AssertUnwindSafe(|| home.try_open().and_then(all_of)));
        match seen {
            Ok(Ok(seen)) => {
                assert_eq!(seen, expected, "byte {at} was changed unnoticed");
                harmless += 1;
            }
            Ok(Err(_)) => refused += 1,
            Err(_) => panic!("byte {at} made it panic"),
        }
    }
    assert!(refused == 6, "{refused} were refused and {harmless} meant nothing");
}

type Forgery = fn(&[u8]) -> Option<Vec<u8>>;

/// What a forger does who writes through the storage library, so that its own checksums are right.
fn forge<K>(file: &std::path::Path, name: &str, change: Forgery, pick: usize) -> bool
where
    K: redb::Key + for<'k> redb::Value<SelfType<'k> = K> + std::borrow::Borrow<K> + 'static,
{
    let database = redb::Database::open(file).unwrap();
    let table = TableDefinition::<K, &[u8]>::new(name);
    let rows: Vec<(K, Vec<u8>)> = {
        let table = database.begin_read().unwrap().open_table(table).unwrap();
        let rows = table.range::<K>(..).unwrap();
        rows.map(|row| row.map(|(key, value)| (key.value(), value.value().to_vec())).unwrap()).collect()
    };
    let Some((key, value)) = rows.into_iter().nth(pick) else { return false };
    let transaction = database.begin_write().unwrap();
    {
        let mut table = transaction.open_table(table).unwrap();
        match change(&value) {
            Some(changed) => drop(table.insert(key, &changed[..]).unwrap()),
            None => drop(table.remove(key).unwrap()),
        }
    }
    transaction.commit().unwrap();
    true
}

#[test]
fn forged_rows_are_refused() {
    let home = Home::new();
    filled(&home);
    let (file, fence) = (home.file(), home.directory.with_extension("fence"));
    let (whole, mark) = (std::fs::read(&file).unwrap(), std::fs::read(&fence).unwrap());
    let mut forged = 0;
    let flips: [Forgery; 4] = [
        |row| {
            Some(
                row.iter()
                    .enumerate()
                    .map(|(at, byte)| if at == row.len() / 2 { byte ^ 4 } else { *byte })
                    .collect(),
            )
        },
        |row| {
            Some(
                row.iter()
                    .enumerate()
                    .map(|(at, byte)| if at == row.len() - 1 { byte ^ 1 } else { *byte })
                    .collect(),
            )
        },
        |row| Some(row[..row.len() - 1].to_vec()),
        |_| None,
    ];
    for (name, picks) in [
        ("journal", vec![0, 1, 30, 58]),
        ("arrivals", vec![0, 3, 9]),
        ("counters", vec![0, 1]),
        ("chunks", vec![0, 1, 2]),
        ("people", vec![0, 5]),
        ("meta", vec![0]),
    ] {
        for pick in picks {
            for (number, change) in flips.into_iter().enumerate() {
                std::fs::write(&file, &whole).unwrap();
                std::fs::write(&fence, &mark).unwrap();
                let did = match name {
                    "journal" | "arrivals" => forge::<u64>(&file, name, change, pick),
                    "counters" => forge::<u32>(&file, name, change, pick),
                    "chunks" => forge::<(u32, u64)>(&file, name, change, pick),
                    "people" => forge::<(u32, u128)>(&file, name, change, pick),
                    _ => {
                        let global = redb::Database::open(&file).unwrap();
                        let transaction = global.begin_write().unwrap();
                        {
                            let mut table =
                                transaction.open_table(TableDefinition::<&str, &[u8]>::new("meta")).unwrap();
                            let row = table.get("global").unwrap().unwrap().value().to_vec();
                            match change(&row) {
                                Some(changed) => drop(table.insert("global", &changed[..]).unwrap()),
                                None => drop(table.remove("global").unwrap()),
                            }
                        }
                        transaction.commit().unwrap();
                        true
                    }
                };
                if did {
                    forged += 1;
                    let seen = home.try_open().and_then(|ledger| ledger.verify());
                    let class = seen.err().map(|error| error.class().name());
                    assert_eq!(class, Some("bad-state"), "row {pick} of {name}, change {number}");
                }
            }
        }
    }
    assert!(forged >= 50, "{forged}");
}
