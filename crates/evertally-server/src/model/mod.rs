//! What requests and answers look like: one file a kind of thing, with the limits that the OpenAPI
//! document states.
//!
//! Nothing here decides anything. Requests become the ledger's own types, which check them; answers
//! are made from what the ledger shows.

pub(crate) mod accuracy;
pub(crate) mod counter;
pub(crate) mod draft;
pub(crate) mod epoch;
pub(crate) mod event;
pub(crate) mod population;
pub(crate) mod release;
pub(crate) mod status;
pub(crate) mod token;

/// A number as JSON can say it: none where it is not finite.
pub(crate) fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}
