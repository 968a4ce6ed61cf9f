//! Which sums a report has: the options `--report` and `--weights` of `count` and `plan`.
//!
//! **Definition.** A report is a list of kinds: `steps`, `total` (the running total at every step),
//! lengths of time such as `7d` or `1mo`, and numbers of steps such as `7`. Periods consist of whole
//! steps ([`Buckets::periods`]). The plan keeps the sum over all kinds of weight times mean squared
//! error small. Every weight is one by default.

use crate::error::{CliError, Result, shown};
use clap::Args;
use evertally::{Division, Objective, PlanSpec, Report, Workload};
use evertally_stream::{Buckets, NoPeriods, StepLength, Zone};
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
#[command(next_help_heading = "What is released")]
pub(crate) struct ReportArgs {
    /// The sums to release, from one stream of noise: steps, total, and periods such as 7d, 1mo or 24
    /// (steps), separated by commas [default: total]
    ///
    /// total is the running total at every step. A period has a row when its last step is released,
    /// and must consist of whole steps. Months, quarters and years are those of the calendar. A period
    /// that began before the first step has no row. Every row has its own standard error.
    #[arg(long, value_name = "KINDS")]
    report: Option<String>,
    /// How much the error of each kind in --report counts, in the same order [default: 1 each]
    ///
    /// The noise is shaped so that the sum of weight times mean squared error over all kinds is as
    /// small as possible. With --report steps,total, the weights 10,1 make single steps more accurate
    /// and the totals less.
    #[arg(long, value_name = "W,W,…", requires = "report")]
    weights: Option<String>,
}

/// The file with which readers compute the error of any difference.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct CovarianceArgs {
    /// Write the covariance of the errors of all running totals into an .npy file, for up to 2,048
    /// steps. It is public, like the standard errors, and that of errors before --round, --non-negative
    /// and --monotone
    ///
    /// C[s,t] is the covariance of steps s and t, counted from 0. The sum over the steps after s up to
    /// t has the variance C[t,t] + C[s,s] - 2 C[s,t], and any weighted sum of totals with the weights
    /// a has a·C·a.
    #[arg(long, value_name = "FILE")]
    covariance: Option<PathBuf>,
}

impl CovarianceArgs {
    /// The file, if one is to be written. Its name is checked before any work.
    pub(crate) fn path(&self) -> Result<Option<&Path>> {
        match self.covariance.as_deref() {
            Some(path) if path.extension().is_none_or(|ending| ending != "npy") => Err(CliError::bad(
                format!("--covariance: expected a file that ends in .npy, got {}", path.display()),
            )),
            path => Ok(path),
        }
    }
}

/// One kind of rows of a report.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ReportKind {
    /// As it was written.
    pub(crate) name: String,
    /// `None` for the running totals.
    pub(crate) division: Option<Division>,
    pub(crate) weight: f64,
}

/// A report whose periods are known.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Reporting {
    pub(crate) kinds: Vec<ReportKind>,
    has_weights: bool,
}

impl ReportArgs {
    /// Whether other sums than the running total are asked for.
    pub(crate) fn is_given(&self) -> bool {
        self.report.is_some()
    }

    /// The report for these buckets, or for steps that are no buckets: then `no_times` refuses a
    /// length of time. Times in errors are shown by `show`.
    pub(crate) fn resolve(
        &self,
        buckets: Option<&Buckets>,
        zone: Option<&Zone>,
        show: impl Fn(i64) -> String,
        no_times: impl Fn(&str) -> String,
    ) -> Result<Option<Reporting>> {
        let Some(text) = &self.report else { return Ok(None) };
        let names: Vec<&str> = text.split(',').map(str::trim).collect();
        if let Some(twice) = names.iter().enumerate().find(|(i, name)| names[..*i].contains(name)) {
            return Err(CliError::bad(format!("--report: {} stands there twice", shown(twice.1))));
        }
        let weights = self.weights(names.len())?;
        let kind = |(name, weight): (&&str, f64)| {
            let division = division(name, buckets, zone, &show, &no_times)?;
            Ok(ReportKind { name: (*name).to_owned(), division, weight })
        };
        let kinds = names.iter().zip(weights).map(kind).collect::<Result<_>>()?;
        Ok(Some(Reporting { kinds, has_weights: self.weights.is_some() }))
    }

