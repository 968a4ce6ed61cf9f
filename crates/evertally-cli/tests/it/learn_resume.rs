//! `learn --state` and `--resume`: a run that is killed resumes to the same model, bit for bit, and
//! is charged once.

use crate::common::{Place, Ran, only_for_its_owner};
use serde_json::Value;
use std::time::{Duration, Instant};

const RUN: &str = "learn c.csv --label returns --classes no,yes --loss logistic --feature-norm 1 --radius 10 \
                   --batch-size 8 --epsilon 2 --delta 1e-6 --holdout 5";

fn customers(rows: u32) -> Place {
    let place = Place::new();
    place.run(&format!("demo --kind customers --rows {rows} --output c.csv")).ok();
    place.with_key();
    place
}

/// Starts or resumes a run, and kills it after a pause. Returns whether it had finished before.
fn killed_after(place: &Place, line: &str, pause: Duration) -> bool {
    let mut child = place.command(line).spawn().unwrap();
    std::thread::sleep(pause);
    child.kill().unwrap();
    let ran = Ran::of(child.wait_with_output().unwrap());
    assert!(matches!(ran.code, None | Some(0)), "{line}: {}", ran.stderr);
    ran.code == Some(0)
}

fn runs_in_budget_file(place: &Place) -> usize {
    let shown: Value = serde_json::from_slice(&place.run("budget show l --json").ok().bytes).unwrap();
    shown["populations"][0]["runs"].as_array().unwrap().len()
}

/// Kills runs at moments that are spread over all that they do: reading, planning, charging,
/// training and saving. Whatever was reached, the model is that of a run that nobody disturbed, and
/// the budget file has one entry.
#[test]
fn a_killed_run_goes_on_bit_for_bit_and_is_charged_once() {
    let place = customers(400);
    let run = format!("{RUN} --epochs 6 --restart-every 50 --momentum 0.5 --noise-key noise.key");
    place.run("budget new l --epsilon 100 --delta 1e-6").ok();
    let begun = Instant::now();
    place.run(&format!("{run} --budget-file l --model undisturbed.json --plot undisturbed.svg")).ok();
    let whole = begun.elapsed();
    let mut all_kills = 0;
    for (attempt, every) in (1..).zip([1, 7, 100]) {
        place.run(&format!("budget new l{attempt} --epsilon 100 --delta 1e-6")).ok();
        let state = format!("{attempt}.state");
        let line = format!(
            "{run} --budget-file l{attempt} --model {attempt}.json --plot {attempt}.svg --state {state} --save-every {every}"
        );
        let mut kills = 0;
        loop {
            let resume = if place.path(&state).exists() { " --resume" } else { "" };
            // Longer and longer, so that the end is reached; in parts of what a whole run takes,
            // however quick the machine is.
            let pause = whole * (attempt + 3 * kills) / 30;
            if killed_after(&place, &format!("{line}{resume}"), pause) {
                break;
            }
            kills += 1;
        }
        all_kills += kills;
        assert_eq!(place.read(&format!("{attempt}.json")), place.read("undisturbed.json"));
        assert_eq!(place.read(&format!("{attempt}.svg")), place.read("undisturbed.svg"));
        let shown: Value =
            serde_json::from_slice(&place.run(&format!("budget show l{attempt} --json")).ok().bytes).unwrap();
        assert_eq!(shown["populations"][0]["runs"].as_array().unwrap().len(), 1, "{shown}");
    }
    assert!(all_kills > 0, "no run was disturbed");
}

/// The moment that matters most, made by hand: a state that was saved and not yet charged.
#[test]
fn a_state_that_was_never_charged_is_charged_when_it_goes_on() {
    let place = customers(200);
    place.run("budget new l --epsilon 3 --delta 1e-6").ok();
    let empty = place.read("l");
    let line = format!("{RUN} --budget-file l --model m.json --state s --save-every 5");
    place.run(&line).ok();
    assert_eq!(runs_in_budget_file(&place), 1);
    let model = place.read("m.json");
    // As if the crash had come before the entry: the budget file knows nothing.
    place.write("l", &empty);
    place.run(&format!("{line} --resume")).ok();
    assert_eq!((runs_in_budget_file(&place), place.read("m.json")), (1, model.clone()));
    // And again, when it does; the file may have another name by now.
    std::fs::rename(place.path("c.csv"), place.path("renamed.csv")).unwrap();
    let ran = place.run(&format!("{} --resume", line.replace("c.csv", "renamed.csv"))).ok();
    assert!(
        ran.stdout.contains("the run was finished already") && ran.stdout.contains("entry 1"),
        "{}",
        ran.stdout
    );
    assert_eq!((runs_in_budget_file(&place), place.read("m.json")), (1, model));
    // A budget file without room lets it neither start nor resume.
    place.run("budget new small --epsilon 1 --delta 1e-6").ok();
    place
        .run(&format!(
            "{} --resume",
            line.replace("c.csv", "renamed.csv").replace("--budget-file l", "--budget-file small")
        ))
        .over_budget(&["small: the budget of everyone"]);
}

/// A run that its budget refuses once left `s.lock` behind. The budget file knows the key, so the
/// refusal comes only after the run was saved.
#[test]
fn a_refused_run_leaves_no_files() {
    let place = customers(200);
    place.run("budget new l --epsilon 2 --delta 1e-6").ok();
    let run = format!("{RUN} --noise-key noise.key --budget-file l");
    place.run(&format!("{run} --model m.json")).ok();
    let files = place.files();
    let refused = place.run(&format!("{run} --momentum 0.5 --model other.json --state s"));
    assert_eq!((refused.code, place.files()), (Some(3), files), "{}", refused.stderr);
}

