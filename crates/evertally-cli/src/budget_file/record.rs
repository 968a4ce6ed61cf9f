//! The lines of a budget file.
//!
//! The first line names the format, the number of records and their hash. Each record is one line of
//! JSON. The head after a record is BLAKE3 of the head before it and the bytes of the record. A
//! changed, added, lost or moved line is therefore noticed, and every head identifies the whole
//! past.

use super::{BudgetFile, KeyUse};
use crate::error::{CliError, Result};
use evertally::{BudgetSpec, Neighbours, Odometer, Unit};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The name of the format and its version.
const FORMAT: &str = "evertally ledger 1";

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Opening {
    format: String,
    records: usize,
    head: String,
}

/// The hash of all records so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Head([u8; 32]);

impl Head {
    /// The head after one more record.
    pub(super) fn after(self, line: &str) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key(FORMAT);
        hasher.update(&self.0).update(line.as_bytes());
        Self(*hasher.finalize().as_bytes())
    }
}

impl fmt::Display for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// One record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Record {
    Grant(Grant),
    Spend(Spent),
}

/// What a population may spend in total.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Grant {
    pub(crate) time: String,
    pub(crate) population: String,
    pub(crate) unit: String,
    pub(crate) neighbours: String,
    pub(crate) total: Total,
}

/// A total, as the user stated it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "lowercase")]
pub(crate) enum Total {
    /// (ε, δ), accounted exactly or by zCDP.
    Approximate {
        epsilon: f64,
        delta: f64,
        calibration: String,
        pure_part: f64,
        /// The part of δ for groups that are found. Absent where nothing is set aside, and in budget files of
        /// version 0.2.
        #[serde(default, skip_serializing_if = "is_zero")]
        key_part: f64,
    },
    /// ρ-zCDP.
    Concentrated { rho: f64 },
    /// Pure ε.
    Pure { epsilon: f64 },
}

impl Total {
    fn spec(&self) -> Result<BudgetSpec> {
        let nothing = BudgetSpec::default();
        Ok(match self {
            Self::Approximate { epsilon, delta, calibration, .. } => {
                let calibration = Some(calibration.parse()?);
                BudgetSpec { epsilon: Some(*epsilon), delta: Some(*delta), calibration, ..nothing }
            }
            Self::Concentrated { rho } => BudgetSpec { rho: Some(*rho), ..nothing },
            Self::Pure { epsilon } => BudgetSpec { epsilon: Some(*epsilon), delta: Some(0.0), ..nothing },
        })
    }
}

impl Grant {
    /// The account before anything is spent.
    pub(crate) fn odometer(&self) -> Result<Odometer> {
        let unit = Unit::named(self.unit.as_str(), self.neighbours.parse::<Neighbours>()?)?;
        let odometer = Odometer::new(self.population.as_str(), unit, self.total.spec()?.budget()?)?;
        Ok(match self.total {
            Total::Approximate { pure_part, key_part, .. } => {
                odometer.with_pure_part(pure_part)?.with_key_part(key_part)?
            }
            Total::Concentrated { .. } | Total::Pure { .. } => odometer,
        })
    }
}

/// What a run spent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Spent {
    pub(super) time: String,
    pub(super) population: String,
    pub(super) run: String,
    pub(super) unit: String,
    pub(super) neighbours: String,
    pub(super) mu_squared: f64,
    pub(super) pure_epsilon: f64,
    pub(super) variation: f64,
    /// The part of δ for groups that appear. Absent for runs that find none, and in budget files of version 0.2.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) key_delta: f64,
    /// Absent for fresh noise, and in budget files of version 0.1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) used: Option<KeyUse>,
}

impl Spent {
    pub(super) fn unit(&self) -> Result<Unit> {
        Ok(Unit::named(self.unit.as_str(), self.neighbours.parse::<Neighbours>()?)?)
    }
}

impl Record {
    pub(super) fn to_line(&self) -> Result<String> {
        serde_json::to_string(self).map_err(|error| unwritable(&error))
    }
}

/// Whether a part is left out of a record.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(part: &f64) -> bool {
    *part == 0.0
}

fn unwritable(error: &serde_json::Error) -> CliError {
    CliError::Failure(format!("the budget file cannot be written: {error}"))
}

/// The file of these records: their hash, and the records.
pub(crate) fn sealed<S: AsRef<str>>(lines: &[S]) -> Result<String> {
    let head = lines.iter().fold(Head::default(), |head, line| head.after(line.as_ref())).to_string();
    let opening = Opening { format: FORMAT.to_owned(), records: lines.len(), head };
    let mut text = serde_json::to_string(&opening).map_err(|error| unwritable(&error))?;
    text.push('\n');
    for line in lines {
        text.push_str(line.as_ref());
        text.push('\n');
    }
    Ok(text)
}

