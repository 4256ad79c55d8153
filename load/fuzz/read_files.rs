//! Common code of the fuzz target and the test of mutated files.

use leaseload::generator::clients::Encoding;
use leaseload::generator::dns::Dns;
use leaseload::generator::population::Population;

/// Longest number of clients: those of more take memory, and nothing else.
const DIGITS: usize = 5;

/// Read a text as a population of each protocol, and as queries; return how often it was one.
///
/// # Panics
/// If one without clients or queries is read.
pub fn read_files(text: &str) -> usize {
    let mut read = usize::from(Dns::read(text, true, None).is_ok());
    if text.split(|digit: char| !digit.is_ascii_digit()).any(|run| run.len() > DIGITS) {
        return read;
    }
    for encoding in [Encoding::DHCP4, Encoding::DHCP6] {
        let Ok(population) = Population::read(text, encoding) else { continue };
        let (kind, number) = population.of(population.size() - 1);
        kind.macs.of(number);
        let mut room = Vec::new();
        kind.options.of(number, &mut room);
        kind.agent.of(number, &mut room);
        read += 1;
    }
    read
}
