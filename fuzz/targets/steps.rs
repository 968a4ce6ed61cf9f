//! See `evertally_fuzz::steps`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| evertally_fuzz::steps(bytes));
