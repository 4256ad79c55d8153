//! TCP connections of one network interface, with the kernel's time stamps.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use crate::batch::beside;
use crate::checked;
use crate::socket::{bind_to_interface, from_storage, set, to_storage, value_of};

/// Connections that may wait to be accepted.
const BACKLOG: libc::c_int = 1024;
/// Room for a time stamp beside the received data (bytes).
const CONTROL: usize = 64;

/// A TCP connection that never blocks, and sends without delay.
#[derive(Debug)]
pub struct Stream {
    fd: OwnedFd,
}

/// Received data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read {
    /// How much of the room it has filled (bytes).
    pub count: usize,
    /// When the kernel took the last segment of it from the interface (realtime clock, ns); 0
    /// where it does not say: it begins to stamp TCP some time after the first socket asks.
    pub received_at: u64,
}

impl Stream {
    /// Begin to connect; any interface where it is empty.
    pub fn connect(to: SocketAddr, interface: &str) -> io::Result<Self> {
        let stream = Self::prepared(open(to, interface)?)?;
        let (storage, length) = to_storage(&to);
        // SAFETY: the address is valid for reading for its length.
        let begun = checked(unsafe {
            libc::connect(stream.as_raw_fd(), (&raw const storage).cast(), length)
        });
        match begun {
            Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => Err(error),
            _ => Ok(stream),
        }
    }

    fn prepared(fd: OwnedFd) -> io::Result<Self> {
        let on: libc::c_int = 1;
        set(fd.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_NODELAY, &on)?;
        set(fd.as_raw_fd(), libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &on)?;
        Ok(Self { fd })
    }

    /// End the connection by a reset once it is closed: its port can be used again at once,
    /// and not only after a minute.
    pub fn reset_at_close(&self) -> io::Result<()> {
        let none = libc::linger { l_onoff: 1, l_linger: 0 };
        set(self.as_raw_fd(), libc::SOL_SOCKET, libc::SO_LINGER, &none)
    }

    /// Whether the connection that was begun is there.
    ///
    /// # Errors
    /// Why there is none: it was refused, or nothing answers.
    pub fn is_connected(&self) -> io::Result<bool> {
        let fd = self.as_raw_fd();
        let mut polled = libc::pollfd { fd, events: libc::POLLOUT, revents: 0 };
        // SAFETY: one entry is valid.
        if checked(unsafe { libc::poll(&raw mut polled, 1, 0) })? == 0 {
            return Ok(false);
        }
        match value_of(fd, libc::SOL_SOCKET, libc::SO_ERROR)? {
            0 => Ok(true),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }

    /// Send as much of the bytes as the kernel takes now; return how much that is.
    pub fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        // SAFETY: the bytes are valid for reading.
        let sent = unsafe {
            libc::send(
                self.as_raw_fd(),
                bytes.as_ptr().cast(),
                bytes.len(),
                libc::MSG_NOSIGNAL,
            )
        };
        later(sent).map(|sent| sent.unwrap_or(0))
    }

    /// Receive what is there, as far as there is room; None where that is nothing yet.
    ///
    /// # Errors
    /// That the connection is over: `UnexpectedEof` where the other end has closed it.
    pub fn receive(&self, room: &mut [u8]) -> io::Result<Option<Read>> {
        let mut control = [0_u64; CONTROL / 8];
        let mut piece =
            libc::iovec { iov_base: room.as_mut_ptr().cast(), iov_len: room.len() };
        // SAFETY: all zeros are a valid header.
        let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
        header.msg_iov = &raw mut piece;
        header.msg_iovlen = 1;
        header.msg_control = control.as_mut_ptr().cast();
        header.msg_controllen = CONTROL as _;
        // SAFETY: every pointer is to memory that outlives the call, of the length that is said.
        let received = unsafe { libc::recvmsg(self.as_raw_fd(), &raw mut header, 0) };
        match later(received)? {
            None => Ok(None),
            Some(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            // SAFETY: the kernel has filled in the header.
            Some(count) => Ok(Some(Read { count, received_at: unsafe { beside(&header) }.0 })),
        }
    }
}

impl AsRawFd for Stream {
    fn as_raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}

/// Accepts TCP connections, and never blocks.
#[derive(Debug)]
pub struct Listener {
    fd: OwnedFd,
}

impl Listener {
    /// Listen at an address; at any interface where it is empty.
    pub fn open(local: SocketAddr, interface: &str) -> io::Result<Self> {
        let fd = open(local, interface)?;
        let on: libc::c_int = 1;
        set(fd.as_raw_fd(), libc::SOL_SOCKET, libc::SO_REUSEADDR, &on)?;
        let (storage, length) = to_storage(&local);
        // SAFETY: the address is valid for reading for its length.
        checked(unsafe { libc::bind(fd.as_raw_fd(), (&raw const storage).cast(), length) })?;
        // SAFETY: no pointers.
        checked(unsafe { libc::listen(fd.as_raw_fd(), BACKLOG) })?;
        Ok(Self { fd })
    }

