//! The vocabulary of the command line: older spellings keep their meaning, and a word has one.

use super::*;
use std::collections::BTreeMap;

const COUNT: &str = "count in.csv --time t --every 1h --from 2026-01-05 --epsilon 1 --delta 1e-6";
const LEARN: &str = "learn in.csv --label y --loss logistic --epsilon 1 --delta 1e-6 --model m.json";
const NOISE: &str = "research noise --horizon 9 --sigma 1";
const ANSWER: &str = "research answer --data h.csv --epsilon 1 --delta 1e-6";
const PARITY: &str = "research parity t.csv --degree 2 --epsilon 1 --delta 1e-6 --columns a,b";

fn parsed(line: &str) -> Cli {
    Cli::parse_words(help::program(), std::iter::once("evertally").chain(line.split_whitespace()))
        .unwrap_or_else(|error| panic!("{line}: {error}"))
}

/// The program as it is built for a run.
fn program() -> clap::Command {
    let mut all = help::program();
    all.build();
    all
}

/// Every command that can be run, with its name in full.
fn commands(command: &clap::Command, name: &str) -> Vec<(String, clap::Command)> {
    let inner: Vec<_> = command.get_subcommands().filter(|command| command.get_name() != "help").collect();
    if inner.is_empty() {
        return vec![(name.to_owned(), command.clone())];
    }
    inner.iter().flat_map(|inner| commands(inner, &format!("{name} {}", inner.get_name()))).collect()
}

#[test]
fn older_spellings_of_options_mean_the_same() {
    let pairs = [
        (COUNT, "--steps 4", "--horizon 4"),
        (COUNT, "--steps 4 --outside error", "--horizon 4 --outside refuse"),
        (COUNT, "--steps unbounded --lag 1s --follow", "--horizon unbounded --lag 1s --follow"),
        (COUNT, "--to 2026-02-01 --key k --keys a,b", "--to 2026-02-01 --group-by k --groups a,b"),
        (COUNT, "--steps 4 --key-file n.key", "--horizon 4 --noise-key n.key"),
        (COUNT, "--ledger b --population p --unit u", "--budget-file b --population p --unit u"),
        ("plan --horizon 4 --epsilon 1 --delta 1e-6", "--keys 3", "--group-count 3"),
        ("audit", "--steps 4", "--horizon 4"),
        ("audit", "--keys 3 --open-keys", "--group-count 3 --open-groups"),
        ("audit", "--round 0.5", "--round-to 0.5"),
        (LEARN, "--norm 2", "--expected-norm 2"),
        (LEARN, "--rate cosine:0.5", "--learning-rate cosine:0.5"),
        (LEARN, "--regret", "--regret-not-private"),
        (LEARN, "--key-file n.key --ledger b", "--noise-key n.key --budget-file b"),
        ("serve counters", "--rate 9", "--max-requests-per-second 9"),
        ("demo", "--out v.csv", "--output v.csv"),
        ("research gamma --matrix a.csv", "--save c.npz", "--output c.npz"),
        ("research gamma", "--verify c.npz", "--certificate c.npz"),
        (ANSWER, "--workload q.csv", "--queries q.csv"),
        (
            ANSWER,
            "--queries q.csv --key-file n.key --ledger b",
            "--queries q.csv --noise-key n.key --budget-file b",
        ),
        (PARITY, "--key-file n.key --ledger b", "--noise-key n.key --budget-file b"),
        (NOISE, "--out z.npy", "--output z.npy"),
        (NOISE, "--output z.npy --steps 3", "--output z.npy --rows 3"),
        (
            NOISE,
            "--output z.npy --key-file n.key --ledger b",
            "--output z.npy --noise-key n.key --budget-file b",
        ),
        ("research noise --horizon 9 --output z.npy", "--noise-multiplier 2", "--sigma 2"),
    ];
    for (command, old, new) in pairs {
        let [old, new] = [old, new].map(|options| format!("{:?}", parsed(&format!("{command} {options}"))));
        assert_eq!(old, new);
    }
}

/// Two flags became values of another option, so what they parse to is not equal to the letter.
#[test]
fn older_flags_are_accepted_but_not_beside_the_option_that_replaced_them() {
    for (line, flag, option) in [
        ("research gamma --matrix a.csv", "--worst", "--objective worst"),
        ("predict m.json in.csv", "--json", "--format jsonl"),
    ] {
        parsed(&format!("{line} {flag}"));
        let words = format!("evertally {line} {flag} {option}");
        assert!(Cli::parse_words(help::program(), words.split_whitespace()).is_err(), "{words}");
    }
}

#[test]
fn research_commands_keep_their_older_names() {
    for line in [
        "gamma --matrix a.csv",
        "bounds --horizon 9 --epsilon 1 --delta 1e-6",
        "answer --queries q.csv --data h.csv --epsilon 1 --delta 1e-6",
        "parity t.csv --degree 2 --epsilon 1 --delta 1e-6",
        "noise --horizon 9 --sigma 1 --output z.npy",
        "paper",
    ] {
        match (parsed(line).command, parsed(&format!("research {line}")).command) {
            (Command::Ungrouped(old), Command::Research(new)) => {
                assert_eq!(format!("{old:?}"), format!("{new:?}"));
            }
            other => panic!("{line}: {other:?}"),
        }
    }
}

#[test]
fn help_shows_each_command_in_one_group_and_no_older_spelling() {
    let help = program().render_help().to_string();
    let (counting, research) = help.split_once("\nResearch").expect("two groups");
    for name in ["count", "graph", "plan", "serve", "audit", "budget", "learn", "predict", "demo"] {
        assert!(counting.contains(&format!("\n  {name} ")), "{name}: {help}");
    }
    for name in ["gamma", "bounds", "answer", "parity", "noise", "paper", "ranges"] {
        assert!(!counting.contains(&format!("\n  {name} ")), "{name}: {help}");
        assert!(research.contains(&format!("\n  research {name} ")), "{name}: {help}");
    }
    let old = [
        "steps",
        "out",
        "save",
        "key",
        "keys",
        "open-keys",
        "key-file",
        "ledger",
        "worst",
        "rate",
        "regret",
        "noise-multiplier",
    ];
    for (name, mut command) in commands(&program(), "evertally") {
        let help = command.render_long_help().to_string();
        for old in old {
            let is_there = help
                .split(|c: char| !c.is_alphanumeric() && c != '-')
                .any(|word| word.strip_prefix("--").is_some_and(|word| word == old));
            assert!(!is_there, "{name} speaks of --{old}: {help}");
        }
    }
}

/// `--steps` once was the horizon in one command and a number of rows in another, and `--round` a
/// flag here and a grid there. An option that takes the same kind of value everywhere can still
/// change its meaning, but not this easily.
#[test]
fn an_option_takes_the_same_kind_of_value_in_every_command() {
    let mut kinds: BTreeMap<String, (String, String)> = BTreeMap::new();
    for (name, command) in commands(&program(), "evertally") {
        for option in command.get_arguments().filter(|option| !option.is_hide_set()) {
            let Some(long) = option.get_long() else { continue };
            let kind = if option.get_action().takes_values() {
                // Research is on a finite horizon in places.
                format!("{:?}", option.get_value_names()).replace("|unbounded", "")
            } else {
                "a flag".to_owned()
            };
            let (first, known) = kinds.entry(long.to_owned()).or_insert((name.clone(), kind.clone()));
            assert_eq!(*known, kind, "--{long} in {name} and in {first}");
        }
    }
    assert!(kinds.len() > 60, "{kinds:?}");
}
