//! The whole audit: its preparation, its runs, and the division of the false-alarm rate among
//! attacks.

use evertally::{Error, Progress, Result};

use crate::Clock;
use crate::attacks::low_bits::{self, Shift};
use crate::attacks::replay::{self, Distances, Encoder};
use crate::attacks::{Target, covariance, game, one_run, timing};
use crate::keys::{Keys, Purpose};
use crate::neighbours::Neighbourhood;
use crate::power::{Power, Rule};
use crate::report::{Attack, Finding, Report};
use crate::sampling::{Sample, Tally, kept_lanes};
use crate::stream::Stream;
use crate::subject::{Promise, Subject};
use crate::whitening::{self, Whitening};

/// The canary attack's part of the false alarms. It is half, because δ limits its p-value from
/// below.
const PART_OF_CANARIES: f64 = 0.5;

/// The part of each other statistical attack: error rates, separation, covariance, low bits and
/// timing.
const PART_OF_EACH: f64 = 0.1;

/// The maximum number of releases kept of the runs on one stream: half a gibibyte.
const MAX_KEPT_RELEASES: usize = 1 << 26;

/// The settings of an audit.
///
/// ```
/// use evertally_audit::Settings;
/// assert_eq!(Settings::default().false_alarm, 1e-4);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// The number of runs on a stream, and on its neighbour: 2,000 by default. [`Auditor::power`]
    /// states what they find, and [`Auditor::with_power`] chooses the number that finds a given
    /// shortage.
    pub runs: usize,
    /// The maximum number of steps per run: 256 by default. Only the first steps of a longer
    /// horizon are audited.
    pub length: u64,
    /// The maximum number of changes between neighbouring streams: 20,000 by default.
    pub changes: usize,
    /// The probability with which a subject that keeps its promise may fail: 10⁻⁴ by default.
    pub false_alarm: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { runs: 2_000, length: 256, changes: 20_000, false_alarm: 1e-4 }
    }
}

impl Settings {
    /// With fewer runs, exact intervals are too wide to be useful.
    const MIN_RUNS: usize = 100;

    fn check(&self) -> Result<()> {
        if self.runs < Self::MIN_RUNS {
            return Err(Error::bad("runs", format!("at least {}", Self::MIN_RUNS), self.runs));
        }
        if self.length == 0 || self.length > 1 << 24 {
            return Err(Error::bad("length", "a number of steps from 1 to 2^24", self.length));
        }
        if self.changes == 0 {
            return Err(Error::bad("changes", "at least 1", self.changes));
        }
        if !(1e-12..=0.1).contains(&self.false_alarm) {
            return Err(Error::bad("false_alarm", "a probability from 1e-12 to 0.1", self.false_alarm));
        }
        Ok(())
    }
}

/// A prepared audit of one subject. It can be run any number of times.
pub struct Auditor<'a> {
    subject: &'a dyn Subject,
    settings: Settings,
    promise: Promise,
    target: Target,
    lanes: usize,
    max_runs: usize,
    whitening: Whitening,
    near: Neighbourhood,
    /// The change that is easiest to distinguish from the watched releases.
    farthest: usize,
    distances: Distances,
    filter: game::Filter,
    rule: Rule,
    shift: Shift,
}

impl<'a> Auditor<'a> {
    /// Prepares the audit: the declared covariance, the neighbours and the test between them.
    ///
    /// # Errors
    /// [`Error::BadParameter`] for settings out of range, or for releases rounded too coarsely to
    /// be measured.
    pub fn new(subject: &'a dyn Subject, settings: Settings) -> Result<Self> {
        Self::against(subject, settings, Target::of(&subject.promise()))
    }

    /// Like [`Auditor::new`], with an explicit target. Tests use it to show what an audit that
    /// trusted the plan would miss.
    pub(crate) fn against(subject: &'a dyn Subject, settings: Settings, target: Target) -> Result<Self> {
        settings.check()?;
        let (plan, promise, grid) = (subject.plan(), subject.promise(), subject.grid());
        let length = plan.horizon().min(settings.length) as usize;
        let lanes = subject.lanes();
        let dense = whitening::dense(plan)?;
        let whitening = Whitening::new(plan, dense.as_ref(), grid, length);
        if grid > whitening.least_innovation() {
            let expected = format!("at most the noise of a step, {:.3}", whitening.least_innovation());
            return Err(Error::bad("grid", expected, grid));
        }
        let max_runs = MAX_KEPT_RELEASES / (whitening.steps().len() * kept_lanes(lanes));
        if settings.runs > max_runs {
            let expected = format!("at most {max_runs} of this many steps");
            return Err(Error::bad("runs", expected, settings.runs));
        }
        let near = Neighbourhood::new(&promise, whitening.steps(), lanes, settings.changes);
        let farthest = replay::farthest(&Encoder::of_releases(&whitening), &near.changes).0;
        let encoder = Encoder::new(plan, dense.as_ref(), &whitening, target.noise);
        let distances = Distances::new(plan, &target, encoder.as_ref(), &near);
        let filter = game::Filter::new(&whitening, kept_lanes(lanes), &near.changes[farthest]);
        let shift = Shift::new(&whitening);
        let share = PART_OF_EACH * settings.false_alarm;
        let rule = Rule::new(filter.separation, filter.rounding(grid), &target, share);
        Ok(Self {
            subject,
            settings,
            promise,
            target,
            lanes,
            max_runs,
            whitening,
            near,
            farthest,
            distances,
            filter,
            rule,
            shift,
        })
    }

