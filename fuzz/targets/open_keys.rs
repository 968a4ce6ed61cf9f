//! See `evertally_fuzz::open_keys`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| evertally_fuzz::open_keys(bytes));
