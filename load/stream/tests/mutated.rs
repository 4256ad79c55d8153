//! Changed frames of HTTP/2: both ends refuse or read them, and never fail.

#[path = "../../fuzz/mutated.rs"]
mod mutated;
#[path = "../../fuzz/read_http.rs"]
mod read_http;

use leaseload_stream::Http;
use mutated::{Random, mutated};

const MUTATIONS: u64 = 2_000;

#[test]
fn mutated_frames_are_refused_or_read() {
    let (mut client, mut server) = (Http::client("a"), Http::server(200));
    let messages = [vec![0, 1, 5], vec![0, 2], vec![0, 3, 7, 7]];
    assert!(messages.iter().all(|message| client.put(message)));
    let asked = client.take_out();
    let done = server.receive(&asked, |_| ());
    assert!(done == Ok(3) && messages.iter().all(|message| server.put(message)));
    // A padded end of a body, a ping, a reset and room for more.
    let others = b"\0\0\x03\0\x09\0\0\0\x01\x01a\0\0\0\x08\x06\0\0\0\0\x0012345678\
        \0\0\x04\x03\0\0\0\0\x05\0\0\0\0\0\0\x04\x08\0\0\0\0\0\0\x01\0\0";
    let all = [asked[24..].to_vec(), server.take_out(), others.to_vec()];
    let mut random = Random(20_261_128);
    let mut read = 0;
    for number in 0..MUTATIONS {
        let bytes = mutated(&all[(number % 3) as usize], &mut random);
        read += read_http::read_http(&bytes);
    }
    // Neither all nor none: otherwise this would show nothing.
    assert!((400..5_000).contains(&read), "{read} were read");
}
