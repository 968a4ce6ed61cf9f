//! The requested members of one JSON object.
//!
//! **Definition.** A column is a member of the object, or a path of members ([`columns`]). The member
//! with the whole name wins, wherever it stands. Of members with the same name, the last counts. A path
//! through anything but objects leads to a missing cell.
//!
//! [`columns`]: crate::input::columns

use crate::input::Cell;
use crate::input::columns::path_of;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// The columns to pick.
pub(super) struct Wanted {
    columns: Vec<(String, Option<Vec<String>>)>,
}

impl Wanted {
    pub(super) fn new(columns: &[String]) -> Self {
        let columns = columns.iter().map(|name| (name.clone(), path_of(name))).collect();
        Self { columns }
    }

    /// Fills the cells from the text of an object. The error is the place where the text stops being
    /// one. It repeats no data.
    pub(super) fn pick(&self, text: &str, cells: &mut [Cell]) -> Result<(), usize> {
        cells.fill(Cell::Missing);
        let mut parser = serde_json::Deserializer::from_str(text);
        let picked = Pick { wanted: self, cells }.deserialize(&mut parser);
        picked.and_then(|()| parser.end()).map_err(|error| error.column())
    }
}

/// Takes the requested members of an object and skips the rest without parsing it.
struct Pick<'a> {
    wanted: &'a Wanted,
    cells: &'a mut [Cell],
}

impl<'de> DeserializeSeed<'de> for Pick<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Pick<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let Self { wanted, cells } = self;
        // A column may be requested twice, for example as the group and as the person.
        let mut has_exact = vec![false; cells.len()];
        while let Some(name) = members.next_key::<Cow<'_, str>>()? {
            let is_wanted = |(exact, path): &(String, Option<Vec<String>>)| {
                *exact == name || path.as_ref().is_some_and(|path| path[0] == name)
            };
            if !wanted.columns.iter().any(is_wanted) {
                members.next_value::<IgnoredAny>()?;
                continue;
            }
            let value = members.next_value::<&RawValue>()?.get();
            for (at, (exact, path)) in wanted.columns.iter().enumerate() {
                if *exact == name {
                    cells[at] = cell_of(value);
                    has_exact[at] = true;
                } else if let Some([first, rest @ ..]) = path.as_deref()
                    && *first == name
                    && !has_exact[at]
                {
                    cells[at] = inside(value, rest).map_or(Cell::Missing, cell_of);
                }
            }
        }
        Ok(())
    }
}

/// The text of the value at a path.
fn inside<'a>(value: &'a str, path: &[String]) -> Option<&'a str> {
    path.iter().try_fold(value, |value, name| {
        let mut parser = serde_json::Deserializer::from_str(value);
        Member(name).deserialize(&mut parser).ok().flatten()
    })
}

/// Finds one member of an object.
struct Member<'a>(&'a str);

impl<'de> DeserializeSeed<'de> for Member<'_> {
    type Value = Option<&'de str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Member<'_> {
    type Value = Option<&'de str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(name) = members.next_key::<Cow<'_, str>>()? {
            if name == self.0 {
                found = Some(members.next_value::<&RawValue>()?.get());
            } else {
                members.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }
}

fn is_integer(raw: &str) -> bool {
    let digits = raw.strip_prefix('-').unwrap_or(raw);
    digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// A member's cell, from its text. Numbers keep all digits, so that one outside 64 bits is
/// recognised.
fn cell_of(raw: &str) -> Cell {
    match raw.as_bytes().first() {
        Some(b'n') => Cell::Missing,
        Some(b'"') => {
            let mut cell = Cell::Missing;
            cell.set_text(&serde_json::from_str::<Cow<'_, str>>(raw).unwrap_or_default());
            cell
        }
        // A text holds all the digits of an integer that does not fit 64 bits.
        _ if is_integer(raw) => raw.parse().map_or_else(|_| Cell::Text(raw.to_owned()), Cell::Integer),
        _ => Cell::Literal(raw.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, column: &str) -> Option<String> {
        let mut cells = [Cell::Integer(7)];
        Wanted::new(&[column.to_owned()]).pick(text, &mut cells).unwrap();
        cells[0].as_shown().map(Cow::into_owned)
    }

    #[test]
    fn members_are_found_by_path_and_the_whole_name_wins() {
        let nested =
            r#"{"a": 1, "user": {"id": 5, "at": {"id": "x"}}, "user": {"id": 6, "at": {"id": "y"}}}"#;
        assert_eq!(shown(nested, "user.id").as_deref(), Some("6"));
        assert_eq!(shown(nested, "user.at.id").as_deref(), Some("y"));
        for column in ["user.no", "user.id.no", "no.id", "a.id"] {
            assert_eq!(shown(nested, column), None, "{column}");
        }
        for exact in [r#"{"user.id": 1, "user": {"id": 2}}"#, r#"{"user": {"id": 2}, "user.id": 1}"#] {
            assert_eq!(shown(exact, "user.id").as_deref(), Some("1"));
            assert_eq!(shown(exact, "user").as_deref(), Some(r#"{"id": 2}"#));
        }
        let dots = r#"{"user.name": {"first": "ann"}}"#;
        assert_eq!(shown(dots, r"user\.name.first").as_deref(), Some("ann"));
        // A null wins as well: it is there.
        assert_eq!(shown(r#"{"user.id": null, "user": {"id": 2}}"#, "user.id"), None);
    }
}
