//! See `evertally_fuzz::training`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| evertally_fuzz::training(bytes));
