//! `completions`: the scripts work in the shells that are installed, and the files lie where shells
//! and `man` look for them.

use crate::common::Place;
use std::process::Command;

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
        ("share/man/man1/evertally.1", ".TH evertally 1"),
        ("share/man/man1/evertally-budget-new.1", "\\-\\-epsilon"),
        ("share/man/man1/evertally-research-gamma.1", "\\-\\-certificate"),
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
