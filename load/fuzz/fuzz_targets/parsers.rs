//! Any bytes: parsers refuse or read them, and what is read can be written again.

#![no_main]

#[path = "../read_all.rs"]
mod read_all;
#[path = "../read_files.rs"]
mod read_files;
#[path = "../read_http.rs"]
mod read_http;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    read_all::read_all(bytes);
    read_http::read_http(bytes);
    read_files::read_files(&String::from_utf8_lossy(bytes));
});
