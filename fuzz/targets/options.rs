//! See `evertally_fuzz::options`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| evertally_fuzz::options(bytes));
