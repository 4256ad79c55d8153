//! A protocol for the engine: messages to send, and replies to read.

use leaseload_packet::Malformed;

use crate::clients::Lease;

/// The action of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A lease in four messages.
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
    /// To release its lease.
    Release,
    /// To decline an address in use elsewhere.
    Decline,
    /// A query (DNS).
    Query,
    /// A change of a zone (DNS).
    Update,
}

impl Kind {
    /// Those of clients of DHCP, by the words of the command line.
    pub const WORDS: [(&'static str, Self); 8] = [
        ("new", Self::New),
        ("rapid", Self::Rapid),
        ("renew", Self::Renew),
        ("rebind", Self::Rebind),
        ("reboot", Self::Reboot),
        ("inform", Self::Inform),
        ("release", Self::Release),
        ("decline", Self::Decline),
    ];

    /// Its word on the command line and in the report.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Query => "query",
            Self::Update => "update",
            _ => Self::WORDS.iter().find(|(_, kind)| *kind == self).map_or("", |item| item.0),
        }
    }

    /// Whether it is of DNS, whose clients have no leases.
    #[must_use]
    pub fn is_dns(self) -> bool {
        matches!(self, Self::Query | Self::Update)
    }

    /// Whether a client needs a lease to begin it.
    #[must_use]
    pub fn needs_lease(self) -> bool {
        !matches!(self, Self::New | Self::Rapid | Self::Inform) && !self.is_dns()
    }

    /// Whether a client has a lease after it.
    #[must_use]
    pub fn gives_lease(self) -> bool {
        matches!(self, Self::New | Self::Rapid | Self::Renew | Self::Rebind)
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
    /// The transaction id.
    pub id: u32,
    /// Who is answered: hardware address, DUID, or the question.
    pub who: &'a [u8],
    /// Its meaning.
    pub meaning: Meaning,
    /// The word for it: a type of message, or an RCODE.
    pub word: &'static str,
}

/// A message of one client.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// The client's action.
    pub kind: Kind,
    /// Transaction id.
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
    /// Bits of a transaction id that distinguish exchanges of one lane.
    fn id_bits(&self) -> u32;

    /// What an exchange is, of which a load says that it is `kind`.
    fn kind(&self, kind: Kind, _client: u64) -> Kind {
        kind
    }

    /// The name of a stage: a message and its answer.
    fn stage(&self, kind: Kind, is_second: bool) -> &'static str;

    /// Whether a message of this kind is answered at all.
    fn is_answered(&self, kind: Kind) -> bool;

    /// Append the message.
    fn write(&self, ask: &Ask<'_>, out: &mut Vec<u8>);

    /// Understand a reply.
    ///
    /// # Errors
    /// If it is no reply of this protocol.
    fn read<'a>(&mut self, bytes: &'a [u8]) -> Result<Reply<'a>, Malformed>;

    /// Whether a reply is to this client.
    fn is_to(&self, client: u64, who: &[u8]) -> bool;

    /// How long a client waits before it sends again (s): its first time, and the longest.
    fn patience(&self, kind: Kind, is_second: bool) -> (f64, f64);
}
