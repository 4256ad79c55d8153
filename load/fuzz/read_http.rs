//! Common code of the fuzz target and the test of mutated connections.

use leaseload_stream::Http;

/// An end of a connection that has heard nothing yet: a client that waits for answers, or a
/// server that has read the beginning.
fn ends() -> [Http; 2] {
    let (mut client, mut server) = (Http::client("a"), Http::server(200));
    assert!((1..4).all(|id| client.put(&[0, id, 7, 7])));
    let said = client.take_out();
    server.receive(&said[..24], |_| panic!("a message")).expect("a preface");
    [client, server]
}

/// What an end takes of bytes that arrive in pieces of a size, and what it says.
fn taken(mut end: Http, bytes: &[u8], size: usize) -> (Vec<Vec<u8>>, bool, Vec<u8>) {
    let (mut messages, mut is_refused) = (Vec::new(), false);
    for piece in bytes.chunks(size.max(1)) {
        let done = end.receive(piece, |message| messages.push(message.to_vec()));
        is_refused = done.is_err();
        if is_refused {
            break;
        }
    }
    let said = end.take_out();
    (messages, is_refused, said)
}

/// Let both ends read the bytes, whole and in pieces; return how many messages came.
///
/// # Panics
/// If pieces change something, or an end says far more than it has heard.
pub fn read_http(bytes: &[u8]) -> usize {
    let whole = ends().map(|end| taken(end, bytes, bytes.len()));
    let pieces = ends().map(|end| taken(end, bytes, 1));
    assert_eq!(whole, pieces, "pieces change nothing");
    assert!(whole.iter().all(|(_, _, said)| said.len() <= 1024 + 2 * bytes.len()));
    whole.iter().map(|(messages, ..)| messages.len()).sum()
}
