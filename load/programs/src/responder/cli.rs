//! The command line, read and checked.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

use crate::responder::answer::{Protocol, Times};
use crate::responder::options::TABLE;
use crate::responder::server::{Settings, Stall};
use crate::words::{Words, known, within};

const MILLISECOND: f64 = 1e6;
const LONGEST_MS: f64 = 3.6e6;

/// Answers that are left out or wrong, by their shares.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    /// First messages that are dropped.
    pub drop_first: f64,
    /// Second ones that are.
    pub drop_second: f64,
    pub refuse: f64,
    pub duplicate: f64,
    /// Answers with another one behind that is cut short.
    pub malformed: f64,
    /// Answers followed by one to another client.
    pub foreign: f64,
    /// Answers with the address of another client.
    pub same_address: f64,
    /// Renewals that are refused, as the lease is forgotten.
    pub forget: f64,
    /// Addresses that are given in turn, each again while others may have it.
    pub early: Option<u32>,
    /// Answers in a datagram that say that they did not fit.
    pub truncate: f64,
    /// Answers in a datagram from another port.
    pub elsewhere: f64,
}

/// How clients on the link are answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OnLink {
    /// As others.
    Plain,
    /// By broadcast, as the kernel sends it.
    Udp,
    /// In frames with these tags of VLANs, the outermost first.
    Frames(Vec<u16>),
}

/// How queries over connections are taken; TCP is at the port of datagrams.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Streams {
    /// Port of TLS; none where there is no port.
    pub tls_port: Option<u16>,
    /// Port of HTTPS; none where there is no port.
    pub https_port: Option<u16>,
    /// Where the certificate of TLS is written.
    pub certificate: Option<PathBuf>,
    /// Status of answers over HTTPS; 0 for none.
    pub http_status: u16,
    /// Answers after which a connection is closed.
    pub close_after: Option<u64>,
}

/// All options of the command line.
#[derive(Clone, Debug)]
pub struct Asked {
    pub protocol: Protocol,
    pub listen: SocketAddr,
    /// Its address in DHCPv4's option 54.
    pub server: Ipv4Addr,
    /// On which interface; empty for any.
    pub interface: String,
    /// Connections of DNS; none of other protocols.
    pub streams: Option<Streams>,
    /// How it answers clients on the link.
    pub on_link: OnLink,
    pub times: Times,
    pub settings: Settings,
    pub faults: Faults,
    /// Lengths of the stalls at a command (ns).
    pub stalls: Vec<u64>,
    /// Where it writes its counts.
    pub counts: Option<PathBuf>,
    /// Room of its socket (bytes).
    pub receive_buffer: usize,
    pub seed: u64,
}

/// Read a command line without the program's name; None if what it requested was printed.
pub fn read(
    arguments: impl IntoIterator<Item = std::ffi::OsString>,
) -> Result<Option<Asked>, String> {
    let Some(words) = Words::read(&TABLE, arguments)? else { return Ok(None) };
    let protocol = known("protocol", &words.protocol)?;
    Given(words).asked(protocol).map(Some)
}

struct Given(Words);

impl Given {
    fn share(&self, name: &str) -> Result<f64, String> {
        self.0.number(name, 0.0, 0.0, 1.0)
    }

    /// Two numbers with something between them.
    fn pair(
        &self,
        name: &str,
        between: char,
        most: f64,
    ) -> Result<Option<(f64, f64)>, String> {
        let Some(words) = self.0.last(name) else { return Ok(None) };
        let (first, second) = words
            .split_once(between)
            .ok_or_else(|| format!("--{name}: found {words:?}, expected A{between}B"))?;
        Ok(Some((within(name, first, 0.0, most)?, within(name, second, 0.0, LONGEST_MS)?)))
    }

