//! A key file serves one input per name of noise, in every command that takes one.

use crate::common::{Place, Ran, column, only_for_its_owner};
use serde_json::Value;

const KEY: &str = "--noise-key noise.key";
const BUDGET: &str = "--epsilon 1 --delta 1e-6";

/// Four hours of visits; five from the south, three from the north, two from elsewhere.
const VISITS: &str = "time,region,person,id,n\n\
    2026-01-05T00:10:00Z,north,p1,1,1\n\
    2026-01-05T00:20:00Z,south,p2,2,2\n\
    2026-01-05T00:30:00Z,west,p3,3,-3\n\
    2026-01-05T01:10:00Z,south,p1,4,4\n\
    2026-01-05T01:20:00Z,south,p4,5,1\n\
    2026-01-05T02:10:00Z,north,p2,6,0\n\
    2026-01-05T01:50:00Z,south,p5,7,2\n\
    2026-01-05T03:10:00Z,east,p6,8,7\n\
    2026-01-05T03:20:00Z,south,p7,9,-1\n\
    2026-01-05T03:30:00Z,north,p1,9,3\n";

const TIMED: &str = "--time time --every 1h --from 2026-01-05 --horizon 4";

fn place() -> Place {
    let place = Place::new();
    place.write("v.csv", VISITS).with_key();
    place
}

/// A run that succeeded, with its messages to the operator.
fn released(ran: Ran) -> Ran {
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    ran
}

/// The estimates of one key, or of all rows.
fn estimates(csv: &str, key: Option<&str>) -> Vec<f64> {
    let numbers = column(csv, "estimate").into_iter().map(|cell| cell.parse::<f64>().unwrap());
    let Some(key) = key else { return numbers.collect() };
    numbers.zip(column(csv, "key")).filter(|(_, name)| name == key).map(|(number, _)| number).collect()
}

