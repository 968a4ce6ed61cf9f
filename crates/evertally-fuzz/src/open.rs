//! The target for open keys: additions, closed steps and releases in any order.

use evertally::{Error, Plan, Release, Result, SparseCounter};

use crate::check_line;
use crate::choices::Choices;
use crate::plans::{Kind, NAMES, key, plan};
use crate::steps::check_release;

/// Compares a counter of open keys with another that is saved and resumed along the way.
pub fn open_keys(bytes: &[u8]) {
    let choices = &mut Choices::new(bytes);
    let Some(plan) = plan(Kind::Open, choices) else { return };
    let start = || match SparseCounter::new(&plan, key()) {
        Ok(counter) => counter,
        Err(error) => panic!("a valid plan can be run: {error}"),
    };
    let (mut going, mut resumed) = (start(), start());
    while !choices.are_used() {
        match choices.below(8) {
            0 => resumed = again(&plan, &resumed),
            1 | 2 => {
                both(&plan, &mut going, &mut resumed, |counter| counter.close_step().map(|_| Vec::new()));
            }
            3 | 4 => {
                // With repetitions and without.
                let keys: Vec<&str> = (0..choices.below(4)).map(|_| choices.one_of(&NAMES)).collect();
                both(&plan, &mut going, &mut resumed, |counter| counter.release_each(keys.iter().copied()));
            }
            _ => {
                let (name, amount) = (choices.one_of(&NAMES), choices.real());
                both(&plan, &mut going, &mut resumed, |counter| {
                    counter.add(name, amount).map(|()| Vec::new())
                });
            }
        }
    }
    assert_eq!(format!("{going:?}"), format!("{resumed:?}"));
}

fn again(plan: &Plan, counter: &SparseCounter) -> SparseCounter {
    let state = counter.save();
    match SparseCounter::resume(plan, key(), &state) {
        Ok(resumed) => {
            assert!(resumed.save() == state, "a state is resumed as it was saved");
            resumed
        }
        Err(error) => panic!("a state was refused: {error}"),
    }
}

/// Applies the same operation to both counters, and compares the results.
fn both(
    plan: &Plan,
    going: &mut SparseCounter,
    resumed: &mut SparseCounter,
    act: impl Fn(&mut SparseCounter) -> Result<Vec<Release>>,
) {
    let (before, closed) = (going.save(), going.steps_closed());
    match (act(going), act(resumed)) {
        (Ok(released), Ok(beside)) => {
            let values: Vec<f64> = released.iter().map(|release| release.value).collect();
            check_release(plan, &values);
            let same = values.iter().zip(&beside).all(|(a, b)| a.to_bits() == b.value.to_bits());
            assert!(same && values.len() == beside.len(), "a resumed counter continues bit for bit");
        }
        (Err(refusal), Err(beside)) => {
            check_line(&refusal.to_string());
            assert_eq!(refusal, beside);
            assert!(going.save() == before && going.steps_closed() == closed, "a refusal changes nothing");
            assert!(!matches!(refusal, Error::HorizonSpent { .. }) || closed == plan.horizon());
        }
        (released, _) => panic!("only one of two equal counters refused, the other: {}", released.is_ok()),
    }
}
