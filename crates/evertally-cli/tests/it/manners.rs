//! Manners: colour, silence, advice, a closing summary, and no file overwritten unasked.

use crate::common::{Place, Ran, TIMED};

const EVENTS: &str = "time,region,who\n\
    2026-01-05T00:10:00Z,north,ann\n\
    2026-01-05T00:20:00Z,south,bob\n\
    2026-01-05T02:10:00Z,north,\n";

const COUNT: &str =
    "count in.csv --time time --every 1h --from 2026-01-05 --horizon 4 --epsilon 1 --delta 1e-6";

const GROUPS: &str = "--group-by region --groups north,south";

fn place() -> Place {
    let place = Place::new();
    place.with_key().write("in.csv", EVENTS);
    place
}

fn is_coloured(text: &str) -> bool {
    text.contains("\u{1b}[")
}

/// A text without its codes of colour.
fn plain(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    first + &parts.map(|part| part.split_once('m').unwrap().1).collect::<String>()
}

#[test]
fn a_count_closes_with_a_summary_if_asked_and_never_on_a_pipe_unasked() {
    let place = place();
    let line = format!("{COUNT} {GROUPS} --noise-key noise.key --output out.csv --plot out.svg");
    let ran = place.run(&format!("{line} --verbose"));
    let error = ran.stderr.split("± ").nth(1).unwrap().split(';').next().unwrap();
    assert_eq!(
        ran.stderr,
        format!(
            "evertally: 4 hours × 3 values of region, ε = 1 and δ = 1e-6 per event, typical error ± {error}; \
             wrote out.csv, out.svg\n"
        )
    );
    // The error is the one in the header, to three digits.
    let csv = String::from_utf8(place.read("out.csv")).unwrap();
    let rmse = csv.lines().find_map(|line| line.strip_prefix("# rmse: ")).unwrap();
    let [told, exact] = [error, rmse].map(|number| number.parse::<f64>().unwrap());
    assert!((told / exact - 1.0).abs() < 5e-3, "{told} {exact}");
    place.run(&format!("{line} --force")).ok();
    // It depends on nothing in the data.
    place.write("in.csv", "time,region\n").forget_uses();
    let other = place.run(&format!("{line} --verbose --force"));
    assert_eq!(other.stderr, ran.stderr);
}

#[test]
fn colour_is_for_terminals_and_for_those_who_ask() {
    let place = place();
    for (line, code) in [("count", 2), ("plan --horizon 4 --epsilon 1 --delta 1e-6", 0), ("count --help", 0)]
    {
        let both = |ran: &Ran| ran.stdout.clone() + &ran.stderr;
        let never = place.run(line);
        assert_eq!(never.code, Some(code));
        assert!(!is_coloured(&both(&never)), "{line}");
        for asked in [format!("{line} --color always"), format!("--color=always {line}")] {
            let always = both(&place.run(&asked));
            assert!(is_coloured(&always), "{asked}: {always}");
            assert_eq!(plain(&always), both(&never));
        }
        let with = |name: &str, options: &str| {
            let mut command = place.command(&format!("{line} {options}"));
            both(&Ran::of(command.env(name, "1").output().unwrap()))
        };
        assert!(is_coloured(&with("CLICOLOR_FORCE", "")), "{line}");
        assert!(!is_coloured(&with("CLICOLOR_FORCE", "--color never")), "{line}");
        assert!(is_coloured(&with("NO_COLOR", "--color always")), "{line}");
    }
    // Files and their releases have none.
    place.run(&format!("{COUNT} --output out.csv --color always")).ok();
    assert!(!is_coloured(&String::from_utf8(place.read("out.csv")).unwrap()));
    place.run("plan --horizon 4 --epsilon 1 --delta 1e-6 --color sometimes").refused(&["sometimes", "auto"]);
}

#[test]
fn the_short_help_is_short_and_the_long_help_teaches() {
    let place = Place::new();
    let (short, long) = (place.run("count -h").ok().stdout, place.run("count --help").ok().stdout);
    assert!(3 * short.lines().count() < long.lines().count(), "{short}");
    for part in ["match another system", "no further digit", "as for an alarm", "Examples:"] {
        assert!(long.contains(part) && !short.contains(part), "{part}");
    }
}

#[test]
fn advice_about_a_budget_is_given_once_and_can_be_silenced() {
    let place = place();
    let told = |line: &str| place.run(line).advice;
    let advice = told(&format!("count in.csv {TIMED}"));
    assert_eq!(advice.len(), 2, "{advice:?}");
    assert!(advice[0].contains("ε = 1000 ") && advice[0].contains("e^ε"), "{advice:?}");
    assert!(advice[1].contains("δ = 0.4 ") && advice[1].contains("number of people"), "{advice:?}");
    assert!(told(&format!("count in.csv {TIMED} --quiet")).is_empty());
    assert!(told(COUNT).is_empty());
    for line in [
        "plan --horizon 4",
        "budget new b",
        "research noise --horizon 4 --output z.npy",
        "research parity t.csv --degree 1",
        "learn l.csv --label y --loss squared:1 --radius 1 --batch-size 8 --model m.json",
    ] {
        place.write("t.csv", "a,b\n1,0\n").write("l.csv", format!("x,y\n{}", "0.5,1\n".repeat(50)));
        let ran = place.run(&format!("{line} --epsilon 11 --delta 1e-6"));
        assert_eq!((ran.code, ran.advice.len()), (Some(0), 1), "{line}: {}", ran.stderr);
    }
}

