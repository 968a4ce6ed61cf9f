//! See `evertally_fuzz::parquet`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| evertally_fuzz::parquet(bytes));