impl BudgetFile {
    /// The file.
    pub(crate) fn to_text(&self) -> Result<String> {
        sealed(&self.lines)
    }

    /// Reads a file and checks everything: the records must hash to the head, and are applied again
    /// one by one.
    pub(crate) fn from_text(text: &str) -> std::result::Result<Self, String> {
        if text.is_empty() {
            return Err("it is empty".to_owned());
        }
        let mut lines = text.split('\n');
        let opening = opening(lines.next().unwrap_or_default())?;
        // A complete file ends with a newline.
        let mut lines: Vec<&str> = lines.collect();
        let is_whole = lines.pop() == Some("");
        if !is_whole || lines.len() < opening.records {
            let whole = lines.len().min(opening.records);
            return Err(format!("it was cut off: it has {whole} of {} records", opening.records));
        }
        if lines.len() > opening.records {
            return Err(format!(
                "it was edited: it has {} records and says {}",
                lines.len(),
                opening.records
            ));
        }
        let head = lines.iter().fold(Head::default(), |head, line| head.after(line));
        if head.to_string() != opening.head {
            return Err("it was edited: its records do not hash to what its first line says".to_owned());
        }
        let mut file = Self::default();
        for (index, line) in lines.into_iter().enumerate() {
            let at = format!("line {}", index + 2);
            let record: Record = serde_json::from_str(line).map_err(|_| format!("{at} is no record"))?;
            file.apply(&record, file.head.after(line)).map_err(|error| format!("{at}: {error}"))?;
            file.push(line.to_owned());
        }
        Ok(file)
    }
}

