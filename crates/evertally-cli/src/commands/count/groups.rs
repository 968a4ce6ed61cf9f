//! The declared groups, and their public denominators.
//!
//! **Definition.** `--groups` is a list, a file with one group per line, or a table: a file whose first
//! line names several columns, one of them as in `--group-by`. The groups of a table are the cells of
//! that column, in order. With `--per COLUMN`, another column of the table holds the denominator of each
//! group. A rate is an estimate divided by the denominator of its group, times `--per-unit`.
//!
//! **Guarantee.** Denominators are public and divide what was released already, so rates cost no budget,
//! and the noise does not depend on them: the same groups are declared with and without `--per`.
//! Dividing by a positive number and rounding keeps the order of numbers. So the interval of a rate
//! holds the rate of the true total whenever the interval of the estimate holds that total.

use crate::error::{CliError, Result, shown};
use crate::input::BYTE_ORDER_MARK;
use crate::memory;
use crate::output::Estimate;
use csv::{ReaderBuilder, StringRecord, Trim};
use evertally_stream::{KeySet, OTHER};
use std::ops::RangeInclusive;
use std::path::Path;

/// The declared groups.
pub(super) struct Groups {
    pub(super) keys: KeySet,
    pub(super) rates: Option<Rates>,
}

/// What turns totals into rates.
pub(super) struct Rates {
    /// The column of the denominators.
    pub(super) column: String,
    /// How many of them a rate is for.
    pub(super) unit: f64,
    /// One for each group, in order. `other` has none unless it is in the table.
    pub(super) denominators: Vec<Option<f64>>,
}

/// The options about rates.
pub(super) struct Per<'a> {
    pub(super) column: &'a str,
    pub(super) unit: f64,
}

impl Groups {
    /// Groups from the command line, or from a file of that name.
    pub(super) fn declared(text: &str, group_by: &str, per: Option<&Per<'_>>) -> Result<Self> {
        let path = Path::new(text);
        if !text.contains(',') && path.exists() && !path.is_dir() {
            let file = std::fs::read_to_string(path).map_err(|error| CliError::reading(path, &error))?;
            let file = file.trim_start_matches(BYTE_ORDER_MARK);
            memory::check_for(memory_of_groups(file), "the groups").map_err(|error| error.in_file(path))?;
            return match Table::read(file, group_by).map_err(|error| error.in_file(path))? {
                Some(table) => table.groups(per).map_err(|error| error.in_file(path)),
                None if per.is_some() => Err(CliError::bad(format!(
                    "--per needs a table of groups: expected a first line with {} and the column of --per in {}",
                    shown(group_by),
                    path.display()
                ))),
                None => Ok(Self { keys: keys_by_line(file)?, rates: None }),
            };
        }
        if !text.contains(',') && text.contains(['.', '/', '\\']) {
            // A mistyped name of a file would otherwise be the only key, and every event would silently
            // count as `other`.
            return Err(CliError::bad(format!(
                "--groups: {0} looks like a file and there is none of that name; as a group, write {0},{OTHER}",
                text.escape_debug()
            )));
        }
        if per.is_some() {
            return Err(CliError::bad(
                "--per needs --groups FILE: a table with the groups and their denominators, such as regions.csv",
            ));
        }
        Ok(Self { keys: key_set(text.split(','))?, rates: None })
    }
}

/// What the groups of a file take at most, with their rows, their two indices and the parts of the plan.
fn memory_of_groups(text: &str) -> usize {
    const PER_GROUP: usize = 512;
    const COPIES: usize = 6;
    COPIES * text.len() + PER_GROUP * memchr::memchr_iter(b'\n', text.as_bytes()).count()
}

/// The numbers that a total can be divided by and multiplied with: a rate is then never infinite or lost.
pub(super) const IN_A_RATE: RangeInclusive<f64> = 1e-100..=1e100;

/// The place of a column, if there is one of that name.
fn column_of(header: &StringRecord, name: &str) -> Result<Option<usize>> {
    let mut places = header.iter().enumerate().filter(|(_, other)| *other == name).map(|(place, _)| place);
    match (places.next(), places.next()) {
        (_, Some(_)) => Err(CliError::bad(format!("more than one column is named {}", shown(name)))),
        (place, None) => Ok(place),
    }
}

/// A table of groups: its header, and its rows with their lines.
struct Table {
    header: StringRecord,
    group: usize,
    rows: Vec<(u64, StringRecord)>,
}

