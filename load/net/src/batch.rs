//! Datagrams sent and received many at a time: one system call for a batch.

use std::io;
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, RawFd};

use crate::checked;
use crate::socket::{Socket, from_storage, to_storage};

/// Longest datagram that is read whole (bytes); no reply of these protocols is longer.
const LONGEST: usize = 4096;
/// Packets of one system call.
const MOST: usize = 256;
/// Room for a time stamp and a count of drops beside a datagram (bytes).
const CONTROL: usize = 128;

/// Packets that are written, and then sent together.
#[derive(Debug)]
pub struct Sender {
    packets: Vec<Vec<u8>>,
    to: Vec<usize>,
    used: usize,
    destinations: Vec<(libc::sockaddr_storage, libc::socklen_t)>,
}

impl Sender {
    /// A sender of at most `batch` packets at a time to a few destinations; of whole frames,
    /// which say themselves where they go, to none.
    pub fn new(batch: usize, destinations: &[SocketAddr]) -> Self {
        Self {
            packets: (0..batch).map(|_| Vec::with_capacity(LONGEST)).collect(),
            to: vec![0; batch],
            used: 0,
            destinations: destinations.iter().map(to_storage).collect(),
        }
    }

    /// Packets that wait to be sent.
    pub fn waiting(&self) -> usize {
        self.used
    }

    /// Whether another packet would be one too many.
    pub fn is_full(&self) -> bool {
        self.used == self.packets.len()
    }

    /// Forget the packets that wait.
    pub fn clear(&mut self) {
        self.used = 0;
    }

    /// Add a packet, which `write` appends to an empty buffer; to the destination of a place.
    pub fn add(&mut self, destination: usize, write: impl FnOnce(&mut Vec<u8>)) {
        let packet = &mut self.packets[self.used];
        packet.clear();
        write(packet);
        self.to[self.used] = destination;
        self.used += 1;
    }

    /// Add a packet to an address that is known only now, such as that of who asked.
    pub fn answer(&mut self, to: &SocketAddr, write: impl FnOnce(&mut Vec<u8>)) {
        let place = self.used;
        if self.destinations.len() <= place {
            self.destinations.resize(self.packets.len(), to_storage(to));
        }
        self.destinations[place] = to_storage(to);
        self.add(place, write);
    }

    /// Send waiting packets; return how many the kernel accepted.
    ///
    /// The others are dropped: an open loop does not wait for a network that is full.
    ///
    /// # Errors
    /// The kernel's error for the first packet that it refused for another reason than
    /// want of room.
    pub fn flush(&mut self, socket: &Socket) -> io::Result<usize> {
        let mut sent = 0;
        while sent < self.used {
            let count = (self.used - sent).min(MOST);
            match self.send(socket.as_raw_fd(), sent, count) {
                Ok(taken) => sent += taken,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error)
                    if error.kind() == io::ErrorKind::WouldBlock
                        || error.raw_os_error() == Some(libc::ENOBUFS) =>
                {
                    break;
                }
                Err(error) => {
                    self.used = 0;
                    return Err(error);
                }
            }
        }
        self.used = 0;
        Ok(sent)
    }

    fn send(&mut self, fd: RawFd, first: usize, count: usize) -> io::Result<usize> {
        // Only those in use are written: zeroing all took most of a small batch's time.
        let mut pieces = [const { MaybeUninit::<libc::iovec>::uninit() }; MOST];
        let mut headers = [const { MaybeUninit::<libc::mmsghdr>::uninit() }; MOST];
        for place in 0..count {
            let packet = &mut self.packets[first + place];
            let piece = pieces[place].write(libc::iovec {
                iov_base: packet.as_mut_ptr().cast(),
                iov_len: packet.len(),
            });
            // SAFETY: all zeros are a valid header.
            let header = &mut headers[place].write(unsafe { std::mem::zeroed() }).msg_hdr;
            let to = self.to[first + place];
            if let Some((storage, length)) = self.destinations.get_mut(to) {
                header.msg_name = (&raw mut *storage).cast();
                header.msg_namelen = *length;
            }
            header.msg_iov = piece;
            header.msg_iovlen = 1;
        }
        let headers = headers.as_mut_ptr().cast();
        // SAFETY: `count` headers were written; what they point to outlives the call.
        checked(unsafe { libc::sendmmsg(fd, headers, count as libc::c_uint, 0) })
            .map(|taken| taken as usize)
    }
}