fn differences(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

/// `--groups north,south` and `--groups north` under one key file once shared the noise of `other`, and
/// the two columns differed by exactly the running count of the south, at every step. The budget
/// budget file admitted both.
#[test]
fn other_keys_have_other_noise() {
    let place = place();
    let count = |keys: &str| {
        let line = format!("count v.csv {TIMED} --group-by region --groups {keys} {BUDGET} {KEY}");
        released(place.run(&line)).stdout
    };
    let (both, north) = (count("north,south"), count("north"));
    let south = [1.0, 4.0, 4.0, 5.0];
    let difference = differences(&estimates(&north, Some("other")), &estimates(&both, Some("other")));
    assert_ne!(difference, south);
    assert_ne!(estimates(&north, Some("north")), estimates(&both, Some("north")));
}

/// `--clamp=-1,3` and `--clamp=-3,1` ask for the same noise scale on rows as steps, and no clamp
/// for that of `--clamp=0,1`. Each pair once shared its noise, so that the difference was what the
/// clamp had cut off.
#[test]
fn other_clamps_have_other_noise() {
    let place = place();
    let count = |clamp: &str| {
        let line = format!("count v.csv --value n {clamp} --horizon 10 {BUDGET} {KEY}");
        estimates(&released(place.run(&line)).stdout, None)
    };
    let values = [1.0, 2.0, -3.0, 4.0, 1.0, 0.0, 2.0, 7.0, -1.0, 3.0];
    for ((a, clamp_a), (b, clamp_b)) in [
        (("--clamp=-1,3", [-1.0, 3.0]), ("--clamp=-3,1", [-3.0, 1.0])),
        (("", [-100.0, 100.0]), ("--clamp=0,1", [0.0, 1.0])),
    ] {
        let difference = differences(&count(a), &count(b));
        let clamped = |[lo, hi]: [f64; 2]| {
            let mut total = 0.0;
            values.map(|value: f64| {
                total += value.clamp(lo, hi);
                total
            })
        };
        let bare = differences(&clamped(clamp_a), &clamped(clamp_b));
        assert_ne!(difference, bare, "{a} and {b}");
    }
}

/// `--follow` drops events that come after their step was released, and a finished count does not.
/// Both once had the same noise: their difference was the late events.
#[test]
fn following_has_other_noise() {
    let place = place();
    let count = |follow: &str| {
        let line = format!("count - --input-format csv {TIMED} {follow} {BUDGET} {KEY}");
        estimates(&released(place.run_with_input(&line, VISITS)).stdout, None)
    };
    // The visit of 01:50 comes after one of 02:10.
    let late = [0.0, 1.0, 1.0, 1.0];
    assert_ne!(differences(&count(""), &count("--follow")), late);
}

/// One key on a file and on the same file with one more row once gave the row away, with exit code
/// 0 and no word.
#[test]
fn an_edited_file_is_refused_and_nothing_is_written_or_spent() {
    let place = place();
    place.run("budget new l --epsilon 10 --delta 1e-6").ok();
    let line =
        format!("count v.csv {TIMED} {BUDGET} {KEY} --budget-file l --output out.csv --plot out.svg --force");
    place.run(&line).ok();
    let before = (place.read("l"), place.read("out.csv"), place.read("out.svg"), records(&place));
    assert_eq!(before.3.len(), 1);
    place.write("v.csv", format!("{VISITS}2026-01-05T02:59:59Z,north,p9,10,1\n"));
    place.run(&line).refused(&["noise.key was used before", "other data", "a new key"]);
    assert_eq!((place.read("l"), place.read("out.csv"), place.read("out.svg"), records(&place)), before);
    // Another order of rows is the same input, and the same releases cost nothing more.
    let mut rows: Vec<&str> = VISITS.lines().collect();
    rows[1..].reverse();
    place.write("v.csv", rows.join("\n"));
    place.run(&line).ok();
    assert_eq!((place.read("l"), records(&place)), (before.0, before.3));
    assert_eq!(estimates_in(&place.read("out.csv")), estimates_in(&before.1));
}

fn estimates_in(csv: &[u8]) -> Vec<f64> {
    estimates(std::str::from_utf8(csv).unwrap(), None)
}

fn records(place: &Place) -> Vec<(String, Vec<u8>)> {
    let Ok(files) = std::fs::read_dir(place.path("noise.key.uses")) else { return Vec::new() };
    let mut records: Vec<_> = files
        .map(|file| file.unwrap())
        .map(|file| (file.file_name().into_string().unwrap(), std::fs::read(file.path()).unwrap()))
        .collect();
    records.sort();
    records
}

fn runs_in_budget_file(place: &Place) -> usize {
    let shown: Value = serde_json::from_slice(&place.run("budget show l --json").ok().bytes).unwrap();
    shown["populations"][0]["runs"].as_array().unwrap().len()
}

#[test]
fn another_name_is_allowed_and_said_to_spend_again() {
    let place = place();
    place.run("budget new l --epsilon 10 --delta 1e-6").ok();
    let count = |more: &str| place.run(&format!("count v.csv {TIMED} {KEY} --budget-file l {more}"));
    count(BUDGET).ok();
    let second = released(count("--epsilon 2 --delta 1e-6"));
    assert!(second.stderr.contains("noise of its own, and spends its budget again"), "{}", second.stderr);
    assert_eq!(runs_in_budget_file(&place), 2);
    count(BUDGET).ok();
    assert_eq!(runs_in_budget_file(&place), 2);
}

/// The same releases again are free, so that a budget file without room for another run allows them.
#[test]
fn a_run_that_was_paid_for_can_be_repeated_when_the_budget_is_spent() {
    let place = place();
    place.run("budget new l --epsilon 1 --delta 1e-6").ok();
    let line = format!("count v.csv {TIMED} {BUDGET} --budget-file l");
    let first = place.run(&format!("{line} {KEY}")).ok().stdout;
    place.run(&line).over_budget(&["the budget of everyone"]);
    let again = place.run(&format!("{line} {KEY}")).ok().stdout;
    assert_eq!(estimates(&first, None), estimates(&again, None));
    // Another name is not free.
    let other = place.run(&format!("{line} {KEY} --grid 0.5"));
    assert_eq!((other.code, other.stdout.as_str()), (Some(3), ""), "{}", other.stderr);
}

/// The key file was copied without its record. The budget file remembers.
#[test]
fn the_budget_file_knows_what_a_key_was_used_for() {
    let place = place();
    place.run("budget new l --epsilon 10 --delta 1e-6").ok();
    let count = format!("count v.csv {TIMED} {BUDGET} {KEY} --budget-file l");
    let follow = format!("count - --input-format csv {TIMED} {BUDGET} {KEY} --budget-file l --follow");
    place.run(&count).ok();
    released(place.run_with_input(&follow, VISITS));
    std::fs::remove_dir_all(place.path("noise.key.uses")).unwrap();
    let ledger = place.read("l");
    place.write("v.csv", VISITS.replace("north", "south").replacen("02:10", "03:10", 1));
    place.run(&count).refused(&["l: the key was used before", "other data"]);
    place.run_with_input(&follow, VISITS).refused(&["the budget file says", "bring back noise.key.uses"]);
    assert_eq!((place.read("l"), records(&place).len()), (ledger, 0));
    // The data of before are counted again, and recorded again.
    place.write("v.csv", VISITS);
    place.run(&count).ok();
    assert_eq!(records(&place).len(), 1);
}

/// An interrupted stream is followed again from its start. It stops at the first step that differs.
#[test]
fn a_followed_stream_is_compared_step_by_step() {
    let place = place();
    let follow = |rows: &str| {
        let line = format!("count - --input-format csv --value n --horizon 10 {BUDGET} {KEY} --follow");
        place.run_with_input(&line, rows)
    };
    let whole = follow("n\n3\n1\n4\n1\n").ok().stdout;
    let again = follow("n\n3\n1\n4\n1\n").ok().stdout;
    assert_eq!(whole, again);
    let other = follow("n\n3\n1\n5\n1\n");
    assert_eq!(other.code, Some(2), "{}", other.stderr);
    assert!(other.stderr.contains("they differ at step 2"), "{}", other.stderr);
    assert_eq!(estimates(&other.stdout, None), estimates(&whole, None)[..2]);
}

/// A stream without an end that is counted again every day: the days before must be as they were.
#[test]
fn a_growing_file_may_be_counted_again_where_the_end_is_open() {
    let place = place();
    let count = |rows: &str| {
        place.write("n.csv", rows);
        place.run(&format!("count n.csv --value n --horizon unbounded {BUDGET} {KEY}"))
    };
    let first = estimates(&count("n\n3\n1\n").ok().stdout, None);
    let second = estimates(&count("n\n3\n1\n4\n").ok().stdout, None);
    assert_eq!((first.as_slice(), second.len()), (&second[..2], 3));
    count("n\n3\n2\n4\n").refused(&["they differ at step 1"]);
    // With a declared number of rows, those that are missing are zero and were released as such.
    let declared = |rows: &str| {
        place.write("n.csv", rows);
        place.run(&format!("count n.csv --value n --horizon 5 {BUDGET} {KEY}"))
    };
    released(declared("n\n3\n1\n"));
    declared("n\n3\n1\n0\n0\n").ok();
    declared("n\n3\n1\n4\n").refused(&["other data"]);
}

#[test]
fn answers_parities_noise_and_learning_remember_their_input() {
    let place = place();
    place.write("q.csv", "1,1\n1,0\n").write("h.csv", "120,340\n");
    let answer = format!("research answer --queries q.csv --data h.csv {BUDGET} {KEY}");
    let first = place.run(&answer).ok().stdout;
    assert_eq!(place.run(&answer).ok().stdout, first);
    place.write("h.csv", "120,341\n");
    place.run(&answer).refused(&["noise.key was used before"]);

    place.write("t.csv", "a,b,c\n1,0,1\n0,1,1\n1,1,1\n");
    let parity = format!("research parity t.csv --degree 2 {BUDGET} {KEY}");
    let first = released(place.run(&parity)).stdout;
    place.write("t.csv", "a,b,c\n1,1,1\n1,0,1\n0,1,1\n");
    assert_eq!(place.run(&parity).ok().stdout, first, "the order of rows does not matter");
    place.write("t.csv", "a,b,c\n1,1,1\n1,0,1\n0,1,0\n");
    place.run(&parity).refused(&["noise.key was used before"]);

    // What raw noise is added to is not seen: it is the same noise again, and that is all that can be said.
    let noise = format!("research noise --horizon 4 --dim 2 {BUDGET} {KEY} --output");
    released(place.run(&format!("{noise} a.npy")));
    released(place.run(&format!("{noise} b.npy")));
    assert_eq!(place.read("a.npy"), place.read("b.npy"));
    assert_eq!(records(&place).len(), 3);

    // The rows are part of the name: other rows have noise of their own, and cost their budget.
    place.run("demo --kind customers --rows 80 --output c.csv").ok();
    let learn = |out: &str| {
        let options = "--label returns --classes no,yes --loss logistic --feature-norm 1 --radius 10 --quiet";
        released(place.run(&format!("learn c.csv {options} {BUDGET} {KEY} --model {out}")))
    };
    learn("a.json");
    assert_eq!(learn("b.json").stderr, "");
    assert_eq!(place.read("a.json"), place.read("b.json"));
    let rows = String::from_utf8(place.read("c.csv")).unwrap();
    place.write("c.csv", rows.lines().take(80).collect::<Vec<_>>().join("\n"));
    assert!(learn("c.json").stderr.contains("spends its budget again"));
    assert_eq!(records(&place).len(), 5);
}

#[test]
fn two_programs_at_once_agree_on_the_input_or_one_of_them_stops() {
    for round in 0..6 {
        let place = place();
        place.run("budget new l --epsilon 10 --delta 1e-6").ok();
        place.write("w.csv", format!("{VISITS}2026-01-05T02:59:59Z,north,p9,10,1\n"));
        let line = |file: &str| format!("count {file} {TIMED} {BUDGET} {KEY} --budget-file l");
        let files = if round % 2 == 0 { ["v.csv", "w.csv"] } else { ["v.csv", "v.csv"] };
        let running = files.map(|file| place.command(&line(file)).spawn().unwrap());
        let ran = running.map(|child| Ran::of(child.wait_with_output().unwrap()));
        let codes = ran.iter().map(|ran| ran.code);
        let succeeded = codes.clone().filter(|code| *code == Some(0)).count();
        assert!(codes.clone().all(|code| matches!(code, Some(0 | 2))), "{:?}", codes.collect::<Vec<_>>());
        assert_eq!(succeeded, if round % 2 == 0 { 1 } else { 2 });
        assert_eq!((records(&place).len(), runs_in_budget_file(&place)), (1, 1));
    }
}

/// `--groups north,south` and `--groups south,north` have the same noise, key by key. The input was
/// once digested in the order of the options, so that two files with the counts of north and south
/// exchanged passed for one, and their difference was exact.
#[test]
fn the_order_of_keys_is_no_part_of_the_input() {
    let place = place();
    let swapped = VISITS.replace("north", "n").replace("south", "north").replace(",n,", ",south,");
    place.write("swapped.csv", &swapped);
    let count = |file: &str, keys: &str, follow: &str| {
        place.run(&format!("count {file} {TIMED} --group-by region --groups {keys} {BUDGET} {KEY} {follow}"))
    };
    let first = count("v.csv", "north,south", "").ok().stdout;
    let again = count("v.csv", "south,north", "").ok().stdout;
    for key in ["north", "south", "other"] {
        assert_eq!(estimates(&first, Some(key)), estimates(&again, Some(key)));
    }
    count("swapped.csv", "south,north", "").refused(&["other data"]);
    count("swapped.csv", "north,south", "").refused(&["other data"]);
    let follow = |events: &str, keys: &str| {
        let line = format!("count - {TIMED} --group-by region --groups {keys} {BUDGET} {KEY} --follow");
        place.run_with_input(&line, events)
    };
    assert_eq!(follow(VISITS, "north,south").code, Some(0));
    assert_eq!(follow(&swapped, "south,north").code, Some(2));
}

/// A followed run that is refused at its first step once had charged the budget file, and left an output
/// without a release.
#[test]
fn a_followed_run_that_is_refused_spends_and_writes_nothing() {
    let place = place();
    let line = format!("count - --input-format csv --value n --horizon 5 {BUDGET} {KEY} --follow");
    place.run_with_input(&line, "n\n3\n1\n").ok();
    place.run("budget new l --epsilon 10 --delta 1e-6").ok();
    let ledger = place.read("l");
    let files = place.files();
    let other = place.run_with_input(&format!("{line} --budget-file l --output out.csv"), "n\n4\n1\n");
    other.refused(&["other data", "they differ at step 0"]);
    assert_eq!((place.read("l"), place.files()), (ledger, files));
    // The original run continues, and pays once.
    place.run_with_input(&format!("{line} --budget-file l --output out.csv"), "n\n3\n1\n").ok();
    assert_eq!(runs_in_budget_file(&place), 1);
}

/// A followed run with a budget file that was killed before its first step once could never be run
/// again: the budget file knew of it, and there was no record.
#[test]
fn a_followed_run_that_was_killed_before_its_first_step_can_be_run() {
    let place = place();
    place.run("budget new l --epsilon 10 --delta 1e-6").ok();
    let line = format!("count - {TIMED} {BUDGET} {KEY} --follow --budget-file l");
    let mut child = place.command(&line).stdin(std::process::Stdio::piped()).spawn().unwrap();
    let input = child.stdin.take().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(300));
    child.kill().unwrap();
    child.wait().unwrap();
    drop(input);
    assert_eq!(runs_in_budget_file(&place), 0, "nothing was released");
    assert_eq!(place.run_with_input(&line, VISITS).code, Some(0));
    assert_eq!((runs_in_budget_file(&place), records(&place).len()), (1, 1));
}

