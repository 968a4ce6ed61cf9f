//! Attacks on the mechanism as it runs: does it keep the promise that its plan makes?
//!
//! A proof is about the mechanism on paper. An audit runs the real one, end to end, as an attacker
//! would: it knows the plan, chooses the streams and holds the keys where that helps it, and says
//! what it could tell about one person. Each attack gives what was measured, what the promise
//! allows, a lower bound on ε where one follows, and a verdict.
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
//! | room | its one decision |
//! |---|---|
//! | `subject`, `open_keys`, `vectors` | what is audited: a plan, a promise, and releases |
//! | `admission` | what stands before a counter: gates, and the events that they are attacked with |
//! | `calibration` | what a budget allows, whatever a plan believes |
//! | `lens` | how releases are looked at: declared covariance, whitening, the matched filter |
//! | `neighbours` | which streams must look alike |
//! | `attacks` | one file an attack |
//! | `statistics` | tails, exact intervals, ranks |
//! | `power` | which noise is found to be short, and how many runs that takes |
//! | `auditor` | the order of it all, and how the rate of false alarms is shared out |
//!
//! **Guarantee.** A subject that keeps its promise and releases what its plan declares fails with
//! probability at most [`Settings::false_alarm`], all attacks together; the share of each is split
//! again over its comparisons (Bonferroni). An audit that passes proves nothing: it found no fault
//! of the kinds that it looks for.
//!
//! This crate does no input or output. Time is read from the clock that the caller hands in.

mod admission;
mod attacks;
mod auditor;
mod calibration;
mod keys;
mod lens;
mod neighbours;
mod open_keys;
#[cfg(any(test, feature = "planted-faults"))]
pub mod planted;
mod power;
mod report;
mod sampling;
mod statistics;
mod stream;
mod subject;
mod vectors;

pub use admission::{
    AdmissionRules, Clocking, Following, Gate, Gathering, MadeUpEvent, TICKS_PER_STEP, USUAL_STREAMS,
    audit_admission, deployed_gates,
};
pub use auditor::{Auditor, Settings};
pub use keys::{Keys, Purpose};
pub use open_keys::OpenKeysSubject;
pub use power::Power;
pub use report::{Attack, Bound, Finding, Game, Report, Verdict};
pub use stream::{Change, Stream};
pub use subject::{CounterSubject, Promise, Session, Subject};
pub use vectors::VectorSubject;

/// A clock in nanoseconds since any fixed moment, handed in by the caller. Any `Fn() -> u64` is one.
pub trait Clock {
    /// The time.
    fn nanoseconds(&self) -> u64;
}

impl<F: Fn() -> u64> Clock for F {
    fn nanoseconds(&self) -> u64 {
        self()
    }
}
