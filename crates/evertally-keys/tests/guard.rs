//! A key is used with one input per name, despite wrong options, crashes and concurrent runs.

#![allow(clippy::unwrap_used, reason = "a failed test is a failed test")]

use std::path::{Path, PathBuf};

use evertally::{Budget, NoiseKey, NoiseName, Plan};
use evertally_keys::{Digest, Error, Guard, InputChain, Uses, key_file};
use proptest::prelude::*;

fn key() -> NoiseKey {
    NoiseKey::insecure_from_seed(3)
}

fn name(stream: &str) -> NoiseName {
    let builder = Plan::prefix_sum(100).budget(Budget::new(1.0, 1e-6).unwrap()).stream(stream);
    builder.build().unwrap().noise_name()
}

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        key_file::write_new(&place.key_file(), &key()).unwrap();
        place
    }

    fn key_file(&self) -> PathBuf {
        self.0.path().join("noise.key")
    }

    fn uses(&self) -> Uses {
        Uses::beside(&self.key_file(), &key()).unwrap()
    }

    fn records(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let directory = self.0.path().join("noise.key.uses");
        let Ok(files) = std::fs::read_dir(directory) else { return Vec::new() };
        let mut records: Vec<_> =
            files.map(|file| file.unwrap().path()).map(|path| (path.clone(), read(&path))).collect();
        records.sort();
        records
    }
}

fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap()
}

fn digests(inputs: &[f64]) -> impl Fn(&mut InputChain) -> Vec<Digest> {
    move |chain| inputs.iter().map(|x| chain.step([*x])).collect()
}

fn take(guard: &mut Guard, inputs: &[f64]) -> Result<(), Error> {
    guard.admit(digests(inputs), |_| Ok(()))
}

fn take_whole(guard: &mut Guard, inputs: &[f64]) -> Result<(), Error> {
    guard.admit_run(|chain| drop(digests(inputs)(chain)), |_, _| Ok(()))
}

/// Regression: a file with one more row, counted under the same key and options, revealed that row
/// with exit code 0.
#[test]
fn the_same_name_with_other_data_is_refused_and_leaves_no_trace() {
    let place = Place::new();
    let (visits, sales) = (name("visits"), name("sales"));
    take(&mut place.uses().guard(&visits).unwrap(), &[1.0, 2.0, 3.0]).unwrap();
    let before = place.records();
    assert_eq!(before.len(), 1);
    take(&mut place.uses().guard(&visits).unwrap(), &[1.0, 2.0, 3.0]).unwrap();
    for (inputs, at) in [(&[1.0, 2.0, 4.0][..], 2), (&[0.0], 0), (&[1.0, 3.0, 3.0, 4.0], 1)] {
        let mut guard = place.uses().guard(&visits).unwrap();
        let refused = guard.admit(digests(inputs), |_| -> Result<(), Error> { panic!("work was done") });
        assert!(matches!(refused, Err(Error::OtherInput { at: Some(step), .. }) if step == at));
        // The steps can still be taken with the recorded input.
        take(&mut guard, &[1.0, 2.0]).unwrap();
        take(&mut guard, &[3.0]).unwrap();
    }
    assert_eq!(place.records(), before);
    // Another name has independent noise, and the record shows that it is not the first name.
    assert!(place.uses().has_others(&sales) && !place.uses().has_others(&visits));
    take(&mut place.uses().guard(&sales).unwrap(), &[7.0]).unwrap();
    assert_eq!(place.records().len(), 2);
}

#[test]
fn work_that_is_refused_is_not_recorded() {
    let place = Place::new();
    let mut guard = place.uses().guard(&name("visits")).unwrap();
    let refused: Result<(), Error> =
        guard.admit(digests(&[1.0]), |_| Err(Error::StartsLater { key: "no budget".to_owned(), first: 0 }));
    assert!(refused.is_err());
    assert_eq!((place.records().len(), guard.steps()), (0, 0));
    take(&mut guard, &[2.0]).unwrap();
    assert_eq!(guard.steps(), 1);
}