    /// A waiting connection with its peer; None without any.
    ///
    /// # Errors
    /// An error of the kernel, except for a connection that was over before.
    pub fn accept(&self) -> io::Result<Option<(Stream, SocketAddr)>> {
        // SAFETY: all zeros are a valid value, and its length is said.
        let mut storage: libc::sockaddr_storage = unsafe { std::mem::zeroed() };
        let mut length = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
        let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        let place = (&raw mut storage).cast();
        // SAFETY: as above.
        let accepted =
            unsafe { libc::accept4(self.as_raw_fd(), place, &raw mut length, flags) };
        match checked(accepted) {
            Ok(fd) => {
                // SAFETY: it is new, and owned from here on.
                let stream = Stream::prepared(unsafe { OwnedFd::from_raw_fd(fd) })?;
                Ok(from_storage(&storage).map(|from| (stream, from)))
            }
            Err(error) => match error.raw_os_error() {
                Some(libc::EAGAIN | libc::EINTR | libc::ECONNABORTED) => Ok(None),
                _ => Err(error),
            },
        }
    }
}

impl AsRawFd for Listener {
    fn as_raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}

fn open(address: SocketAddr, interface: &str) -> io::Result<OwnedFd> {
    let domain = if address.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
    let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: no pointers; the descriptor is owned from here on.
    let fd = unsafe { OwnedFd::from_raw_fd(checked(libc::socket(domain, kind, 0))?) };
    if !interface.is_empty() {
        bind_to_interface(fd.as_raw_fd(), interface)?;
    }
    Ok(fd)
}

/// The result of a call on a socket; None where it has to be made again later.
fn later(result: isize) -> io::Result<Option<usize>> {
    if let Ok(count) = usize::try_from(result) {
        return Ok(Some(count));
    }
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        Some(libc::EAGAIN | libc::EINTR) => Ok(None),
        _ => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Interest, clock, wait};

    fn pair() -> (Stream, Stream) {
        let local = "127.0.0.1:0".parse().unwrap();
        let listener = Listener::open(local, "").unwrap();
        let to = crate::socket::local_of(listener.as_raw_fd()).unwrap();
        let client = Stream::connect(to, "").unwrap();
        wait(&[Interest::reading(&listener)], clock::SECOND).unwrap();
        let (server, from) = listener.accept().unwrap().expect("it has asked");
        assert!(client.is_connected().unwrap());
        assert_eq!(crate::socket::local_of(client.as_raw_fd()).unwrap(), from);
        (client, server)
    }

    #[test]
    fn bytes_arrive_stamped_and_then_the_end() {
        let (client, server) = pair();
        let mut room = [0; 64];
        assert_eq!(client.receive(&mut room).unwrap(), None);
        let mut before = 0;
        let mut received_at = 0;
        while received_at == 0 {
            before = clock::realtime();
            assert_eq!(server.send(b"some bytes").unwrap(), 10);
            wait(&[Interest::reading(&client)], clock::SECOND).unwrap();
            let read = client.receive(&mut room[..4]).unwrap().unwrap();
            assert_eq!((read.count, &room[..4]), (4, &b"some"[..]));
            received_at = read.received_at;
            assert_eq!(client.receive(&mut room).unwrap().unwrap().count, 6);
        }
        assert!((before..=clock::realtime()).contains(&received_at), "{received_at}");
        drop(server);
        wait(&[Interest::reading(&client)], clock::SECOND).unwrap();
        let over = client.receive(&mut room).unwrap_err();
        assert_eq!(over.kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn what_the_other_end_does_not_read_is_taken_in_part() {
        let (client, _server) = pair();
        let bytes = vec![1; 64 << 20];
        let taken = client.send(&bytes).unwrap();
        assert!(taken > 0 && taken < bytes.len());
        let mut all = taken;
        while let more @ 1.. = client.send(&bytes).unwrap() {
            all += more;
        }
        assert!(all < bytes.len(), "{all}");
        assert_eq!(client.send(&bytes).unwrap(), 0);
    }

    #[test]
    fn nobody_there_is_an_error() {
        let nobody = {
            let listener = Listener::open("127.0.0.1:0".parse().unwrap(), "").unwrap();
            crate::socket::local_of(listener.as_raw_fd()).unwrap()
        };
        let refused = Stream::connect(nobody, "").and_then(|stream| stream.is_connected());
        assert_eq!(refused.unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
    }
}
