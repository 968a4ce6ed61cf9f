//! The labels in a column, and their numbers in the loss.

use crate::error::{CliError, Result, shown};
use crate::input::{Cell, EXPECTED_VALUE};
use evertally::Error;
use evertally_learn::Losses;

/// Advice if the labels are not what the loss expects.
const HINT: &str = "(--classes names other labels)";

/// How labels are read. Each is mapped on its own, because it is private which ones occur.
pub(super) struct Labels {
    loss: Losses,
    /// Declared names, in the order of the classes. Empty if labels are numbers.
    classes: Vec<String>,
}

impl Labels {
    pub(super) fn new(loss: Losses, declared: Option<&str>) -> Result<Self> {
        let Some(list) = declared else { return Ok(Self { loss, classes: Vec::new() }) };
        if !loss.is_classification() {
            return Err(CliError::bad(format!("--classes names labels, and those of {loss} are numbers")));
        }
        let classes: Vec<String> = list.split(',').map(|name| name.trim().to_owned()).collect();
        let expected = loss.scores().max(2);
        if classes.len() != expected {
            let got = classes.len();
            return Err(CliError::bad(format!("--classes: expected {expected} names for {loss}, got {got}")));
        }
        for (at, name) in classes.iter().enumerate() {
            if name.is_empty() || classes[..at].contains(name) {
                return Err(CliError::bad(format!(
                    "--classes: expected names that are all different, got {}",
                    shown(list)
                )));
            }
        }
        Ok(Self { loss, classes })
    }

    /// The declared names.
    pub(super) fn classes(&self) -> &[String] {
        &self.classes
    }

    /// The label of a cell, or what was expected instead.
    pub(super) fn read(&self, cell: &Cell) -> std::result::Result<f64, String> {
        if !self.classes.is_empty() {
            let class = self.classes.iter().position(|name| is_named(cell, name));
            return class.map(|class| self.number(class)).ok_or_else(|| self.declared());
        }
        let value = cell.as_value().ok_or_else(|| {
            if self.loss.is_classification() { self.words() } else { EXPECTED_VALUE.to_owned() }
        })?;
        self.loss.check_label(value).map_err(|_| self.words())?;
        Ok(value)
    }

    /// The number of a class in the loss.
    fn number(&self, class: usize) -> f64 {
        match (self.loss.scores(), class) {
            (1, 0) => -1.0,
            (1, _) => 1.0,
            (_, class) => class as f64,
        }
    }

    fn declared(&self) -> String {
        let names: Vec<String> = self.classes.iter().take(8).map(|name| shown(name)).collect();
        let more = if self.classes.len() > 8 { ", …" } else { "" };
        format!("one of the classes {}{more}", names.join(", "))
    }

    /// The labels that the loss accepts, as the loss describes them.
    fn words(&self) -> String {
        let hint = if self.loss.is_classification() { format!(" {HINT}") } else { String::new() };
        // No loss accepts a number this large, and the error says what it accepts.
        match self.loss.check_label(f64::MAX) {
            Err(Error::BadParameter { expected, .. }) => format!("{expected}{hint}"),
            _ => EXPECTED_VALUE.to_owned(),
        }
    }
}

/// Whether a cell holds a class, as a name or as the number that the name stands for.
fn is_named(cell: &Cell, name: &str) -> bool {
    if cell.as_shown().is_some_and(|text| text == name) {
        return true;
    }
    let number = name.parse::<f64>().ok().filter(|number| number.is_finite());
    number.is_some() && cell.as_value() == number
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(loss: &str, classes: Option<&str>) -> Result<Labels> {
        Labels::new(loss.parse().unwrap(), classes)
    }

    fn text(text: &str) -> Cell {
        Cell::Text(text.to_owned())
    }

    #[test]
    fn classes_have_the_numbers_that_the_loss_knows() {
        let two = labels("logistic", Some("no, yes")).unwrap();
        assert_eq!((two.read(&text("no")), two.read(&text("yes"))), (Ok(-1.0), Ok(1.0)));
        assert!(two.read(&text("maybe")).unwrap_err().contains("\"no\", \"yes\""));
        assert!(two.read(&Cell::Missing).is_err());
        let three = labels("softmax:3", Some("a,b,c")).unwrap();
        assert_eq!(three.read(&text("c")), Ok(2.0));
        // A number is the same in all formats.
        let numbers = labels("hinge", Some("0,1")).unwrap();
        for one in [text("1"), text("1.0"), Cell::Integer(1), Cell::Decimal(1.0)] {
            assert_eq!(numbers.read(&one), Ok(1.0));
        }
        // A boolean names no person, but a class.
        let flags = labels("hinge", Some("false,true")).unwrap();
        assert_eq!(flags.read(&Cell::Literal("true".to_owned())), Ok(1.0));
    }

    #[test]
    fn labels_without_names_are_what_the_loss_takes() {
        let plain = labels("logistic", None).unwrap();
        assert_eq!(plain.read(&text("-1")), Ok(-1.0));
        for bad in [text("0"), text("yes"), Cell::Missing] {
            let expected = plain.read(&bad).unwrap_err();
            assert!(expected.contains("-1 or +1 (--classes"), "{expected}");
        }
        assert!(labels("softmax:3", None).unwrap().read(&text("3")).unwrap_err().contains("from 0 to 2"));
        assert_eq!(labels("squared", None).unwrap().read(&text("2.5")), Ok(2.5));
        assert!(labels("squared:2", None).unwrap().read(&text("2.5")).is_err());
        assert!(labels("squared", None).unwrap().read(&text("nan")).is_err());
    }

    #[test]
    fn names_that_are_none_are_refused() {
        for (loss, classes) in [
            ("squared", "a,b"),
            ("logistic", "a"),
            ("logistic", "a,b,c"),
            ("softmax:3", "a,b"),
            ("hinge", "a,a"),
        ] {
            assert!(labels(loss, Some(classes)).is_err(), "{loss} {classes}");
        }
        assert!(labels("hinge", Some("a,")).is_err());
    }
}
