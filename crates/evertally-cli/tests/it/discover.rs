//! `count --discover`: groups that nobody declared.

use crate::common::{Place, column, rows};

const COUNT: &str = "count in.csv --time time --every 1h --from 2026-01-05 --horizon 4 \
    --group-by page --discover --person person --max-steps 2 --epsilon 2 --delta 1e-6";

/// Three pages with many visitors, one of whom names no page that others know.
fn events() -> String {
    let mut text = "time,page,person\n".to_owned();
    for number in 0..400 {
        let hour = number % 4;
        text += &format!("2026-01-05T0{hour}:10:00Z,/home,p{number}\n");
        // The second step of the same person.
        text += &format!("2026-01-05T0{}:20:00Z,/about us,p{number}\n", (hour + 1) % 4);
    }
    for number in 0..900 {
        text += &format!("2026-01-05T03:30:00Z, /late ,q{number}\n");
    }
    text
}

/// Rows of pages below any threshold: thousands with one visitor, and some with five.
fn hidden() -> String {
    let mut text = String::new();
    for number in 0..4000 {
        text += &format!("2026-01-05T0{}:40:00Z,/hidden-{number},h{number}\n", number % 4);
    }
    for number in 0..500 {
        text += &format!("2026-01-05T01:40:00Z,/hidden-few-{},f{number}\n", number / 5);
    }
    text
}

fn place() -> Place {
    let place = Place::new();
    place.with_key().write("in.csv", events());
    place
}

#[test]
fn groups_appear_with_all_that_they_had_and_stay() {
    let place = place();
    let csv = place.run(COUNT).ok().stdout;
    let first = |page: &str| {
        let row = rows(&csv).into_iter().find(|row| row[2] == page).unwrap_or_default();
        row[0].clone()
    };
    assert_eq!([first("/home"), first("/about us"), first("/late")], ["0", "0", "3"]);
    let truths = [100.0, 200.0, 300.0, 400.0];
    for row in rows(&csv) {
        let step: usize = row[0].parse().unwrap();
        let [estimate, error]: [f64; 2] = [3, 4].map(|cell: usize| row[cell].parse().unwrap());
        let truth = match row[2].as_str() {
            "/home" | "/about us" => truths[step],
            "/late" => 900.0,
            other => panic!("{other} has no event"),
        };
        assert!((estimate - truth).abs() < 6.0 * error, "{row:?}");
    }
    assert_eq!(rows(&csv).len(), 4 + 4 + 1);
    assert!(csv.contains("\nstep,start,key,estimate,standard_error,lower,upper\n"), "{csv}");
    for fact in [
        "# unit: one person with all of their events",
        "# threshold: ",
        "# floor: a group with fewer than 2 persons never appears",
        "# groups_per_person: at most 2, enforced",
        "# delta_of_groups: 5e-7",
        "# split: 0.5 of the budget for the counts of persons",
        "# key_column: page",
        "# delta: 1e-6",
    ] {
        assert!(csv.contains(fact), "{fact}: {csv}");
    }
    assert!(!csv.contains("# keys:"), "{csv}");
}

/// The same in every format.
#[test]
fn every_format_has_the_same_rows() {
    let place = place();
    let csv = place.run(&format!("{COUNT} --noise-key noise.key --round --non-negative")).ok().stdout;
    let lines = place
        .run(&format!("{COUNT} --noise-key noise.key --round --non-negative --format jsonl"))
        .ok()
        .stdout;
    let estimates: Vec<String> = lines
        .lines()
        .skip(1)
        .map(|line| {
            let at = line.find("\"estimate\":").unwrap() + 11;
            line[at..].split(',').next().unwrap().trim_end_matches(".0").to_owned()
        })
        .collect();
    let of_csv: Vec<String> =
        column(&csv, "estimate").iter().map(|cell| cell.trim_end_matches(".0").to_owned()).collect();
    assert_eq!(estimates, of_csv);
}

