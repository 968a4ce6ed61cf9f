//! See `evertally_fuzz::command_line`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| evertally_fuzz::command_line(bytes));
