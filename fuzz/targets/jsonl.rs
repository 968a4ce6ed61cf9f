//! See `evertally_fuzz::jsonl`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| evertally_fuzz::jsonl(bytes));
