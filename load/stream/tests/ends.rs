//! Both ends of a connection on loopback, plain and with TLS.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use leaseload_net::clock::{self, SECOND};
use leaseload_net::{Interest, Listener, Stream};
use leaseload_stream::{Channel, Client, Server};

const LOCAL: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Two ends of a connection, each with TLS or plain.
fn ends(port: u16, tls: Option<&Client>, its: Option<&Server>) -> (Channel, Channel) {
    let to = SocketAddr::from((LOCAL, port));
    let listener = Listener::open(to, "").unwrap();
    let client = Stream::connect(to, "").unwrap();
    leaseload_net::wait(&[Interest::reading(&listener)], SECOND).unwrap();
    let (server, _) = listener.accept().unwrap().expect("it has asked");
    let http = (tls.and_then(Client::http), its.and_then(Server::http));
    let client = Channel::new(client, tls.map(|client| client.session().unwrap()), http.0);
    (client, Channel::new(server, its.map(|server| server.session().unwrap()), http.1))
}

/// Received data of each end once the second has so many messages, or why it ended.
fn received(
    (client, server): &mut (Channel, Channel),
    count: usize,
) -> io::Result<Vec<Vec<u8>>> {
    let mut all = Vec::new();
    let until = clock::monotonic() + 5 * SECOND;
    while all.len() < count && clock::monotonic() < until {
        client.flush()?;
        let before = clock::realtime() - 5 * SECOND;
        server.receive(|bytes, at| {
            assert!((before..=clock::realtime()).contains(&at), "the kernel's time");
            all.push(bytes.to_vec());
        })?;
        server.flush()?;
        client.receive(|bytes, _| panic!("{bytes:?}"))?;
    }
    Ok(all)
}

/// Messages of every size that matters, together more than is read by one call.
fn messages() -> Vec<Vec<u8>> {
    let sizes = [12, 0, 1, 512, 16_383, 16_384, 40_000, 65_535, 30, 31];
    sizes.iter().enumerate().map(|(number, &size)| vec![number as u8; size]).collect()
}

#[test]
fn messages_arrive_whole_and_in_order() {
    let (client, server) =
        (Client::new(LOCAL, None, None).unwrap(), Server::new(LOCAL).unwrap());
    let https = (client.clone().with_https(20_443), server.with_https(200));
    for (port, tls) in [
        (20_053, (None, None)),
        (20_853, (Some(&client), Some(&server))),
        (20_443, (Some(&https.0), Some(&https.1))),
    ] {
        let mut ends = ends(port, tls.0, tls.1);
        // The first ones wait for the connection, the others do not.
        for round in 0..2 {
            let sent = messages();
            sent.iter().for_each(|message| {
                assert!(ends.0.put(|out| out.extend(message)));
            });
            assert_eq!(received(&mut ends, sent.len()).unwrap(), sent, "round {round}");
            assert!(ends.0.is_open() && ends.1.is_open());
            assert_eq!(ends.0.backlog(), 0);
        }
        drop(ends.0);
        let over = (0..1000).find_map(|_| {
            std::thread::sleep(std::time::Duration::from_millis(1));
            ends.1.receive(|_, _| panic!("a message")).err()
        });
        assert_eq!(over.expect("an end").kind(), io::ErrorKind::UnexpectedEof);
    }
}

#[test]
fn what_nobody_reads_is_bounded() {
    let (mut client, _server) = ends(20_054, None, None);
    let mut taken = 0_usize;
    while client.put(|out| out.extend([0; 1000])) {
        taken += 1;
        client.flush().unwrap();
    }
    let most = (1 << 20) + 1002;
    assert!(client.backlog() <= most && taken < 100_000, "{taken}");
}

#[test]
fn who_asks_by_frames_and_does_not_read_is_bounded() {
    let https = Client::new(LOCAL, None, None).unwrap().with_https(20_444);
    let (mut client, mut server) =
        ends(20_444, Some(&https), Some(&Server::new(LOCAL).unwrap()));
    // To the client the lengths of two messages, 0 and 0x806, are the beginning of a ping.
    let ping = [0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8];
    let unknown = [0, 0, 9, 0x20, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9];
    let pings = [&ping[4..], &ping.repeat(119), &unknown].concat();
    let mut most = 0;
    let over = (0..5_000).find_map(|_| {
        while server.backlog() < 1 << 19 {
            assert!(server.put(|_| ()) && server.put(|out| out.extend(&pings)));
        }
        server.flush().unwrap();
        if !server.is_open() {
            server.receive(|_, _| ()).unwrap();
        }
        let done = client.receive(|bytes, _| panic!("{bytes:?}"));
        most = client.backlog().max(most);
        done.err()
    });
    assert!(over.expect("an end").to_string().contains("does not read"));
    assert!(most < (1 << 21) + (1 << 17), "{most}");
}

/// A file with a server's certificate.
struct Kept(PathBuf);

impl Kept {
    fn new(name: &str, server: &Server) -> Self {
        let path = std::env::temp_dir().join(format!("{name}-{}.pem", std::process::id()));
        std::fs::write(&path, server.certificate()).unwrap();
        Self(path)
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        std::fs::remove_file(&self.0).ok();
    }
}

#[test]
fn only_the_certificate_that_is_trusted_will_do() {
    let [server, other] = [(); 2].map(|()| Server::new(LOCAL).unwrap());
    let [own, others] =
        [("own", &server), ("others", &other)].map(|(name, server)| Kept::new(name, server));
    let asked = |port, kept: &Kept, name| {
        let client = Client::new(LOCAL, Some(&kept.0), name).unwrap();
        let mut ends = ends(port, Some(&client), Some(&server));
        ends.0.put(|out| out.extend(b"message"));
        received(&mut ends, 1)
    };
    assert_eq!(asked(20_854, &own, None).unwrap(), [b"message"]);
    for (port, kept, name) in [(20_855, &others, None), (20_856, &own, Some("example.org"))] {
        let error = asked(port, kept, name).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        assert!(error.to_string().contains("certificate"), "{error}");
    }
}

#[test]
fn a_file_without_certificates_is_refused() {
    let path = std::env::temp_dir().join(format!("none-{}.pem", std::process::id()));
    std::fs::write(&path, "no certificate\n").unwrap();
    let error = Client::new(LOCAL, Some(&path), None).unwrap_err();
    std::fs::remove_file(&path).unwrap();
    assert!(error.contains("no certificate"), "{error}");
    assert!(Client::new(LOCAL, Some(&path), None).is_err());
    assert!(Client::new(LOCAL, None, Some("a name")).is_err());
}

#[test]
fn a_server_that_speaks_no_tls_is_named() {
    let client = Client::new(LOCAL, None, None).unwrap();
    let (mut client, mut server) = ends(20_857, Some(&client), None);
    server.flush().unwrap();
    server.put(|out| out.extend(b"an answer that nobody has asked for"));
    server.flush().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(10));
    client.flush().unwrap();
    let error = client.receive(|_, _| panic!("a message")).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{error}");
}
