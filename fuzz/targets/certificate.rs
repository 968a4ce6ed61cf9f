//! See `evertally_fuzz::certificate`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| evertally_fuzz::certificate(bytes));
