//! What an audit found.

use std::fmt;

use crate::power::Power;

/// Which attack was tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Attack {
    /// Canaries in a single run, each in or out by a coin, guessed afterwards.
    OneRun,
    /// Two neighbouring streams told apart at several thresholds, by counting errors.
    ErrorRates,
    /// How many standard deviations lie between two neighbouring streams.
    Separation,
    /// Both streams under one key: noise must not depend on data, and the distance must be covered.
    Replay,
    /// The covariance of the noise, and its independence from run to run and from lane to lane.
    Covariance,
    /// The last digits of releases.
    LowBits,
    /// How long a step takes.
    Timing,
    /// What one person's events, or one id, can change in the totals that a counter is fed.
    Admission,
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
        })
    }
}

/// How an attack ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Nothing was found that the promise does not allow.
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
    /// The probability with which that is true.
    pub confidence: f64,
}

/// The outcome of one attack.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// Which one.
    pub attack: Attack,
    /// What was done.
    pub tried: String,
    /// What was seen.
    pub measured: String,
    /// What may be seen.
    pub allowed: String,
    /// What follows for ε, where something does.
    pub bound: Option<Bound>,
    /// How it ended.
    pub verdict: Verdict,
}

impl Finding {
    /// The finding of an attack that was not made, and why.
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

/// The verdict on whether a bound, or anything else, was kept.
pub(crate) fn verdict(holds: bool) -> Verdict {
    if holds { Verdict::Passed } else { Verdict::Failed }
}

/// The statistic of the distinguishing game, for whoever wants to draw it.
#[derive(Debug, Clone, PartialEq)]
pub struct Game {
    /// Its values on a stream, in declared standard deviations.
    pub without: Vec<f64>,
    /// Its values on the neighbour.
    pub with: Vec<f64>,
    /// The declared distance between the two.
    pub separation: f64,
}

/// Everything that an audit found.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// One finding an attack.
    pub findings: Vec<Finding>,
    /// The probability that a subject which keeps its promise fails all the same, at most.
    pub false_alarm: f64,
    /// ε of the promise.
    pub epsilon: f64,
    /// δ of the promise.
    pub delta: f64,
    /// What the number of runs finds; `None` where no shortage of noise is found that surely.
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

    /// The finding of an attack, if it was made.
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
