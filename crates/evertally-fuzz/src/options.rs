//! Targets for the command line, and for files of keys.

use std::collections::HashSet;

use evertally::Horizon;
use evertally_cli::fuzz;
use evertally_stream::time;

use crate::check_line;

/// Parses a text as a time, a key, a list of keys and every other kind of option value.
pub fn options(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Some(micros) = time::parse(&text)
        && let Some(written) = time::format(micros)
        // Years before 1 are written with a sign, which the parser does not accept.
        && !written.starts_with('-')
    {
        assert_eq!(time::parse(&written), Some(micros), "{text:?} is written as {written:?}");
    }
    let is_key = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    assert_eq!(fuzz::is_key(&text), is_key);
    keys(fuzz::keys_of_list(&text));
    keys(fuzz::keys_of_file(&text));
    check(fuzz::clamp(&text), |(lo, hi)| lo < hi && lo.is_finite() && hi.is_finite());
    check(fuzz::condition(&text), |form| fuzz::condition(form).as_ref() == Ok(form));
    check(fuzz::memory(&text), |bytes| *bytes > 0);
    let horizon = text.parse::<Horizon>().map_err(|error| error.to_string());
    check(horizon, |horizon| horizon.steps().is_none() == (text == "unbounded"));
}

fn check<T>(outcome: fuzz::Outcome<T>, holds: impl Fn(&T) -> bool) {
    match outcome {
        Ok(value) => assert!(holds(&value)),
        Err(message) => check_line(&message),
    }
}

/// Declared keys are distinct and not empty, and `other` is among them.
fn keys(outcome: fuzz::Outcome<Vec<String>>) {
    check(outcome, |names| {
        let distinct: HashSet<&String> = names.iter().collect();
        distinct.len() == names.len()
            && names.iter().all(|name| !name.is_empty() && name.trim() == name)
            && names.iter().any(|name| name == "other")
    });
}

/// Parses the words of a command line, one per line. The command is not executed.
pub fn command_line(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let words: Vec<&str> = text.lines().collect();
    check(fuzz::command_line(&words), |()| true);
}
