//! `evertally research gamma`: the least error of any factorization of a matrix, with a certificate
//! that can be checked.

use super::certificate_file;
use crate::error::{CliError, Result};
use crate::input::matrix::read_matrix;
use crate::input::npz::Archive;
use crate::manners::warn;
use crate::output::{self, Destination, ForceArgs, JsonObject};
use crate::progress::with_progress;
use clap::Args;
use evertally::research::gamma::{self, Certificate, Subject, UnknownEnd, Weights};
use evertally::{Matrix, Objective, Workload};
use std::path::PathBuf;
use std::time::{Duration, Instant};

const EXAMPLES: &str = "\
Examples:
  How good can running totals over 1024 steps be?
    evertally research gamma --workload prefix-sum --horizon 1024

  What must a mechanism pay that does not know when its stream ends?
    evertally research gamma --unknown-end 4096

  Any matrix, with a certificate, and the check, which trusts no solver:
    evertally research gamma --matrix queries.npy --output cert.npz
    evertally research gamma --certificate cert.npz --matrix queries.npy

How to read it: a factorization A = L R answers with noise L g, where g is
scaled to the largest column of R. Its mean squared error over the n rows,
for unit noise, is at least γ_F²/n. The weights found here give a
factorization that attains the upper bound. With --objective worst, the
same holds for the worst row and γ_2². With --unknown-end, the price is
the least worst ratio, over all ends t up to T, between the squared error
at step t and the best mean squared error for a stream that is known to
end at t.";

/// The relative gap at which to stop, unless the caller says so.
const DEFAULT_GAP: f64 = 1e-9;
const DEFAULT_PRICE_GAP: f64 = 1e-3;

/// Bound the least error of any factorization of a matrix, with proof
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct GammaArgs {
    /// prefix-sum, window:W, decay:FACTOR or identity (each with --horizon), or parity:D,W
    ///
    /// Prefix sums and decays are solved up to 16,777,216 steps. A window that closes within the horizon is
    /// solved as a matrix, up to 4,096 steps: in about a minute at 1,000.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["matrix", "certificate"])]
    workload: Option<String>,
    /// Bound the least price of not knowing at which step up to T running totals end
    #[arg(
        long,
        value_name = "T",
        conflicts_with_all = ["workload", "matrix", "certificate", "objective", "output"]
    )]
    unknown_end: Option<usize>,
    /// The number of steps of the workload
    #[arg(long, value_name = "N", requires = "workload")]
    horizon: Option<usize>,
    /// A matrix in an .npy (real or complex) or .csv file. With --certificate, the matrix that the
    /// certificate must be about
    #[arg(long, value_name = "FILE")]
    matrix: Option<PathBuf>,
    /// The error to bound: mean for the mean over all rows (γ_F), worst for the worst row (γ_2)
    /// [default: mean]
    ///
    /// mean bounds the average squared error of all answers, worst the squared error of the answer
    /// that has the most.
    #[arg(long, value_name = "ERROR", conflicts_with = "certificate")]
    objective: Option<Objective>,
    /// An older spelling of --objective worst
    #[arg(long, hide = true, conflicts_with_all = ["certificate", "objective", "unknown_end"])]
    worst: bool,
    /// The relative gap between the bounds at which to stop [default: 1e-9, or 1e-3 for an
    /// unknown end]
    ///
    /// The bounds hold at any gap. A smaller one takes longer. If it is not reached, a warning says why.
    #[arg(long, value_name = "G", conflicts_with = "certificate")]
    gap: Option<f64>,
    /// Verify the bounds of a saved certificate (.npz), from the file alone
    #[arg(long, alias = "verify", value_name = "FILE")]
    certificate: Option<PathBuf>,
    /// The .npz file for the certificate: weights, bounds, the matrix or its name, and L and R if
    /// they are small
    #[arg(
        long,
        short,
        alias = "save",
        value_name = "FILE",
        help_heading = "Output",
        conflicts_with = "certificate"
    )]
    output: Option<PathBuf>,
    /// Print the bounds as one JSON object
    #[arg(long, help_heading = "Output")]
    json: bool,
    #[command(flatten)]
    force: ForceArgs,
}