    fn asked(&self, protocol: Protocol) -> Result<Asked, String> {
        let port = self.0.within("port", 1, u16::MAX)?.unwrap_or(match protocol {
            Protocol::Dhcp4 => leaseload_packet::dhcp4::SERVER_PORT,
            Protocol::Dhcp6 => leaseload_packet::dhcp6::SERVER_PORT,
            Protocol::Dns => leaseload_packet::dns::SERVER_PORT,
        });
        let address: IpAddr = match self.0.last("listen") {
            Some(word) => word
                .parse()
                .map_err(|_| format!("--listen: found {word:?}, expected an address"))?,
            None if protocol == Protocol::Dhcp6 => Ipv6Addr::UNSPECIFIED.into(),
            None => return Err("expected --listen".into()),
        };
        let interface = self.0.last("interface").unwrap_or_default().to_owned();
        if protocol == Protocol::Dhcp6 && interface.is_empty() {
            return Err("expected --interface".into());
        }
        let server = match address {
            IpAddr::V4(address) => address,
            IpAddr::V6(_) if protocol == Protocol::Dhcp4 => {
                return Err(format!("--listen: found {address}, expected an IPv4 address"));
            }
            IpAddr::V6(_) => Ipv4Addr::UNSPECIFIED,
        };
        let on_link = self.on_link()?;
        if on_link != OnLink::Plain && interface.is_empty() {
            return Err("--on-link: needs --interface".into());
        }
        Ok(Asked {
            protocol,
            listen: (address, port).into(),
            server,
            interface,
            streams: self.streams(protocol)?,
            on_link,
            times: self.times()?,
            settings: self.settings(protocol)?,
            faults: Faults {
                drop_first: self.share("drop-first")?,
                drop_second: self.share("drop-second")?,
                refuse: self.share("refuse")?,
                duplicate: self.share("duplicate")?,
                malformed: self.share("malformed")?,
                foreign: self.share("foreign")?,
                same_address: self.share("same-address")?,
                forget: self.share("forget")?,
                early: self.0.within("early", 1, 1 << 24)?,
                truncate: self.share("truncate")?,
                elsewhere: self.share("elsewhere")?,
            },
            stalls: self.stalls()?,
            counts: self.0.last("counts").map(Into::into),
            receive_buffer: self.0.number("receive-buffer", 4 << 20, 4096, 1 << 30)?,
            seed: self.0.number("seed", 1, 0, u64::MAX)?,
        })
    }

    fn streams(&self, protocol: Protocol) -> Result<Option<Streams>, String> {
        let streams = Streams {
            tls_port: self.0.within("tls-port", 1, u16::MAX)?,
            https_port: self.0.within("https-port", 1, u16::MAX)?,
            certificate: self.0.last("certificate").map(Into::into),
            http_status: match self.0.last("http-status").unwrap_or("200") {
                "none" => 0,
                "500" => 500,
                "200" => 200,
                word => {
                    return Err(format!(
                        "--http-status: found {word:?}, expected 200, 500 or none"
                    ));
                }
            },
            close_after: self.0.within("close-after", 1, u64::MAX)?,
        };
        let has_tls = streams.tls_port.or(streams.https_port).is_some();
        if streams.certificate.is_some() && !has_tls {
            return Err("--certificate: needs --tls-port or --https-port".into());
        }
        Ok((protocol == Protocol::Dns).then_some(streams))
    }

    fn stalls(&self) -> Result<Vec<u64>, String> {
        let words = self.0.last("stalls").map(|words| words.split(',')).into_iter().flatten();
        let read = |word| within("stalls", word, 0.001, LONGEST_MS);
        words.map(|word| read(word).map(|ms: f64| (ms * MILLISECOND) as u64)).collect()
    }

    fn times(&self) -> Result<Times, String> {
        let Some(words) = self.0.last("lease-time") else {
            return Ok(Times { valid_s: 86_400, renew_s: 0, rebind_s: 0 });
        };
        let read = |word| within("lease-time", word, 1, u32::MAX);
        let times = words.split(',').map(read).collect::<Result<Vec<u32>, _>>()?;
        match times[..] {
            [valid_s] => Ok(Times { valid_s, renew_s: 0, rebind_s: 0 }),
            [valid_s, renew_s, rebind_s] if renew_s <= rebind_s && rebind_s <= valid_s => {
                Ok(Times { valid_s, renew_s, rebind_s })
            }
            _ => Err(format!("--lease-time: found {words:?}, expected VALID or VALID,T1,T2")),
        }
    }

    fn on_link(&self) -> Result<OnLink, String> {
        let Some(word) = self.0.last("on-link") else { return Ok(OnLink::Plain) };
        let tag = |word: &str| word.parse().ok().filter(|number| (1..=4094).contains(number));
        match (word, word.strip_prefix("frames:")) {
            ("udp", _) => Some(OnLink::Udp),
            ("frames", _) => Some(OnLink::Frames(Vec::new())),
            (_, Some(list)) => {
                list.split(',').map(tag).collect::<Option<_>>().map(OnLink::Frames)
            }
            _ => None,
        }
        .filter(|on_link| !matches!(on_link, OnLink::Frames(vlans) if vlans.len() > 2))
        .ok_or_else(|| {
            format!("--on-link: found {word:?}, expected udp, frames or frames:N,N")
        })
    }