#[test]
fn runs_that_are_released_whole_have_one_entry() {
    let place = Place::new();
    let whole = |inputs: &[f64]| take_whole(&mut place.uses().guard(&name("visits")).unwrap(), inputs);
    whole(&[1.0, 0.0, 2.0]).unwrap();
    whole(&[1.0, 0.0, 2.0]).unwrap();
    assert_eq!(place.records()[0].1.len(), 64 + 16);
    for other in [&[1.0, 0.0, 3.0][..], &[1.0, 0.0], &[1.0, 0.0, 2.0, 0.0], &[]] {
        assert!(matches!(whole(other), Err(Error::OtherInput { at: None, .. })));
    }
    // The same run step by step cannot be compared with one entry for all steps.
    let steps = take(&mut place.uses().guard(&name("visits")).unwrap(), &[1.0, 0.0, 2.0]);
    assert!(steps.is_err());
}

#[test]
fn a_resumed_run_is_compared_from_its_state_on() {
    for uses in [Place::new().uses(), Uses::in_this_process(&NoiseKey::from_os().unwrap())] {
        let name = name("visits");
        take(&mut uses.guard(&name).unwrap(), &[1.0, 2.0, 3.0]).unwrap();
        let resumed = |steps| uses.guard_resumed(&name, steps, b"state");
        take(&mut resumed(1).unwrap(), &[2.0, 3.0, 4.0]).unwrap();
        let mut third = resumed(2).unwrap();
        assert!(matches!(take(&mut third, &[9.0]), Err(Error::OtherInput { at: Some(2), .. })));
        take(&mut third, &[3.0, 4.0, 5.0]).unwrap();
        assert!(matches!(resumed(6), Err(Error::EndsEarlier { recorded: 5, step: 6, .. })));
    }
}

/// The state came from another machine: the steps before it are unknown here, and must not be
/// counted again.
#[test]
fn a_record_that_begins_with_a_state_knows_nothing_before_it() {
    for uses in [Place::new().uses(), Uses::in_this_process(&NoiseKey::from_os().unwrap())] {
        let name = name("visits");
        take(&mut uses.guard_resumed(&name, 7, b"state").unwrap(), &[1.0]).unwrap();
        take(&mut uses.guard_resumed(&name, 7, b"state").unwrap(), &[1.0, 2.0]).unwrap();
        let other_state = take(&mut uses.guard_resumed(&name, 7, b"other").unwrap(), &[1.0]);
        assert!(matches!(other_state, Err(Error::OtherInput { at: Some(7), .. })));
        assert!(matches!(uses.guard(&name), Err(Error::StartsLater { first: 7, .. })));
    }
}

/// Regression: a key that was drawn, used and then written to a file left the file without a
/// record. Another run could then count other data under the same noise.
#[test]
fn what_is_remembered_goes_along_when_the_key_is_written_to_a_file() {
    let (key, name) = (NoiseKey::from_os().unwrap(), name("visits"));
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("drawn.key");
    let uses = Uses::in_this_process(&key);
    let mut before = uses.guard(&name).unwrap();
    take(&mut before, &[1.0, 2.0]).unwrap();
    key_file::write_new(&path, &key).unwrap();
    uses.move_beside(&path).unwrap();
    let read = || Uses::beside(&path, &key).unwrap().guard(&name).unwrap();
    assert!(matches!(take(&mut read(), &[1.0, 3.0]), Err(Error::OtherInput { at: Some(1), .. })));
    // Existing guards and new ones of the process share the file's record.
    take(&mut before, &[5.0]).unwrap();
    take(&mut read(), &[1.0, 2.0, 5.0, 7.0]).unwrap();
    assert!(take(&mut before, &[8.0]).is_err());
    take(&mut before, &[7.0]).unwrap();
    let other = self::name("sales");
    take(&mut uses.guard(&other).unwrap(), &[9.0]).unwrap();
    assert!(take(&mut Uses::beside(&path, &key).unwrap().guard(&other).unwrap(), &[8.0]).is_err());
    // A second file is a copy of the key without its record. The record does not move.
    let second = place.path().join("second.key");
    key_file::write_new(&second, &key).unwrap();
    uses.move_beside(&second).unwrap();
    assert!(!place.path().join("second.key.uses").exists());
}

