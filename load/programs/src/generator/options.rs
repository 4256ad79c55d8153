//! The options of the generator.

use crate::table::Row::{Heading, Load, Once, Text};
use crate::table::{ALL, DHCP, DHCP4, DHCP6, DNS, Row, Table};

/// Its command line.
pub static TABLE: Table = Table {
    program: "leaseload",
    purpose: "a traffic generator for DHCPv4, DHCPv6 and DNS servers",
    usage: &[
        "dhcp4 --interface IF [--server ADDRESS --relay ADDRESS] LOAD [OPTIONS]",
        "dhcp6 --interface IF [--server ADDRESS --relay ADDRESS] LOAD [OPTIONS]",
        "dns --server ADDRESS --queries FILE LOAD [OPTIONS]",
    ],
    rows: ROWS,
};

#[rustfmt::skip] // one row a line
const ROWS: &[Row] = &[
    Text("It begins exchanges when they are due, whatever the server does, or those of
        --window when others have ended, and prints one JSON document when the last reply has
        come. Times are in seconds unless the name says otherwise."),
    Heading("Load, one of, or --lease-clock with --fill"),
    Load(ALL, "rate N", "exchanges a second"),
    Load(ALL, "steps RxS,RxS,...", "rates, one after the other, each for S seconds"),
    Load(ALL, "counts N,N,...", "--seconds is divided into equal parts; N is the number of
        exchanges of a part. The report has the results of each, as of each of --steps"),
    Load(DHCP, "at-once N", "N clients begin together and send again until they are served"),
    Load(ALL, "window N", "--transactions exchanges, of which N are under way at the most: the
        next begins as soon as one has ended. Clients come in their order, ids are those of
        --seed, no message says how long its client has waited, and none is sent again: the
        server gets the same messages each time, but for the times of --tsig, and with 1 in
        the same order. The load ends with the last, or has failed with the first that is
        lost or that no client could begin. It has one thread, and no option about a
        schedule, nor --fill"),
    Load(ALL, "transactions N", "exchanges of --window in all"),
    Load(ALL, "step", "before each message of --window, {\"step\": true} is printed, and a line
        awaited: so another program can let it leave when the server sleeps. With --serve,
        without --fresh"),
    Heading("Load, more"),
    Load(ALL, "seconds S", "how long (default 5); with --at-once the longest time"),
    Load(ALL, "arrivals WORD", "even (default), poisson, bursts:SIZE, or recorded:FILE, whose
        lines end with @SECONDS: their intervals in a loop, scaled so that the mean rate is
        --rate"),
    Load(DHCP, "mix KIND=W,...", "what clients want, by weight (default new=1): new, rapid,
        renew, rebind, reboot, inform, release, decline. The ciaddr of an inform behind a
        relay is the relay's address, whose port 68 is read, too, as servers answer at one or
        the other"),
    Load(DHCP, "lease-clock", "clients of --clients that hold a lease renew it at T1, rebind
        it at T2, and ask for another when it has expired, by the times that the server
        gives. A load of its own for --seconds, or beside another one whose clients are among
        them. Leases that are held when it begins are renewed at random moments of T1, as in
        a network that has run for long"),
    Load(ALL, "retransmit", "send again what is not answered, after the times of the RFCs"),
    Load(ALL, "seed N", "of random numbers (default 1)"),
    Load(ALL, "tick MICROSECONDS", "what is due within this time is sent together (default 50)"),
    Load(ALL, "spin", "never sleep: smaller send lag, but CPU time says nothing"),
    Heading("When an exchange counts"),
    Load(ALL, "late S", "it is late after this time (default 2)"),
    Load(ALL, "grace S", "late replies are waited for so long, after that (default 2)"),
    Load(ALL, "quiet S", "after the load, what is not answered is lost once no reply has come
        for S seconds, and for twice the longest exchange (default: --late and --grace alone)"),
    Load(ALL, "goal SHARE", "end once more than this share has failed for certain (default 1:
        never)"),
    Load(ALL, "lag S", "the load has fallen behind where more than 1 % of it was sent later
        than this after it was due (default 0.01)"),
    Load(ALL, "bin S", "count exchanges by times of this length, too"),
    Heading("Clients (dhcp4, dhcp6)"),
    Once(DHCP, "clients N", "N clients come back in turn (default: every client is new)"),
    Once(DHCP, "fill", "give each of them a lease before the load begins"),
    Once(DHCP, "first-mac MAC", "hardware address of the first client; the others follow"),
    Once(DHCP, "macs FILE", "hardware addresses of all clients, one a line"),
    Once(DHCP, "population FILE", "kinds of clients, each with its number, relay, options and
        identities (see below), which come back in turn"),
    Once(DHCP, "option CODE=VALUE", "an option of every message: text:WORDS, where {client}
        stands for the client's number, or hex:DIGITS; may be given several times"),
    Once(DHCP, "circuit-id TEXT", "of the relays (dhcp4: option 82; dhcp6: the interface id)"),
    Once(DHCP, "remote-id TEXT", "of the relays (dhcp4)"),
    Once(DHCP, "relay ADDRESS", "an address of this host that relays; may be given several
        times. Without one clients are on the link: of dhcp4 each sends frames of its own
        hardware address and asks for broadcast replies, and nothing answers ARP, which some
        servers need to answer a renewal or an inform"),
    Once(DHCP4, "vlan N[,N]", "clients on the link are in this VLAN; of two, the second is in
        the first (dhcp4)"),
    Once(DHCP6, "want WORD", "address (default), prefix or both (dhcp6)"),
    Text("A population is a JSON object whose \"kinds\" are objects: \"clients\" says how
        many a kind has; \"relay\" is its giaddr or link address, \"agent\" are the
        sub-options of option 82 (dhcp6: options of the relay) and \"options\" those of every
        message, lists of [CODE, \"text:...\" or \"hex:...\"] in their order; \"first_mac\"
        or \"macs\", and \"duids\" in hexadecimal digits (dhcp6), say who its clients are,
        and \"want\" what they ask for (dhcp6). Clients of all kinds come evenly mixed. The
        server has to answer to where a message comes from, or giaddr to be an address of
        this host."),
    Once(DHCP, "history", "print what clients see of their leases, before the report: a line
        for each message that may give or end a lease, with KIND CLIENT ADDRESS ASKED SENT
        ANSWERED RESENT VALID SERVER. KIND is offered, granted, renewed, refused, released or
        declined; SENT is when the message left, RESENT when its last copy did, ANSWERED when
        its answer came (us since the start); VALID is in seconds, and - is what is not known
        or was not answered"),
    Heading("Queries (dns)"),
    Once(DNS, "queries FILE", "a name and a type a line, asked in turn; NAME UPDATE ZONE
        sends an update (RFC 2136) that gives the name another address. A last word @SECONDS
        is for --arrivals alone"),
    Once(DNS, "expect RCODE,...", "answers that count as completed (default NOERROR), unless
        they are TRUNCATED or, over https, HTTP-ERROR: of another status than 200. What comes
        from another address than --server is foreign"),
    Once(DNS, "transport WORD", "udp (default), tcp, dot: TLS 1.3, or https: HTTP/2 in it, by
        POST to /dns-query (RFC 8484). Connections are open before the load begins, and stay;
        queries do not wait for answers, which may come in any order (RFC 7766). One that the
        server closes is opened again, and what was under way on it is lost; where a server of
        https only takes no more on it, that is waited for, or sent on the next one"),
    Once(DNS, "fresh", "of all but udp: each query has a connection of its own, opened when
        it is due, and closed as its answer has come by a reset, as its port could not be
        used for a minute otherwise. Up to 4096 for each of --sockets are open at once"),
    Once(DNS, "ca FILE", "of dot and https: the server's certificate is in this file (PEM),
        or signed by one in it (default: any certificate will do)"),
    Once(DNS, "tls-name NAME", "of dot and https: the name in that certificate (default: the
        server's address)"),
    Once(DNS, "port N", "of the server (default 53, of dot 853, of https 443)"),
    Once(DNS, "recursion", "set the RD bit"),
    Once(DNS, "edns BYTES", "EDNS with this size of answers"),
    Once(DNS, "dnssec", "set the DO bit, with --edns"),
    Once(DNS, "subnets LIST", "EDNS client subnets, which queries name in turn:
        PREFIX/LENGTH,...; PREFIX/LENGTH*N means N that follow each other. Needs --edns"),
    Once(DNS, "subnet-share SHARE", "of the queries that name one (default 1)"),
    Once(DNS, "tsig NAME:SECRET", "sign updates by HMAC-SHA256 with this key, its secret in
        base64 (RFC 8945); signatures of answers are not verified"),
    Once(DNS, "sockets N", "sockets of a thread, of all but udp its connections (default 4)"),
    Heading("The server, and this host"),
    Once(ALL, "server ADDRESS", "the server; clients broadcast or multicast where it is left out"),
    Once(ALL, "interface IF", "the network interface (dns: any, where it is left out)"),
    Once(ALL, "threads N", "each needs a relay of its own, unless dhcp4 has none (default 1)"),
    Once(ALL, "processors N,...", "one for each thread"),
    Text("Ports below 1024 need CAP_NET_BIND_SERVICE, and --interface needs CAP_NET_RAW."),
    Text("A reply has come when the kernel took it from the interface: of connections, the
        last segment that was read together with it. Where the kernel does not say, it is
        when it was read; whose time that is, the report calls reply_times. A query is sent
        when its connection takes it; what the server does not read waits there, up to 1 MiB,
        and is counted by its latency."),
    Heading("Loads, one after the other"),
    Once(ALL, "serve", "read loads from standard input: a line has the options of one, such
        as --rate 5000 --seconds 5 --goal 0.025; those of \"Load\" and of \"When an exchange
        counts\" that were given at the start hold for all. Each is answered by its report,
        or by {\"error\": TEXT}, as a line of JSON. Sockets, clients and their leases stay;
        --fill is done once. The end of the input ends it, with exit status 0"),
    Text("Exit status: 0 a report was printed, 1 the load could not be offered, 2 the command
        line is wrong. SIGINT and SIGTERM end the load; the report records it."),
];