/// A datagram that was received.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    /// Its bytes.
    pub bytes: &'a [u8],
    /// Who sent it.
    pub from: Option<SocketAddr>,
    /// When the kernel took it from the interface (realtime clock, ns); 0 where it does not
    /// say.
    pub received_at: u64,
    /// Packets that the socket has dropped for want of room since it was opened; None where
    /// the kernel did not say, as it does before the first one.
    pub dropped: Option<u32>,
}

/// Buffers for packets that are received together.
#[derive(Debug)]
pub struct Receiver {
    room: Vec<[u8; LONGEST]>,
    control: Vec<[u64; CONTROL / 8]>,
    from: Vec<libc::sockaddr_storage>,
    pieces: Vec<libc::iovec>,
    headers: Vec<libc::mmsghdr>,
    count: usize,
}

impl Receiver {
    /// Room for at most `batch` packets at a time.
    pub fn new(batch: usize) -> Self {
        // SAFETY: all zeros are valid values of these types.
        let (address, piece, header) = unsafe {
            (
                std::mem::zeroed::<libc::sockaddr_storage>(),
                std::mem::zeroed::<libc::iovec>(),
                std::mem::zeroed::<libc::mmsghdr>(),
            )
        };
        Self {
            room: vec![[0; LONGEST]; batch],
            control: vec![[0; CONTROL / 8]; batch],
            from: vec![address; batch],
            pieces: vec![piece; batch],
            headers: vec![header; batch],
            count: 0,
        }
    }

    /// Receive the packets there are; return their number, 0 for none.
    ///
    /// # Errors
    /// An error of the kernel. What other hosts answered by ICMP is no error: it is read and
    /// forgotten, as those packets are counted as lost anyway.
    pub fn receive(&mut self, socket: &Socket) -> io::Result<usize> {
        self.count = 0;
        for place in 0..self.room.len() {
            self.pieces[place] = libc::iovec {
                iov_base: self.room[place].as_mut_ptr().cast(),
                iov_len: LONGEST,
            };
            let header = &mut self.headers[place].msg_hdr;
            header.msg_name = (&raw mut self.from[place]).cast();
            header.msg_namelen = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
            header.msg_iov = &raw mut self.pieces[place];
            header.msg_iovlen = 1;
            header.msg_control = self.control[place].as_mut_ptr().cast();
            header.msg_controllen = CONTROL as _;
            header.msg_flags = 0;
        }
        // SAFETY: every pointer is to memory that this owns, of the length that is said.
        let result = unsafe {
            libc::recvmmsg(
                socket.as_raw_fd(),
                self.headers.as_mut_ptr(),
                self.room.len() as libc::c_uint,
                libc::MSG_DONTWAIT,
                std::ptr::null_mut(),
            )
        };
        self.count = match checked(result) {
            Ok(count) => count as usize,
            Err(error) => match error.raw_os_error() {
                Some(
                    libc::EAGAIN
                    | libc::EINTR
                    | libc::ECONNREFUSED
                    | libc::EHOSTUNREACH
                    | libc::ENETUNREACH,
                ) => 0,
                _ => return Err(error),
            },
        };
        Ok(self.count)
    }

    /// The packet of a place below what `receive` returned.
    pub fn packet(&self, place: usize) -> Packet<'_> {
        // SAFETY: the kernel has filled in this header, and this owns its control messages.
        let (received_at, dropped) = unsafe { beside(&self.headers[place].msg_hdr) };
        let length = (self.headers[place].msg_len as usize).min(LONGEST);
        Packet {
            bytes: &self.room[place][..length],
            from: from_storage(&self.from[place]),
            received_at,
            dropped,
        }
    }
}

