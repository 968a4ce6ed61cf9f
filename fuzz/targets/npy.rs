//! See `evertally_fuzz::npy`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| evertally_fuzz::npy(bytes));