/// A budget file with two populations once looked for the use of a key in one of them only.
#[test]
fn the_budget_file_knows_a_key_in_all_of_its_populations() {
    let place = place();
    place.run("budget new l --rho 1").ok();
    place.run("budget new l --population others --rho 1").ok();
    let count = |rows: &str, more: &str| {
        place.write("n.csv", rows);
        place.run(&format!("count n.csv --value n --horizon unbounded {BUDGET} {KEY} --budget-file l {more}"))
    };
    count("n\n3\n1\n", "").ok();
    place.forget_uses();
    count("n\n3\n2\n", "--population others").refused(&["the budget file says", "bring back"]);
    assert!(records(&place).is_empty());
}

/// Names and numbers in a record once told whoever could read it what the last step with an event
/// was, whether there was any, and for a training run whether the rows were those of a table that
/// one had.
#[test]
fn a_record_tells_nothing_without_the_key() {
    let place = place();
    let keys = ["11", "22"].map(|pair| pair.repeat(32));
    let record = |key: &str, line: &str| {
        place.forget_uses().write("noise.key", key);
        assert_eq!(place.run(line).code, Some(0), "{line}");
        records(&place).remove(0)
    };
    place.run("demo --kind customers --rows 80 --output c.csv").ok();
    let learn = format!(
        "learn c.csv --label returns --classes no,yes --loss logistic --radius 10 --quiet {BUDGET} {KEY} --model m --force"
    );
    let [(one, _), (two, _)] = [record(&keys[0], &learn), record(&keys[1], &learn)];
    assert_ne!(one, two, "the name of a record is derived from the key");
    let count = format!("count v.csv {TIMED} {BUDGET} {KEY}");
    let (_, whole) = record(&keys[0], &count);
    place.write("v.csv", VISITS.lines().take(3).collect::<Vec<_>>().join("\n"));
    let (_, early) = record(&keys[0], &count);
    place.write("v.csv", "time\n");
    let (_, nothing) = record(&keys[0], &count);
    // They differ in their digests alone, and none of these is plain.
    assert!(whole[..64] == early[..64] && early[..64] == nothing[..64]);
    assert!(whole[64..] != early[64..] && early[64..] != nothing[64..] && nothing[64..] != [0; 16]);
    place.write("v.csv", VISITS);
    // Equal inputs under two names do not show as equal.
    place.forget_uses();
    for clamp in ["0,11", "0,12"] {
        released(place.run(&format!("count v.csv --value n --clamp {clamp} --horizon 10 {BUDGET} {KEY}")));
    }
    let records = records(&place);
    assert_ne!(records[0].1[64..], records[1].1[64..]);
}

