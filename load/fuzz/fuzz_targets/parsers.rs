//! Any bytes: the parsers refuse or read them, and what is read can be written again.

#![no_main]

#[path = "../read_all.rs"]
mod read_all;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    read_all::read_all(bytes);
});
