//! Events to closed steps.
//!
//! A raw event has a time and perhaps a key, a person, an id and a value. This crate decides which
//! step an event belongs to ([`Buckets`], of a fixed length or by a [`Calendar`]), which key it counts
//! for ([`KeySet`]), how much of it counts ([`Clamp`]) and whether it counts at all ([`Admission`]).
//! The result is a [`ClosedStep`]: exact totals that a mechanism may add noise to, and that never
//! change again.
//!
//! [`Gather`] takes events in any order and closes every step at the end, or some of the steps with a
//! [`Memory`] of the persons and ids before. [`OpenGather`] does the same for keys that nobody declared.
//! [`Follow`] holds one open bucket and closes it as soon as an event has moved past it. [`Clocked`] holds
//! the buckets that a clock has not closed yet. [`Present`] turns the events of persons who come and go
//! into changes of one up and one down. [`Newcomers`] decides on the events of persons one by one.
//! [`EdgeList`] and [`GraphTotals`] turn the edges of a graph into statistics. [`Rows`] serves input in
//! which each row is already a step. The ledger and Spark hold events themselves, and use [`Admission`]
//! with stores of their own.
//!
//! Everything here is a pure state machine: no input or output, and no clock except
//! [`time::now_micros`]. Time moves only when a caller says so.
//!
//! # What the privacy argument needs from this crate
//! - A step's totals change by at most the clamped range when one event is added or removed, and by
//!   exact arithmetic: values are integers on a fixed grid ([`Amount`]), so no order of events can
//!   change a total.
//! - Whether an event counts depends only on events of the same person (or id). With a bound,
//!   adding or removing *all* events of one person changes at most k steps, at least b apart, each by
//!   no more than a [`Share`]. The rule and the argument are in [`admission`].
//! - The exception is written on [`Follow`]: there, the order of arrival decides what is late.

pub mod admission;
mod amount;
mod buckets;
mod calendar;
mod clocked;
mod closed;
mod contest;
mod contribution;
mod decide;
mod definition;
mod error;
mod follow;
mod gather;
mod graph;
mod keys;
mod length;
mod memory;
mod names;
mod newcomers;
mod participants;
mod periods;
mod presence;
mod rows;
mod rules;
mod share;
pub mod time;
mod zone;

pub use admission::{Admission, IdStore, Outcome, PersonStore};
pub use amount::{Amount, Clamp};
pub use buckets::{BucketLength, Buckets};
pub use calendar::Calendar;
pub use clocked::Clocked;
pub use closed::{ClosedStep, ClosedSteps};
pub use contribution::{ContributionBound, KnownIds, admit_step};
pub use definition::{Closing, Columns, Definition, Precedence, Reading, Stays};
pub use error::{Error, Result, Side};
pub use follow::{Follow, PushAnswer};
pub use gather::{
    ClaimBatch, Gather, GatheredSteps, InKey, KeyNumber, Moment, OpenGather, OpenSteps, Spill, Tag,
};
pub use graph::{
    EdgeList, GraphDefinition, GraphTotals, NoEdge, NodeProtection, OrderedEdges, Projection, Statistic,
    StopTest,
};
pub use keys::{KeySet, OTHER};
pub use length::{CalendarLength, CalendarUnit, StepLength};
pub use memory::Memory;
pub use names::given_name;
pub use newcomers::{Arrival, Newcomers};
pub use participants::Participants;
pub use periods::NoPeriods;
pub use presence::{Operation, Presence, Present};
pub use rows::Rows;
pub use rules::{Event, Rules};
pub use share::Share;
pub use zone::Zone;