#[test]
fn records_that_cannot_be_kept_are_clear_errors_and_cost_nothing() {
    let place = place();
    place.run("budget new l --epsilon 10 --delta 1e-6").ok();
    let ledger = place.read("l");
    let line = format!("count v.csv {TIMED} {BUDGET} {KEY} --budget-file l");
    // Something else is in the place of the record.
    place.write("noise.key.uses", "");
    let ran = place.run(&line);
    assert!(ran.code == Some(1) && ran.stdout.is_empty(), "{}", ran.stderr);
    assert!(ran.stderr.contains("noise.key.uses") && ran.stderr.lines().count() == 1, "{}", ran.stderr);
    assert_eq!(place.read("l"), ledger);
    std::fs::remove_file(place.path("noise.key.uses")).unwrap();
    place.run(&line).ok();
    let (name, _) = records(&place).remove(0);
    place
        .run(&format!("{line} --output noise.key.uses/{name} --force"))
        .refused(&["holds the record of the key"]);
    place.write(&format!("noise.key.uses/{name}"), "no record");
    place.run(&line).refused(&["no record of a key's uses"]);
    #[cfg(unix)]
    {
        std::fs::hard_link(place.path("noise.key"), place.path("second.key")).unwrap();
        place.run(&line.replace("noise.key", "second.key")).refused(&["second.key", "hard link"]);
    }
    only_for_its_owner(&place.path("noise.key"));
}
