//! The options of the responder.

use crate::table::Row::{Heading, Once, Text};
use crate::table::{ALL, DHCP, DHCP4, DNS, Row, Table};

/// Its command line.
pub static TABLE: Table = Table {
    program: "leaserespond",
    purpose: "a DHCP and DNS server whose capacity and faults are set",
    usage: &[
        "dhcp4 --listen ADDRESS [OPTIONS]",
        "dhcp6 [--listen ADDRESS] --interface IF [OPTIONS]",
        "dns --listen ADDRESS [OPTIONS]",
    ],
    rows: ROWS,
};

#[rustfmt::skip] // one row a line
const ROWS: &[Row] = &[
    Text("DNS is answered over UDP and TCP. It answers until SIGINT or SIGTERM; SIGHUP clears
        its leases and its queue of packets. DHCPv4 clients send through relays, unless
        --on-link is given. Without --capacity it answers as fast as the machine can. Shares
        are of packets, from 0 to 1; times are in milliseconds unless the name says
        otherwise."),
    Heading("Options"),
    Once(ALL, "listen ADDRESS", "where it listens (dhcp6: everywhere, where it is left out)"),
    Once(ALL, "interface IF", "the network interface"),
    Once(DHCP4, "on-link WORD", "answers clients on its link, too (dhcp4): udp, by broadcast
        as the kernel sends it; frames, in frames of its own; frames:N[,N], in the frames of
        a VLAN, or of one in another"),
    Once(DHCP, "lease-time S[,S,S]", "leases are valid for so many seconds (default 86400);
        and their T1 and T2, which are the client's own choice by default"),
    Once(ALL, "port N", "instead of the protocol's own"),
    Once(ALL, "capacity N", "exchanges a second that it can serve"),
    Once(ALL, "queue N", "packets that may wait (default 256)"),
    Once(ALL, "overload WORD", "holds (default): goodput stays at the capacity; collapses:
        what is dropped takes work, too"),
    Once(ALL, "delay LEAST[-MOST]", "every answer takes this long beside the work"),
    Once(ALL, "stall LENGTH@EVERY", "pauses for LENGTH, once in each EVERY"),
    Once(ALL, "stalls LENGTH[,LENGTH]", "pauses at each SIGUSR1, for the next of these lengths
        or the last one"),
    Once(ALL, "warm-up FACTOR@TIME", "work takes this many times longer at first, until that
        time"),
    Once(ALL, "doubled-by N", "work takes twice as long with N leases, three times with 2N,
        ..."),
    Once(ALL, "drop-first SHARE", "drops the first messages of exchanges"),
    Once(ALL, "drop-second SHARE", "drops the second ones"),
    Once(ALL, "refuse SHARE", "answers NAK, NoAddrsAvail or REFUSED"),
    Once(ALL, "duplicate SHARE", "sends an answer twice"),
    Once(ALL, "malformed SHARE", "sends another answer, cut short"),
    Once(ALL, "foreign SHARE", "sends another answer, to somebody else"),
    Once(ALL, "same-address SHARE", "gives the same address to several clients"),
    Once(DHCP, "forget SHARE", "refuses renewals, as if it did not know the lease"),
    Once(DHCP, "early N", "gives N addresses in turn, each again after the others, whatever
        its lease time"),
    Once(DNS, "truncate SHARE", "says in a datagram that the answer did not fit (dns)"),
    Once(DNS, "elsewhere SHARE", "sends a datagram's answer from another port (dns)"),
    Once(DNS, "tls-port N", "answers over TLS 1.3 at this port, too (dns), with a key of its
        own"),
    Once(DNS, "https-port N", "answers over HTTPS (HTTP/2) at this port, too (dns), with that
        key"),
    Once(DNS, "http-status WORD", "of answers over HTTPS: 200 (default), 500 or none"),
    Once(DNS, "certificate FILE", "writes the certificate of that key there (PEM)"),
    Once(DNS, "close-after N", "closes a connection after N answers (dns)"),
    Once(ALL, "receive-buffer N", "of its socket, in bytes (default 4194304)"),
    Once(ALL, "counts FILE", "writes what it did there four times a second, as JSON"),
    Once(ALL, "seed N", "of random numbers (default 1)"),
];
