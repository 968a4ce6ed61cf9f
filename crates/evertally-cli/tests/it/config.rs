//! `evertally.toml`: options that need not be typed, and mean what typed ones mean.

use crate::common::{Place, rows};

const EVENTS: &str = "time,region,amount\n\
    2026-01-05T00:10:00Z,north,3\n\
    2026-01-05T00:20:00Z,south,5\n\
    2026-01-05T02:10:00Z,north,-1\n";

const CONFIG: &str = "\
[count]
time = \"time\"
every = \"1h\"
from = 2026-01-05
horizon = 4
value = \"amount\"
clamp = [-2, 2.5]
group-by = \"region\"
groups = [\"north\", \"south\"]
epsilon = 0.5
delta = 1e-6
noise-key = \"noise.key\"
";

const TYPED: &str = "--time time --every 1h --from 2026-01-05 --horizon 4 --value amount --clamp -2,2.5 \
                     --group-by region --groups north,south --epsilon 0.5 --delta 1e-6 --noise-key noise.key";

fn place() -> Place {
    let place = Place::new();
    place.with_key().write("in.csv", EVENTS);
    place
}

/// The whole table, header included, is the same to the bit, and the record of the key takes the two
/// runs for one. An option that changes what is counted changes the noise.
#[test]
fn an_option_in_the_file_is_as_if_it_were_typed() {
    let place = place();
    let typed = place.run(&format!("count in.csv {TYPED}")).ok().stdout;
    place.write("evertally.toml", CONFIG);
    assert_eq!(place.run("count in.csv").ok().stdout, typed);
    // The record refuses the same options with other data, whichever way they were given.
    place.write("other.csv", EVENTS.replace("00:20", "01:20"));
    place.run("count other.csv").refused(&["noise.key"]);
    place.write("evertally.toml", CONFIG.replace("2.5", "2.75"));
    let clamped = place.run("count in.csv");
    assert!(clamped.stderr.contains("noise of its own"), "{}", clamped.stderr);
    assert!(clamped.stdout.contains("# clamp: -2,2.75\n"), "{}", clamped.stdout);
    let by_hand = place.run(&format!("count in.csv --no-config {}", TYPED.replace("2.5", "2.75")));
    assert_eq!(by_hand.ok().stdout, clamped.stdout);
    assert_ne!(rows(&clamped.stdout), rows(&typed));
}

#[test]
fn the_command_line_wins() {
    let place = place();
    place.write("evertally.toml", CONFIG);
    let stated = |options: &str| place.run(&format!("count in.csv {options}")).stdout;
    assert!(stated("").contains("# epsilon: 0.5\n"));
    assert!(stated("--epsilon 2").contains("# epsilon: 2"));
    // It also wins over an option that excludes the typed one.
    assert!(stated("--to 2026-01-05T03:00:00Z").contains("# horizon: 3\n"));
    assert!(stated("--steps 5").contains("# horizon: 5\n"));
}

#[test]
fn the_file_can_be_named_or_left_alone() {
    let place = place();
    place.write("evertally.toml", "[count]\nepsilon = 7\n").write("mine.toml", CONFIG);
    let mine = place.run("count in.csv --config mine.toml");
    assert!(mine.stdout.contains("# epsilon: 0.5\n"), "{}", mine.stderr);
    place.run("count in.csv --no-config").refused(&["--epsilon", "--delta"]);
    place.run("count in.csv --no-config --config mine.toml").refused(&["--no-config", "--config"]);
    place.run("count in.csv --config missing.toml").refused(&["missing.toml cannot be read"]);
    let verbose = place.run("plan --horizon 4 --epsilon 1 --delta 1e-6 --verbose");
    assert_eq!(verbose.stderr, "evertally: options from evertally.toml\n");
    place.run("plan --horizon 4 --epsilon 1 --delta 1e-6").ok();
}

#[test]
fn mistakes_name_the_file_and_the_line() {
    let place = place();
    for (text, parts) in [
        (
            "[count]\nepsilom = 1\n",
            ["evertally.toml, line 2", "\"epsilom\" in [count]", "nearest name is epsilon"],
        ),
        ("[count]\n\nepsilon = \"x\"\n", ["evertally.toml, line 3", "'x'", "--epsilon"]),
        ("[count]\nhorizon = 4\nto = 2026-01-06\n", ["evertally.toml, line", "--to", "--horizon"]),
        ("[count]\nhorizon = 4\nsteps = 5\n", ["evertally.toml, line", "--horizon", "multiple times"]),
        ("[count\n", ["evertally.toml, line 1", "", ""]),
        ("[counts]\n", ["evertally.toml, line 1", "no command \"counts\"", "count"]),
    ] {
        place.write("evertally.toml", text);
        place.run("count in.csv --time time --every 1h --from 2026-01-05 --delta 1e-6").refused(&parts);
    }
    // A broken file can be ignored, and the help does not need it.
    place.run("help count").ok();
    place.run("count --help").ok();
    place.run(&format!("count in.csv {TYPED} --no-config")).ok();
}

/// A key that is taken for a configuration file is not shown.
#[test]
fn a_file_that_is_no_configuration_is_not_repeated() {
    let place = place();
    let refused = place.run("count in.csv --config noise.key").refused(&["noise.key, line 1"]);
    assert!(!refused.stderr.contains("5a5a"), "{}", refused.stderr);
    place.write("evertally.toml", "[count]\nplot-truth-not-private = true\n");
    place.run("count in.csv").refused(&["plot-truth-not-private", "cannot be set in a file"]);
}
