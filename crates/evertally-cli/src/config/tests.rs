//! The file means what the command line means, and every mistake names its line.

use super::*;

fn program() -> Command {
    crate::help::program()
}

fn words(line: &str) -> Vec<OsString> {
    std::iter::once("evertally").chain(line.split_whitespace()).map(OsString::from).collect()
}

/// The words that a file adds to a command line.
fn added(line: &str, text: &str) -> Result<Vec<String>> {
    let given = Given::new(&program(), &words(line));
    let settings = in_force(&program(), &given, "a.toml", text)?;
    Ok(settings.iter().filter_map(Setting::word).collect())
}

fn refusal(line: &str, text: &str) -> String {
    added(line, text).expect_err(text).to_string()
}

#[test]
fn what_was_typed_is_found_whatever_its_spelling() {
    let given = |line| Given::new(&program(), &words(line));
    let ids = |line| given(line).ids.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(
        ids("count in.csv --steps 4 -o a.csv --epsilon=1 -qoa"),
        ["horizon", "output", "epsilon", "quiet", "output"]
    );
    // A value is not an option, and nothing after two hyphens is.
    assert_eq!(ids("count --time --every -- --epsilon 1"), ["time"]);
    assert_eq!(ids("count --clamp=-1,1 --value n"), ["clamp", "value"]);
    let found = given("--color always --config c.toml research gamma --horizon 3");
    assert_eq!((found.color.as_deref(), found.config), (Some("always"), Some(PathBuf::from("c.toml"))));
    assert_eq!((found.command, found.options_start), (vec!["research".to_owned(), "gamma".to_owned()], 7));
    for line in ["help count", "count --help", "count in.csv -h", "budget help new", "--version"] {
        assert!(given(line).is_question, "{line}");
    }
    // Elsewhere, these are values and files.
    assert!(!given("count help --time --help").is_question);
    // The value of an option is no command.
    assert_eq!(given("--color count").command, Vec::<String>::new());
}

#[test]
fn values_become_what_would_be_typed() {
    let text = "quiet = true\n[count]\nepsilon = 0.2\ndelta = 1e-6\nhorizon = 1_344\nfrom = 2026-01-05\n\
                groups = [\"north\", 'south', 3]\nclamp = [-1, 2.5]\nround = true\nmonotone = false\n\
                every = \"1h\"\n[plan]\nepsilon = 9\n";
    let mut words = added("count in.csv", text).unwrap();
    words.sort();
    assert_eq!(
        words,
        [
            "--clamp=-1,2.5",
            "--delta=1e-6",
            "--epsilon=0.2",
            "--every=1h",
            "--from=2026-01-05",
            "--groups=north,south,3",
            "--horizon=1344",
            "--quiet",
            "--round",
        ]
    );
}

#[test]
fn the_command_line_wins_over_the_same_option_and_over_its_opposite() {
    let text = "verbose = true\n[count]\nhorizon = 4\nepsilon = 1\n";
    assert_eq!(added("count in.csv", text).unwrap(), ["--verbose", "--epsilon=1", "--horizon=4"]);
    assert_eq!(added("count in.csv --epsilon 2", text).unwrap(), ["--verbose", "--horizon=4"]);
    assert_eq!(added("count in.csv --steps 9", text).unwrap(), ["--verbose", "--epsilon=1"]);
    // The exclusion is declared by --to alone, and holds in both directions.
    assert_eq!(added("count in.csv --to 2026-02-01", text).unwrap(), ["--verbose", "--epsilon=1"]);
    assert_eq!(added("count in.csv --quiet", text).unwrap(), ["--epsilon=1", "--horizon=4"]);
    // So does the table of a command over what stands before all tables.
    let quieter = "verbose = true\n[count]\nquiet = true\n";
    assert_eq!(added("count in.csv", quieter).unwrap(), ["--quiet"]);
    assert_eq!(added("plan", quieter).unwrap(), ["--verbose"]);
}

#[test]
fn commands_inside_others_have_tables_inside_theirs() {
    let text = "[research.gamma]\nhorizon = 8\n[budget.new]\nepsilon = 3\n";
    assert_eq!(added("research gamma", text).unwrap(), ["--horizon=8"]);
    assert_eq!(added("gamma", text).unwrap(), ["--horizon=8"]);
    assert_eq!(added("budget new b", text).unwrap(), ["--epsilon=3"]);
    assert!(added("budget show b", text).unwrap().is_empty());
}

#[test]
fn every_mistake_names_its_line() {
    for (text, parts) in [
        ("[count]\n\nepsilom = 1", ["line 3", "\"epsilom\" in [count]", "the nearest name is epsilon"]),
        ("[cuont]\nepsilon = 1", ["line 1", "no command \"cuont\"", "count"]),
        ("epsilon = 1", ["line 1", "\"epsilon\"", "below a line such as [count]"]),
        ("epsilom = 1", ["line 1", "\"epsilom\"", "no such option"]),
        ("[plan]\nhorizon = 4\nplod = 'a.svg'", ["line 3", "\"plod\" in [plan]", "plot"]),
        ("[gamma]\nhorizon = 4", ["line 1", "no command", "gamma"]),
        ("[count]\nepsilon = [1]", ["line 2", "expected one value", "array"]),
        ("[count]\nepsilon = true", ["line 2", "epsilon", "expected a string or a number"]),
        ("[count]\nround = 1", ["line 2", "round", "expected true or false"]),
        ("[count]\ngroups = ['a,b']", ["line 2", "groups", "without commas"]),
        ("[count]\nepsilon 1", ["line 2", "", ""]),
        ("[count]\nepsilon = 1\nepsilon = 2", ["line 3", "", "duplicate"]),
        ("config = 'other.toml'", ["line 1", "config", "cannot be set in a file"]),
        ("[count]\nplot-truth-not-private = true", ["line 2", "cannot be set", "command line"]),
        ("[learn]\nregret = true", ["line 2", "cannot be set", "command line"]),
    ] {
        let error = refusal("count in.csv", text);
        assert!(parts.iter().all(|part| error.contains(part)) && !error.contains('\n'), "{text:?}: {error}");
    }
    // A key, read by mistake, is not shown.
    let key = "5a".repeat(32);
    for text in [key.clone(), format!("{key} = 1"), format!("[{key}]"), format!("a = {key}")] {
        assert!(!refusal("count in.csv", &text).contains("5a5a"), "{text}");
    }
}

/// Every option has a name that a file can use, and the file reaches it.
#[test]
fn every_option_can_be_set_except_those_that_must_be_typed() {
    let mut built = program();
    built.build();
    let mut set = 0;
    for command in
        built.get_subcommands().filter(|it| !["help", "research", "budget"].contains(&it.get_name()))
    {
        let name = command.get_name();
        let table = if built.find_subcommand("research").unwrap().find_subcommand(name).is_some() {
            format!("research.{name}")
        } else {
            name.to_owned()
        };
        for option in command.get_arguments().filter_map(clap::Arg::get_long) {
            let is_flag =
                ["true", "'x'"].map(|value| added(name, &format!("[{table}]\n{option} = {value}")).is_ok());
            let must_be_typed =
                ["help", "config", "no-config"].contains(&option) || option.ends_with("-not-private");
            assert_eq!(is_flag[0] ^ is_flag[1], !must_be_typed, "{option} of {name}");
            set += 1;
        }
    }
    assert!(set > 150, "{set}");
}
