//! `evertally research paper`: every numbered statement of the paper, compared with exact figures.
//!
//! The report is computed on every run. No figure in it is stored.

mod algebra;
mod claim;
mod counting;
mod figure;
mod html;
mod privacy;
mod slips;
mod terminal;

use crate::error::{CliError, Result};
use crate::output::{self, ForceArgs, json_line, write_whole_file};
use crate::progress::with_progress;
use claim::{Section, Slip};
use clap::Args;
use figure::Drawing;
use serde::Serialize;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  Read it here, or as a page with its figure:
    evertally research paper
    evertally research paper --html paper.html

  The figure alone, as SVG and CSV:
    evertally research paper --figure figures

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
    summary: String,
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
        let mut counting = counting::claims()?;
        counting.push(figure::claim(&points));
        let sections = vec![
            Section { title: "Continual counting", claims: counting },
            Section { title: "γ_F", claims: algebra::gamma()? },
            Section { title: "Parity queries", claims: privacy::parity()? },
            Section { title: "Privacy", claims: privacy::claims()? },
            Section { title: "Private learning", claims: privacy::learning()? },
            Section { title: "Preliminaries", claims: algebra::preliminaries()? },
        ];
        let slips = slips::slips()?;
        let claims = sections.iter().map(|section| section.claims.len()).sum::<usize>();
        let summary = format!(
            "All {claims} statements of “Almost Tight Error Bounds on Differentially Private Continual \
             Counting” (Henzinger, Upadhyay and Upadhyay, 2023), each beside exact figures computed for this \
             report, and {} places where its text slips. A is the prefix sum over n steps, A = LR a \
             factorization, f(k) the coefficients of (1−x)^(−1/2), σ the least noise multiplier of the \
             budget (ε, δ) and C the paper's. Inequalities were evaluated at every n to 4096 and around \
             every power of two to 2^60, with rounding accounted for.",
            slips.len()
        );
        let drawings = DRAWINGS.map(|d| (d.name(), figure::svg(&points, d))).into_iter().collect();
        Ok(Self {
            title: "The paper's claims, computed".to_owned(),
            summary,
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