/// The number of rows is public in learning and private in counting.
#[test]
fn delta_is_compared_with_rows_only_where_their_number_is_public() {
    let place = place();
    place.write("l.csv", format!("x,y\n{}", "0.5,1\n".repeat(50)));
    let learn =
        "learn l.csv --label y --loss squared:1 --radius 1 --batch-size 8 --epsilon 1 --model m.json --force";
    let advice = place.run(&format!("{learn} --delta 0.025")).advice;
    assert!(advice.len() == 1 && advice[0].contains("δ = 0.025 is more than 1/50"), "{advice:?}");
    assert!(place.run(&format!("{learn} --delta 0.0005")).advice.is_empty());
    let count = "count in.csv --time time --every 1h --from 2026-01-05 --horizon 4 --epsilon 1 --delta 0.5";
    let advice = place.run(count).advice;
    assert!(advice.len() == 1 && !advice[0].contains("1/"), "{advice:?}");
}

#[test]
fn quiet_does_not_hide_what_was_left_out() {
    let place = place();
    let ran = place.run(&format!("{COUNT} --person who --max-steps 2 --quiet"));
    assert_eq!(ran.code, Some(0));
    assert!(ran.stderr.contains("warning: 1 event names no person and was left out"), "{}", ran.stderr);
    place.run(&format!("{COUNT} --quiet --verbose")).refused(&["--quiet", "--verbose"]);
}

/// Every command that writes a file, with the option that names it.
const WRITERS: [(&str, &str); 13] = [
    (COUNT, "--output out.csv"),
    (COUNT, "--plot out.svg"),
    ("demo --days 1", "--output out.csv"),
    ("plan --horizon 4 --epsilon 1 --delta 1e-6", "--plot out.svg"),
    ("audit --horizon 4 --runs 200 --no-timing --seed 1", "--plot out.svg"),
    ("learn l.csv --label y --loss squared:1 --radius 1 --epsilon 1 --delta 1e-6", "--model out.json"),
    (
        "learn l.csv --label y --loss squared:1 --radius 1 --holdout 4 --quiet --epsilon 1 --delta 1e-6 --model -",
        "--plot out.svg",
    ),
    ("predict m.json p.csv", "--output out.jsonl"),
    ("research parity t.csv --degree 1 --epsilon 1 --delta 1e-6", "--output out.json"),
    ("research answer --queries q.csv --data h.csv --epsilon 1 --delta 1e-6", "--output out.csv"),
    ("research gamma --workload prefix-sum --horizon 4", "--output out.npz"),
    ("research noise --horizon 4 --sigma 1", "--output out.npy"),
    ("research paper", "--html out.html"),
];

#[test]
fn no_command_overwrites_a_file_without_force() {
    let place = place();
    place.write("l.csv", format!("x,y\n{}", "0.5,1\n0.1,-1\n".repeat(50))).write("p.csv", "x\n1\n");
    place.write("t.csv", "a,b\n1,0\n").write("q.csv", "1,1\n").write("h.csv", "3,4\n");
    place
        .run("learn l.csv --label y --loss squared:1 --radius 1 --epsilon 1 --delta 1e-6 --model m.json")
        .ok();
    for (line, option) in WRITERS {
        let name = option.split_whitespace().next_back().unwrap();
        place.write(name, "precious");
        place.run(&format!("{line} {option}")).refused(&[
            name,
            "exists already and is not overwritten",
            "nothing was read, and no budget was spent",
            "--force",
        ]);
        assert_eq!(place.read(name), b"precious", "{line} {option}");
        let forced = place.run(&format!("{line} {option} --force"));
        assert_eq!((forced.code, forced.stderr.as_str()), (Some(0), ""), "{line} {option}");
        assert_ne!(place.read(name), b"precious", "{line} {option}");
        // What was written is there, so the same line is refused again.
        let written = place.read(name);
        place.run(&format!("{line} {option}")).refused(&[name, "--force"]);
        assert_eq!(place.read(name), written);
        std::fs::remove_file(place.path(name)).unwrap();
        assert!(!place.files().iter().any(|file| file.ends_with(".tmp")), "{:?}", place.files());
    }
}

