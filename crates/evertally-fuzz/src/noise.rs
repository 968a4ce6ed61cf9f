//! The target for noise alone: rows that are taken, filled, sought and resumed in any order are
//! always the same.

use evertally::internals::noise::Real;
use evertally::{NoiseStream, Plan};

use crate::check_line;
use crate::choices::Choices;
use crate::plans::{Kind, key, plan};

/// Takes rows of noise in either precision.
pub fn noise(bytes: &[u8]) {
    let choices = &mut Choices::new(bytes);
    let Some(plan) = plan(Kind::Declared, choices) else { return };
    if choices.flag() {
        take::<f32>(&plan, choices);
    } else {
        take::<f64>(&plan, choices);
    }
}

/// The noise of a plan, or `None` if it is outside the range of single precision.
pub(crate) fn stream<F: Real>(plan: &Plan) -> Option<NoiseStream<F>> {
    match NoiseStream::new(plan, key()) {
        Ok(stream) => Some(stream),
        Err(error) => {
            assert!(size_of::<F>() == 4, "a valid plan can be run: {error}");
            check_line(&error.to_string());
            None
        }
    }
}

fn take<F: Real>(plan: &Plan, choices: &mut Choices<'_>) {
    let (width, horizon) = (plan.shape().width(), plan.horizon());
    let mut all = vec![F::ZERO; width * horizon as usize];
    let (Some(mut first), Some(mut going)) = (stream::<F>(plan), stream::<F>(plan)) else { return };
    assert!(first.fill(&mut all).is_ok(), "there is a row for every step");
    assert!(all.iter().all(|value| value.to_f64().is_finite()), "noise is finite");
    while !choices.are_used() {
        let step = going.steps_taken();
        match choices.below(4) {
            0 => match going.next() {
                Ok(row) => assert!(row == &all[step as usize * width..][..width]),
                Err(refusal) => {
                    check_line(&refusal.to_string());
                    assert_eq!((step, going.steps_taken()), (horizon, horizon));
                }
            },
            1 => {
                let mut out = vec![F::ZERO; choices.below(40)];
                let rows = (out.len() / width) as u64;
                if going.fill(&mut out).is_ok() {
                    assert!(out == all[step as usize * width..][..out.len()]);
                    assert_eq!(going.steps_taken(), step + rows);
                } else {
                    assert!(out.len() % width != 0 || rows > horizon - step);
                    assert_eq!(going.steps_taken(), step);
                }
            }
            2 => {
                let to = choices.one_of(&[0, 1, 7, 8, 9, 30, horizon, horizon + 1, u64::MAX]);
                assert_eq!(going.seek(to).is_ok(), to <= horizon);
                assert_eq!(going.steps_taken(), if to <= horizon { to } else { step });
            }
            _ => {
                let state = going.save();
                going = match NoiseStream::resume(plan, key(), &state) {
                    Ok(resumed) => resumed,
                    Err(error) => panic!("a state was refused: {error}"),
                };
                assert!(going.save() == state);
            }
        }
    }
}
