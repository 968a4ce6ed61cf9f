//! The target for modified saved states with valid hashes.

use evertally::internals::noise::Real;
use evertally::{Error, NoiseStream, Plan, Shape, SparseCounter};

use crate::check_line;
use crate::choices::{Choices, EDGES};
use crate::noise::stream;
use crate::plans::{Kind, NAMES, key, plan};
use crate::steps::{DeclaredCounter, check_release};

/// The length of a state's head: magic, version, fingerprint, tag.
const HEAD: usize = 4 + 1 + 32 + 8;

/// The length of the hash at the end of a state.
const HASH: usize = 32;

/// Resumes a modified state. It is refused, or can be resumed and run to the end.
pub fn states(bytes: &[u8]) {
    let choices = &mut Choices::new(bytes);
    let which = choices.below(4);
    let kind = if which == 3 { Kind::Open } else { Kind::Declared };
    let Some(plan) = plan(kind, choices) else { return };
    match which {
        0 | 1 => counter(&plan, choices),
        2 if choices.flag() => noise::<f32>(&plan, choices),
        2 => noise::<f64>(&plan, choices),
        _ => open_keys(&plan, choices),
    }
}

fn counter(plan: &Plan, choices: &mut Choices<'_>) {
    let Ok(mut counter) = DeclaredCounter::new(plan) else { panic!("a valid plan can be run") };
    if choices.flag() {
        counter = match counter.remember_releases() {
            Ok(counter) => counter,
            Err(error) => panic!("releases may be remembered before the first step: {error}"),
        };
    }
    let width = plan.shape().width();
    for _ in 0..choices.below(10) {
        let _ = counter.step(&vec![plan.contribution().hi(); width]);
    }
    let state = modified(counter.save(), choices);
    let Some(mut resumed) = resumed_value(DeclaredCounter::resume(plan, &state)) else { return };
    let end = plan.horizon();
    while resumed.steps_taken() < end {
        let Ok(released) = resumed.step(&vec![0.0; width]) else { return };
        check_release(plan, &released);
    }
    assert!(DeclaredCounter::resume(plan, &resumed.save()).is_ok(), "a resumed counter can be saved again");
}

fn noise<F: Real>(plan: &Plan, choices: &mut Choices<'_>) {
    let Some(mut stream) = stream::<F>(plan) else { return };
    for _ in 0..choices.below(10) {
        let _ = stream.next();
    }
    let state = modified(stream.save(), choices);
    let Some(mut resumed) = resumed_value(NoiseStream::<F>::resume(plan, key(), &state)) else { return };
    while let Ok(row) = resumed.next() {
        assert_eq!(row.len(), plan.shape().width());
    }
    assert_eq!(resumed.steps_taken(), plan.horizon());
}

fn open_keys(plan: &Plan, choices: &mut Choices<'_>) {
    assert_eq!(*plan.shape(), Shape::OpenKeys);
    let Ok(mut counter) = SparseCounter::new(plan, key()) else { panic!("a valid plan can be run") };
    for _ in 0..choices.below(10) {
        let name = choices.one_of(&NAMES);
        let _ = counter.add(name, plan.contribution().hi());
        let _ = counter.close_step();
        let _ = counter.release(choices.one_of(&NAMES));
        let _ = counter.add(name, plan.contribution().lo());
    }
    let state = modified(counter.save(), choices);
    let Some(mut resumed) = resumed_value(SparseCounter::resume(plan, key(), &state)) else { return };
    let _ = resumed.close_step();
    loop {
        if let Ok(released) = resumed.release_each(NAMES) {
            check_release(plan, &released.iter().map(|release| release.value).collect::<Vec<_>>());
        }
        if resumed.close_step().is_err() {
            break;
        }
    }
    assert!(
        SparseCounter::resume(plan, key(), &resumed.save()).is_ok(),
        "a resumed counter can be saved again"
    );
}

/// The resumed value, or `None` if the state was refused with the right error.
pub(crate) fn resumed_value<T>(resumed: Result<T, Error>) -> Option<T> {
    match resumed {
        Ok(resumed) => Some(resumed),
        Err(refusal) => {
            check_line(&refusal.to_string());
            assert!(matches!(refusal, Error::BadState { .. }), "{refusal}");
            None
        }
    }
}

/// A state with some of its bytes changed, removed or replaced. In most cases its hash is valid.
pub(crate) fn modified(mut state: Vec<u8>, choices: &mut Choices<'_>) -> Vec<u8> {
    let is_sealed = choices.below(8) != 0;
    if is_sealed {
        state.truncate(state.len() - HASH);
    }
    while !choices.are_used() {
        match choices.below(8) {
            0 => {
                let to = usize::from(choices.byte()) | usize::from(choices.byte()) << 8;
                state.truncate(to);
            }
            1 => state.extend((0..choices.below(40)).map(|_| choices.byte())),
            2 => {
                let at = place(&state, choices);
                if let Some(byte) = state.get_mut(at) {
                    *byte ^= 1 << choices.below(8);
                }
            }
            3 => {
                // The bytes decide everything after the head.
                state.truncate(HEAD);
                state.extend(choices.rest());
                break;
            }
            _ => {
                let word = match choices.below(4) {
                    0 => u64::from(choices.byte()),
                    1 => EDGES[choices.below(EDGES.len())].to_bits(),
                    2 => 1 << choices.below(64),
                    _ => choices.word(),
                };
                let at = place(&state, choices);
                for (byte, new) in state.iter_mut().skip(at).zip(word.to_le_bytes()) {
                    *byte = new;
                }
            }
        }
    }
    if is_sealed {
        let hash = blake3::hash(&state);
        state.extend(hash.as_bytes());
    }
    state
}

/// A position in a state: a multiple of eight after the head, or anywhere.
fn place(state: &[u8], choices: &mut Choices<'_>) -> usize {
    let place = usize::from(choices.byte()) | usize::from(choices.byte()) << 8;
    if place % 2 == 0 { HEAD + 4 * place } else { place }.min(state.len())
}
