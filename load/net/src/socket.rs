//! UDP sockets of one network interface.

use std::ffi::CString;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use crate::checked;

/// Settings of a socket.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where it receives.
    pub local: SocketAddr,
    /// The only interface that it sends to and receives from; empty for any.
    pub interface: String,
    /// Room for packets that were not read yet (bytes).
    pub receive_buffer: usize,
    /// Room for packets that were not sent yet (bytes).
    pub send_buffer: usize,
    /// Multicast group that it receives from.
    pub group: Option<Ipv6Addr>,
    /// May send to the broadcast address.
    pub broadcast: bool,
    /// Other programs may have its port for any address, as clients of DHCP do.
    pub beside_others: bool,
}

impl Options {
    /// A socket at an address, with large buffers.
    pub fn new(local: SocketAddr) -> Self {
        Self {
            local,
            interface: String::new(),
            receive_buffer: 32 << 20,
            send_buffer: 8 << 20,
            group: None,
            broadcast: false,
            beside_others: false,
        }
    }
}

/// A UDP socket that never blocks and has the kernel's time stamps and count of drops.
#[derive(Debug)]
pub struct Socket {
    pub(crate) fd: OwnedFd,
}

impl Socket {
    /// Open it.
    ///
    /// # Errors
    /// An error of the kernel: an address in use or of another host, an interface that is not
    /// there, a port below 1024 without the right to it.
    pub fn open(options: &Options) -> io::Result<Self> {
        let domain = if options.local.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
        let kind = libc::SOCK_DGRAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: no pointers; the descriptor is owned from here on.
        let fd = unsafe { OwnedFd::from_raw_fd(checked(libc::socket(domain, kind, 0))?) };
        let raw = fd.as_raw_fd();
        let on = 1;
        if options.broadcast {
            set(raw, libc::SOL_SOCKET, libc::SO_BROADCAST, &on)?;
        }
        if options.beside_others {
            set(raw, libc::SOL_SOCKET, libc::SO_REUSEADDR, &on)?;
        }
        if domain == libc::AF_INET6 {
            set(raw, libc::IPPROTO_IPV6, libc::IPV6_V6ONLY, &on)?;
        }
        if !options.interface.is_empty() {
            bind_to_interface(raw, &options.interface)?;
            if domain == libc::AF_INET6 {
                let index = interface_index(&options.interface)?;
                set(raw, libc::IPPROTO_IPV6, libc::IPV6_MULTICAST_IF, &index)?;
            }
        }
        set_buffers(raw, options.receive_buffer, options.send_buffer)?;
        let (storage, length) = to_storage(&options.local);
        // SAFETY: the address is valid for reading for its length.
        checked(unsafe { libc::bind(raw, (&raw const storage).cast(), length) })?;
        if let Some(group) = options.group {
            join(raw, group, &options.interface)?;
        }
        Ok(Self { fd })
    }

    /// Its own address, with the port that the kernel chose.
    pub fn local(&self) -> io::Result<SocketAddr> {
        local_of(self.as_raw_fd())
    }
}

/// A socket's own address.
pub(crate) fn local_of(fd: RawFd) -> io::Result<SocketAddr> {
    // SAFETY: all zeros are a valid value, and its length is said.
    let mut storage: libc::sockaddr_storage = unsafe { std::mem::zeroed() };
    let mut length = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
    let place = (&raw mut storage).cast();
    // SAFETY: as above.
    checked(unsafe { libc::getsockname(fd, place, &raw mut length) })?;
    from_storage(&storage).ok_or_else(|| io::Error::from(io::ErrorKind::Unsupported))
}

impl AsRawFd for Socket {
    fn as_raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}

/// Enable time stamps, a count of drops and buffers; return the receive buffer's size.
pub(crate) fn set_buffers(fd: RawFd, receive: usize, send: usize) -> io::Result<()> {
    let on = 1;
    set(fd, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &on)?;
    set(fd, libc::SOL_SOCKET, libc::SO_RXQ_OVFL, &on)?;
    room(fd, libc::SO_SNDBUF, libc::SO_SNDBUFFORCE, send)?;
    room(fd, libc::SO_RCVBUF, libc::SO_RCVBUFFORCE, receive)
}

pub(crate) fn set<T>(
    fd: RawFd,
    level: libc::c_int,
    name: libc::c_int,
    value: &T,
) -> io::Result<()> {
    let length = size_of::<T>() as libc::socklen_t;
    // SAFETY: the value is valid for reading for its length.
    checked(unsafe { libc::setsockopt(fd, level, name, (&raw const *value).cast(), length) })
        .map(drop)
}

pub(crate) fn bind_to_interface(fd: RawFd, name: &str) -> io::Result<()> {
    let length = name.len() as libc::socklen_t;
    // SAFETY: the name is valid for reading for its length.
    checked(unsafe {
        libc::setsockopt(
            fd,
            libc::SOL_SOCKET,
            libc::SO_BINDTODEVICE,
            name.as_ptr().cast(),
            length,
        )
    })
    .map(drop)
}

/// The number of an interface.
pub fn interface_index(name: &str) -> io::Result<libc::c_int> {
    let text = CString::new(name).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    // SAFETY: a C string.
    match unsafe { libc::if_nametoindex(text.as_ptr()) } {
        0 => Err(io::Error::last_os_error()),
        index => Ok(index as libc::c_int),
    }
}

fn join(fd: RawFd, group: Ipv6Addr, interface: &str) -> io::Result<()> {
    let request = libc::ipv6_mreq {
        ipv6mr_multiaddr: libc::in6_addr { s6_addr: group.octets() },
        ipv6mr_interface: interface_index(interface)? as libc::c_uint,
    };
    set(fd, libc::IPPROTO_IPV6, libc::IPV6_ADD_MEMBERSHIP, &request)
}

