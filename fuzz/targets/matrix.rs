//! See `evertally_fuzz::matrix`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| evertally_fuzz::matrix(bytes));
