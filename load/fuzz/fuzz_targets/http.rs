//! Any bytes behind the preface of HTTP: both ends refuse or read them, in pieces as whole.

#![no_main]

#[path = "../read_http.rs"]
mod read_http;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    read_http::read_http(bytes);
});
