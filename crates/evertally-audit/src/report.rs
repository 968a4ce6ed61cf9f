//! The findings of an audit.

use std::fmt;

use crate::power::Power;

/// The attacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Attack {
    /// Canaries in a single run, included by a coin toss and guessed afterwards.
    OneRun,
    /// Distinguishing two neighbouring streams at several thresholds, by counting errors.
    ErrorRates,
    /// The separation of two neighbouring streams in standard deviations.
    Separation,
    /// Both streams under one key: noise must not depend on data, and the distance must be covered.
    Replay,
    /// The covariance of the noise, and its independence from run to run and from lane to lane.
    Covariance,
    /// The last digits of releases.
    LowBits,
    /// The duration of a step.
    Timing,
    /// The effect of one person's events, or of one id, on the inputs of a counter.
    Admission,
    /// Keys that nobody declared: how many appear that one person decides about, and what hidden ones leave.
    FoundKeys,
}

impl fmt::Display for Attack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::OneRun => "one run",
            Self::ErrorRates => "error rates",
            Self::Separation => "separation",
            Self::Replay => "replay",
            Self::Covariance => "covariance",
            Self::LowBits => "low bits",
            Self::Timing => "timing",
            Self::Admission => "admission",
            Self::FoundKeys => "found keys",
        })
    }
}

/// The verdict of an attack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// The attack found no violation of the promise.
    Passed,
    /// The promise is broken, or the declaration is false.
    Failed,
    /// The attack does not apply here.
    Skipped,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Passed => "passed",
            Self::Failed => "FAILED",
            Self::Skipped => "skipped",
        })
    }
}

/// A lower bound on ε, at the δ of the promise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bound {
    /// The subject is not (ε', δ)-private for any ε' below this.
    pub epsilon: f64,
    /// The confidence level of the bound.
    pub confidence: f64,
}

/// The outcome of one attack.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// The attack.
    pub attack: Attack,
    /// What the attack did.
    pub tried: String,
    /// What it measured.
    pub measured: String,
    /// What the promise allows.
    pub allowed: String,
    /// The lower bound on ε, if one follows.
    pub bound: Option<Bound>,
    /// The verdict.
    pub verdict: Verdict,
}

impl Finding {
    /// The finding of a skipped attack, with the reason.
    #[must_use]
    pub fn skipped(attack: Attack, reason: &str) -> Self {
        let (tried, nothing) = (reason.to_owned(), String::new());
        Self {
            attack,
            tried,
            measured: nothing.clone(),
            allowed: nothing,
            bound: None,
            verdict: Verdict::Skipped,
        }
    }
}

/// The verdict for a check that holds or not.
pub(crate) fn verdict(holds: bool) -> Verdict {
    if holds { Verdict::Passed } else { Verdict::Failed }
}

/// The statistic of the distinguishing game, for plotting.
#[derive(Debug, Clone, PartialEq)]
pub struct Game {
    /// Its values on a stream, in declared standard deviations.
    pub without: Vec<f64>,
    /// Its values on the neighbour.
    pub with: Vec<f64>,
    /// The declared distance between the two.
    pub separation: f64,
}

/// The report of an audit.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// One finding per attack.
    pub findings: Vec<Finding>,
    /// The maximum probability that a subject which keeps its promise fails.
    pub false_alarm: f64,
    /// ε of the promise.
    pub epsilon: f64,
    /// δ of the promise.
    pub delta: f64,
    /// The shortage of noise that the runs find. `None` if they find no shortage with that
    /// probability.
    pub power: Option<Power>,
    /// The game between two neighbouring streams.
    pub game: Game,
}

impl Report {
    /// Whether no attack succeeded.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.failures().next().is_none()
    }

    /// The attacks that succeeded.
    pub fn failures(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.verdict == Verdict::Failed)
    }

    /// The finding of an attack, if there is one.
    #[must_use]
    pub fn finding(&self, attack: Attack) -> Option<&Finding> {
        self.findings.iter().find(|finding| finding.attack == attack)
    }

    /// The largest lower bound on ε that any attack proved.
    #[must_use]
    pub fn bound(&self) -> Option<(Attack, Bound)> {
        let bounds = self.findings.iter().filter_map(|finding| Some((finding.attack, finding.bound?)));
        bounds.max_by(|a, b| a.1.epsilon.total_cmp(&b.1.epsilon))
    }
}