    fn weights(&self, kinds: usize) -> Result<Vec<f64>> {
        let Some(text) = &self.weights else { return Ok(vec![1.0; kinds]) };
        let weights: Option<Vec<f64>> = text
            .split(',')
            .map(|word| word.trim().parse().ok().filter(|weight: &f64| weight.is_finite() && *weight >= 0.0))
            .collect();
        let weights = weights.ok_or_else(|| {
            CliError::bad(format!(
                "--weights: expected numbers from zero such as 4,1,1,1, got {}",
                shown(text)
            ))
        })?;
        if weights.len() != kinds {
            let got = weights.len();
            return Err(CliError::bad(format!(
                "--weights: expected one number for each of the {kinds} kinds in --report, got {got}"
            )));
        }
        Ok(weights)
    }
}

/// How one kind divides the steps.
fn division(
    name: &str,
    buckets: Option<&Buckets>,
    zone: Option<&Zone>,
    show: &impl Fn(i64) -> String,
    no_times: &impl Fn(&str) -> String,
) -> Result<Option<Division>> {
    if name == "total" {
        return Ok(None);
    }
    if name == "steps" {
        return Ok(Some(Division::Every(1)));
    }
    if !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit()) {
        let steps = name.parse().ok().and_then(|steps| Division::every(steps).ok());
        return steps.map(Some).ok_or_else(|| {
            CliError::bad(format!("--report: expected a period of at least one step, got {}", shown(name)))
        });
    }
    let length = StepLength::parse(name, zone.is_some()).map_err(|_| {
        CliError::bad(format!(
            "--report: expected steps, total, or periods such as 7d, 1mo or 24 (steps), got {}",
            shown(name)
        ))
    })?;
    let buckets = buckets.ok_or_else(|| CliError::bad(no_times(name)))?;
    let utc = Zone::utc();
    buckets.periods(length, zone.unwrap_or(&utc)).map(Some).map_err(|refused| match refused {
        NoPeriods::WithinStep(time) => CliError::bad(format!(
            "--report {name}: a period must consist of whole steps of {}, and none starts at {}",
            buckets.every(),
            show(time)
        )),
        NoPeriods::NoneEnds => CliError::bad(format!(
            "--report {name}: no such period starts and ends within the declared range of time"
        )),
    })
}

impl Reporting {
    /// Lets a plan keep the error of the report small, unless another objective was asked for. Without a
    /// known end only the rows are added.
    pub(crate) fn shape(
        &self,
        spec: &mut PlanSpec,
        objective: Option<Objective>,
        is_unbounded: bool,
    ) -> Result<()> {
        if spec.workload != Workload::PrefixSum {
            return Err(CliError::bad(
                "--report needs running totals: sums over periods do not follow from a window or decay",
            ));
        }
        if self.has_weights && is_unbounded {
            return Err(CliError::bad(
                "--weights needs a known end: without one, the noise is the same for every report",
            ));
        }
        if self.has_weights
            && let Some(other) = objective.filter(|objective| *objective != Objective::Report)
        {
            return Err(CliError::bad(format!(
                "--weights cannot be used with --objective {other}: it is an objective itself"
            )));
        }
        if is_unbounded {
            return Ok(());
        }
        let weight_of_total = self.kinds.iter().find(|kind| kind.division.is_none()).map(|kind| kind.weight);
        let periods = self.kinds.iter().filter_map(|kind| Some((kind.division.clone()?, kind.weight)));
        spec.report = Some(Report::new(periods.collect(), weight_of_total.unwrap_or(0.0))?);
        spec.objective = objective.unwrap_or(Objective::Report);
        Ok(())
    }

    /// The divisions of all kinds that have one, in order.
    pub(crate) fn divisions(&self) -> Vec<Division> {
        self.kinds.iter().filter_map(|kind| kind.division.clone()).collect()
    }

    /// The names of the kinds as in the option.
    pub(crate) fn names(&self) -> String {
        self.kinds.iter().map(|kind| kind.name.as_str()).collect::<Vec<_>>().join(",")
    }

    /// The weights as in the option.
    pub(crate) fn weights(&self) -> String {
        self.kinds.iter().map(|kind| kind.weight.to_string()).collect::<Vec<_>>().join(",")
    }
}
