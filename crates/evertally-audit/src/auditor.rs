//! The audit from beginning to end: what is prepared once, what is run, and how the rate of false
//! alarms is shared out.

use evertally::{Error, Progress, Result};

use crate::Clock;
use crate::attacks::low_bits::{self, Shift};
use crate::attacks::replay::{self, Distances, Encoder};
use crate::attacks::{Target, covariance, game, one_run, timing};
use crate::keys::{Keys, Purpose};
use crate::lens::{self, Lens};
use crate::neighbours::Neighbourhood;
use crate::power::{Power, Rule};
use crate::report::{Attack, Finding, Report};
use crate::sampling::{Sample, Tally, kept_lanes};
use crate::stream::Stream;
use crate::subject::{Promise, Subject};

/// The part of the false alarms that the attack with canaries has: half, because δ puts a floor
/// under its chances.
const PART_OF_CANARIES: f64 = 0.5;

/// The part of each other attack that decides by chance: error rates, separation, covariance, low
/// bits and timing.
const PART_OF_EACH: f64 = 0.1;

/// Releases that are held of the runs on one stream: half a gibibyte.
const MOST_NUMBERS: usize = 1 << 26;

/// How hard an audit looks.
///
/// ```
/// use evertally_audit::Settings;
/// assert_eq!(Settings::default().false_alarm, 1e-4);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Runs on a stream, and as many on its neighbour: 2,000 by default. [`Auditor::power`] says
    /// what they find, and [`Auditor::with_power`] picks as many as find a given shortage.
    pub runs: usize,
    /// The most steps that a run takes: 256 unless said otherwise. Of longer horizons the beginning
    /// is audited.
    pub length: u64,
    /// The most changes that are tried between neighbouring streams: 20,000 unless said otherwise.
    pub changes: usize,
    /// The probability with which a subject that keeps its promise may fail: 10⁻⁴ unless said otherwise.
    pub false_alarm: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { runs: 2_000, length: 256, changes: 20_000, false_alarm: 1e-4 }
    }
}

impl Settings {
    /// Below this, exact intervals are too wide to say anything.
    const FEWEST_RUNS: usize = 100;

    fn check(&self) -> Result<()> {
        let bad = |name, expected: String, got: String| Err(Error::BadParameter { name, expected, got });
        if self.runs < Self::FEWEST_RUNS {
            return bad("runs", format!("at least {}", Self::FEWEST_RUNS), self.runs.to_string());
        }
        if self.length == 0 || self.length > 1 << 24 {
            return bad("length", "a number of steps from 1 to 2^24".to_owned(), self.length.to_string());
        }
        if self.changes == 0 {
            return bad("changes", "at least 1".to_owned(), self.changes.to_string());
        }
        if !(1e-12..=0.1).contains(&self.false_alarm) {
            return bad(
                "false_alarm",
                "a probability from 1e-12 to 0.1".to_owned(),
                self.false_alarm.to_string(),
            );
        }
        Ok(())
    }
}

/// An audit of one subject, prepared: it can be run any number of times.
pub struct Auditor<'a> {
    subject: &'a dyn Subject,
    settings: Settings,
    promise: Promise,
    target: Target,
    lanes: usize,
    most_runs: usize,
    lens: Lens,
    near: Neighbourhood,
    /// The change that the watched releases give away most.
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
    /// [`Error::BadParameter`] for settings out of range, or for releases so coarsely rounded that
    /// nothing could be measured in them.
    pub fn new(subject: &'a dyn Subject, settings: Settings) -> Result<Self> {
        Self::against(subject, settings, Target::of(&subject.promise()))
    }

    /// Like [`Auditor::new`], with what is allowed handed in: tests show what an audit that trusted
    /// the plan would miss.
    pub(crate) fn against(subject: &'a dyn Subject, settings: Settings, target: Target) -> Result<Self> {
        settings.check()?;
        let (plan, promise, grid) = (subject.plan(), subject.promise(), subject.grid());
        let length = plan.horizon().min(settings.length) as usize;
        let lanes = subject.lanes();
        let dense = lens::dense(plan)?;
        let lens = Lens::new(plan, dense.as_ref(), grid, length);
        if grid > lens.least_innovation() {
            return Err(Error::BadParameter {
                name: "grid",
                expected: format!("at most the noise of a step, {:.3}", lens.least_innovation()),
                got: grid.to_string(),
            });
        }
        let most_runs = MOST_NUMBERS / (lens.steps().len() * kept_lanes(lanes));
        if settings.runs > most_runs {
            return Err(Error::BadParameter {
                name: "runs",
                expected: format!("at most {most_runs} of so many steps"),
                got: settings.runs.to_string(),
            });
        }
        let near = Neighbourhood::new(&promise, lens.steps(), lanes, settings.changes);
        let farthest = replay::farthest(&Encoder::seen(&lens), &near.changes).0;
        let encoder = Encoder::new(plan, dense.as_ref(), &lens, target.noise);
        let distances = Distances::new(plan, &target, encoder.as_ref(), &near);
        let filter = game::Filter::new(&lens, kept_lanes(lanes), &near.changes[farthest]);
        let shift = Shift::new(&lens);
        let share = PART_OF_EACH * settings.false_alarm;
        let rule = Rule::new(filter.separation, filter.rounding(grid), &target, share);
        Ok(Self {
            subject,
            settings,
            promise,
            target,
            lanes,
            most_runs,
            lens,
            near,
            farthest,
            distances,
            filter,
            rule,
            shift,
        })
    }

    /// The same audit with as many runs as find noise that is short by this share of its standard
    /// deviation, with probability 0.99.
    ///
    /// # Errors
    /// [`Error::BadParameter`] unless the share lies between 0 and 1, and where so many runs do not
    /// fit into memory.
    pub fn with_power(mut self, short: f64) -> Result<Self> {
        self.settings.runs = self.rule.runs(short, Settings::FEWEST_RUNS, self.most_runs)?;
        Ok(self)
    }

    /// The noise that is found to be short with probability 0.99, at these settings. `None` where
    /// the separation test finds none that surely.
    #[must_use]
    pub fn power(&self) -> Option<Power> {
        self.rule.power(self.settings.runs)
    }

    /// Runs on a stream, and as many on its neighbour.
    #[must_use]
    pub fn runs(&self) -> usize {
        self.settings.runs
    }

    /// Runs every attack. Without a clock, timing is left out. Runs use all threads; what is found
    /// does not depend on how many there are.
    ///
    /// # Errors
    /// Those of the subject, and [`Error::NoEntropy`] where the system gives no randomness.
    pub fn audit(&self, keys: Keys, clock: Option<&dyn Clock>, progress: &dyn Progress) -> Result<Report> {
        let share = PART_OF_EACH * self.settings.false_alarm;
        let canaries = PART_OF_CANARIES * self.settings.false_alarm;
        let (runs, digit_runs) = (self.settings.runs, self.settings.runs / low_bits::PART_OF_RUNS);
        let length = self.lens.length();
        let tally = Tally::new(progress, 2 * (runs + digit_runs));
        let draw = |stream: &Stream, purpose: Purpose, runs: usize| {
            Sample::draw(self.subject, &self.lens, stream, (keys, purpose), runs, &tally)
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
                &self.lens,
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
            covariance::attack(&self.lens, &[&without, &with], &self.target, share),
            low_bits::attack(
                &self.lens,
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
        self.lens.length()
    }
}
