//! Sockets that send and receive whole frames of a link.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::checked;
use crate::socket::{Socket, interface_index, set, set_buffers};

/// Which frames of a link are received.
#[derive(Clone, Debug)]
pub struct Link {
    /// The interface.
    pub interface: String,
    /// Tags of VLANs that they have, the outermost first; at most two.
    pub vlans: Vec<u16>,
    /// The UDP port that they are sent to.
    pub port: u16,
    /// The fifth byte of what they carry, which is the first of a transaction id of DHCPv4;
    /// None for any.
    pub id_byte: Option<u8>,
}

// Classic BPF: linux/bpf_common.h and linux/filter.h.
const LOAD_WORD: u16 = 0x20;
const LOAD_HALF: u16 = 0x28;
const LOAD_BYTE: u16 = 0x30;
const LOAD_HALF_AT_X: u16 = 0x48;
const LOAD_BYTE_AT_X: u16 = 0x50;
const X_IS_IP_HEADER: u16 = 0xb1;
const AND: u16 = 0x54;
const JUMP_IF_EQUAL: u16 = 0x15;
const JUMP_IF_ANY: u16 = 0x45;
const RETURN: u16 = 0x06;
/// The outermost tag, which the kernel removes from the frame.
const TAG: u32 = (-0x1000 + 44) as u32;
const HAS_TAG: u32 = (-0x1000 + 48) as u32;

const ETHERNET: u32 = 14;
const TAG_LENGTH: u32 = 4;
const VLAN_IDS: u32 = 0x0fff;
const TAGGED: u32 = 0x8100;
const IPV4: u32 = 0x0800;
const UDP: u32 = 17;
const FRAGMENTS: u32 = 0x1fff;

impl Link {
    /// The program by which the kernel drops all other frames.
    fn filter(&self) -> Vec<libc::sock_filter> {
        let inside = self.vlans.len().saturating_sub(1) as u32;
        let ip = ETHERNET + inside * TAG_LENGTH;
        let mut program = Vec::new();
        let mut add = |code, k| program.push(libc::sock_filter { code, jt: 0, jf: 0, k });
        add(LOAD_WORD, HAS_TAG);
        add(JUMP_IF_EQUAL, u32::from(!self.vlans.is_empty()));
        for (place, vlan) in self.vlans.iter().enumerate() {
            if place == 0 {
                add(LOAD_WORD, TAG);
            } else {
                add(LOAD_HALF, ETHERNET - 2);
                add(JUMP_IF_EQUAL, TAGGED);
                add(LOAD_HALF, ETHERNET);
            }
            add(AND, VLAN_IDS);
            add(JUMP_IF_EQUAL, u32::from(*vlan));
        }
        add(LOAD_HALF, ip - 2);
        add(JUMP_IF_EQUAL, IPV4);
        add(LOAD_BYTE, ip + 9);
        add(JUMP_IF_EQUAL, UDP);
        add(LOAD_HALF, ip + 6);
        add(JUMP_IF_ANY, FRAGMENTS);
        add(X_IS_IP_HEADER, ip);
        add(LOAD_HALF_AT_X, ip + 2);
        add(JUMP_IF_EQUAL, u32::from(self.port));
        if let Some(byte) = self.id_byte {
            add(LOAD_BYTE_AT_X, ip + 8 + 4);
            add(JUMP_IF_EQUAL, u32::from(byte));
        }
        add(RETURN, u32::MAX);
        add(RETURN, 0);
        let last = program.len() - 1;
        for (place, step) in program.iter_mut().enumerate() {
            let to_last = last.saturating_sub(place + 1) as u8;
            match step.code {
                JUMP_IF_EQUAL => step.jf = to_last,
                JUMP_IF_ANY => step.jt = to_last,
                _ => {}
            }
        }
        program
    }
}

impl Socket {
    /// Open a socket of whole frames. The interface takes frames to any hardware address as
    /// long as it is open.
    ///
    /// # Errors
    /// An error of the kernel: an interface that is not there, or no CAP_NET_RAW.
    pub fn open_link(link: &Link) -> io::Result<Self> {
        let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // Of no protocol: it receives nothing before it is bound, with its filter.
        // SAFETY: no pointers; the descriptor is owned from here on.
        let fd =
            unsafe { OwnedFd::from_raw_fd(checked(libc::socket(libc::AF_PACKET, kind, 0))?) };
        let raw = fd.as_raw_fd();
        let index = interface_index(&link.interface)?;
        let mut program = link.filter();
        let filter =
            libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
        set(raw, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &filter)?;
        let all = libc::packet_mreq {
            mr_ifindex: index,
            mr_type: libc::PACKET_MR_PROMISC as u16,
            mr_alen: 0,
            mr_address: [0; 8],
        };
        set(raw, libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &all)?;
        set_buffers(raw, 32 << 20, 8 << 20)?;
        // SAFETY: all zeros are a valid value.
        let mut local: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        local.sll_family = libc::AF_PACKET as u16;
        local.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
        local.sll_ifindex = index;
        let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        // SAFETY: the address is valid for reading for its length.
        checked(unsafe { libc::bind(raw, (&raw const local).cast(), length) })?;
        Ok(Self { fd })
    }

    /// The hardware address of its interface, of a socket of whole frames.
    pub fn mac(&self) -> io::Result<[u8; 6]> {
        // SAFETY: all zeros are a valid value, and its length is said.
        let mut local: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        let mut length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        let place = (&raw mut local).cast();
        // SAFETY: as above.
        checked(unsafe { libc::getsockname(self.as_raw_fd(), place, &mut length) })?;
        let [mac @ .., _, _] = local.sll_addr;
        Ok(mac)
    }
}
