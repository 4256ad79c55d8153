//! The edge to the kernel: clocks, threads on processors, datagrams in batches,
//! connections.
//!
//! All unsafe code of the workspace is here.

mod batch;
pub mod clock;
mod link;
mod socket;
mod stream;
pub mod thread;

pub use batch::{Packet, Receiver, Sender};
pub use link::Link;
pub use socket::{Interest, Options, Socket, interface_index, raise_descriptors, ready, wait};
pub use stream::{Listener, Read, Stream};

use std::io;

/// The result of a system call that returns -1 for an error.
pub(crate) fn checked(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
