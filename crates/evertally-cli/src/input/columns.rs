//! Which column of an input a name means.
//!
//! **Definition.** A name is the name of a column as it stands. If there is none, it is a path: names
//! from the outside in, with dots between them, so `user.id` is the member `id` of `user`. In a path, a
//! dot that belongs to a name is written `\.`, and a backslash `\\`. A column that has the whole name,
//! dots and all, always wins. CSV has no paths.

use crate::error::{CliError, Result, shown};

/// The names of a path, from the outside in. `None` if the text is a single name.
pub(crate) fn path_of(text: &str) -> Option<Vec<String>> {
    let mut parts = vec![String::new()];
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        let (is_dot, letter) = match letter {
            '\\' => (false, letters.next().unwrap_or('\\')),
            letter => (letter == '.', letter),
        };
        match parts.last_mut() {
            Some(part) if !is_dot => part.push(letter),
            _ => parts.push(String::new()),
        }
    }
    let is_plain = matches!(&parts[..], [name] if name == text);
    (!is_plain && parts.iter().all(|part| !part.is_empty())).then_some(parts)
}

/// A column's name as an error may show it. A number is not shown: without a header it is data.
fn shown_name(name: &str) -> String {
    if name.parse::<f64>().is_ok() { "(a number)".to_owned() } else { shown(name) }
}

/// The index of each requested column among those of the input, which are given as paths. The hint
/// says where the names come from.
pub(crate) fn positions<'a>(
    source: &str,
    present: &[impl AsRef<[String]>],
    requested: impl IntoIterator<Item = &'a String>,
    hint: &str,
) -> Result<Vec<usize>> {
    let places = |wanted: &[String]| {
        let same = present.iter().enumerate().filter(|(_, path)| path.as_ref() == wanted);
        same.map(|(at, _)| at).collect::<Vec<_>>()
    };
    let find = |wanted: &String| {
        let exact = places(std::slice::from_ref(wanted));
        let found = if exact.is_empty() { path_of(wanted).map(|path| places(&path)) } else { Some(exact) };
        match found.as_deref().unwrap_or_default() {
            [at] => Ok(*at),
            [] => {
                let names = present.iter().take(20).map(|path| shown_name(&path.as_ref().join(".")));
                let names = names.collect::<Vec<_>>().join(", ");
                let more = if present.len() > 20 { ", …" } else { "" };
                let wanted = shown(wanted);
                Err(CliError::bad(format!("{source} has no column {wanted}{hint}: it has {names}{more}")))
            }
            _ => Err(CliError::bad(format!("{source} has more than one column {}", shown(wanted)))),
        }
    };
    requested.into_iter().map(find).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_have_dots_between_names() {
        let path = |text: &str| path_of(text).map(|parts| parts.join("|"));
        assert_eq!(path("user.id").as_deref(), Some("user|id"));
        assert_eq!(path(r"user\.name.first").as_deref(), Some("user.name|first"));
        assert_eq!(path(r"a\\.b").as_deref(), Some(r"a\|b"));
        assert_eq!(path(r"a\.b").as_deref(), Some("a.b"));
        for text in ["user", "", ".", "a.", ".a", "a..b"] {
            assert_eq!(path(text), None, "{text}");
        }
    }

    #[test]
    fn a_column_with_the_whole_name_wins() {
        let names = |text: &str| text.split('|').map(str::to_owned).collect::<Vec<_>>();
        let present = [names("user|id"), names("user.id"), names("a.b|c")];
        let find = |wanted: &str| {
            positions("x", &present, [&wanted.to_owned()], "").map_err(|error| error.to_string())
        };
        assert_eq!(find("user.id"), Ok(vec![1]));
        assert_eq!(find(r"a\.b.c"), Ok(vec![2]));
        assert_eq!(positions("x", &present[..1], [&"user.id".to_owned()], "").ok(), Some(vec![0]));
        assert!(find("a.b.c").is_err_and(|error| error.contains("no column")));
        let twice = [names("n"), names("n")];
        let error = positions("x", &twice, [&"n".to_owned()], "").unwrap_err().to_string();
        assert_eq!(error, "x has more than one column \"n\"");
    }
}
