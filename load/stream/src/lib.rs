//! DNS messages over TCP (RFC 7766), TLS (RFC 7858) and HTTPS (RFC 8484) connections, from both
//! ends.
//!
//! Every connection uses TLS 1.3 or no TLS, and begins with a full handshake.

#![forbid(unsafe_code)]

mod certificate;
mod channel;
mod client;
mod frame;
mod hpack;
mod http;
mod server;

pub use channel::Channel;
pub use client::Client;
pub use http::Http;
pub use server::Server;

use std::sync::Arc;

use rustls::crypto::{CryptoProvider, ring};
use rustls::{SupportedProtocolVersion, version};

/// HTTP/2, as the ends of a connection agree on it.
const ALPN: &[u8] = b"h2";
const VERSIONS: &[&SupportedProtocolVersion] = &[&version::TLS13];

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}