#[test]
fn a_finished_run_writes_the_same_model_again() {
    let place = customers(200);
    let line = format!("{RUN} --model m.json --state s");
    place.run(&line).ok();
    let model = place.read("m.json");
    std::fs::remove_file(place.path("m.json")).unwrap();
    let again = place.run(&format!("{line} --resume --json")).ok();
    assert_eq!(serde_json::from_slice::<Value>(&again.bytes).unwrap()["was_finished"], true);
    assert_eq!(place.read("m.json"), model);
}

#[test]
fn a_state_is_for_its_owner_and_never_taken_over() {
    let place = customers(200);
    let line = format!("{RUN} --model m.json --state s");
    place.run(&line).ok();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(place.path("s")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    let before = (place.read("s"), place.read("m.json"));
    place.run(&line).refused(&["s is there already", "--resume"]);
    place.run(&line.replace("--epsilon 2", "--epsilon 1")).refused(&["s is there already"]);
    assert_eq!((place.read("s"), place.read("m.json")), before);
    place.run(&line.replace("--state s", "--state absent --resume")).refused(&["absent is not there"]);
    place.run(&line.replace("--state s", "--resume")).refused(&["--state"]);
    place.run(&line.replace("--state s", "--state -")).refused(&["--state is a file"]);
    // Nor do two runs train with it at once.
    let lock = std::fs::File::options().append(true).open(place.path("s.lock")).unwrap();
    lock.lock().unwrap();
    place.run(&format!("{line} --resume")).refused(&["s is in use"]);
    drop(lock);
    place.run(&format!("{line} --resume")).ok();
    assert_eq!(place.files(), ["c.csv", "m.json", "noise.key", "s", "s.lock"]);
}

#[test]
fn a_run_goes_on_as_it_began_or_not_at_all() {
    let place = customers(200);
    let line = format!("{RUN} --model m.json --state s --save-every 3");
    place.run(&line).ok();
    let before = (place.read("s"), place.read("m.json"));
    let resumed = format!("{line} --resume");
    for (was, is, parts) in [
        ("--epsilon 2", "--epsilon 3", &["it began with --epsilon 2, and now it is 3", "two runs"][..]),
        ("--batch-size 8", "--batch-size 9", &["--batch-size 8", "now it is 9"]),
        ("--radius 10", "--radius 9", &["ball of radius 10", "radius 9"]),
        ("--radius 10", "--radius 10 --clip 2", &["--clip 1", "2"]),
        ("--radius 10", "--radius 10 --intercept", &["--intercept false"]),
        ("--holdout 5", "--holdout 6", &["--holdout 5"]),
        ("--holdout 5", "--holdout 5 --epochs 2", &["--epochs 1"]),
        ("--holdout 5", "--holdout 5 --shuffle 1", &["--shuffle none"]),
        ("--holdout 5", "--holdout 5 --neighbours replace", &["--neighbours add-remove"]),
        ("--holdout 5", "--holdout 5 --mechanism binary", &["--mechanism none"]),
        ("--classes no,yes", "--classes yes,no", &["--classes no,yes"]),
        ("--holdout 5", "--holdout 5 --noise-key noise.key", &["key of its own"]),
    ] {
        place.run(&resumed.replace(was, is)).refused(&[&["s is no state to resume from"], parts].concat());
    }
    place.run("budget new l --epsilon 9 --delta 1e-6").ok();
    place.run(&format!("{resumed} --budget-file l")).refused(&["--budget-file none", "everyone"]);
    let text = String::from_utf8(place.read("c.csv")).unwrap();
    for changed in [
        text.replacen("0.", "1.", 1),
        text.replacen(",yes", ",no", 1),
        text.clone() + text.lines().nth(1).unwrap() + "\n",
    ] {
        assert_ne!(changed, text);
        place.write("c.csv", changed);
        place.run(&resumed).refused(&["s is no state to resume from", "other rows"]);
    }
    place.write("c.csv", text);
    place.run(&resumed).ok();
    assert_eq!((place.read("s"), place.read("m.json")), before);
}

#[test]
fn keys_in_files_stay_there() {
    let place = customers(200);
    let line = format!("{RUN} --noise-key noise.key --model m.json --state s");
    place.run(&line).ok();
    let digits = [0x5a; 32];
    assert!(!place.read("s").windows(32).any(|window| window == digits));
    place.run(&format!("{RUN} --model m.json --state s --resume")).refused(&["--noise-key"]);
    place.write("other.key", "5b".repeat(32));
    only_for_its_owner(&place.path("other.key"));
    place.run(&format!("{} --resume", line.replace("noise.key", "other.key"))).refused(&["another key"]);
    place.run(&format!("{line} --resume")).ok();
}

#[test]
fn files_that_are_no_states_are_refused() {
    let place = customers(200);
    let line = format!("{RUN} --model m.json --state s");
    place.run(&line).ok();
    let whole = place.read("s");
    let resumed = format!("{line} --resume");
    for (bytes, reason) in [
        (Vec::new(), "damaged or cut short"),
        (whole[..whole.len() - 1].to_vec(), "damaged or cut short"),
        (whole[..whole.len() / 2].to_vec(), "damaged or cut short"),
        ([&whole[..], b"\0"].concat(), "damaged or cut short"),
        (
            b"recency,frequency,basket,distance,age,newsletter,returns\n".to_vec(),
            "not the state of a training run",
        ),
        (
            {
                let mut changed = whole.clone();
                changed[60] ^= 1;
                changed
            },
            "damaged or cut short",
        ),
    ] {
        place.write("s", &bytes);
        place.run(&resumed).refused(&["s is no state to resume from", reason]);
        assert_eq!(place.read("s"), bytes);
    }
    place.write("s", &whole);
    place.run(&resumed).ok();
}
