//! Attacks on the running mechanism, to test whether it keeps the promise of its plan.
//!
//! A proof covers the mechanism on paper. An audit runs the real mechanism end to end, as an
//! attacker would. It knows the plan, chooses the streams, uses the keys if that helps, and reports
//! what it could infer about one person. Each attack reports a measurement, the limit that the
//! promise sets, a lower bound on ε if one follows, and a verdict.
//!
//! ```
//! use evertally::{Budget, Plan};
//! use evertally_audit::{Auditor, CounterSubject, Keys, Settings};
//!
//! let plan = Plan::prefix_sum(16).budget(Budget::new(1.0, 1e-6)?).build()?;
//! let subject = CounterSubject::new(plan)?.rounded_to(1.0)?;
//! let settings = Settings { runs: 500, ..Settings::default() };
//! let report = Auditor::new(&subject, settings)?.audit(Keys::SeededNotPrivate(1), None, &())?;
//! assert!(report.passed());
//! # Ok::<(), evertally::Error>(())
//! ```
//!
//! | module | responsibility |
//! |---|---|
//! | `subject`, `open_keys`, `vectors` | the subject of an audit: a plan, a promise, and releases |
//! | `found_keys` | keys that nobody declared: how often they appear, and what they leave |
//! | `admission` | gates before a counter, and the events that attack them |
//! | `calibration` | what a budget allows, independently of the plan |
//! | `whitening` | watched steps, declared covariance, the matched filter |
//! | `neighbours` | streams that must be indistinguishable |
//! | `attacks` | one file per attack |
//! | `statistics` | tails, exact intervals, ranks |
//! | `power` | the shortage of noise that a number of runs finds |
//! | `auditor` | the sequence of attacks, and the division of the false-alarm rate |
//!
//! **Guarantee.** A subject that keeps its promise and releases what its plan declares fails with
//! probability at most [`Settings::false_alarm`] over all attacks. The share of each attack is
//! divided among its comparisons (Bonferroni). A passed audit proves nothing: it only found no
//! fault of the kinds that it looks for.
//!
//! This crate does no input or output. The caller provides the clock.

mod admission;
mod attacks;
mod auditor;
mod calibration;
mod found_keys;
mod keys;
mod neighbours;
mod open_keys;
#[cfg(any(test, feature = "planted-faults"))]
pub mod planted_faults;
mod power;
mod report;
mod sampling;
mod statistics;
mod stream;
mod subject;
mod whitening;

pub use admission::{
    AdmissionRules, ClockedGate, DEFAULT_STREAMS, FollowGate, Gate, GatherGate, SyntheticEvent,
    TICKS_PER_STEP, audit_admission, deployed_gates,
};
pub use auditor::{Auditor, Settings};
pub use found_keys::{DeployedFinder, Finder, FoundRow, KeyArrival, audit_found_keys};
pub use keys::{Keys, Purpose};
pub use open_keys::OpenKeysSubject;
pub use power::Power;
pub use report::{Attack, Bound, Finding, Game, Report, Verdict};
pub use stream::{Change, Stream};
pub use subject::{CounterSubject, Promise, Session, Subject};

/// A clock in nanoseconds since any fixed moment. Any `Fn() -> u64` is a clock.
pub trait Clock {
    /// The time.
    fn nanoseconds(&self) -> u64;
}

impl<F: Fn() -> u64> Clock for F {
    fn nanoseconds(&self) -> u64 {
        self()
    }
}
