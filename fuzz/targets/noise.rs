//! See `evertally_fuzz::noise`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| evertally_fuzz::noise(bytes));