#[test]
fn a_torn_entry_is_cut_off_and_a_damaged_record_is_refused() {
    let place = Place::new();
    let name = name("visits");
    take(&mut place.uses().guard(&name).unwrap(), &[1.0, 2.0]).unwrap();
    let (path, whole) = place.records().remove(0);
    for cut in whole.len() - 15..whole.len() {
        std::fs::write(&path, &whole[..cut]).unwrap();
        // The second step was never released, so it may have another input.
        take(&mut place.uses().guard(&name).unwrap(), &[1.0, 5.0]).unwrap();
        assert!(take(&mut place.uses().guard(&name).unwrap(), &[1.0, 2.0]).is_err());
    }
    for damage in [&b""[..], &whole[..63], &[0; 64]] {
        std::fs::write(&path, damage).unwrap();
        let refused = place.uses().guard(&name).map(drop);
        assert!(matches!(refused, Err(Error::Damaged { .. })));
    }
    let mut another_key = whole.clone();
    another_key[8] ^= 1;
    std::fs::write(&path, another_key).unwrap();
    assert!(matches!(place.uses().guard(&name).map(drop), Err(Error::Damaged { .. })));
}

/// Threads stand in for processes: each opens the files separately. The first one determines the
/// input.
#[test]
fn of_many_at_once_only_equal_ones_are_admitted() {
    for round in 0..20 {
        let place = Place::new();
        let name = name(&format!("round {round}"));
        let admitted: Vec<f64> = std::thread::scope(|scope| {
            let run = |input: f64| {
                let (place, name) = (&place, &name);
                scope.spawn(move || take(&mut place.uses().guard(name).unwrap(), &[input]).map(|()| input))
            };
            let runs: Vec<_> = (0..8).map(|number| run(f64::from(1 + number % 3))).collect();
            runs.into_iter().filter_map(|run| run.join().unwrap().ok()).collect()
        });
        assert!(!admitted.is_empty() && admitted.iter().all(|input| *input == admitted[0]), "{admitted:?}");
        assert_eq!(place.records()[0].1.len(), 64 + 16);
    }
}

#[cfg(unix)]
#[test]
fn a_record_is_for_its_owner_and_holds_no_input_and_links_share_it() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    take(&mut place.uses().guard(&name("visits")).unwrap(), &[123_456_789.0]).unwrap();
    let (path, bytes) = place.records().remove(0);
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    assert!(!bytes.windows(8).any(|window| window == 123_456_789.0_f64.to_bits().to_le_bytes()));
    let link = place.0.path().join("link");
    std::os::unix::fs::symlink(place.key_file(), &link).unwrap();
    let mut guard = Uses::beside(&link, &key()).unwrap().guard(&name("visits")).unwrap();
    assert!(guard.is_known().unwrap() && take(&mut guard, &[1.0]).is_err());
}

proptest! {
    /// The record does not depend on how a run is divided into calls, and accepts no other input.
    #[test]
    fn cuts_do_not_matter(
        inputs in prop::collection::vec(0_u8..3, 1..20),
        cuts in prop::collection::vec(0_usize..20, 0..4),
        changed in 0_usize..20,
    ) {
        let inputs: Vec<f64> = inputs.into_iter().map(f64::from).collect();
        let uses = Uses::in_this_process(&NoiseKey::from_os().unwrap());
        let name = name("visits");
        take(&mut uses.guard(&name).unwrap(), &inputs).unwrap();
        let mut guard = uses.guard(&name).unwrap();
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(inputs.len())).collect();
        cuts.extend([0, inputs.len()]);
        cuts.sort_unstable();
        for pair in cuts.windows(2) {
            take(&mut guard, &inputs[pair[0]..pair[1]]).unwrap();
        }
        let mut other = inputs.clone();
        let changed = changed % other.len();
        other[changed] += 1.0;
        let refused = take(&mut uses.guard(&name).unwrap(), &other);
        let is_found = matches!(refused, Err(Error::OtherInput { at: Some(step), .. }) if step == changed as u64);
        prop_assert!(is_found);
    }
}
