use super::*;
use crate::{Admission, ContributionBound, Error, KnownIds, Outcome, given_name};
use evertally::ErrorClass;
use proptest::prelude::*;

/// Bytes around the records of persons.
const FRAME: usize = 4 + 1 + 8 + 8 + 8 + 8 + 32;

fn key() -> NoiseKey {
    NoiseKey::insecure_from_seed(3)
}

fn resumed(max_steps: u64, min_gap: u64, state: &[u8]) -> Participants {
    Participants::resume(max_steps, min_gap, &key(), state).unwrap()
}

/// A state of a few persons, some of whom have several steps.
fn filled() -> Participants {
    let mut persons = Participants::new(3, 2, &key()).unwrap();
    for (person, step) in
        [("ann", 5), ("bob", 300), ("ann", 7), ("cid", u64::MAX), ("bob", 0), ("ann", 1 << 40)]
    {
        assert!(persons.admit(person, step));
    }
    persons
}

/// Closes content with the hash that belongs to it, as somebody would who changes a state on
/// purpose.
fn sealed(content: &[u8]) -> Vec<u8> {
    [content, blake3::hash(content).as_bytes()].concat()
}

fn refusal(state: &[u8]) -> Error {
    Participants::resume(3, 2, &key(), state).unwrap_err()
}

/// Decides on an event of this person by the rule of admission.
fn decided(persons: &mut Option<Participants>, person: Option<&str>, step: u64) -> Outcome {
    let mut admission = Admission { ids: None::<KnownIds>, persons: persons.take() };
    let outcome = admission.decide(None, given_name(person), Ok(step));
    *persons = admission.persons;
    outcome
}

#[test]
fn nobody_is_somebody_without_a_name() {
    let mut persons = Some(Participants::new(1, 1, &key()).unwrap());
    for nobody in [None, Some(""), Some(" \t"), Some("\u{a0}")] {
        assert_eq!(decided(&mut persons, nobody, 4), Outcome::Unnamed);
    }
    let saved = persons.as_ref().unwrap().save();
    assert_eq!(saved, Participants::new(1, 1, &key()).unwrap().save(), "nothing is spent");
    assert_eq!(decided(&mut persons, Some("p"), 4), Outcome::Counted { step: 4 });
}

/// Events without a person once shared the empty name, whose tag stands in states of that time.
/// Such a state is read, and saved again as it was.
#[test]
fn the_empty_name_of_older_states_is_kept_and_never_asked_for() {
    let mut persons = filled();
    let empty = persons.tagger.tag(b"");
    persons.counted.insert(empty, vec![3]);
    let state = persons.save();
    let mut persons = Some(resumed(3, 2, &state));
    assert_eq!(persons.as_ref().unwrap().save(), state);
    for nobody in [None, Some("")] {
        assert_eq!(decided(&mut persons, nobody, 9), Outcome::Unnamed);
    }
    assert_eq!(persons.unwrap().save(), state);
}

#[test]
fn a_state_names_nobody_and_is_short() {
    let mut persons = Participants::new(2, 1, &key()).unwrap();
    for number in 0..1000_u64 {
        assert!(persons.admit(&format!("person-{number}"), number % 100));
    }
    let state = persons.save();
    assert!(state.windows(6).all(|bytes| bytes != b"person"));
    assert_eq!(state.len(), FRAME + 1000 * MIN_RECORD);
    let text = format!("{persons:?}");
    assert!(text.contains("max_steps: 2") && !text.contains("1000"), "{text}");
    // Another key has other tags for the same persons.
    let mut others = Participants::new(2, 1, &NoiseKey::insecure_from_seed(4)).unwrap();
    assert!(others.admit("person-0", 0));
    let tag = others.save()[FRAME - 32..][..11].to_vec();
    assert!(state.windows(11).all(|bytes| bytes != tag));
}

#[test]
fn states_of_other_limits_and_keys_are_refused() {
    let state = filled().save();
    assert_eq!(resumed(3, 2, &state).save(), state);
    let other = NoiseKey::insecure_from_seed(4);
    for (max_steps, min_gap, key, words) in
        [(4, 2, key(), "limits"), (3, 1, key(), "limits"), (2, 3, key(), "limits"), (3, 2, other, "key")]
    {
        let error = Participants::resume(max_steps, min_gap, &key, &state).unwrap_err();
        assert_eq!(error.class(), ErrorClass::BadState);
        assert!(error.to_string().contains(words), "{error}");
    }
    for (max_steps, min_gap) in [(0, 1), (1, 0)] {
        assert_eq!(
            Participants::new(max_steps, min_gap, &key()).unwrap_err().class(),
            ErrorClass::BadParameter
        );
    }
}