pub(crate) fn run(args: &GammaArgs) -> Result<()> {
    let started = Instant::now();
    let (save, existing) = (args.output.as_deref(), args.force.existing());
    output::check_outputs(&[args.matrix.as_deref()], &[save], existing)?;
    output::known_ending("--output", save, &["npz"], "")?;
    if let Some(path) = &args.certificate {
        let archive = Archive::open(path)?;
        let mut certificate = certificate_file::read(&archive)?;
        if let Some(matrix) = &args.matrix {
            certificate_file::check_subject(&archive, &certificate.subject, &read_matrix(matrix)?)?;
        }
        let proof = with_progress("checking", |_| gamma::verify(&certificate))
            .map_err(|error| CliError::bad(format!("{} is refused: {error}", path.display())))?;
        with_progress("checking factors", |_| certificate_file::check_factors(&archive, &certificate))?;
        (certificate.lower, certificate.upper) = (proof.lower, proof.upper);
        return print(args, &certificate, None, started.elapsed());
    }
    if let Some(steps) = args.unknown_end {
        return unknown_end(args, steps, started);
    }
    let wanted = args.gap.unwrap_or(DEFAULT_GAP);
    let subject = subject(args)?;
    let save = save.map(|path| Destination::open(Some(path), existing)).transpose()?;
    let certificate = with_progress("bounding", |progress| {
        let solve = if args.worst || args.objective == Some(Objective::Worst) {
            gamma::gamma_2
        } else {
            gamma::gamma_f
        };
        solve(subject, wanted, progress)
    })?;
    let elapsed = started.elapsed();
    if let Some(reason) = certificate.shortfall(wanted) {
        warn(format_args!("the bounds are true, but a gap of {wanted:e} was not reached: {reason}"));
    }
    if let Some(destination) = save {
        destination.write_whole(&certificate_file::bytes(&certificate)?)?;
    }
    print(args, &certificate, Some(wanted), elapsed)
}

/// The price of not knowing the horizon, and the optima that it is relative to.
fn unknown_end(args: &GammaArgs, steps: usize, started: Instant) -> Result<()> {
    let gap = args.gap.unwrap_or(DEFAULT_PRICE_GAP);
    let price = with_progress("bounding", |progress| gamma::price_of_unknown_end(steps, gap, progress))?;
    let is_reached = price.gap() <= gap;
    if !is_reached {
        warn(format_args!(
            "the bounds are true, but a gap of {gap:e} was not reached: it needs optima to more digits"
        ));
    }
    let text = if args.json {
        JsonObject::default()
            .with("steps", price.steps)
            .with("price_lower", price.lower)
            .with("price_upper", price.upper)
            .with("gap", price.gap())
            .with("certified_horizons", price.certified_horizons())
            .with("gap_reached", is_reached)
            .line()?
    } else {
        price_in_words(&price, started.elapsed())
    };
    output::print(&text)
}

fn price_in_words(price: &UnknownEnd, elapsed: Duration) -> String {
    format!(
        "least price of an unknown end up to {} steps, proved:\n  lower bound         {:.7}\n  \
         upper bound         {:.7}\n  relative gap        {:.2e}\n  certified horizons  {}\n  \
         time                {:.2} s\nthe worst step has at least {:.4} times the squared error of the best \
         mechanism for a stream that is known to end there\n",
        price.steps,
        // Rounded outwards by the digits that are left out.
        (price.lower * 1e7).floor() / 1e7,
        (price.upper * 1e7).ceil() / 1e7,
        price.gap(),
        price.certified_horizons(),
        elapsed.as_secs_f64(),
        (price.lower * 1e4).floor() / 1e4,
    )
}

fn subject(args: &GammaArgs) -> Result<Subject> {
    match (&args.workload, &args.matrix) {
        (Some(name), _) => named(name, args.horizon),
        (None, Some(path)) => read_matrix(path),
        (None, None) => {
            Err(CliError::bad("expected --workload with --horizon, --matrix, --certificate or --unknown-end"))
        }
    }
}

