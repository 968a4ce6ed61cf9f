//! `evertally research parity`: private answers to all parities of w columns of a table of signs.

use super::batch::{BatchArgs, record_noise};
use crate::error::{CliError, Result, name_of, shown};
use crate::input::{self, InputFormat, matrix};
use crate::output::Header;
use clap::Args;
use evertally::research::batch::{MAX_PARITY_COLUMNS, ParityPlan, ParityTotals};
use std::path::PathBuf;
use zeroize::Zeroizing;

const EXAMPLES: &str = "\
Examples:
  Which pairs of answers in a questionnaire go together?
    printf 'smokes,drinks,runs\\n1,1,0\\n0,1,1\\n1,0,0\\n' > persons.csv
    evertally research parity persons.csv --degree 2 --epsilon 1 --delta 1e-6

How to read it: a cell of 1 counts as +1, and a cell of 0 or -1 as -1. The
answer for a*b is the sum over all rows of the product of a and b: the
number of rows in which they agree, minus the number in which they differ.
The names of the columns are public. One row is protected. The noise of
every answer is independent and equally large. With --neighbours
add-remove, no matrix mechanism has less mean squared error. With
--neighbours replace, none has less than half. (If you read 0/1 columns as
powers of -1, multiply the answer by (-1)^degree.)";

/// Answer all parities of W columns of a table with the least noise
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES, allow_negative_numbers = true)]
pub(crate) struct ParityArgs {
    /// A table of 1 and 0, or of 1 and -1: .csv, .jsonl, .parquet or .npy, or - for standard input
    #[arg(value_name = "TABLE")]
    table: PathBuf,
    /// The number of columns that each parity multiplies
    #[arg(long, value_name = "W")]
    degree: usize,
    /// The columns to use, at most 30 [default: all columns of a CSV file]
    #[arg(long, value_name = "A,B,…", value_delimiter = ',')]
    columns: Vec<String>,
    /// The format of the table [default: by the name of the file]
    #[arg(long, value_name = "FORMAT")]
    input_format: Option<InputFormat>,
    #[command(flatten)]
    batch: BatchArgs,
}

pub(crate) fn run(args: &ParityArgs) -> Result<()> {
    let batch = args.batch.check("parity", &[&args.table])?;
    let mut table = Table::open(args)?;
    let columns = table.columns.clone();
    check_columns(&table.name, columns.len())?;
    let plan = ParityPlan::new(columns.len(), args.degree, batch.budget, batch.neighbours)?;
    let destination = args.batch.open_output()?;
    let mut totals = ParityTotals::new(&plan).named(&columns);
    table.feed(&mut totals)?;
    let (key, admission) = batch.key_for(&totals.noise_name())?;
    let mut header = header(&plan, &columns);
    admission.enter(plan.spend(), &mut header, |chain| {
        let bytes: Zeroizing<Vec<u8>> =
            Zeroizing::new(totals.counted().iter().flat_map(|total| total.to_le_bytes()).collect());
        chain.step_of_bytes(&bytes);
    })?;
    let answers = totals.release(key);
    let answers = plan.sets().zip(&answers).map(|(set, &answer)| {
        let names: Vec<&str> = set.iter().map(|&column| columns[column].as_str()).collect();
        (names.join("*").into(), answer, plan.standard_error())
    });
    args.batch.write(destination, &header, answers)
}

fn header(plan: &ParityPlan, columns: &[String]) -> Header {
    let mut header = Header::new();
    header.record("budget", plan.budget().to_string());
    header.record("mechanism", "matrix mechanism with L = I");
    header.record("neighbours", plan.neighbours().to_string());
    header.record("protected", "one row");
    header.record("columns", columns.to_vec());
    header.record("degree", plan.degree());
    header.record("queries", plan.queries());
    let errors = [plan.mean_squared_error(), plan.least_mean_squared_error()];
    record_noise(&mut header, plan.budget(), plan.spend(), plan.sensitivity(), errors);
    if let Some(bound) = plan.paper_lower_bound() {
        header.record("paper_lower_bound", bound);
    }
    header
}