/// Parses the first line. The format comes first: another version may have other fields.
fn opening(line: &str) -> std::result::Result<Opening, String> {
    let refuse = || "its first line is not that of a budget file".to_owned();
    let value: serde_json::Value = serde_json::from_str(line).map_err(|_| refuse())?;
    match value.get("format").and_then(serde_json::Value::as_str) {
        Some(FORMAT) => serde_json::from_value(value).map_err(|_| refuse()),
        Some(other) if other.starts_with("evertally ledger ") => {
            Err(format!("its format is {other:?}, and this program knows {FORMAT:?}"))
        }
        _ => Err(refuse()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant(total: Total) -> Grant {
        Grant {
            time: "2026-01-05T08:30:00Z".to_owned(),
            population: "everyone".to_owned(),
            unit: "event".to_owned(),
            neighbours: "add-remove".to_owned(),
            total,
        }
    }

    fn spent(mu_squared: f64) -> Spent {
        Spent {
            time: "2026-01-05T09:00:00Z".to_owned(),
            population: "everyone".to_owned(),
            run: "count visits.csv".to_owned(),
            unit: "event".to_owned(),
            neighbours: "add-remove".to_owned(),
            mu_squared,
            pure_epsilon: 0.0,
            variation: 0.0,
            key_delta: 0.0,
            used: None,
        }
    }

    fn example() -> BudgetFile {
        let mut file = BudgetFile::default();
        file.grant(grant(Total::Concentrated { rho: 1.0 })).unwrap();
        file.spend(spent(0.3)).unwrap();
        file.spend(spent(0.1 + 0.2)).unwrap();
        file
    }

    #[test]
    fn a_budget_file_is_read_back_bit_for_bit() {
        let text = example().to_text().unwrap();
        let read = BudgetFile::from_text(&text).unwrap();
        assert_eq!(read.to_text().unwrap(), text);
        assert_eq!(read.head(), example().head());
        let spends = |file: &BudgetFile| -> Vec<u64> {
            let entries = file.accounts[0].odometer.entries();
            entries.iter().map(|entry| entry.spend().mu_squared().to_bits()).collect()
        };
        assert_eq!(spends(&read), [0.3_f64.to_bits(), (0.1_f64 + 0.2).to_bits()]);
        assert_eq!(read.accounts[0].stamps, example().accounts[0].stamps);
    }

    /// Files without discoveries are as they were, and those with them add up.
    #[test]
    fn parts_for_groups_are_kept_and_older_files_are_read() {
        let total = |key_part| Total::Approximate {
            epsilon: 1.0,
            delta: 1e-6,
            calibration: "exact".to_owned(),
            pure_part: 0.0,
            key_part,
        };
        let mut file = BudgetFile::default();
        file.grant(grant(total(0.0))).unwrap();
        file.spend(spent(0.01)).unwrap();
        let text = file.to_text().unwrap();
        assert!(!text.contains("key_"), "{text}");
        assert_eq!(BudgetFile::from_text(&text).unwrap().to_text().unwrap(), text);
        let found = |key_delta| Spent { key_delta, ..spent(0.001) };
        assert!(file.spend(found(1e-9)).is_err(), "nothing was set aside");
        let mut file = BudgetFile::default();
        file.grant(grant(total(3e-7))).unwrap();
        (0..3).for_each(|_| file.spend(found(1e-7)).unwrap());
        assert!(file.spend(found(1e-9)).unwrap_err().to_string().contains("everyone does not allow"));
        let text = file.to_text().unwrap();
        let read = BudgetFile::from_text(&text).unwrap();
        assert_eq!(read.to_text().unwrap(), text);
        assert_eq!(read.accounts[0].odometer.key_part(), 3e-7);
        assert!((read.accounts[0].odometer.spent().key_delta() - 3e-7).abs() < 1e-20);
    }

    #[test]
    fn every_changed_byte_is_noticed() {
        let text = example().to_text().unwrap();
        for at in 0..text.len() {
            for byte in [b'0', b'x', b'\n', b' '] {
                let mut bytes = text.clone().into_bytes();
                if bytes[at] == byte {
                    continue;
                }
                bytes[at] = byte;
                let changed = String::from_utf8(bytes).unwrap();
                assert!(BudgetFile::from_text(&changed).is_err(), "byte {at} as {:?}", char::from(byte));
            }
        }
    }

    #[test]
    fn every_cut_is_noticed() {
        let text = example().to_text().unwrap();
        for end in 0..text.len() {
            assert!(BudgetFile::from_text(&text[..end]).is_err(), "{end} bytes were taken");
        }
        let lines: Vec<&str> = text.lines().collect();
        let without = |gone: usize| {
            let kept = lines.iter().enumerate().filter(|(at, _)| *at != gone);
            kept.map(|(_, line)| format!("{line}\n")).collect::<String>()
        };
        assert!(BudgetFile::from_text(&without(3)).unwrap_err().contains("cut off: it has 2 of 3"));
        for gone in 0..lines.len() {
            assert!(BudgetFile::from_text(&without(gone)).is_err(), "{gone}");
        }
        assert!(BudgetFile::from_text(&(text.clone() + "\n")).unwrap_err().contains("edited"));
        assert!(BudgetFile::from_text(&text.replace('\n', "\r\n")).is_err());
    }

    /// A file with correct hashes: the records are checked as well.
    #[test]
    fn records_that_make_no_sense_are_refused() {
        let forged = |records: &[&str]| BudgetFile::from_text(&sealed(records).unwrap());
        let lines = example().lines;
        let (granted, spend) = (lines[0].as_str(), lines[1].as_str());
        assert!(forged(&[granted, spend]).is_ok());
        assert!(forged(&[]).is_ok());
        for (records, reason) in [
            (vec![granted, granted], "is there already"),
            (vec![spend], "no population"),
            (
                vec![granted, spend, spend, spend, spend, spend, spend, spend],
                "line 9: the budget of everyone",
            ),
            (vec![granted, &spend.replace("0.3", "-0.3")], "line 3: mu_squared must be"),
            (vec![granted, &spend.replace("0.3", "1e400")], "is no record"),
            (vec![granted, &spend.replace("0.3", "null")], "is no record"),
            (vec![granted, &spend.replace("event", "person")], "unit must be one event"),
            (vec![granted, &spend.replace("add-remove", "swap")], "neighbours"),
            (vec![granted, &spend.replace("\"run\"", "\"walk\"")], "is no record"),
            (vec![&granted.replace("1.0", "-1.0")], "line 2: rho must be"),
            (vec![&granted.replace("\"rho\"", "\"sigma\"")], "is no record"),
            (vec!["{}"], "is no record"),
            (vec![""], "is no record"),
        ] {
            let error = forged(&records).unwrap_err();
            assert!(error.contains(reason), "{records:?}: {error}");
        }
    }

    #[test]
    fn other_files_are_told_apart() {
        for (text, reason) in [
            ("", "empty"),
            ("time,region\n", "first line"),
            ("{\"format\":\"evertally ledger 2\",\"accounts\":[]}\n", "\"evertally ledger 2\""),
            ("{\"format\":\"evertally certificate 1\"}\n", "first line"),
            ("{\"format\":\"evertally ledger 1\"}\n", "first line"),
            ("{\"format\":\"evertally ledger 1\",\"records\":-1,\"head\":\"\"}\n", "first line"),
            ("[]\n", "first line"),
        ] {
            let error = BudgetFile::from_text(text).unwrap_err();
            assert!(error.contains(reason), "{text:?}: {error}");
        }
    }

    #[test]
    fn a_refused_record_changes_nothing() {
        let mut file = example();
        let before = file.to_text().unwrap();
        assert!(file.spend(spent(1.5)).is_err());
        assert!(file.grant(grant(Total::Pure { epsilon: 1.0 })).is_err());
        assert_eq!(file.to_text().unwrap(), before);
        assert_eq!(file.accounts[0].stamps.len(), 2);
    }
}
