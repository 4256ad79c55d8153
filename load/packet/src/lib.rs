//! Messages of DHCPv4, DHCPv6 and DNS, as bytes: those of clients and of servers.
//!
//! Nothing here does I/O, and nothing allocates for a message that is read. What is written
//! is appended to a `Vec<u8>`, whose room is used again by the caller.

#![forbid(unsafe_code)]

pub mod dhcp4;
pub mod dhcp6;
pub mod dns;
pub mod frame;
mod reader;
pub mod stream;

pub use reader::Malformed;