    fn settings(&self, protocol: Protocol) -> Result<Settings, String> {
        let stages = if protocol == Protocol::Dns { 1.0 } else { 2.0 };
        let ns = |ms: f64| (ms * MILLISECOND) as u64;
        let delay = match self.0.last("delay") {
            Some(word) if !word.contains('-') => {
                let delay = within("delay", word, 0.0, LONGEST_MS)?;
                (delay, delay)
            }
            _ => self.pair("delay", '-', LONGEST_MS)?.unwrap_or((0.0, 0.0)),
        };
        if delay.0 > delay.1 {
            return Err(
                "--delay: found LEAST above MOST, expected LEAST of at most MOST".into()
            );
        }
        let stall = self.pair("stall", '@', LONGEST_MS)?;
        if stall.is_some_and(|(length, every)| length >= every) {
            return Err(
                "--stall: found LENGTH not below EVERY, expected LENGTH below EVERY".into()
            );
        }
        let (slower, until) = self.pair("warm-up", '@', 1000.0)?.unwrap_or((1.0, 0.0));
        Ok(Settings {
            packets_per_s: self
                .0
                .within("capacity", 0.001, 1e8)?
                .map(|rate: f64| rate * stages),
            queue: self.0.number("queue", 256, 0, 1 << 24)?,
            overload: self.0.choice("overload")?,
            delay: (ns(delay.0), ns(delay.1)),
            stall: stall.map(|(length, every)| Stall { length: ns(length), every: ns(every) }),
            warm_up: (slower, ns(until)),
            doubled_by: self.0.within("doubled-by", 1, u64::MAX)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(words: &str) -> Result<Asked, String> {
        read(words.split_whitespace().map(Into::into)).map(Option::unwrap)
    }

    #[test]
    fn a_command_line_is_read() {
        let asked = asked(
            "dhcp4 --listen 127.0.0.1 --capacity 1000 --delay 1-2 --stall 200@1000 --stalls 50,1",
        )
        .unwrap();
        assert_eq!(asked.settings.packets_per_s, Some(2000.0));
        assert_eq!(asked.settings.delay, (1_000_000, 2_000_000));
        let every = Stall { length: 200_000_000, every: 1_000_000_000 };
        assert_eq!(asked.settings.stall, Some(every));
        assert_eq!(asked.stalls, [50_000_000, 1_000_000]);
        assert_eq!(asked.listen, "127.0.0.1:67".parse().unwrap());
    }

    #[test]
    fn what_cannot_be_followed_is_named() {
        for (words, name) in [
            ("", "protocol"),
            ("dhcp4", "--listen"),
            ("dhcp4 --listen ::1", "--listen"),
            ("dhcp6", "--interface"),
            ("dns --listen 127.0.0.1 --capacity nan", "--capacity"),
            ("dns --listen 127.0.0.1 --capacity 0", "--capacity"),
            ("dns --listen 127.0.0.1 --refuse 1.1", "--refuse"),
            ("dns --listen 127.0.0.1 --delay 3-2", "--delay"),
            ("dns --listen 127.0.0.1 --stall 5@5", "--stall"),
            ("dns --listen 127.0.0.1 --stalls 5,0", "--stalls"),
            ("dns --listen 127.0.0.1 --overload falls", "--overload"),
            ("dns --listen 127.0.0.1 --nosuch 1", "nosuch"),
            ("dns --listen 127.0.0.1 --certificate f", "--tls-port"),
            ("dns --listen 127.0.0.1 --tls-port 0", "--tls-port"),
            ("dhcp4 --listen 127.0.0.1 --tls-port 853", "--tls-port"),
            ("dhcp4 --listen 127.0.0.1 --close-after 5", "--close-after"),
            ("dhcp4 --listen 127.0.0.1 --truncate 1", "--truncate"),
            ("dns --listen 127.0.0.1 --http-status 404", "--http-status"),
            ("dhcp4 --listen 127.0.0.1 --on-link udp", "--interface"),
            ("dhcp4 --listen 127.0.0.1 --lease-time 3,2", "--lease-time"),
            ("dhcp4 --listen 127.0.0.1 --lease-time 3,2,4", "--lease-time"),
            ("dhcp4 --listen 127.0.0.1 --interface lo --on-link frames:0", "--on-link"),
            ("dhcp4 --listen 127.0.0.1 --interface lo --on-link frames:1,2,3", "--on-link"),
        ] {
            let error = asked(words).expect_err(words);
            assert!(error.contains(name), "{words}: {error}");
        }
    }
}