/// Thousands of groups below the threshold change not one byte of what a run writes and says.
#[test]
fn hidden_groups_leave_no_trace() {
    for options in ["", "--verbose", "--format jsonl", "--output out.csv --verbose", "--output out.jsonl"] {
        let run = |text: String| {
            let place = Place::new();
            place.with_key().write("in.csv", text);
            let ran = place.run(&format!("{COUNT} --noise-key noise.key {options}"));
            assert_eq!(ran.code, Some(0), "{}", ran.stderr);
            let files: Vec<(String, usize)> = place
                .all_files()
                .into_iter()
                .filter(|name| name != "in.csv")
                .map(|name| {
                    let bytes = place.read(&name);
                    (name, bytes.len())
                })
                .collect();
            let written: Vec<Vec<u8>> = ["out.csv", "out.jsonl"]
                .into_iter()
                .filter(|name| place.files().contains(&(*name).to_owned()))
                .map(|name| place.read(name))
                .collect();
            (ran.bytes, ran.stderr, files, written)
        };
        let (without, with) = (run(events()), run(events() + &hidden()));
        let all = format!("{}{}", String::from_utf8_lossy(&with.0), with.1);
        assert!(!all.contains("hidden"), "{options}: {all}");
        assert!(without == with, "{options}: {}\n{}", without.1, with.1);
        // What is compared is not empty.
        assert!(without.0.len() + without.3.iter().map(Vec::len).sum::<usize>() > 500, "{options}");
    }
    // The comparison finds a group that many hold.
    let place = Place::new();
    let few = (0..900).map(|number| format!("2026-01-05T01:40:00Z,/hidden,f{number}\n")).collect::<String>();
    place.write("in.csv", events() + &few);
    assert!(place.run(COUNT).ok().stdout.contains("/hidden"));
}

