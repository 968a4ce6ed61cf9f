//! The target for keys that are found: additions and closed steps in any order, and modified saved states.

use evertally::{
    Budget, DiscoveringCounter, Discovery, DiscoveryBuilder, Error, Neighbours, Participation, Plan, Result,
};

use crate::check_line;
use crate::choices::Choices;
use crate::plans::{Built, NAMES, key, range};
use crate::states::{modified, resumed_value};
use crate::steps::check_release;

/// What is released of a key: its name, the step at which it appeared, and the bits of its total.
type Row = (String, u64, u64);

/// The most persons of an input, with which keys appear at once.
const PERSONS: [u64; 10] = [0, 1, 2, 3, 60, 1000, 1_000_000, 1 << 40, u64::MAX / 2, u64::MAX];

static BUILT: Built<Discovery> = Built::new();

/// Compares a counter that finds keys with another that is saved and resumed along the way, or resumes a
/// modified state.
pub fn found_keys(bytes: &[u8]) {
    let choices = &mut Choices::new(bytes);
    let is_modified = choices.flag();
    let Some(discovery) = discovery(choices) else { return };
    if is_modified { resume_modified(&discovery, choices) } else { compare(&discovery, choices) }
}

fn discovery(choices: &mut Choices<'_>) -> Option<Discovery> {
    let before = choices.rest();
    let builder = builder(choices);
    let spent = before[..before.len() - choices.rest().len()].to_vec();
    BUILT.get(spent, || builder?.build())
}

fn builder(choices: &mut Choices<'_>) -> Result<DiscoveryBuilder> {
    let horizon = choices.one_of(&[4, 1, 2, 9]);
    let budget =
        Budget::new(choices.one_of(&[1.0, 1e-3, 4.0, 20.0]), choices.one_of(&[1e-6, 0.1, 0.9, 1e-100]))?;
    let mut builder = Plan::discover(horizon).budget(budget).floor(choices.one_of(&[2, 1, 5, 1 << 40]));
    let unusual = choices.byte();
    builder = builder.contribution(range(choices)?);
    if unusual & 1 != 0 {
        builder = builder.neighbours(Neighbours::Replace);
    }
    if unusual & 2 != 0 {
        builder = builder.memory_limit(choices.one_of(&[0, 3000, 20_000]));
    }
    if unusual & 4 != 0 {
        let (steps, gap) = (choices.one_of(&[2, 3, 70, u64::MAX]), choices.one_of(&[1, 2, 9]));
        builder = builder.participation(Participation::at_most(steps, gap)?);
    }
    if unusual & 8 != 0 {
        builder = builder.keys_per_step(choices.one_of(&[1, 2, 1000, u64::MAX]));
    }
    if unusual & 16 != 0 {
        builder = builder.grid(choices.one_of(&[1.0, 0.25, 1e-3]));
    }
    Ok(builder)
}

/// A counter before its first step; `None` if the memory limit left a mechanism that does not stream.
fn counter(discovery: &Discovery) -> Option<DiscoveringCounter> {
    match DiscoveringCounter::new(discovery, key()) {
        Ok(counter) => Some(counter),
        Err(refusal @ Error::Unsupported { .. }) => {
            check_line(&refusal.to_string());
            None
        }
        Err(error) => panic!("a valid plan can be run: {error}"),
    }
}

fn compare(discovery: &Discovery, choices: &mut Choices<'_>) {
    let (Some(mut going), Some(mut resumed)) = (counter(discovery), counter(discovery)) else { return };
    while !choices.are_used() {
        match choices.below(8) {
            0 => resumed = again(discovery, &resumed),
            1 | 2 => both(discovery, &mut going, &mut resumed, close),
            _ => {
                let (name, amount, persons) =
                    (choices.one_of(&NAMES), choices.real(), choices.one_of(&PERSONS));
                both(discovery, &mut going, &mut resumed, |counter| {
                    counter.add(name, amount, persons).map(|()| Vec::new())
                });
            }
        }
    }
    assert_eq!(format!("{going:?}"), format!("{resumed:?}"));
}

fn close(counter: &mut DiscoveringCounter) -> Result<Vec<Row>> {
    let found = counter.close_step()?;
    Ok(found.iter().map(|row| (row.key.to_owned(), row.since, row.release.value.to_bits())).collect())
}

fn again(discovery: &Discovery, counter: &DiscoveringCounter) -> DiscoveringCounter {
    let state = counter.save();
    match DiscoveringCounter::resume(discovery, key(), &state) {
        Ok(resumed) => {
            assert!(resumed.save() == state, "a state is resumed as it was saved");
            resumed
        }
        Err(error) => panic!("a state was refused: {error}"),
    }
}

/// Applies the same operation to both counters, and compares the results.
fn both(
    discovery: &Discovery,
    going: &mut DiscoveringCounter,
    resumed: &mut DiscoveringCounter,
    act: impl Fn(&mut DiscoveringCounter) -> Result<Vec<Row>>,
) {
    let (before, closed) = (going.save(), going.steps_closed());
    match (act(going), act(resumed)) {
        (Ok(rows), Ok(beside)) => {
            check_values(discovery, &rows);
            assert_eq!(rows, beside, "a resumed counter continues bit for bit");
        }
        (Err(refusal), Err(beside)) => {
            check_line(&refusal.to_string());
            assert_eq!(refusal, beside);
            assert!(going.save() == before && going.steps_closed() == closed, "a refusal changes nothing");
            assert!(!matches!(refusal, Error::HorizonSpent { .. }) || closed == discovery.horizon());
        }
        (rows, _) => panic!("only one of two equal counters refused, the other: {}", rows.is_ok()),
    }
}

fn check_values(discovery: &Discovery, rows: &[Row]) {
    let values: Vec<f64> = rows.iter().map(|row| f64::from_bits(row.2)).collect();
    check_release(discovery.totals(), &values);
}

/// Resumes a modified state. It is refused, or can be resumed and run to the end.
fn resume_modified(discovery: &Discovery, choices: &mut Choices<'_>) {
    let Some(mut counter) = counter(discovery) else { return };
    for _ in 0..choices.below(10) {
        let (name, amount, persons) = (choices.one_of(&NAMES), choices.real(), choices.one_of(&PERSONS));
        let _ = counter.add(name, amount, persons);
        if choices.flag() {
            let _ = counter.close_step();
        }
    }
    let state = modified(counter.save(), choices);
    let resumed = DiscoveringCounter::resume(discovery, key(), &state);
    // What was added may be more than fits.
    if let Err(refusal @ Error::TooCostly { .. }) = &resumed {
        return check_line(&refusal.to_string());
    }
    let Some(mut resumed) = resumed_value(resumed) else { return };
    while resumed.steps_closed() < discovery.horizon() {
        let _ = resumed.add(NAMES[1], 1.0, 1000);
        match close(&mut resumed) {
            Ok(rows) => check_values(discovery, &rows),
            Err(error) => panic!("a resumed counter can be run to the end: {error}"),
        }
    }
    assert!(
        DiscoveringCounter::resume(discovery, key(), &resumed.save()).is_ok(),
        "a resumed counter can be saved again"
    );
}
