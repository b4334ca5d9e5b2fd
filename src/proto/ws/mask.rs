//! Masking of payloads (RFC 6455 §5.3): an exclusive or with a key of four bytes, in place.
//!
//! Masking and unmasking are the same. A payload may come in pieces: `phase` is how many of its
//! bytes went before this piece. The middle goes eight bytes at a time, which the compiler turns
//! into vector code without `unsafe`.

/// Masks or unmasks `bytes`, which start `phase` bytes into the payload.
pub fn apply(bytes: &mut [u8], key: [u8; 4], phase: usize) {
    let at = |index: usize| key[(phase + index) % 4];
    let turned = [at(0), at(1), at(2), at(3)];
    let [a, b, c, d] = turned;
    let wide = u64::from_ne_bytes([a, b, c, d, a, b, c, d]);
    let mut chunks = bytes.chunks_exact_mut(8);
    for chunk in &mut chunks {
        let masked = u64::from_ne_bytes(chunk.try_into().expect("chunks of eight bytes")) ^ wide;
        chunk.copy_from_slice(&masked.to_ne_bytes());
    }
    for (index, byte) in chunks.into_remainder().iter_mut().enumerate() {
        *byte ^= turned[index % 4];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_in_pieces_is_masked_as_the_whole_is() {
        let key = [0x37, 0xFA, 0x21, 0x3D];
        for len in 0..40 {
            let plain: Vec<u8> = (0..len).map(|byte| byte as u8 ^ 0x5A).collect();
            let slow: Vec<u8> = plain.iter().zip(0..).map(|(b, i)| b ^ key[i % 4]).collect();
            for cut in 0..=len {
                let mut bytes = plain.clone();
                apply(&mut bytes[..cut], key, 0);
                apply(&mut bytes[cut..], key, cut);
                assert_eq!(bytes, slow, "len {len} cut {cut}");
            }
        }
    }

    #[test]
    fn the_example_of_the_standard() {
        // RFC 6455 §5.7: a masked "Hello".
        let mut bytes = [0x7F, 0x9F, 0x4D, 0x51, 0x58];
        apply(&mut bytes, [0x37, 0xFA, 0x21, 0x3D], 0);
        assert_eq!(&bytes, b"Hello");
    }
}
