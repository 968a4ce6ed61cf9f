//! The one place where the program touches the mathematics: from the user's choices to a plan, and from closed steps to
//! estimates.
//!
//! **Placeholder.** Until the library's `Plan` is there, [`Prepared::new`] and [`compare`] answer that they are not
//! supported; everything around them is complete. Nothing here ever returns a true total as an estimate.

use crate::error::{CliError, Result};
use crate::output::Header;

/// What is to be released at each step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum WorkloadChoice {
    /// Everything so far.
    PrefixSum,
    /// The last `w` steps.
    SlidingWindow(u64),
    /// Everything so far, each step counting λ times what it did a step ago.
    Decay(f64),
}

/// What is done to an estimate after the noise; none of it costs privacy.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct PostProcessing {
    pub(crate) round: bool,
    pub(crate) non_negative: bool,
    pub(crate) monotone: bool,
}

/// The user's choices about privacy, as they were given.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Privacy {
    pub(crate) epsilon: f64,
    /// Zero asks for pure ε.
    pub(crate) delta: f64,
    /// `exact`, `zcdp` or `paper`.
    pub(crate) calibration: String,
    /// `add-remove` or `replace`.
    pub(crate) neighbours: String,
    /// At most k steps, at least b apart; one step where absent.
    pub(crate) participation: Option<(u64, u64)>,
}

/// Everything that a plan is made from.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Request {
    pub(crate) horizon: u64,
    pub(crate) workload: WorkloadChoice,
    pub(crate) privacy: Privacy,
    /// By name, as in `banded-square-root:64`; the most accurate one that fits where absent.
    pub(crate) mechanism: Option<String>,
    /// The range that one event's value lies in; where absent, an event counts as one.
    pub(crate) contribution: Option<(f64, f64)>,
    /// Declared keys with `other`; empty for a single total.
    pub(crate) keys: Vec<String>,
    pub(crate) memory_limit: Option<u64>,
    pub(crate) post_processing: PostProcessing,
}

/// One private estimate with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Estimate {
    pub(crate) value: f64,
    pub(crate) standard_error: f64,
    pub(crate) lower: f64,
    pub(crate) upper: f64,
}

/// A plan that is ready to run.
pub(crate) struct Prepared {
    request: Request,
}

impl Prepared {
    /// Makes the plan: the expensive part, and the one that refuses parameters.
    pub(crate) fn new(request: &Request) -> Result<Self> {
        if request.horizon == 0 {
            return Err(CliError::bad("the number of steps must be at least 1, got 0"));
        }
        Err(unsupported())
    }

    /// The mechanism that was taken, for titles.
    pub(crate) fn mechanism_name(&self) -> String {
        self.request.mechanism.clone().unwrap_or_default()
    }

    /// Adds to a header everything that the mathematics knows about the releases.
    pub(crate) fn describe(&self, header: &mut Header) {
        header.record("mechanism", self.mechanism_name());
    }

    /// Starts counting with a key: the one given, or a fresh one from the operating system.
    pub(crate) fn start(self, _key: Option<[u8; 32]>) -> Result<Running> {
        Err(unsupported())
    }
}

/// A counter that is running.
pub(crate) struct Running {
    nothing_runs_yet: std::convert::Infallible,
}

impl Running {
    /// Feeds the totals of the next step and releases one estimate a key, in order.
    pub(crate) fn step(&mut self, _totals: &[f64]) -> Result<Vec<Estimate>> {
        match self.nothing_runs_yet {}
    }
}

/// Every mechanism side by side.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Comparison {
    pub(crate) noise_multiplier: f64,
    /// Lower and upper bound of the best possible mean error factor, where it is known.
    pub(crate) optimal: Option<(f64, f64)>,
    pub(crate) entries: Vec<Entry>,
    /// The name of the mechanism that would be taken, and why.
    pub(crate) chosen: Option<(String, String)>,
}

/// One mechanism of a comparison.
#[allow(dead_code, reason = "made by `compare` once the library's plan is there")]
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Entry {
    /// It can serve the request.
    Report(Report),
    /// It cannot, or not at this size.
    Skipped { name: String, reason: String },
}

/// What one mechanism would do.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Report {
    pub(crate) name: String,
    pub(crate) sensitivity: f64,
    pub(crate) mean_error: f64,
    pub(crate) max_error: f64,
    pub(crate) rmse: f64,
    pub(crate) state_bytes: u64,
    /// Arithmetic per step, in words such as "O(log n)" or a measured time.
    pub(crate) time_per_step: String,
    /// Steps (from zero) with the standard error there; thinned where there are many.
    pub(crate) profile: Vec<(u64, f64)>,
}

/// Compares every mechanism, or only the one that the request names.
pub(crate) fn compare(_request: &Request, _with_profiles: bool) -> Result<Comparison> {
    Err(unsupported())
}

fn unsupported() -> CliError {
    CliError::bad("this build holds no mechanism yet")
}
