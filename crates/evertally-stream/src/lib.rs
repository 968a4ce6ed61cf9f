//! Events to closed steps.
//!
//! Raw events arrive with a time, perhaps a key, a person, an id and a value. This crate decides
//! which step an event belongs to ([`Buckets`]), which key it counts for ([`KeySet`]), how much of
//! it counts ([`Clamp`]) and whether it counts at all ([`ContributionBound`], duplicates by id).
//! What comes out is a [`ClosedStep`]: exact totals that a mechanism may add noise to, and that
//! never change again.
//!
//! Three ways lead there. [`Gather`] takes events in any order and closes every step at the end, in
//! memory proportional to steps × keys. [`Follow`] holds one open bucket and closes it as soon as
//! an event has moved past it. [`Clocked`] holds the buckets that a clock has not closed yet.
//! [`Rows`] serves input in which each row already is a step.
//!
//! Everything here is a pure state machine: no input or output, no clock. Time moves only when a
//! caller says so.
//!
//! # What the privacy argument needs from this crate
//! - A step's totals change by at most the clamped range when one event is added or removed, and by
//!   exact arithmetic: values are integers on a fixed grid ([`Amount`]), so no order of events can
//!   change a total.
//! - With a [`ContributionBound`], adding or removing *all* events of one person changes at most k
//!   steps, at least b apart, each in one key. Whether an event counts never depends on another
//!   person's events. An event without a person ([`given_name`]) could be anybody's, and does not
//!   count.
//! - The exception is written on [`Follow`]: there, the order of arrival decides what is late.

mod admission;
mod amount;
mod buckets;
mod clocked;
mod closed;
mod contribution;
mod definition;
mod error;
mod follow;
mod gather;
mod keys;
mod names;
mod participants;
mod rows;

pub use admission::{Admission, Event, Refusal};
pub use amount::{Amount, Clamp, LARGEST_EXACT_TOTAL};
pub use buckets::{BucketLength, Buckets};
pub use clocked::Clocked;
pub use closed::{ClosedStep, ClosedSteps};
pub use contribution::{ContributionBound, ParticipationLimits};
pub use definition::{Closing, Columns, Definition, Precedence};
pub use error::{Error, Result, Side};
pub use follow::{Follow, Pushed};
pub use gather::{Gather, GatheredSteps};
pub use keys::{KeySet, OTHER};
pub use names::given_name;
pub use participants::Participants;
pub use rows::Rows;
