//! `evertally research noise`: the correlated noise of a mechanism, for programs that add it
//! themselves.
//!
//! Rows are written as they are made. Memory does not grow with the number of steps.

mod options;
mod summary;

pub(crate) use options::NoiseArgs;

use crate::budget_file::PERSON;
use crate::error::{CliError, Result};
use crate::manners;
use crate::mechanism::noise_plan;
use crate::output::{self, Destination, Element, NpyStream};
use crate::progress::with_progress;
use evertally::{Horizon, NoiseKey, NoiseStream, Plan, Progress};
use options::Precision;
use std::io::{IsTerminal, Write};
use std::ops::Range;
use summary::Summary;
use zeroize::Zeroizing;

/// How many numbers are made at once if a step has few.
const BLOCK: usize = 1 << 16;

/// A generous bound on the bytes of an `.npy` file besides its numbers.
const HEADER_ROOM: u64 = 1 << 16;

pub(crate) fn run(args: &NoiseArgs) -> Result<()> {
    let read = [args.noise_key.path(), args.budget_file.path()];
    output::check_outputs(&read, &[Some(&args.output)], args.force.existing())?;
    output::known_ending("--output", Some(&args.output), &["npy"], "")?;
    let precision = args.precision();
    let (spec, budget) = args.spec()?;
    if args.rows == Some(0) {
        return Err(CliError::bad("--rows: expected at least 1, got 0"));
    }
    if args.horizon == Horizon::Unbounded && args.rows.is_none() {
        return Err(CliError::bad("--horizon unbounded needs --rows N: a file has an end"));
    }
    if args.output.as_os_str() == "-" && std::io::stdout().is_terminal() {
        return Err(CliError::bad("--output -: expected a pipe or a file, since the array is not text"));
    }
    let key = args.noise_key.read()?;
    let charge = args.budget_file.charge("noise", &args.output, PERSON, spec.neighbours)?;
    if let Some(charge) = &charge {
        charge.check(budget, key.tag())?;
    }
    manners::advise(budget, None);
    let plan = noise_plan(&spec)?;
    let steps = steps(args, plan.horizon())?;
    let count = steps.end - steps.start;
    check_size(count, args.dim, precision)?;
    if precision == Precision::F32 {
        check_single(&plan)?;
    }
    key.refuse_outputs(&[Some(&args.output)])?;
    let out = Destination::open_private(&args.output, args.force.existing())?;
    let (is_file, name) = (out.is_file(), out.name());
    let noise_name = match precision {
        Precision::F32 => NoiseStream::<f32>::noise_name(&plan),
        Precision::F64 => NoiseStream::<f64>::noise_name(&plan),
    };
    let (key, mut watch) = key.watched(&noise_name)?;
    // The noise will be added to data elsewhere. It is paid for first, for all steps of the plan. The
    // data are never seen here, so the record only says that the noise was made.
    let receipt = watch.admit_whole(charge.map(|charge| (charge, plan.spend())), |_| ())?;
    let bytes = match precision {
        Precision::F32 => write::<f32>(&plan, key, steps.clone(), out)?,
        Precision::F64 => write::<f64>(&plan, key, steps.clone(), out)?,
    };
    let (first, dim) = (steps.start, args.dim);
    let summary = Summary { plan: &plan, name, first, count, dim, precision, bytes, receipt };
    print(args, &summary, is_file)
}

/// The steps to write.
fn steps(args: &NoiseArgs, horizon: u64) -> Result<Range<u64>> {
    let first = args.from_step;
    if first >= horizon {
        return Err(CliError::bad(format!(
            "--from-step: expected a step below the horizon of {horizon}, got {first}"
        )));
    }
    let left = horizon - first;
    match args.rows {
        Some(count) if count > left => Err(CliError::bad(format!(
            "--rows: expected at most the {left} from step {first} to the horizon of {horizon}, got {count}"
        ))),
        count => Ok(first..first + count.unwrap_or(left)),
    }
}

/// Refuses a file that is longer than any system can address. The disk says whether it has room.
fn check_size(steps: u64, dim: usize, precision: Precision) -> Result<()> {
    let numbers = steps.checked_mul(dim as u64);
    let bytes = numbers.and_then(|numbers| numbers.checked_mul(precision.bytes()));
    if bytes.is_none_or(|bytes| bytes > i64::MAX as u64 - HEADER_ROOM) {
        let reason = format!("{steps} × {dim} numbers do not fit into any file");
        return Err(CliError::bad(format!("{reason}: write fewer with --rows")));
    }
    Ok(())
}

/// Refuses noise outside the range of single precision, which would become infinite or zero.
fn check_single(plan: &Plan) -> Result<()> {
    const ROOM: f64 = 1e6;
    let scale = plan.noise_scale();
    let is_held = scale > ROOM * f64::from(f32::MIN_POSITIVE)
        && scale.max(plan.accuracy().worst_rmse) < f64::from(f32::MAX) / ROOM;
    if is_held {
        return Ok(());
    }
    Err(CliError::bad("the noise is outside the range of single precision: choose --dtype f64"))
}

/// Writes the noise of these steps and returns the number of bytes.
fn write<F: Element>(plan: &Plan, key: NoiseKey, steps: Range<u64>, out: Destination) -> Result<u64> {
    let width = plan.shape().width();
    let mut noise =
        with_progress("making noise", |progress| NoiseStream::<F>::with_progress(plan, key, progress))?;
    if steps.start > 0 {
        with_progress("seeking", |_| noise.seek(steps.start))?;
    }
    let count = steps.end - steps.start;
    let shape = [count, width as u64];
    let mut file = NpyStream::start::<F>(out, if width == 1 { &shape[..1] } else { &shape })?;
    with_progress("writing noise", |progress| write_rows(&mut noise, count, width, &mut file, progress))?;
    file.finish()
}

fn write_rows<F: Element>(
    noise: &mut NoiseStream<F>,
    count: u64,
    width: usize,
    file: &mut NpyStream,
    progress: &dyn Progress,
) -> Result<()> {
    let rows = (BLOCK / width) as u64;
    // Long rows are not copied: a copy could take as much memory as the state.
    let mut block = Zeroizing::new(vec![F::ZERO; rows as usize * width]);
    let mut done = 0;
    while done < count {
        if rows == 0 {
            file.write(noise.next()?)?;
            done += 1;
        } else {
            let taken = rows.min(count - done);
            let block = &mut block[..taken as usize * width];
            noise.fill(block)?;
            file.write(block)?;
            done += taken;
        }
        progress.report(done as f64 / count as f64);
    }
    Ok(())
}

/// Prints what was written. If the noise itself went to standard output or a pipe, prints only with
/// `--json`, on standard error.
fn print(args: &NoiseArgs, summary: &Summary<'_>, is_file: bool) -> Result<()> {
    if !is_file {
        if args.json {
            // The noise is written even if standard error is closed.
            let _ = std::io::stderr().write_all(summary.json()?.as_bytes());
        }
        return Ok(());
    }
    let text = if args.json { summary.json()? } else { summary.text()? };
    output::print(&text)
}
