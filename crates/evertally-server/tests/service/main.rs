//! Tests of the service over real sockets, with a ledger on a real disk and a clock that tests set.
#![allow(missing_docs, clippy::unwrap_used, reason = "tests")]

mod authority;
mod bad_input;
mod client;
mod documented;
mod fixture;
mod formats;
mod found_keys;
mod limits;
mod live;
mod modes;
mod page_types;
mod silence;
mod slow;
mod stories;
mod tls;
