//! Changed files: they are refused or read, and nothing fails.

#[path = "../../fuzz/mutated.rs"]
mod mutated;
#[path = "../../fuzz/read_files.rs"]
mod read_files;

use mutated::{Random, mutated};

const MUTATIONS: usize = 4_000;
const FILES: [&str; 3] = [
    r#"{"kinds": [{"clients": 3, "relay": "192.0.2.1", "agent": [[1, "text:p{client}"]],
        "options": [[60, "hex:6162"]], "macs": ["02:00:00:00:00:01"]}]}"#,
    r#"{"kinds": [{"name": "a", "clients": 2, "relay": "::1", "duids": ["0001"], "want": "both"},
        {"clients": 1, "first_mac": "02:00:00:00:00:09"}]}"#,
    "www.example. A @0.5\n; none\nh.example UPDATE example @1\n\nexample SOA\n",
];

#[test]
fn mutated_files_are_refused_or_read() {
    let mut random = Random(20_261_129);
    let read: usize = (0..MUTATIONS)
        .map(|number| {
            let bytes = mutated(FILES[number % FILES.len()].as_bytes(), &mut random);
            read_files::read_files(&String::from_utf8_lossy(&bytes))
        })
        .sum();
    // Neither all nor none: otherwise this would show nothing.
    assert!((MUTATIONS / 20..MUTATIONS).contains(&read), "{read} were read");
}