/// The time stamp of a received packet, and the socket's drops until then.
///
/// # Safety
/// The kernel has filled in the header, and its control messages are still there.
pub(crate) unsafe fn beside(header: &libc::msghdr) -> (u64, Option<u32>) {
    let (mut received_at, mut dropped) = (0, None);
    // SAFETY: the macros keep to the messages' length, and data is read without regard to
    // alignment.
    unsafe {
        let mut message = libc::CMSG_FIRSTHDR(header);
        while let Some(head) = message.as_ref() {
            let data = libc::CMSG_DATA(message);
            match (head.cmsg_level, head.cmsg_type) {
                (libc::SOL_SOCKET, libc::SO_TIMESTAMPNS) => {
                    let time = data.cast::<libc::timespec>().read_unaligned();
                    received_at =
                        time.tv_sec as u64 * crate::clock::SECOND + time.tv_nsec as u64;
                }
                (libc::SOL_SOCKET, libc::SO_RXQ_OVFL) => {
                    dropped = Some(data.cast::<u32>().read_unaligned());
                }
                _ => {}
            }
            message = libc::CMSG_NXTHDR(header, message);
        }
    }
    (received_at, dropped)
}

// SAFETY: the pointers in it are set again before each use, and are to what it owns itself.
unsafe impl Send for Receiver {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Options, clock};

    fn pair() -> (Socket, Socket, SocketAddr) {
        let local: SocketAddr = "127.0.0.1:0".parse().unwrap();
        let receiving = Socket::open(&Options::new(local)).unwrap();
        let sending = Socket::open(&Options::new(local)).unwrap();
        let to = receiving.local().unwrap();
        (sending, receiving, to)
    }

    #[test]
    fn a_batch_arrives_whole_and_stamped() {
        let (sending, receiving, to) = pair();
        let mut sender = Sender::new(8, &[to]);
        let before = clock::realtime();
        for number in 0..5_u8 {
            sender.add(0, |out| out.extend([number; 300]));
        }
        assert_eq!(sender.flush(&sending).unwrap(), 5);
        crate::wait(&[crate::Interest::reading(&receiving)], clock::SECOND).unwrap();
        let mut receiver = Receiver::new(4);
        let (mut bytes, mut seen) = (Vec::new(), 0);
        while seen < 5 {
            let count = receiver.receive(&receiving).unwrap();
            for place in 0..count {
                let packet = receiver.packet(place);
                assert_eq!(packet.bytes.len(), 300);
                assert_eq!(packet.from.unwrap(), sending.local().unwrap());
                assert!((before..=clock::realtime()).contains(&packet.received_at));
                bytes.push(packet.bytes[0]);
            }
            seen += count;
        }
        assert_eq!(bytes, [0, 1, 2, 3, 4]);
        assert_eq!(receiver.receive(&receiving).unwrap(), 0);
    }

    #[test]
    fn an_address_comes_before_any_address_of_another_socket() {
        let open = |local: SocketAddr| {
            Socket::open(&Options { beside_others: true, ..Options::new(local) })
        };
        let any = open("0.0.0.0:0".parse().unwrap()).unwrap();
        let to = SocketAddr::from(([127, 0, 0, 1], any.local().unwrap().port()));
        assert!(Socket::open(&Options::new(to)).is_err());
        let own = open(to).unwrap();
        let mut sender = Sender::new(1, &[to]);
        sender.add(0, |out| out.push(1));
        sender.flush(&any).unwrap();
        crate::wait(&[crate::Interest::reading(&own)], clock::SECOND).unwrap();
        let counts = [&own, &any].map(|socket| Receiver::new(1).receive(socket).unwrap());
        assert_eq!(counts, [1, 0]);
    }

    #[test]
    fn what_a_full_socket_drops_is_counted() {
        let local: SocketAddr = "127.0.0.1:0".parse().unwrap();
        let small = Options { receive_buffer: 4096, ..Options::new(local) };
        let receiving = Socket::open(&small).unwrap();
        let sending = Socket::open(&Options::new(local)).unwrap();
        let mut sender = Sender::new(64, &[receiving.local().unwrap()]);
        for _ in 0..64 {
            sender.add(0, |out| out.extend([0; 300]));
        }
        assert_eq!(sender.flush(&sending).unwrap(), 64);
        let mut receiver = Receiver::new(64);
        let count = receiver.receive(&receiving).unwrap();
        assert!(count < 64);
        // The count comes with the next packet.
        sender.add(0, |out| out.extend([0; 300]));
        sender.flush(&sending).unwrap();
        assert_eq!(receiver.receive(&receiving).unwrap(), 1);
        assert_eq!(receiver.packet(0).dropped, Some(64 - count as u32));
    }
}
