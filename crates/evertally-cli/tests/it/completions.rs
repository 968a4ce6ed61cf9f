//! `completions`: scripts and manual pages contain all that the help shows and no older spelling, the
//! scripts work, and the files lie where shells and `man` look for them.

use crate::common::Place;
use std::collections::BTreeSet;
use std::process::Command;

const SHELLS: [&str; 5] = ["bash", "elvish", "fish", "powershell", "zsh"];

/// Spellings that still work and that nothing shows.
const OLDER: [&str; 7] =
    ["--steps", "--worst", "--key-file", "--ledger", "--noise-multiplier", "--regret", "--open-keys"];

/// Every command that the help shows, in full, and those that only group others.
fn commands(place: &Place) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut next = 0;
    while let Some(command) = found.get(next).cloned() {
        next += 1;
        let help = place.run(&format!("{command} --help")).ok().stdout;
        if !help.contains("<COMMAND>") {
            continue;
        }
        let rows =
            help.lines().filter_map(|line| line.strip_prefix("  ")).filter(|row| !row.starts_with(' '));
        let names: BTreeSet<String> = rows
            .filter_map(|row| match row.strip_prefix("research ") {
                Some(_) => Some("research".to_owned()),
                // A name, at least two spaces, and what the command does.
                None => row.split_once("  ").map(|(name, _)| name.to_owned()),
            })
            .filter(|name| name != "help" && name.chars().all(|c| c.is_ascii_lowercase()))
            .collect();
        found.extend(names.into_iter().map(|name| format!("{command} {name}").trim().to_owned()));
    }
    found.split_off(1)
}

/// The options at the start of a line of the help.
fn options(place: &Place, command: &str) -> Vec<String> {
    let help = place.run(&format!("{command} --help")).ok().stdout;
    let long = help.lines().filter_map(|line| {
        let line = line.trim_start();
        let line = line.split_once(", ").filter(|(short, _)| short.len() == 2).map_or(line, |(_, long)| long);
        line.starts_with("--").then(|| line.split([' ', '[', '=']).next().unwrap_or_default().to_owned())
    });
    long.collect()
}

/// Whether a text has this option, and not only a longer one that begins alike.
fn has(text: &str, option: &str) -> bool {
    let goes_on = |rest: &str| rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '-');
    text.match_indices(option).any(|(at, _)| !goes_on(&text[at + option.len()..]))
}

#[test]
fn scripts_and_pages_contain_what_the_help_shows_and_no_older_spelling() {
    let place = Place::new();
    place.run("completions --into share").ok();
    let commands = commands(&place);
    for expected in ["count", "budget new", "research gamma", "completions"] {
        assert!(commands.iter().any(|command| command == expected), "{expected}: {commands:?}");
    }
    let scripts = SHELLS.map(|shell| (shell, place.run(&format!("completions {shell}")).ok().stdout));
    let mut seen = 0;
    for command in &commands {
        let page = format!("share/man/man1/evertally-{}.1", command.replace(' ', "-"));
        let page = String::from_utf8(place.read(&page)).unwrap().replace("\\-", "-");
        for option in options(&place, command) {
            seen += 1;
            assert!(has(&page, &option), "the page of {command} lacks {option}");
            for (shell, script) in &scripts {
                assert!(has(script, &spelled(&option, shell)), "{shell} lacks {option} of {command}");
            }
        }
        for older in OLDER {
            assert!(!has(&page, older), "the page of {command} speaks of {older}");
        }
    }
    assert!(seen > 100, "{seen} options");
    for (shell, script) in &scripts {
        for older in OLDER {
            assert!(!has(script, &spelled(older, shell)), "{shell} offers {older}");
        }
    }
}

fn spelled(option: &str, shell: &str) -> String {
    if shell == "fish" { option.replacen("--", "-l ", 1) } else { option.to_owned() }
}

#[test]
fn bash_completes_commands_and_options() {
    let place = Place::new();
    place.write("evertally.bash", place.run("completions bash").ok().bytes);
    let completed = |words: &str| {
        let last = words.split(' ').next_back().unwrap();
        let script = format!(
            "source evertally.bash; COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
             _evertally evertally '{last}' x; echo \"${{COMPREPLY[@]}}\""
        );
        let output = Command::new("bash").args(["-c", &script]).current_dir(place.path("")).output().ok()?;
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Some(String::from_utf8(output.stdout).unwrap().trim().to_owned())
    };
    let Some(commands) = completed("evertally c") else {
        return eprintln!("skipped: there is no bash");
    };
    assert_eq!(commands, "count completions");
    assert_eq!(completed("evertally count --horiz").unwrap(), "--horizon");
    // The older name of a research command, and the older name of an option.
    assert_eq!(completed("evertally gam").unwrap(), "");
    assert_eq!(completed("evertally research gam").unwrap(), "gamma");
    assert_eq!(completed("evertally research gamma --wors").unwrap(), "");
}

#[test]
fn everything_is_installed_where_shells_and_man_look() {
    let place = Place::new();
    place.run("completions --into share").ok();
    for (file, part) in [
        ("share/bash-completion/completions/evertally", "complete -F _evertally"),
        ("share/zsh/site-functions/_evertally", "#compdef evertally"),
        ("share/fish/vendor_completions.d/evertally.fish", "complete -c evertally"),
        ("share/man/man1/evertally.1", ".SH EXIT STATUS\n.nf\n 0 done"),
        ("share/man/man1/evertally.1", "evertally serve \\-\\-demo"),
        ("share/man/man1/evertally-count.1", ".SH EXAMPLES\n.nf\n"),
    ] {
        let text = String::from_utf8(place.read(file)).unwrap();
        assert!(text.contains(part), "{file}: {text}");
    }
    assert!(!place.path("share/man/man1/evertally-gamma.1").exists(), "an older name has no page");
    // Installing again replaces the files.
    place.run("completions --into share").ok();
}

#[test]
fn one_of_the_two_is_needed() {
    let place = Place::new();
    place.run("completions").refused(&["required"]);
    place.run("completions bash --into share").refused(&["cannot be used with"]);
    place.run("completions tcsh").refused(&["tcsh", "bash"]);
    assert!(place.files().is_empty());
}
