//! A protocol for the engine: messages to send, and replies to read.

use leaseload_packet::Malformed;
use serde::Deserialize;

use crate::generator::clients::Lease;

/// The action of a client of DHCP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dhcp {
    /// A lease in four messages.
    #[default]
    New,
    /// A lease in two messages (rapid commit).
    Rapid,
    /// To renew its lease, with its server.
    Renew,
    /// To rebind its lease, with any server.
    Rebind,
    /// To have the lease that it remembers confirmed (INIT-REBOOT; Confirm).
    Reboot,
    /// Options alone.
    Inform,
    Release,
    /// To decline an address in use elsewhere.
    Decline,
}

impl Dhcp {
    /// Whether a client needs a lease to begin it.
    pub fn needs_lease(self) -> bool {
        !matches!(self, Self::New | Self::Rapid | Self::Inform)
    }

    /// Whether a client has a lease after it.
    pub fn gives_lease(self) -> bool {
        matches!(self, Self::New | Self::Rapid | Self::Renew | Self::Rebind)
    }
}

/// What a client of DNS sends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Request {
    /// A query.
    #[default]
    Query,
    /// A change of a zone.
    Update,
}

/// What an exchange is, of any protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Dhcp(Dhcp),
    /// Of DNS, whose clients have no leases.
    Dns(Request),
}

impl Kind {
    /// Its word on the command line and in the report.
    pub fn word(self) -> String {
        let name = match self {
            Self::Dhcp(dhcp) => format!("{dhcp:?}"),
            Self::Dns(request) => format!("{request:?}"),
        };
        name.to_lowercase()
    }

    /// The action, of DHCP.
    pub fn dhcp(self) -> Option<Dhcp> {
        match self {
            Self::Dhcp(dhcp) => Some(dhcp),
            Self::Dns(_) => None,
        }
    }
}

impl From<Dhcp> for Kind {
    fn from(dhcp: Dhcp) -> Self {
        Self::Dhcp(dhcp)
    }
}

impl From<Request> for Kind {
    fn from(request: Request) -> Self {
        Self::Dns(request)
    }
}

/// The word for a reply without the requested lease.
pub const NOTHING_GIVEN: &str = "no lease";

/// The meaning of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// An offer: the client requests it.
    Offered(Lease),
    /// The exchange is complete, with the client's lease if it requested one.
    Done(Option<Lease>),
    /// Complete, and answered in another way than was wanted, by this word.
    Refused(&'static str),
}

/// A reply, and whose it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply<'a> {
    pub id: u32,
    /// Who is answered: hardware address, DUID, or the question.
    pub who: &'a [u8],
    pub meaning: Meaning,
    /// The word for it: a type of message, or an RCODE.
    pub word: &'static str,
}

/// A message of one client.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a, K> {
    pub kind: K,
    pub id: u32,
    /// The client's number; of a query its place in the query file.
    pub client: u64,
    /// Its offer or lease; empty for a client that begins.
    pub lease: &'a Lease,
    /// It has an offer, and requests it.
    pub is_second: bool,
    /// Since the client began (ns).
    pub elapsed: u64,
    /// The lane that it goes through, such as a relay.
    pub lane: usize,
}

/// A protocol, as one thread uses it.
pub trait Protocol: Send {
    /// What its exchanges are.
    type Kind: Copy + Default + Into<Kind> + Send;

    /// Bits of a transaction id that distinguish exchanges of one lane.
    fn id_bits(&self) -> u32;

    /// What an exchange is, of which a load says that it is `kind`.
    fn kind(&self, kind: Dhcp, client: u64) -> Self::Kind;

    /// The name of a stage: a message and its answer.
    fn stage(&self, kind: Self::Kind, is_second: bool) -> &'static str;

    /// Whether a message of this kind is answered at all.
    fn is_answered(&self, kind: Self::Kind) -> bool;

    /// Append the message.
    fn write(&self, ask: &Ask<'_, Self::Kind>, out: &mut Vec<u8>);

    /// Understand a reply.
    fn read<'a>(&mut self, bytes: &'a [u8]) -> Result<Reply<'a>, Malformed>;

    /// Whether a reply is to this client.
    fn is_to(&self, client: u64, who: &[u8]) -> bool;

    /// Who a client is, for people; empty where clients are nobody.
    fn client_name(&self, _: u64) -> String {
        String::new()
    }

    /// A server that was seen, likewise.
    fn server_name(&self, _: u32) -> String {
        String::new()
    }

    /// How long a client waits before it sends again (s): its first time, and the longest.
    fn patience(&self, kind: Self::Kind, is_second: bool) -> (f64, f64);
}
