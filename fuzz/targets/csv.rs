//! See `evertally_fuzz::csv`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| evertally_fuzz::csv(bytes));