/// A workload by its name.
pub(crate) fn named(name: &str, horizon: Option<usize>) -> Result<Subject> {
    let refuse = || {
        CliError::bad(format!(
            "--workload: expected prefix-sum, window:W, decay:FACTOR, identity or parity:D,W, got {}",
            crate::error::shown(name)
        ))
    };
    let (kind, parameters) = name.split_once(':').map_or((name, None), |(kind, rest)| (kind, Some(rest)));
    if let ("parity", Some(parameters)) = (kind, parameters) {
        let sizes = parameters.split_once(',').map(|(d, w)| (d.trim().parse(), w.trim().parse()));
        let Some((Ok(columns), Ok(degree))) = sizes else { return Err(refuse()) };
        if horizon.is_some() {
            return Err(CliError::bad("--horizon: parity queries have no steps"));
        }
        return Ok(Subject::Real(evertally::research::batch::parity_queries(columns, degree)?));
    }
    let steps = || horizon.ok_or_else(|| CliError::bad(format!("--workload {kind} needs --horizon")));
    let workload = match (kind, parameters) {
        ("identity", None) => return identity(steps()?),
        ("prefix-sum", None) => Workload::PrefixSum,
        ("window", Some(width)) => Workload::SlidingWindow { width: width.parse().map_err(|_| refuse())? },
        ("decay", Some(factor)) => Workload::Decay { factor: factor.parse().map_err(|_| refuse())? },
        _ => return Err(refuse()),
    };
    Ok(Subject::workload(workload, steps()?))
}

fn identity(steps: usize) -> Result<Subject> {
    const MAX_STEPS: usize = 4096;
    if steps > MAX_STEPS {
        return Err(CliError::bad(format!("--horizon: the identity is written out up to {MAX_STEPS} steps")));
    }
    Ok(Subject::Real(Matrix::from_fn(steps, steps, |i, j| f64::from(u8::from(i == j)))))
}

/// Prints the bounds. `wanted` is the requested gap of bounds that were just found, and `None` for those
/// of a file.
fn print(args: &GammaArgs, certificate: &Certificate, wanted: Option<f64>, elapsed: Duration) -> Result<()> {
    let verb = if wanted.is_some() { "proved" } else { "proved again" };
    let text = if args.json { json(certificate, wanted)? } else { words(certificate, verb, elapsed) };
    output::print(&text)
}

/// The relative gap. The bounds of a matrix of zeros are equal.
fn gap(certificate: &Certificate) -> f64 {
    if certificate.upper == certificate.lower { 0.0 } else { certificate.gap() }
}

/// The bounds as JSON. Other programs rely on exactly these fields.
fn json(certificate: &Certificate, wanted: Option<f64>) -> Result<String> {
    let (error_lower, error_upper) = certificate.error_factor();
    let [lower_name, upper_name] = match certificate.weights {
        Weights::GammaF { .. } => ["mean_error_lower", "mean_error_upper"],
        Weights::Gamma2 { .. } => ["worst_error_lower", "worst_error_upper"],
    };
    JsonObject::default()
        .with("lower", certificate.lower)
        .with("upper", certificate.upper)
        .with("gap", gap(certificate))
        .with(lower_name, error_lower)
        .with(upper_name, error_upper)
        .with("iterations", certificate.iterations)
        .with_some("gap_reached", wanted.map(|wanted| certificate.shortfall(wanted).is_none()))
        .with_some("reason", wanted.and_then(|wanted| certificate.shortfall(wanted)))
        .line()
}

fn words(certificate: &Certificate, verb: &str, elapsed: Duration) -> String {
    let (norm, error) = match certificate.weights {
        Weights::GammaF { .. } => ("γ_F", "mean error factor γ_F²/n"),
        Weights::Gamma2 { .. } => ("γ_2", "worst error factor γ_2²"),
    };
    let of = match &certificate.subject {
        Subject::Workload { workload, horizon } => format!("{workload} over {horizon} steps"),
        Subject::Real(matrix) => format!("a real {} × {} matrix", matrix.rows(), matrix.columns()),
        Subject::Complex(matrix) => format!("a complex {} × {} matrix", matrix.rows(), matrix.columns()),
    };
    let (error_lower, error_upper) = certificate.error_factor();
    format!(
        "{norm} of {of}, {verb}:\n  lower bound   {}\n  upper bound   {}\n  relative gap  {:.2e}\n  \
         iterations    {}\n  time          {:.2} s\n{error}: between {error_lower:.10} and {error_upper:.10}\n",
        certificate.lower,
        certificate.upper,
        gap(certificate),
        certificate.iterations,
        elapsed.as_secs_f64(),
    )
}
