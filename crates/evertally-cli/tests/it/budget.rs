//! `budget` and `--budget-file`: what is spent is entered before anything is released, once, and never
//! beyond the total.

use crate::common::{Place, Ran, only_for_its_owner};
use serde_json::Value;
use std::fs::File;
use std::io::Write;
use std::process::{Child, ChildStdin, Stdio};
use std::time::{Duration, Instant};

/// A count of rows at ε = 1, which three times cost ε = 1.81 and four times 2.12.
const COUNT: &str = "count in.csv --value n --epsilon 1 --delta 1e-6 --budget-file l";

fn place(total: &str) -> Place {
    let place = Place::new();
    place.write("in.csv", "n\n3\n1\n4\n");
    place.run(&format!("budget new l {total}")).ok();
    place
}

fn shown(place: &Place, options: &str) -> Value {
    serde_json::from_str(&place.run(&format!("budget show l --json {options}")).ok().stdout).unwrap()
}

/// The names of the runs that the first population has entered.
fn runs(place: &Place) -> Vec<String> {
    let whole = shown(place, "");
    let runs = whole["populations"][0]["runs"].as_array().unwrap();
    runs.iter().map(|run| run["run"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn runs_spend_until_the_total_is_reached() {
    let place = place("--epsilon 2 --delta 1e-6");
    for run in 1..=3 {
        place.run(&format!("{COUNT} --output out{run}.csv")).ok();
    }
    let before = place.read("l");
    place.run(&format!("{COUNT} --output out4.csv")).over_budget(&[
        "l: the budget of everyone",
        "ε = 1 at δ = 1e-6",
        "ε = 0.751198",
        "is left of (ε = 2",
    ]);
    assert_eq!(place.read("l"), before);
    assert_eq!(place.files(), ["in.csv", "l", "l.lock", "out1.csv", "out2.csv", "out3.csv"]);
    // What is left can be spent to the last digit that is shown.
    place.run("budget check l --epsilon 0.7512 --delta 1e-6").over_budget(&["the budget of everyone"]);
    assert!(place.run("budget check l --epsilon 0.7511 --delta 1e-6").ok().stdout.contains("fits"));
    assert_eq!(place.read("l"), before);
    place.run(&COUNT.replace("--epsilon 1", "--epsilon 0.7511")).ok();
    assert_eq!(runs(&place), ["count in.csv"; 4]);
    let account = &shown(&place, "")["populations"][0];
    let spent = account["spent"]["epsilon"].as_f64().unwrap();
    assert!(spent > 1.9999 && spent <= 2.0, "{account}");
}

#[test]
fn people_see_what_was_spent_and_what_is_left() {
    let place = place("--epsilon 2 --delta 1e-6");
    let empty = place.run("budget show l").ok().stdout;
    assert!(
        empty.contains("nothing was spent") && empty.contains("room for a run of ε = 2 at δ = 1e-6"),
        "{empty}"
    );
    place.run(COUNT).ok();
    place.run(COUNT).ok();
    let text = place.run("budget show l").ok().stdout;
    for part in
        ["everyone: (ε = 2, δ = 1e-6)-DP", "one event (add-remove)", "count in.csv", "0.0280145", "together"]
    {
        assert!(text.contains(part), "{part:?} is missing from {text}");
    }
    for part in ["1.45467", "55.7 %", "ρ = 0.056029 of 0.100502 is spent", "room for a run of ε = 1.283 at"]
    {
        assert!(text.contains(part), "{part:?} is missing from {text}");
    }
    assert_eq!(text.chars().filter(|letter| *letter == '█').count(), 22, "{text}");
    let account = &shown(&place, "--delta 1e-9")["populations"][0];
    assert_eq!(account["at_delta"], 1e-9);
    assert!((account["runs"][0]["epsilon"].as_f64().unwrap() - 1.3).abs() < 0.05, "{account}");
    assert_eq!(account["runs"][0]["rho"].as_f64().unwrap() * 2.0, account["spent"]["rho"].as_f64().unwrap());
}

#[test]
fn a_run_that_would_exceed_is_refused_before_it_reads() {
    let place = place("--epsilon 0.5 --delta 1e-6");
    let spends = "--epsilon 1 --delta 1e-6 --budget-file l --unit event";
    for line in [
        "count absent.csv --value n",
        "count absent.csv --time t --every 1h --from 2026-01-05 --horizon 4",
        "count absent.csv --value n --horizon 3 --follow --output out.csv",
        "research answer --queries absent.csv --data absent.csv",
        "research parity absent.csv --degree 1",
        "research noise --horizon 10 --output absent.npy",
    ] {
        place.run(&format!("{line} {spends}")).over_budget(&["l: the budget of everyone", "is left"]);
    }
    assert_eq!(place.files(), ["in.csv", "l", "l.lock"]);
}

#[test]
fn data_that_cannot_be_used_cost_nothing() {
    let place = place("--epsilon 2 --delta 1e-6");
    let before = place.read("l");
    place.write("bad.csv", "n\n3\nmany\n").write("queries.csv", "1,1\n").write("short.csv", "1\n");
    place.write("table.csv", "a,b\n1,2\n");
    let spends = "--epsilon 1 --delta 1e-6 --budget-file l";
    place.run(&format!("count bad.csv --value n {spends}")).refused(&["line 3"]);
    place.run(&format!("count absent.csv --value n {spends}")).refused(&["absent.csv"]);
    place.run(&format!("count in.csv --value m {spends}")).refused(&["\"m\""]);
    place
        .run(&format!("research answer --queries queries.csv --data short.csv --unit event {spends}"))
        .refused(&["short.csv"]);
    place.run(&format!("research parity table.csv --degree 1 --unit event {spends}")).refused(&["line 2"]);
    place
        .run(&format!("research noise --horizon 0 --output z.npy --unit event {spends}"))
        .refused(&["horizon"]);
    // Nor does an output that cannot be written.
    let ran = place.run(&format!("{COUNT} --output absent/out.csv"));
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    place.run(&format!("{COUNT} --output l")).refused(&["l cannot be an output"]);
    place.run(&format!("{COUNT} --plot l.svg --output l.svg")).refused(&["cannot be an output"]);
    assert_eq!(place.read("l"), before);
}

#[test]
fn everything_that_releases_enters_what_it_spends() {
    let place = place("--epsilon 10 --delta 1e-6 --unit person");
    place.write("queries.csv", "1,1\n1,0\n").write("cells.csv", "5,7\n").write("table.csv", "a,b\n1,0\n");
    let spends = "--epsilon 1 --delta 1e-6 --budget-file l";
    let count =
        place.run(&format!("count in.csv --value n --max-steps 2 --format jsonl {spends}")).ok().stdout;
    let count: Value = serde_json::from_str(count.lines().next().unwrap()).unwrap();
    let answer =
        place.run(&format!("research answer --queries queries.csv --data cells.csv --json {spends}")).ok();
    let parity = place.run(&format!("research parity table.csv --degree 2 --json {spends}")).ok();
    let noise = place.run(&format!("research noise --horizon 10 --json --output z.npy {spends}")).ok();
    let read = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    let (answer, parity, noise) = (read(&answer.stdout), read(&parity.stdout), read(&noise.stdout));
    let whole = shown(&place, "");
    let account = &whole["populations"][0];
    assert_eq!(runs(&place), ["count in.csv", "answer cells.csv", "parity table.csv", "noise z.npy"]);
    for (index, header) in [&count["evertally"], &answer["header"], &parity["header"]].into_iter().enumerate()
    {
        assert_eq!(header["ledger_population"], "everyone", "{header}");
        assert_eq!(header["ledger_entry"], index + 1);
        assert_eq!(header["ledger_head"], account["runs"][index]["head"]);
        assert_eq!(header["rho"], account["runs"][index]["rho"]);
        assert!(header["ledger_total"].as_str().unwrap().starts_with("(ε = 10, δ = 1e-6)"), "{header}");
    }
    assert_eq!(noise["ledger"]["head"], whole["head"]);
    assert_eq!(noise["rho"], account["runs"][3]["rho"]);
    let text = place.run(&format!("research noise --horizon 10 --output y.npy {spends}")).ok().stdout;
    assert!(text.contains("budget file: entry 5 of everyone: ρ = 0.140072 spent"), "{text}");
    // Without a budget file the cost is stated all the same.
    let csv = place.run("count in.csv --value n --epsilon 1 --delta 1e-6").ok().stdout;
    assert!(csv.contains("# rho: 0.0280144") && !csv.contains("ledger"), "{csv}");
}

/// How many of these runs succeeded; all others must have been refused for the budget.
fn winners(children: Vec<Child>) -> usize {
    let ran = children.into_iter().map(|child| Ran::of(child.wait_with_output().unwrap()));
    ran.filter(|ran| {
        assert!(ran.code == Some(0) || ran.code == Some(3), "{:?}: {}", ran.code, ran.stderr);
        ran.code == Some(0)
    })
    .count()
}

#[test]
fn of_runs_that_race_for_the_last_of_a_budget_one_gets_it() {
    for _ in 0..5 {
        let place = place("--rho 0.1");
        let line = |name: usize| {
            if name.is_multiple_of(2) {
                format!("{COUNT} --output {name}.csv")
            } else {
                format!(
                    "research noise --horizon 3 --sigma 3 --unit event --budget-file l --output {name}.npy"
                )
            }
        };
        // 0.028 or 0.056 each: the first leaves too little for three more.
        let children = (0..8).map(|name| place.command(&line(name)).spawn().unwrap()).collect();
        let won = winners(children);
        let outputs =
            place.files().iter().filter(|file| file.ends_with(".csv") || file.ends_with(".npy")).count();
        assert_eq!((runs(&place).len(), outputs), (won, won + 1), "{:?}", place.files());
        assert!((1..=3).contains(&won));
        let rho = shown(&place, "")["populations"][0]["spent"]["rho"].as_f64().unwrap();
        assert!(rho <= 0.1, "{rho}");
        assert!(!place.files().iter().any(|file| file.ends_with(".tmp")));
    }
    let place = place("--epsilon 1 --delta 1e-6");
    let children = (0..8).map(|_| place.command(COUNT).spawn().unwrap()).collect();
    assert_eq!(winners(children), 1);
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(60), "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A run whose input has one row and stays open.
fn following(place: &Place, line: &str) -> (Child, ChildStdin) {
    let mut child = place.command(line).stdin(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"n\n3\n").unwrap();
    (child, input)
}

#[test]
fn a_run_that_was_killed_has_spent() {
    let place = place("--epsilon 1 --delta 1e-6");
    let line = format!("{} --horizon 5 --follow --output out.csv", COUNT.replace("in.csv", "-"));
    let (mut child, _input) = following(&place, &line);
    let partial = place.path("out.csv.partial");
    wait_until("a release", || std::fs::read_to_string(&partial).is_ok_and(|text| text.contains("\n0,")));
    let before = place.read("l");
    assert_eq!(runs(&place), ["count standard input"]);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(place.read("l"), before);
    place.run(COUNT).over_budget(&["nothing is left"]);
}

/// Between the check and the entry another run may come first. The one that waits finds out when it
/// has the lock.
#[test]
fn what_was_spent_in_the_meantime_counts() {
    let place = place("--epsilon 1 --delta 1e-6");
    let fresh = place.read("l");
    place.run(COUNT).ok();
    let spent = place.read("l");
    place.write("l", &fresh);
    let lock = File::options().append(true).open(place.path("l.lock")).unwrap();
    lock.lock().unwrap();
    let line = format!("{} --horizon 5 --follow --output out.csv", COUNT.replace("in.csv", "-"));
    let (child, _input) = following(&place, &line);
    wait_until("the output", || place.path("out.csv.partial").exists());
    // It waits for the lock with its output open. Meanwhile another run has spent.
    assert_eq!(place.read("l"), fresh);
    place.write("l", &spent);
    lock.unlock().unwrap();
    Ran::of(child.wait_with_output().unwrap()).over_budget(&["nothing is left"]);
    assert_eq!(place.read("l"), spent);
    assert_eq!(place.files(), ["in.csv", "l", "l.lock"]);
}

#[test]
fn damaged_budget_files_are_refused_and_left_alone() {
    let place = place("--epsilon 2 --delta 1e-6");
    place.run(COUNT).ok();
    let good = String::from_utf8(place.read("l")).unwrap();
    let lines: Vec<&str> = good.lines().collect();
    let cut = lines[..2].join("\n") + "\n";
    let cheaper = good.replace("0.05602", "0.00002");
    let cases: &[(&str, &str)] = &[
        ("", "it is empty"),
        (&good[..good.len() - 10], "cut off"),
        (&good[..good.len() - 1], "cut off"),
        (&cut, "cut off: it has 1 of 2 records"),
        (&cheaper, "it was edited"),
        (&good.replace("\"epsilon\":2.0", "\"epsilon\":9.0"), "it was edited"),
        (&good.replace("ledger 1", "ledger 2"), "evertally ledger 2"),
        ("{}", "first line"),
        ("time,region\n", "first line"),
        ("\u{0}\u{1}", "first line"),
    ];
    for (text, reason) in cases {
        place.write("l", text);
        for line in
            [COUNT, "budget show l", "budget check l --rho 0.001", "budget new l --population b --rho 1"]
        {
            place.run(line).refused(&["l is no budget file to rely on", reason]);
            assert_eq!(place.read("l"), text.as_bytes(), "{line}");
        }
    }
    place.write("l", [0xff, 0xfe]);
    place.run("budget show l").refused(&["l cannot be read"]);
    place.write("l", &good);
    place.run("budget show l").ok();
    place.run("budget show .").refused(&["is no file"]);
    place.run("budget show absent").refused(&["absent is not there", "evertally budget new absent"]);
    place.run("budget new - --rho 1").refused(&["a budget file is a file"]);
}

#[cfg(unix)]
#[test]
fn names_that_lead_to_one_budget_file_are_one_and_others_are_refused() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let place = place("--epsilon 2 --delta 1e-6");
    only_for_its_owner(&place.path("l"));
    std::fs::create_dir(place.path("deep")).unwrap();
    symlink("../l", place.path("deep/link")).unwrap();
    place.run(&COUNT.replace("--budget-file l", "--budget-file deep/link")).ok();
    assert!(std::fs::symlink_metadata(place.path("deep/link")).unwrap().is_symlink());
    assert_eq!(runs(&place).len(), 1);
    // The lock is beside the budget file, not beside the link, and its permissions have not changed.
    assert!(place.path("l.lock").exists() && !place.path("deep/link.lock").exists());
    assert_eq!(std::fs::metadata(place.path("l")).unwrap().permissions().mode() & 0o777, 0o600);
    std::fs::hard_link(place.path("l"), place.path("copy")).unwrap();
    for name in ["l", "copy"] {
        place
            .run(&COUNT.replace("--budget-file l", &format!("--budget-file {name}")))
            .refused(&["hard link"]);
    }
}

#[test]
fn the_unit_must_be_that_of_the_budget_file() {
    let place = place("--epsilon 2 --delta 1e-6");
    place.run("budget new persons --unit person --epsilon 2 --delta 1e-6").ok();
    place.run("budget new others --unit household --neighbours replace --epsilon 2 --delta 1e-6").ok();
    place.write("queries.csv", "1,1\n").write("cells.csv", "5,7\n");
    let answer =
        "research answer --queries queries.csv --data cells.csv --epsilon 1 --delta 1e-6 --budget-file l";
    let before = ["l", "persons", "others"].map(|name| place.read(name));
    place.run(answer).refused(&["unit must be one event", "got one person", "--unit"]);
    let bounded = format!("{COUNT} --max-steps 2");
    place.run(&bounded).refused(&["one event", "one person"]);
    place.run(&format!("{bounded} --unit event")).refused(&["--unit event", "bound"]);
    place.run(&format!("{COUNT} --neighbours replace")).refused(&["(add-remove)", "got one event (replace)"]);
    place
        .run(&COUNT.replace("--budget-file l", "--budget-file persons"))
        .refused(&["one person", "got one event"]);
    place
        .run(&COUNT.replace("--budget-file l", "--budget-file others --unit household"))
        .refused(&["(replace)"]);
    assert_eq!(before, ["l", "persons", "others"].map(|name| place.read(name)));
    place.run(&format!("{answer} --unit event")).ok();
    place.run(&bounded.replace("--budget-file l", "--budget-file persons")).ok();
    place.run(&COUNT.replace("--budget-file l", "--budget-file persons --unit person")).ok();
    place
        .run(&COUNT.replace("--budget-file l", "--budget-file others --unit household --neighbours replace"))
        .ok();
}

#[test]
fn populations_have_budgets_of_their_own() {
    let place = place("--epsilon 1 --delta 1e-6");
    assert!(
        place
            .run("budget new l --population staff --rho 0.03")
            .ok()
            .stdout
            .contains("staff may spend (ρ = 0.03)")
    );
    place
        .run("budget new l --population staff --rho 9")
        .refused(&["l: the population \"staff\" is there already"]);
    place.run("budget new l --epsilon 9 --delta 1e-6").refused(&["\"everyone\" is there already"]);
    place.run(&format!("{COUNT} --population staff")).ok();
    place.run(&format!("{COUNT} --population staff")).over_budget(&["the budget of staff", "of any noise"]);
    place.run(COUNT).ok();
    place.run(COUNT).over_budget(&["the budget of everyone", "nothing is left"]);
    place
        .run(&format!("{COUNT} --population pets"))
        .refused(&["no population \"pets\"", "\"everyone\", \"staff\""]);
    place.run("budget show l --population pets").refused(&["l: there is no population"]);
    place.run("budget check l --population pets --rho 1").refused(&["l: there is no population"]);
    let whole = shown(&place, "");
    assert_eq!(whole["populations"].as_array().unwrap().len(), 2);
    assert_eq!(shown(&place, "--population staff")["populations"][0]["population"], "staff");
    let text = place.run("budget show l").ok().stdout;
    assert!(text.contains("everyone: ") && text.contains("staff: (ρ = 0.03)-zCDP, for one event"), "{text}");
}

#[test]
fn pure_noise_has_a_part_of_its_own() {
    let pure = COUNT.replace("--epsilon 1 --delta 1e-6", "--epsilon 0.25 --delta 0");
    let exact = place("--epsilon 2 --delta 1e-6");
    exact.run(&pure).over_budget(&["does not allow pure ε = 0.25", "ρ = 0.100502"]);
    let split = place("--epsilon 2 --delta 1e-6 --pure-part 0.5");
    split.run(&pure).ok();
    split.run(COUNT).ok();
    let text = split.run("budget show l").ok().stdout;
    for part in ["ε = 0.5 is set aside", "pure ε = 0.25 of 0.5 is spent", "or of pure ε = 0.25"] {
        assert!(text.contains(part), "{part:?} is missing from {text}");
    }
    split.run(&pure).ok();
    split.run(&pure).over_budget(&["does not allow pure ε = 0.25"]);
    split.run(COUNT).ok();
    split.run(COUNT).over_budget(&["does not allow ρ"]);
    let total = place("--epsilon 0.5 --delta 0");
    total.run(COUNT).over_budget(&["does not allow ρ", "pure ε = 0.5 is left of (ε = 0.5)-DP, pure"]);
    total.run(&pure).ok();
    assert!(
        total.run("budget check l --epsilon 0.25 --delta 0").ok().stdout.contains("nothing would be left")
    );
    total.run(&pure).ok();
    total.run(&pure).over_budget(&["nothing is left"]);
    assert!(total.run("budget show l").ok().stdout.contains("100.0 %: pure ε = 0.5 of 0.5 is spent"));
    // By zCDP both kinds draw on one allowance.
    let shared = place("--epsilon 2 --delta 1e-6 --calibration zcdp");
    shared.run(&pure).ok();
    shared.run(COUNT).ok();
    shared.run(COUNT).ok();
    shared
        .run(COUNT)
        .over_budget(&["of any noise is left of (ε = 2, δ = 1e-6)-DP, Gaussian calibration by zCDP"]);
}

#[test]
fn options_that_make_no_sense_are_refused_without_traces() {
    let place = Place::new();
    place.write("in.csv", "n\n1\n");
    for (line, parts) in [
        ("budget new l", &["--epsilon", "--rho"][..]),
        ("budget new l --epsilon 1", &["--epsilon", "--delta"]),
        ("budget new l --delta 1e-6", &["--epsilon"]),
        ("budget new l --epsilon 1 --delta 1e-6 --rho 1", &["--rho"]),
        ("budget new l --epsilon -1 --delta 1e-6", &["epsilon"]),
        ("budget new l --epsilon 1 --delta 2", &["delta"]),
        ("budget new l --epsilon NaN --delta 1e-6", &["epsilon"]),
        ("budget new l --rho 0", &["rho"]),
        ("budget new l --rho 1 --pure-part 0.5", &["--rho"]),
        ("budget new l --epsilon 1 --delta 0 --pure-part 0.5", &["--pure-part"]),
        ("budget new l --epsilon 1 --delta 1e-6 --pure-part 1", &["pure_part", "below 1"]),
        ("budget new l --epsilon 1 --delta 1e-6 --pure-part 0.5 --calibration zcdp", &["pure_part"]),
        ("budget new l --epsilon 0.5 --delta 1e-6 --calibration paper", &["--calibration"]),
        ("budget new l --rho 1 --neighbours swap", &["--neighbours"]),
        ("budget", &["budget"]),
        ("count in.csv --value n --epsilon 1 --delta 1e-6 --population p", &["--budget-file"]),
        ("count in.csv --value n --epsilon 1 --delta 1e-6 --unit event", &["--budget-file"]),
        (
            "count in.csv --value n --epsilon 1 --delta 1e-6 --budget-file l",
            &["l is not there", "budget new l"],
        ),
    ] {
        if line == "budget" {
            // Nothing was asked for: the help says what could be.
            assert_eq!(place.run(line).code, Some(2));
        } else {
            place.run(line).refused(parts);
        }
    }
    assert_eq!(place.files(), ["in.csv"]);
    place.run("budget new l --rho 1").ok();
    place.run("budget check l").refused(&["--epsilon", "--rho"]);
    place.run("budget check l --epsilon 1").refused(&["--delta"]);
    place.run("budget check l --epsilon 1 --delta 0 --calibration zcdp").refused(&["delta"]);
    place.run("budget show l --delta 2").refused(&["delta"]);
}

#[test]
fn help_teaches_by_example() {
    let place = Place::new();
    for line in ["budget --help", "budget new --help", "budget check --help"] {
        assert!(place.run(line).ok().stdout.contains("evertally budget new visits.budget"), "{line}");
    }
    for line in [
        "count --help",
        "research answer --help",
        "research parity --help",
        "research noise --help",
        "learn --help",
    ] {
        assert!(place.run(line).ok().stdout.contains("--budget-file <FILE>"), "{line}");
    }
    assert!(place.run("--help").ok().stdout.contains("3 the privacy budget does not allow it"));
}
