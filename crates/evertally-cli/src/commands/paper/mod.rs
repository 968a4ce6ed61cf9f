//! `evertally research paper`: every numbered statement of the paper, in its order, compared with
//! exact figures.
//!
//! The report is computed on every run. No figure in it is stored.

mod claim;
mod error;
mod figure;
mod gamma;
mod html;
mod learning;
mod lower;
mod math;
mod matrices;
mod order;
mod privacy;
mod slips;
mod square_root;
mod terminal;
mod tree;

use crate::error::{CliError, Result};
use crate::output::{self, ForceArgs, json_line, write_whole_file};
use crate::progress::with_progress;
use claim::{Section, Slip};
use clap::Args;
use figure::Drawing;
use math::Prose;
use serde::Serialize;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  Read it here, or as a page with its figure:
    evertally research paper
    evertally research paper --html paper.html

  The figure alone, as SVG and CSV:
    evertally research paper --figure figures

  Every statement that does not hold as it stands, with its number:
    evertally research paper --json |
      jq -r '.sections[].claims[] | select(.verdict == \"fails\") | .id'

The object of --json has title, summary, sections and slips.
  sections: number and title in the paper, and claims, in its order.
  A claim has id (its number in the paper, or its place), title, statement,
  verdict (holds, holds-partly, fails, unproven or definition), finding,
  holds_from (the least horizon, or null) and table (null, or head and rows,
  all texts).
  A slip has title, place, printed, correct, figures and matters (whether
  following the text would break privacy or a bound).

The paper: M. Henzinger, J. Upadhyay, S. Upadhyay, Almost Tight Error
Bounds on Differentially Private Continual Counting (2023). evertally
research bounds gives the bounds for your own horizon and budget.";

/// Compare every claim of the paper behind this program with exact figures
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct PaperArgs {
    /// Write the report into one self-contained .html file
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Print the report as one JSON object
    #[arg(long)]
    json: bool,
    /// Write the figure as two SVG files and one CSV file into a folder, which is made if needed
    #[arg(long, value_name = "DIR")]
    figure: Option<PathBuf>,
    #[command(flatten)]
    force: ForceArgs,
}

const DRAWINGS: [Drawing; 2] = [Drawing::Paper, Drawing::Exact];

#[derive(Serialize)]
struct Report {
    title: String,
    summary: Prose,
    sections: Vec<Section>,
    slips: Vec<Slip>,
    /// Names and drawings; only the page shows them.
    #[serde(skip)]
    drawings: Vec<(&'static str, String)>,
    #[serde(skip)]
    csv: String,
}

impl Report {
    fn new() -> Result<Self> {
        let points = figure::points()?;
        let sections = order::sections(figure::claim(&points))?;
        let slips = slips::slips()?;
        let claims = sections.iter().map(|section| section.claims.len()).sum::<usize>();
        let summary = format!(
            "{claims} statements of “Almost Tight Error Bounds on Differentially Private Continual Counting” \
             (Henzinger, Upadhyay and Upadhyay, 2023), among them every theorem, lemma, definition, algorithm \
             and figure, in its order and with its numbers, each beside exact figures computed for this report, \
             and {} places where its text slips. $A$ is the prefix sum over $n$ steps, $A = LR$ a factorization, $f(k)$ the coefficients of \
             $(1−x)^{{−1/2}}$, $σ$ the least noise multiplier of the budget $(ε, δ)$ and $C$ the paper's. \
             Inequalities were evaluated at every $n$ to 4096 and around every power of two to $2^60$, with \
             rounding accounted for.",
            slips.len()
        );
        let drawings = DRAWINGS.map(|d| (d.name(), figure::svg(&points, d))).into_iter().collect();
        Ok(Self {
            title: "The paper's claims, computed".to_owned(),
            summary: summary.into(),
            sections,
            slips,
            drawings,
            csv: figure::csv(&points),
        })
    }
}

/// The files of the figure.
struct FigureFiles {
    drawings: [PathBuf; 2],
    csv: PathBuf,
}

impl FigureFiles {
    fn inside(directory: &Path) -> Self {
        Self {
            drawings: DRAWINGS.map(|drawing| directory.join(format!("{}.svg", drawing.name()))),
            csv: directory.join("figure-1.csv"),
        }
    }

    fn all(&self) -> [&Path; 3] {
        let [paper, exact] = &self.drawings;
        [paper, exact, &self.csv]
    }
}

pub(crate) fn run(args: &PaperArgs) -> Result<()> {
    let existing = args.force.existing();
    output::check_outputs(&[], &[args.html.as_deref()], existing)?;
    output::known_ending("--html", args.html.as_deref(), &["html", "htm"], "")?;
    if args.json && args.html.as_deref().is_some_and(|path| path.as_os_str() == "-") {
        return Err(CliError::bad("--html - and --json both write to standard output: give --html a file"));
    }
    let figure = args.figure.as_ref().map(|directory| FigureFiles::inside(directory));
    if let Some(files) = &figure {
        output::check_outputs(&[], &files.all().map(Some), existing)?;
    }
    let report = with_progress("computing", |_| Report::new())?;
    if let Some(path) = &args.html {
        write_whole_file(path, existing, html::render(&report).as_bytes())?;
    }
    if let (Some(directory), Some(files)) = (&args.figure, figure) {
        let made = std::fs::create_dir_all(directory);
        made.map_err(|error| CliError::writing(&directory.display().to_string(), &error))?;
        for (path, (_, svg)) in files.drawings.iter().zip(&report.drawings) {
            write_whole_file(path, existing, svg.as_bytes())?;
        }
        write_whole_file(&files.csv, existing, report.csv.as_bytes())?;
    }
    let text = if args.json {
        json_line(&report)?
    } else if args.html.is_some() || args.figure.is_some() {
        return Ok(());
    } else {
        terminal::render(&report)
    };
    output::print(&text)
}
