//! See `evertally_fuzz::states`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| evertally_fuzz::states(bytes));