    /// The same audit with the number of runs that finds noise short by this share of its standard
    /// deviation with probability 0.99.
    ///
    /// # Errors
    /// [`Error::BadParameter`] unless the share lies between 0 and 1, and if the required runs do
    /// not fit into memory.
    pub fn with_power(mut self, short: f64) -> Result<Self> {
        self.settings.runs = self.rule.runs(short, Settings::MIN_RUNS, self.max_runs)?;
        Ok(self)
    }

    /// The shortage of noise that is found with probability 0.99 at these settings. `None` if the
    /// separation test finds no shortage with that probability.
    #[must_use]
    pub fn power(&self) -> Option<Power> {
        self.rule.power(self.settings.runs)
    }

    /// The number of runs on a stream, and on its neighbour.
    #[must_use]
    pub fn runs(&self) -> usize {
        self.settings.runs
    }

    /// Runs every attack. Without a clock, timing is skipped. Runs use all threads. The findings do
    /// not depend on their number.
    ///
    /// # Errors
    /// The subject's errors, and [`Error::NoEntropy`] if the operating system provides no
    /// randomness.
    pub fn audit(&self, keys: Keys, clock: Option<&dyn Clock>, progress: &dyn Progress) -> Result<Report> {
        let share = PART_OF_EACH * self.settings.false_alarm;
        let canaries = PART_OF_CANARIES * self.settings.false_alarm;
        let (runs, digit_runs) = (self.settings.runs, self.settings.runs / low_bits::PART_OF_RUNS);
        let length = self.whitening.length();
        let tally = Tally::new(progress, 2 * (runs + digit_runs));
        let draw = |stream: &Stream, purpose: Purpose, runs: usize| {
            Sample::draw(self.subject, &self.whitening, stream, (keys, purpose), runs, &tally)
        };
        let stream = Stream::busy(length, self.lanes);
        let neighbour = stream.with(&self.near.changes[self.farthest]);
        let without = draw(&stream, Purpose::Without, runs)?;
        let with = draw(&neighbour, Purpose::With, runs)?;
        let quiet = draw(&Stream::zeros(length, self.lanes), Purpose::Quiet, digit_runs)?;
        let shifted = draw(&self.shift.stream(length, self.lanes), Purpose::Shifted, digit_runs)?;
        let game = game::play(&self.filter, &without, &with);
        let findings = vec![
            one_run::attack(
                self.subject,
                &self.promise,
                &self.target,
                &self.whitening,
                self.lanes,
                keys,
                canaries,
            )?,
            game::error_rates(&game, &self.target, share),
            game::separation(&game, &self.target, share),
            replay::attack(
                self.subject,
                &stream,
                &self.near,
                self.farthest,
                &self.distances,
                keys,
                &self.target,
            )?,
            covariance::attack(&self.whitening, &[&without, &with], &self.target, share),
            low_bits::attack(
                &self.whitening,
                self.subject.grid(),
                &self.shift,
                (&quiet, &shifted),
                &[&without, &with],
                share,
            ),
            match (clock, self.subject.untimed()) {
                (None, _) => Finding::skipped(Attack::Timing, "no clock"),
                (_, Some(reason)) => Finding::skipped(Attack::Timing, reason),
                (Some(clock), None) => timing::attack(self.subject, length, self.lanes, keys, clock, share)?,
            },
        ];
        progress.report(1.0);
        Ok(Report {
            findings,
            false_alarm: self.settings.false_alarm,
            epsilon: self.target.epsilon,
            delta: self.target.delta,
            power: self.power(),
            game,
        })
    }

    /// The number of steps that every run takes.
    #[must_use]
    pub fn length(&self) -> usize {
        self.whitening.length()
    }
}
