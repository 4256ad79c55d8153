//! What a protocol is to the engine: messages to send, and replies that are understood.

use leaseload_packet::Malformed;

use crate::clients::Lease;

/// What a client wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A lease in four messages; the only kind of DNS, where it is a query.
    New,
    /// A lease in two messages (rapid commit).
    Rapid,
    /// To keep its lease, asked of its server.
    Renew,
    /// To keep its lease, asked of any server.
    Rebind,
    /// To have the lease that it remembers confirmed (INIT-REBOOT; Confirm).
    Reboot,
    /// Options alone.
    Inform,
    /// To give its lease back.
    Release,
    /// To refuse an address that somebody else uses.
    Decline,
}

impl Kind {
    /// All of them, by the words of the command line.
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
        Self::WORDS.iter().find(|(_, kind)| *kind == self).map_or("", |(word, _)| *word)
    }

    /// Whether a client needs a lease to begin it.
    #[must_use]
    pub fn needs_lease(self) -> bool {
        !matches!(self, Self::New | Self::Rapid | Self::Inform)
    }

    /// Whether a client has a lease after it.
    #[must_use]
    pub fn gives_lease(self) -> bool {
        matches!(self, Self::New | Self::Rapid | Self::Renew | Self::Rebind)
    }
}

/// The word for a reply without the lease that was asked for.
pub const NOTHING_GIVEN: &str = "no lease";

/// What a reply means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// An offer: the client asks for it.
    Offered(Lease),
    /// The exchange is complete; what the client has now, if it was a lease that it wanted.
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
    /// What it means.
    pub meaning: Meaning,
    /// The word for it: a type of message, or an RCODE.
    pub word: &'static str,
}

/// What is asked, of one client.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// What the client wants.
    pub kind: Kind,
    /// Transaction id.
    pub id: u32,
    /// The client's number; of a query its place in the query file.
    pub client: u64,
    /// What it was offered, or has; nothing in it for a client that begins.
    pub lease: &'a Lease,
    /// It has an offer, and asks for that.
    pub is_second: bool,
    /// Since the client began (ns).
    pub elapsed: u64,
    /// The lane that it goes through, such as a relay.
    pub lane: usize,
}

/// A protocol, as one thread speaks it.
pub trait Protocol: Send {
    /// Bits of a transaction id that tell exchanges of one lane apart.
    fn id_bits(&self) -> u32;

    /// The name of a stage: what is sent, and what answers it.
    fn stage(&self, kind: Kind, is_second: bool) -> &'static str;

    /// Whether a message of this kind is answered at all.
    fn is_answered(&self, kind: Kind) -> bool;

    /// Append the message.
    fn write(&self, ask: &Ask<'_>, out: &mut Vec<u8>);

    /// Understand a reply.
    ///
    /// # Errors
    /// What is no reply of this protocol.
    fn read<'a>(&mut self, bytes: &'a [u8]) -> Result<Reply<'a>, Malformed>;

    /// Whether a reply is to this client.
    fn is_to(&self, client: u64, who: &[u8]) -> bool;

    /// How long a client waits before it sends again (s): its first time, and the longest.
    fn patience(&self, kind: Kind, is_second: bool) -> (f64, f64);
}