/// Set the buffer size, beyond the system's limit if allowed; return the size in force.
fn room(fd: RawFd, plain: libc::c_int, force: libc::c_int, bytes: usize) -> io::Result<()> {
    let wanted = bytes as libc::c_int;
    if set(fd, libc::SOL_SOCKET, force, &wanted).is_err() {
        set(fd, libc::SOL_SOCKET, plain, &wanted)?;
    }
    Ok(())
}

/// The value of a socket's option.
pub(crate) fn value_of(
    fd: RawFd,
    level: libc::c_int,
    name: libc::c_int,
) -> io::Result<libc::c_int> {
    let mut value: libc::c_int = 0;
    let mut length = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: both are valid for writing.
    checked(unsafe {
        libc::getsockopt(fd, level, name, (&raw mut value).cast(), &raw mut length)
    })?;
    Ok(value)
}

/// An address as the kernel has it, and its length.
pub(crate) fn to_storage(address: &SocketAddr) -> (libc::sockaddr_storage, libc::socklen_t) {
    // SAFETY: all zeros are a valid value.
    let mut storage: libc::sockaddr_storage = unsafe { std::mem::zeroed() };
    let place = &raw mut storage;
    let length = match address {
        SocketAddr::V4(v4) => {
            let value = libc::sockaddr_in {
                sin_family: libc::AF_INET as libc::sa_family_t,
                sin_port: v4.port().to_be(),
                sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(v4.ip().octets()) },
                sin_zero: [0; 8],
            };
            // SAFETY: the storage is large enough and aligned for every kind of address.
            unsafe { place.cast::<libc::sockaddr_in>().write(value) };
            size_of::<libc::sockaddr_in>()
        }
        SocketAddr::V6(v6) => {
            let value = libc::sockaddr_in6 {
                sin6_family: libc::AF_INET6 as libc::sa_family_t,
                sin6_port: v6.port().to_be(),
                sin6_flowinfo: 0,
                sin6_addr: libc::in6_addr { s6_addr: v6.ip().octets() },
                sin6_scope_id: v6.scope_id(),
            };
            // SAFETY: as above.
            unsafe { place.cast::<libc::sockaddr_in6>().write(value) };
            size_of::<libc::sockaddr_in6>()
        }
    };
    (storage, length as libc::socklen_t)
}

/// The same, back again; None for an address of neither family.
pub(crate) fn from_storage(storage: &libc::sockaddr_storage) -> Option<SocketAddr> {
    let place = &raw const *storage;
    match libc::c_int::from(storage.ss_family) {
        libc::AF_INET => {
            // SAFETY: the family says what it holds.
            let v4 = unsafe { &*place.cast::<libc::sockaddr_in>() };
            let ip = Ipv4Addr::from(v4.sin_addr.s_addr.to_ne_bytes());
            Some(SocketAddr::from((ip, u16::from_be(v4.sin_port))))
        }
        libc::AF_INET6 => {
            // SAFETY: as above.
            let v6 = unsafe { &*place.cast::<libc::sockaddr_in6>() };
            let ip = Ipv6Addr::from(v6.sin6_addr.s6_addr);
            let port = u16::from_be(v6.sin6_port);
            Some(std::net::SocketAddrV6::new(ip, port, 0, v6.sin6_scope_id).into())
        }
        _ => None,
    }
}

/// The event that a wait on a socket is for.
#[derive(Clone, Copy, Debug)]
pub struct Interest {
    /// The socket.
    pub fd: RawFd,
    /// That there is something to read.
    pub reads: bool,
    /// That there is room to send, too.
    pub writes: bool,
}

impl Interest {
    /// That there is something to read.
    pub fn reading(socket: &impl AsRawFd) -> Self {
        Self { fd: socket.as_raw_fd(), reads: true, writes: false }
    }
}

/// Wait until one of the sockets has its event, or `nanoseconds` have passed.
///
/// # Errors
/// An error of the kernel, except for an interrupt, which ends the wait.
pub fn wait(interests: &[Interest], nanoseconds: u64) -> io::Result<()> {
    poll(interests, nanoseconds).map(drop)
}

/// Whether each of the sockets has its event, or an error, now.
pub fn ready(interests: &[Interest]) -> io::Result<Vec<bool>> {
    let polled = poll(interests, 0)?;
    Ok(polled.iter().map(|one| one.revents != 0).collect())
}

fn poll(interests: &[Interest], nanoseconds: u64) -> io::Result<Vec<libc::pollfd>> {
    let polled = |interest: &Interest| libc::pollfd {
        fd: interest.fd,
        events: if interest.reads { libc::POLLIN } else { 0 }
            | if interest.writes { libc::POLLOUT } else { 0 },
        revents: 0,
    };
    let mut polled: Vec<_> = interests.iter().map(polled).collect();
    let time = libc::timespec {
        tv_sec: (nanoseconds / crate::clock::SECOND) as libc::time_t,
        tv_nsec: (nanoseconds % crate::clock::SECOND) as libc::c_long,
    };
    let count = polled.len() as libc::nfds_t;
    // SAFETY: `count` entries are valid.
    let result = unsafe { libc::ppoll(polled.as_mut_ptr(), count, &time, std::ptr::null()) };
    match checked(result) {
        Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(error),
        _ => Ok(polled),
    }
}

/// Raise the limit of open descriptors to what this process may have.
pub fn raise_descriptors() -> io::Result<()> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the place is valid for writing.
    checked(unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) })?;
    limit.rlim_cur = limit.rlim_max;
    // SAFETY: the value is valid for reading.
    checked(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) }).map(drop)
}