/// A limit on memory is met before anything is released, and its message tells nothing. Groups below the floor take
/// nothing of it, so each of these has two persons.
#[test]
fn a_limit_on_memory_leaves_no_output_and_no_trace() {
    let place = Place::new();
    let many: String = (0..60_000)
        .map(|number| format!("2026-01-05T01:40:00Z,/secret-{},s{number}\n", number / 2))
        .collect();
    place.write("in.csv", events() + &many);
    let ran = place.run(&format!("{COUNT} --output out.csv --memory-limit 4M"));
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{}", ran.stderr);
    assert!(ran.stderr.contains("memory"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("secret") && !ran.stderr.contains("60000"), "{}", ran.stderr);
    assert_eq!(place.files(), ["in.csv"]);
}

#[test]
fn other_data_under_one_key_are_refused() {
    let place = place();
    let line = format!("{COUNT} --noise-key noise.key");
    let first = place.run(&line).ok().stdout;
    assert_eq!(place.run(&line).ok().stdout, first);
    // Groups below the floor can change nothing, so they are no part of what the record compares.
    place.write(
        "in.csv",
        events() + &hidden().lines().take(4000).fold(String::new(), |all, line| all + line + "\n"),
    );
    assert_eq!(place.run(&line).ok().stdout, first);
    place.write("in.csv", events() + "2026-01-05T01:40:00Z,/home,x\n");
    place.run(&line).refused(&["other data"]);
}

/// A budget file adds up the noise and the part of δ for groups that appear.
#[test]
fn a_budget_file_adds_up_noise_and_the_part_for_groups() {
    let place = place();
    let budget = "budget new b --unit person --epsilon 5 --delta 4e-6";
    let line = format!("{COUNT} --budget-file b");
    place.run(budget).ok();
    place.run(&line).refused(&["sets no part of δ aside", "--groups-part"]);
    place.run("budget show b").ok();
    std::fs::remove_file(place.path("b")).unwrap();
    place.run(&format!("{budget} --groups-part 1e-6")).ok();
    let first = place.run(&line).ok().stdout;
    assert!(
        first.contains("# ledger_population: everyone") && first.contains("# ledger_entry: 1"),
        "{first}"
    );
    // The same key and data again cost nothing, and a run that the part does not allow reads nothing.
    place.run(&format!("{line} --noise-key noise.key")).ok();
    place.run(&format!("{line} --noise-key noise.key")).ok();
    let shown = place.run("budget show b").ok().stdout;
    assert!(shown.contains("of which δ = 1e-6 is set aside for groups that are found"), "{shown}");
    assert!(shown.contains("δ of groups"), "{shown}");
    let json = place.run("budget show b --json").ok().stdout;
    assert_eq!(json.matches("\"key_delta\":5e-7").count(), 2, "{json}");
    place
        .run(&line.replace("in.csv", "absent.csv"))
        .over_budget(&["does not allow", "for groups that appear"]);
}

#[test]
fn what_cannot_be_found_privately_is_refused_before_reading() {
    let place = Place::new();
    // There is no input, so a refusal that names anything else came before reading.
    for (change, parts) in [
        ("--discover-delta 1e-6", &["--discover-delta must be above zero and below δ"][..]),
        ("--discover-delta 0.5", &["--discover-delta must be above zero and below δ"]),
        ("--discover-delta 0", &["--discover-delta must be above zero"]),
        ("--discover-share 1", &["--discover-share must be above zero and below one"]),
        ("--discover-floor 0", &["--discover-floor must be at least 1"]),
        ("--discover-floor 99999999999", &["--discover: the threshold must be one that a key can reach"]),
        ("--window 2", &["--window and --decay cannot be used with --discover"]),
        ("--arithmetic float", &["--arithmetic float cannot be used with --discover"]),
        ("--follow", &["--follow cannot be used with --discover"]),
        ("--monotone", &["--monotone cannot be used with --discover"]),
        ("--simultaneous", &["--simultaneous cannot be used with --discover"]),
        ("--plot x.svg", &["--plot cannot be used with --discover"]),
        ("--report total", &["--report cannot be used with --discover"]),
        ("--groups a,b", &["--groups", "--discover"]),
    ] {
        place.run(&format!("{COUNT} {change}")).refused(parts);
    }
    place.run(&COUNT.replace("--delta 1e-6", "--delta 0")).refused(&["--discover needs --delta above 0"]);
    place.run(&COUNT.replace("--person person --max-steps 2", "")).refused(&["--person"]);
    place.run(&COUNT.replace("--group-by page", "")).refused(&["--group-by"]);
    place.run(&COUNT.replace("--discover ", "")).refused(&["--discover"]);
}

#[test]
fn events_that_name_no_person_or_no_group_are_reported() {
    let place = place();
    place.write("in.csv", events() + "2026-01-05T01:40:00Z,/x,\n");
    let ran = place.run(COUNT);
    assert_eq!(ran.code, Some(0));
    assert!(ran.stderr.contains("1 event names no person and was left out"), "{}", ran.stderr);
    place.run(&format!("{COUNT} --unnamed refuse")).refused(&["line 1702", "person"]);
    place.write("in.csv", events() + "2026-01-05T01:40:00Z,,x\n");
    place.run(COUNT).refused(&["line 1702", "page", "the event names no group"]);
    let ran = place.run(&format!("{COUNT} --skip-bad-rows"));
    assert!(ran.code == Some(0) && ran.stderr.contains("1 row cannot be read"), "{}", ran.stderr);
    place.write("in.csv", events() + &format!("2026-01-05T01:40:00Z,{},x\n", "secret".repeat(2 << 20)));
    let refusal = place.run(COUNT);
    assert!(refusal.code == Some(2) && !refusal.stderr.contains("secretsecret"));
    let mut bytes = events().into_bytes();
    bytes.extend(b"2026-01-05T01:40:00Z,\xff\xfe,x\n");
    place.write("in.csv", bytes);
    let refusal = place.run(COUNT);
    assert_eq!((refusal.code, refusal.stdout.as_str()), (Some(2), ""), "{}", refusal.stderr);
}
