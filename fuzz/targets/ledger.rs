//! See `evertally_fuzz::ledger`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| evertally_fuzz::ledger(bytes));
