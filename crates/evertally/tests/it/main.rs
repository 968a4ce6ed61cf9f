//! The tests of the library from outside, in one program, because each program has to link the
//! whole library.
//!
//! Three tests need a process of their own and stay beside this directory: `canaries` replaces the
//! panic hook, `memory` counts what all threads allocate, and `wiped` searches the whole heap.

#![allow(clippy::unwrap_used, reason = "a failed test is a failed test")]

mod amounts;
mod batch;
mod bounds;
mod calibration;
mod common;
mod counters;
mod covariance;
mod coverage;
mod endless;
mod exact;
mod examples;
mod extremes;
mod factorizations;
mod fresh_noise_of_keys;
mod gamma;
mod gamma_properties;
mod graded;
mod key_parts;
mod keys_per_step;
mod means;
mod odometer;
mod open_key_states;
mod open_keys;
mod reference;
mod released;
mod replace;
mod reports;
mod slices;
mod tampered_states;
mod version_1;
