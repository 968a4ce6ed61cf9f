//! See `evertally_fuzz::names`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| evertally_fuzz::names(bytes));
