//! See `evertally_fuzz::found_keys`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| evertally_fuzz::found_keys(bytes));