impl Table {
    /// `None` if the first line is a group.
    fn read(text: &str, group_by: &str) -> Result<Option<Self>> {
        let mut reader = ReaderBuilder::new().trim(Trim::All).from_reader(text.as_bytes());
        let Ok(header) = reader.headers().cloned() else { return Ok(None) };
        let Some(group) = column_of(&header, group_by)?.filter(|_| header.len() > 1) else {
            return Ok(None);
        };
        let mut rows = Vec::new();
        for record in reader.records() {
            let record = record.map_err(|error| match error.kind() {
                csv::ErrorKind::UnequalLengths { pos, expected_len, len } => {
                    let line = pos.as_ref().map_or(0, csv::Position::line);
                    CliError::bad(format!("line {line}: expected {expected_len} values, got {len}"))
                }
                _ => CliError::bad("expected a table in CSV"),
            })?;
            rows.push((record.position().map_or(0, csv::Position::line), record));
        }
        Ok(Some(Self { header, group, rows }))
    }

    fn groups(&self, per: Option<&Per<'_>>) -> Result<Groups> {
        let keys = key_set(self.rows.iter().map(|(_, row)| &row[self.group]))?;
        let rates = per.map(|per| self.rates(per, &keys)).transpose()?;
        Ok(Groups { keys, rates })
    }

    fn rates(&self, per: &Per<'_>, keys: &KeySet) -> Result<Rates> {
        let column = column_of(&self.header, per.column)?.ok_or_else(|| {
            let columns = self.header.iter().map(shown).collect::<Vec<_>>().join(", ");
            CliError::bad(format!("--per: there is no column {}; columns are {columns}", shown(per.column)))
        })?;
        let mut denominators = vec![None; keys.names().len()];
        for ((line, row), denominator) in self.rows.iter().zip(&mut denominators) {
            let number = row[column].parse().ok().filter(|number| IN_A_RATE.contains(number));
            *denominator = Some(number.ok_or_else(|| {
                let got = Some(&row[column]).filter(|cell| !cell.is_empty());
                let (column, got) = (shown(per.column), got.map_or("nothing".to_owned(), shown));
                CliError::bad(format!(
                    "line {line}, column {column}: expected a number above zero, from 1e-100 to 1e100, got {got}"
                ))
            })?);
        }
        Ok(Rates { column: per.column.to_owned(), unit: per.unit, denominators })
    }
}

impl Rates {
    /// The rate of a group, if it has a denominator.
    pub(super) fn rate(&self, group: usize, total: &Estimate) -> Option<Estimate> {
        let denominator = self.denominators.get(group).copied().flatten()?;
        let rate = |number: f64| number * self.unit / denominator;
        Some(Estimate {
            value: rate(total.value),
            standard_error: rate(total.standard_error),
            lower: rate(total.lower),
            upper: rate(total.upper),
        })
    }
}

/// Keys from a file, one per line.
pub(crate) fn keys_by_line(text: &str) -> Result<KeySet> {
    let lines = text.trim_start_matches(BYTE_ORDER_MARK).lines();
    key_set(lines.filter(|line| !line.trim().is_empty()))
}

/// Declared keys without the spaces around them.
pub(crate) fn key_set<'a>(keys: impl Iterator<Item = &'a str>) -> Result<KeySet> {
    let declared = keys.map(str::trim);
    KeySet::new(declared).map_err(|error| CliError::bad(format!("--groups: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const POPULATION: Per<'_> = Per { column: "population", unit: 1e5 };

    fn table(text: &str) -> Result<Groups> {
        Table::read(text, "region")?.unwrap().groups(Some(&POPULATION))
    }

    #[test]
    fn a_file_is_a_table_if_its_first_line_says_so() {
        for (text, is_table) in [
            ("region,population\nnorth,5\n", true),
            ("population, region \n5,north\n", true),
            ("north\nsouth\n", false),
            ("region\nnorth\n", false),
            ("north,5\n", false),
            ("", false),
        ] {
            assert_eq!(Table::read(text, "region").unwrap().is_some(), is_table, "{text}");
        }
    }

    #[test]
    fn groups_keep_their_order_and_other_has_no_denominator() {
        let groups = table("region,population\nnorth,200\n\"south, low\",50\n").unwrap();
        assert_eq!(groups.keys.names(), ["north", "south, low", "other"]);
        let rates = groups.rates.unwrap();
        assert_eq!(rates.denominators, [Some(200.0), Some(50.0), None]);
        let total = Estimate { value: 3.0, standard_error: 1.0, lower: -1.0, upper: 5.0 };
        let rate = Estimate { value: 6000.0, standard_error: 2000.0, lower: -2000.0, upper: 10_000.0 };
        assert_eq!(rates.rate(1, &total), Some(rate));
        assert_eq!(rates.rate(2, &total), None);
        let other = table("population,region\n7,other\n8,north\n").unwrap();
        assert_eq!(other.keys.names(), ["other", "north"]);
        assert_eq!(other.rates.unwrap().denominators, [Some(7.0), Some(8.0)]);
    }
}
