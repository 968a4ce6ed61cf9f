//! The shapes of requests and answers, one file per subject, with the limits that the OpenAPI document
//! states.
//!
//! Nothing is decided here. Requests become the ledger's own types, which check them. Answers are made
//! from what the ledger shows.

pub(crate) mod accuracy;
pub(crate) mod counter;
pub(crate) mod discover;
pub(crate) mod draft;
pub(crate) mod epoch;
pub(crate) mod event;
pub(crate) mod population;
pub(crate) mod release;
pub(crate) mod status;
pub(crate) mod token;

/// A number that JSON can hold: none when it is not finite.
pub(crate) fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}
