//! Changed packets: the parsers refuse or read them, and never fail.

use leaseload_packet::{dhcp4, dhcp6, dns, frame, stream};

#[path = "../../fuzz/mutated.rs"]
mod mutated;
#[path = "../../fuzz/read_all.rs"]
mod read_all;

use mutated::{Random, mutated};

const MUTATIONS: u64 = 20_000;

fn packets() -> Vec<Vec<u8>> {
    let mut all = vec![Vec::new(); 4];
    let mut offer = dhcp4::Message::new(dhcp4::Kind::Offer, 7, [2, 0, 0, 0, 0, 1]);
    offer.server_id = Some([198, 18, 0, 10].into());
    offer.lease_s = Some(4000);
    offer.relay_agent = &[1, 4, b'e', b't', b'h', b'0'];
    offer.options = &[52, 1, 3];
    offer.write(&mut all[0]);
    let mut reply = dhcp6::Message::new(dhcp6::Kind::Reply, 7);
    reply.client_id = &[0, 3, 0, 1, 2, 0, 0, 0, 0, 1];
    reply.server_id = &[0, 2, 1];
    let address = dhcp6::Address { address: 1.into(), preferred_s: 1, valid_s: 2 };
    reply.address = Some(dhcp6::Association::new(1, Some(address)));
    let prefix = dhcp6::Prefix { prefix: 1.into(), length: 56, preferred_s: 1, valid_s: 2 };
    reply.prefix = Some(dhcp6::Association::new(1, Some(prefix)));
    reply.write(&mut all[1]);
    let relay =
        dhcp6::Relay { link: 1.into(), peer: 2.into(), interface_id: b"eth0", options: &[] };
    dhcp6::write_relayed(&mut all[2], &relay, true, |out| reply.write(out));
    dns::put_answer(
        &mut all[3],
        7,
        b"\x03www\x01a\x00\x00\x01\x00\x01",
        0,
        Some([192, 0, 2, 1]),
    );
    let query = dns::query("www.example", "A", true, None).unwrap();
    let mut queries = Vec::new();
    (0..3).for_each(|_| stream::put(&mut queries, |out| out.extend(&query)));
    let update = dns::update("host.example", "example").unwrap();
    all.extend([query, queries, update]);
    let end = frame::End { mac: [2, 0, 0, 0, 0, 1], address: [10, 0, 0, 1].into(), port: 68 };
    let mut bytes = Vec::new();
    frame::write(&mut bytes, &[7], &end, &end, |out| out.extend(&all[0]));
    all.push(bytes);
    all
}

#[test]
fn mutated_packets_are_refused_or_read() {
    let (packets, mut random) = (packets(), Random(20_261_125));
    let mut read = 0_u64;
    for number in 0..MUTATIONS {
        let bytes = mutated(&packets[(number % packets.len() as u64) as usize], &mut random);
        read += read_all::read_all(&bytes);
    }
    // Neither all nor none: otherwise this would show nothing.
    assert!((MUTATIONS / 10..MUTATIONS).contains(&read), "{read} were read");
}
