//! See `evertally_fuzz::arrow`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| evertally_fuzz::arrow(bytes));
