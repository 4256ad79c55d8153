//! DNS messages over TCP (RFC 7766) and TLS (RFC 7858) connections, from both ends.
//!
//! Every connection uses TLS 1.3 or no TLS, and begins with a full handshake.

mod certificate;
mod channel;
mod client;
mod server;

pub use channel::Channel;
pub use client::Client;
pub use server::Server;

use std::sync::Arc;

use rustls::crypto::{CryptoProvider, ring};
use rustls::{SupportedProtocolVersion, version};

const VERSIONS: &[&SupportedProtocolVersion] = &[&version::TLS13];

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}