fn check_columns(name: &str, columns: usize) -> Result<()> {
    if columns <= MAX_PARITY_COLUMNS {
        return Ok(());
    }
    Err(CliError::bad(format!(
        "{name} has {columns} columns: expected at most {MAX_PARITY_COLUMNS}; choose some with --columns"
    )))
}

/// An open table, and the names of the columns in use.
struct Table {
    name: String,
    columns: Vec<String>,
    rows: Rows,
}

enum Rows {
    Read(Box<dyn input::RowReader>),
    Held(input::npy::Array),
}

impl Table {
    fn open(args: &ParityArgs) -> Result<Self> {
        let path = &args.table;
        let name = name_of(path);
        let ending = path.extension().and_then(|ending| ending.to_str()).map(str::to_ascii_lowercase);
        if args.input_format.is_none() && ending.as_deref() == Some("npy") {
            let array = matrix::read(path)?;
            if array.dimensions != 2 || array.imaginary.is_some() {
                return Err(CliError::bad(format!(
                    "{name}: expected a table of real numbers in two dimensions"
                )));
            }
            if !args.columns.is_empty() {
                return Err(CliError::bad("--columns: the columns of an .npy file have no names"));
            }
            // Checked before they are named: a file without rows may state any number of columns.
            check_columns(&name, array.columns)?;
            let columns = (1..=array.columns).map(|column| format!("c{column}")).collect();
            return Ok(Self { name, columns, rows: Rows::Held(array) });
        }
        let is_csv =
            args.input_format.map_or(ending.as_deref() == Some("csv"), |format| format == InputFormat::Csv);
        let columns = match args.columns.as_slice() {
            [] if is_csv && path.as_os_str() != "-" => matrix::csv_column_names(path)?,
            [] => return Err(CliError::bad(format!("expected --columns: which columns of {name} to take"))),
            named => named.iter().map(|column| column.trim().to_owned()).collect(),
        };
        if let Some(twice) = columns.iter().enumerate().find(|(at, name)| columns[..*at].contains(name)) {
            return Err(CliError::bad(format!("column {} is there twice", shown(twice.1))));
        }
        let rows = Rows::Read(input::open(path, args.input_format, &columns, false)?);
        Ok(Self { name, columns, rows })
    }

    /// Adds every row to the totals. No error shows the content of a cell.
    fn feed(&mut self, totals: &mut ParityTotals) -> Result<()> {
        let (name, columns) = (&self.name, &self.columns);
        let refuse = |unit: &str, number: u64, column: usize| {
            let column = shown(&columns[column]);
            CliError::bad(format!("{name}, {unit} {number}, column {column}: expected 1, 0 or -1"))
        };
        match &mut self.rows {
            Rows::Held(array) => {
                for (index, row) in array.real.chunks(array.columns.max(1)).enumerate() {
                    let mask = mask(row.iter().map(|&value| Some(value)));
                    totals.add(mask.map_err(|column| refuse("row", index as u64 + 1, column))?);
                }
            }
            Rows::Read(reader) => {
                input::each_row(columns, reader.as_mut(), Some("counting"), |unit, row| {
                    let mask = mask(row.cells.iter().map(input::Cell::as_value));
                    totals.add(mask.map_err(|column| refuse(unit, row.line, column))?);
                    Ok(())
                })?;
            }
        }
        Ok(())
    }
}

/// The row as bits, one per column, set for −1. Fails with a column that is not 1, 0 or −1.
///
/// Each cell is read on its own. If the other rows determined the meaning of 1, the row of one person
/// could change the rows of all others.
fn mask(cells: impl Iterator<Item = Option<f64>>) -> std::result::Result<u32, usize> {
    let mut mask = 0;
    for (column, cell) in cells.enumerate() {
        match cell {
            Some(1.0) => {}
            Some(0.0 | -1.0) => mask |= 1 << column,
            _ => return Err(column),
        }
    }
    Ok(mask)
}