#[test]
fn the_refusal_comes_before_anything_is_read_or_spent() {
    let place = place();
    place.run("budget new b.budget --epsilon 1 --delta 1e-6").ok();
    place.write("out.csv", "precious");
    let budget = place.read("b.budget");
    let line = format!("{COUNT} --output out.csv --budget-file b.budget --noise-key noise.key");
    place.run(&line).refused(&["out.csv exists already"]);
    assert_eq!(place.read("b.budget"), budget);
    assert!(!place.path("noise.key.uses").exists());
    // Neither the input nor the key need be there.
    place
        .run(&line.replace("in.csv", "missing.csv").replace("noise.key", "missing.key"))
        .refused(&["out.csv exists already"]);
    // Following refuses it too, and leaves no file of its own.
    place.run(&format!("{line} --follow")).refused(&["out.csv exists already"]);
    assert!(!place.path("out.csv.partial").exists());
    // An input stays what it is, with or without force.
    for force in ["", "--force"] {
        place.run(&format!("{COUNT} --output in.csv {force}")).refused(&["used for something else"]);
    }
    assert_eq!(place.read("in.csv"), EVENTS.as_bytes());
}

#[cfg(unix)]
#[test]
fn links_are_in_the_way_and_devices_are_not() {
    let place = place();
    std::os::unix::fs::symlink("nowhere", place.path("out.csv")).unwrap();
    place.run(&format!("{COUNT} --output out.csv")).refused(&["out.csv exists already"]);
    place.run(&format!("{COUNT} --output /dev/null")).ok();
    let piped = place.run(&format!("{COUNT} --output /dev/stdout")).ok();
    assert!(piped.stdout.contains("step,"), "{}", piped.stdout);
    place.run(&format!("{COUNT} --output -")).ok();
}

#[test]
fn an_ending_that_is_not_known_is_refused_with_those_that_are() {
    let place = place();
    place.write("m.json", "{}").write("in.xlsx", "");
    for (line, parts) in [
        (
            format!("{COUNT} --output a.xlsx"),
            &["a.xlsx", ".csv, .jsonl, .ndjson, .json, .parquet or .pq", "--format"],
        ),
        (format!("{COUNT} --plot a.pdf"), &["a.pdf", ".svg or .png", "--plot"]),
        (
            COUNT.replace("in.csv", "in.xlsx"),
            &["in.xlsx", ".csv, .tsv, .jsonl, .json, .parquet or .arrow", "--input-format"],
        ),
        ("demo --output a.xlsx".to_owned(), &["a.xlsx", ".csv", "--output"]),
        ("predict m.json in.csv --output a.parquet".to_owned(), &["a.parquet", ".jsonl", "--format"]),
        (
            "research gamma --workload prefix-sum --horizon 4 --output a.npy".to_owned(),
            &["a.npy", ".npz", "--output"],
        ),
        ("research noise --horizon 4 --sigma 1 --output a.csv".to_owned(), &["a.csv", ".npy", "--output"]),
        ("research paper --html a.pdf".to_owned(), &["a.pdf", ".html or .htm", "--html"]),
        ("learn in.csv --label y --loss hinge --model m.pkl".to_owned(), &["m.pkl", ".json", "--model"]),
    ] {
        place.run(&line).refused(parts);
    }
    // An explicit format needs no ending, and neither does a name without one.
    place.run(&format!("{COUNT} --output a.xlsx --format csv")).ok();
    place.run(&format!("{COUNT} --output plain")).ok();
    assert_eq!(place.read("plain")[0], b'#');
    assert!(!place.path("a.pdf").exists());
}

/// Runs with standard error on a pseudo-terminal, and returns what a person would see there.
#[cfg(unix)]
fn seen_on_a_terminal(place: &Place, line: &str, environment: &[(&str, &str)]) -> String {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    use std::io::Read;
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    let name = ptsname(&ours, Vec::new()).unwrap();
    let theirs = std::fs::File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
    let mut command = place.command(line);
    command.env("TERM", "xterm").envs(environment.iter().copied()).stderr(theirs);
    for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"] {
        if !environment.iter().any(|(given, _)| *given == name) {
            command.env_remove(name);
        }
    }
    let mut child = command.spawn().unwrap();
    // The other end is closed when the program and this command have closed theirs.
    drop(command);
    let mut seen = Vec::new();
    let _ = std::fs::File::from(ours).read_to_end(&mut seen);
    assert!(child.wait().unwrap().code().is_some());
    String::from_utf8(seen).unwrap().replace("\r\n", "\n")
}

#[cfg(unix)]
#[test]
fn a_person_at_a_terminal_sees_the_summary_and_colour() {
    let place = place();
    let line = format!("{COUNT} --output out.csv --force");
    let seen = seen_on_a_terminal(&place, &line, &[]);
    assert!(seen.starts_with("evertally: 4 hours, ε = 1") && seen.ends_with("; wrote out.csv\n"), "{seen:?}");
    assert_eq!(seen_on_a_terminal(&place, &format!("{line} --quiet"), &[]), "");
    let refusal = seen_on_a_terminal(&place, "count", &[]);
    assert!(is_coloured(&refusal) && plain(&refusal).starts_with("evertally: "), "{refusal:?}");
    for (options, environment) in [("", &[("NO_COLOR", "1")][..]), ("--color never", &[])] {
        let plain_refusal = seen_on_a_terminal(&place, &format!("count {options}"), environment);
        assert_eq!(plain_refusal, plain(&refusal));
    }
}
