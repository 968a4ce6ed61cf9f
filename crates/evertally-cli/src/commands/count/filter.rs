//! `--where`: which rows count.
//!
//! **Grammar.** `or` of `and` of `not` of: a condition in parentheses; a column compared with a number, a
//! 'text', true or false by `=`, `!=`, `<`, `<=`, `>` or `>=`; a column `in` a list of such values; a column
//! `is null`; and the last two with `not`. `==` and `<>` are taken as well, and words in any case. A
//! column is a word with dots, or any name in double quotes. A quote inside quotes is doubled.
//!
//! **Meaning.** A comparison with a missing cell does not hold, and nor does `in`. Numbers compare as
//! numbers, exactly where both are integers. Texts compare by their bytes, without whitespace around
//! them. A cell that is no number cannot be compared with one, and a time with nothing: that is an error
//! of the row, not `false`, because a typing error must not silently count nothing.
//!
//! **Guarantee.** Whether a row counts is a function of this row alone, so one event still changes no
//! more than itself. The [canonical](Filter::canonical) text stands in the noise's name: two conditions
//! that could count differently have different texts.

mod parse;

use crate::input::Cell;
use std::cmp::Ordering;
use std::fmt::{self, Write};

/// A condition on the cells of a row.
#[derive(Debug, Clone)]
pub(crate) struct Filter {
    condition: Condition,
    columns: Vec<String>,
    canonical: String,
}

/// Why a condition cannot be decided: the number of its column, and what was expected there.
pub(crate) type Undecided = (usize, String);

#[derive(Debug, Clone)]
enum Condition {
    Any(Vec<Condition>),
    All(Vec<Condition>),
    Not(Box<Condition>),
    Compare { column: usize, comparison: Comparison, literal: Literal },
    In { column: usize, literals: Vec<Literal> },
    IsNull { column: usize },
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

#[derive(Debug, Clone, PartialEq)]
enum Literal {
    Integer(i64),
    Decimal(f64),
    Text(String),
    Truth(bool),
}

impl Filter {
    /// Parses a condition. The error points at the place.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (condition, columns) = parse::parse(text)?;
        let canonical = Shown { condition: &condition, columns: &columns }.to_string();
        Ok(Self { condition, columns, canonical })
    }

    /// The columns that are looked at.
    pub(crate) fn columns(&self) -> &[String] {
        &self.columns
    }

    /// The condition in a form that does not depend on how it was typed.
    pub(crate) fn canonical(&self) -> &str {
        &self.canonical
    }

    /// Whether the condition holds for these cells, which are those of [`columns`](Self::columns).
    pub(crate) fn holds(&self, cells: &[Cell]) -> Result<bool, Undecided> {
        self.condition.holds(cells)
    }
}

impl Condition {
    fn holds(&self, cells: &[Cell]) -> Result<bool, Undecided> {
        // Every part is decided, so that whether a row is bad does not depend on the order of parts.
        match self {
            Self::Any(parts) => parts.iter().try_fold(false, |any, part| Ok(part.holds(cells)? || any)),
            Self::All(parts) => parts.iter().try_fold(true, |all, part| Ok(part.holds(cells)? && all)),
            Self::Not(part) => part.holds(cells).map(|holds| !holds),
            Self::IsNull { column } => Ok(matches!(cells[*column], Cell::Missing)),
            Self::Compare { column, comparison, literal } => {
                let order = compare(&cells[*column], literal).map_err(|expected| (*column, expected))?;
                Ok(order.is_some_and(|order| comparison.holds(order)))
            }
            Self::In { column, literals } => literals.iter().try_fold(false, |any, literal| {
                let order = compare(&cells[*column], literal).map_err(|expected| (*column, expected))?;
                Ok(any || order == Some(Ordering::Equal))
            }),
        }
    }
}

impl Comparison {
    fn holds(self, order: Ordering) -> bool {
        match self {
            Self::Equal => order.is_eq(),
            Self::NotEqual => order.is_ne(),
            Self::Less => order.is_lt(),
            Self::LessOrEqual => order.is_le(),
            Self::Greater => order.is_gt(),
            Self::GreaterOrEqual => order.is_ge(),
        }
    }

    fn sign(self) -> &'static str {
        match self {
            Self::Equal => "=",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
        }
    }
}

/// How a cell compares with a literal. `None` for a missing cell, and what was expected for one of
/// another kind.
fn compare(cell: &Cell, literal: &Literal) -> Result<Option<Ordering>, String> {
    if matches!(cell, Cell::Missing) {
        return Ok(None);
    }
    let number = |literal: f64| {
        let cell = cell.as_value().ok_or("a number, because --where compares it with one")?;
        Ok(cell.partial_cmp(&literal))
    };
    match literal {
        Literal::Integer(literal) => match integer(cell) {
            Some(cell) => Ok(Some(cell.cmp(literal))),
            None => number(*literal as f64),
        },
        Literal::Decimal(literal) => number(*literal),
        Literal::Text(literal) => match cell {
            Cell::Time(_) | Cell::LocalTime(_) => {
                Err("no time, because --where compares texts and numbers; --from and --to choose times"
                    .to_owned())
            }
            cell => Ok(cell.as_shown().map(|cell| cell.trim().cmp(literal))),
        },
        Literal::Truth(literal) => match cell.as_shown().as_deref().map(str::trim) {
            Some("true" | "True" | "TRUE") => Ok(Some(true.cmp(literal))),
            Some("false" | "False" | "FALSE") => Ok(Some(false.cmp(literal))),
            _ => Err("true or false, because --where compares it with one".to_owned()),
        },
    }
}

fn integer(cell: &Cell) -> Option<i64> {
    match cell {
        Cell::Integer(number) => Some(*number),
        Cell::Text(text) => text.trim().parse().ok(),
        _ => None,
    }
}

/// A condition as text. Parentheses stand around every part of more than one.
struct Shown<'a> {
    condition: &'a Condition,
    columns: &'a [String],
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let column = |column: &usize| format!("\"{}\"", self.columns[*column].replace('"', "\"\""));
        let inner = |condition: &Condition| Shown { condition, columns: self.columns }.to_string();
        let joined = |parts: &[Condition], word: &str| {
            parts.iter().map(|part| format!("({})", inner(part))).collect::<Vec<_>>().join(word)
        };
        match self.condition {
            Condition::Any(parts) => f.write_str(&joined(parts, " or ")),
            Condition::All(parts) => f.write_str(&joined(parts, " and ")),
            Condition::Not(part) => write!(f, "not ({})", inner(part)),
            Condition::IsNull { column: at } => write!(f, "{} is null", column(at)),
            Condition::Compare { column: at, comparison, literal } => {
                write!(f, "{} {} {literal}", column(at), comparison.sign())
            }
            Condition::In { column: at, literals } => {
                write!(f, "{} in (", column(at))?;
                for (number, literal) in literals.iter().enumerate() {
                    write!(f, "{}{literal}", if number == 0 { "" } else { ", " })?;
                }
                f.write_char(')')
            }
        }
    }
}

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(number) => write!(f, "{number}"),
            // With a mark, so that 1.0 and 1 are told apart: they compare large integers differently.
            Self::Decimal(number) => write!(f, "{number:?}"),
            Self::Text(text) => write!(f, "'{}'", text.replace('\'', "''")),
            Self::Truth(truth) => write!(f, "{truth}"),
        }
    }
}

#[cfg(test)]
mod tests;
