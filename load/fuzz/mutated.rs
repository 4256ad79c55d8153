//! Common code of the tests that change what parsers read.

/// Random numbers, of a seed.
pub struct Random(pub u64);

impl Random {
    /// A number below `bound` (SplitMix64).
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((bits ^ (bits >> 31)) % bound.max(1) as u64) as usize
    }
}

/// Bytes with up to six changes.
pub fn mutated(bytes: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..=random.below(6) {
        let place = random.below(bytes.len());
        match random.below(6) {
            0 => bytes.truncate(place),
            1 => bytes.insert(place, random.below(256) as u8),
            2 if !bytes.is_empty() => {
                bytes.remove(place);
            }
            3 => {
                let tail = bytes[place..].to_vec();
                bytes.extend(tail);
            }
            4 if !bytes.is_empty() => bytes[place] = [0, 1, 255, 127][random.below(4)],
            _ if !bytes.is_empty() => bytes[place] ^= 1 << random.below(8),
            _ => {}
        }
    }
    bytes
}