#[test]
fn damaged_states_are_refused() {
    let state = filled().save();
    for length in 0..state.len() {
        assert_eq!(refusal(&state[..length]).class(), ErrorClass::BadState);
    }
    for bit in 0..8 * state.len() {
        let mut damaged = state.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(refusal(&damaged).class(), ErrorClass::BadState, "bit {bit}");
    }
    assert_eq!(refusal(&[state.as_slice(), &[0]].concat()).class(), ErrorClass::BadState);
}

/// States with the right hash and content that no bound has.
#[test]
fn states_that_no_bound_has_are_refused() {
    let mut head = filled().save();
    head.truncate(FRAME - 32 - 8);
    let with = |persons: u64, records: &[&[u8]]| {
        sealed(&[head.as_slice(), &persons.to_le_bytes(), &records.concat()].concat())
    };
    let (ann, bob) = ([1; 11], [2; 11]);
    assert!(Participants::resume(3, 2, &key(), &with(2, &[&ann, &[2, 0, 2], &bob, &[1, 0x80, 1]])).is_ok());
    let largest = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1];
    let too_large = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2];
    assert!(Participants::resume(3, 2, &key(), &with(1, &[&ann, &[1], &largest])).is_ok());
    let unsorted: [&[u8]; 4] = [&bob, &[1, 0], &ann, &[1, 0]];
    for (case, state) in [
        ("out of order", with(2, &unsorted)),
        ("twice", with(2, &[&ann, &[1, 0], &ann, &[1, 9]])),
        ("more persons than there are", with(2, &[&ann, &[1, 0]])),
        ("fewer persons than there are", with(1, &[&ann, &[1, 0], &bob, &[1, 0]])),
        ("very many persons", with(u64::MAX, &[&ann, &[1, 0]])),
        ("no step", with(1, &[&ann, &[0, 0]])),
        ("too many steps", with(1, &[&ann, &[4, 0, 2, 2, 2]])),
        ("more steps than there are", with(1, &[&ann, &[3, 0, 2]])),
        ("too near", with(1, &[&ann, &[2, 0, 1]])),
        ("a longer form", with(1, &[&ann, &[1, 0x80, 0]])),
        ("more than 64 bits", with(1, &[&ann, &[1], &too_large])),
        ("an eleventh group", with(1, &[&ann, &[1], &[0x80; 10], &[1]])),
        ("past the last step", with(1, &[&ann, &[2], &largest, &[2]])),
    ] {
        assert_eq!(refusal(&state), cut_short().into(), "{case}");
    }
}

proptest! {
    /// Batches are cut where a coin says so, and a state is saved and resumed there.
    #[test]
    fn any_batches_admit_what_one_bound_does(
        k in 1_u64..6, b in 1_u64..9,
        arrivals in prop::collection::vec((0_u8..5, 0_u64..60, prop::bool::weighted(0.2)), 0..200),
    ) {
        let mut oracle = ContributionBound::new(Participation::at_most(k, b).unwrap());
        let mut persons = Participants::new(k, b, &key()).unwrap();
        for (person, step, is_cut) in arrivals {
            let name = format!("person {person}");
            prop_assert_eq!(persons.admit(&name, step), oracle.admit(&name, step));
            if is_cut {
                let state = persons.save();
                persons = resumed(k, b, &state);
                prop_assert_eq!(persons.save(), state);
            }
        }
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        prop_assert_eq!(refusal(&bytes).class(), ErrorClass::BadState);
        // Behind the right beginning, and closed by the right hash, more of it is read.
        let whole = filled().save();
        for length in [4, 5, 21, 29, 37] {
            let content = [&whole[..length], &bytes].concat();
            if let Ok(persons) = Participants::resume(3, 2, &key(), &sealed(&content)) {
                prop_assert_eq!(persons.save(), sealed(&content));
            }
        }
    }

    /// A few bytes of a state are others, and the hash is the right one again: it is refused, or is
    /// the only form of what it says.
    #[test]
    fn what_is_taken_has_one_form(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)) {
        let mut content = filled().save();
        content.truncate(content.len() - 32);
        for (place, byte) in changes {
            let place = place.index(content.len());
            content[place] = byte;
        }
        let state = sealed(&content);
        match Participants::resume(3, 2, &key(), &state) {
            Ok(persons) => prop_assert_eq!(persons.save(), state),
            Err(error) => prop_assert_eq!(error.class(), ErrorClass::BadState),
        }
    }
}
