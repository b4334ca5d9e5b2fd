//! A queue of byte chunks on their way out.
//!
//! Small appends join the tail chunk, so that many short messages leave in one write; a large
//! buffer is taken as it is, without a copy. The front may be partly gone.

use std::collections::VecDeque;
use std::io::IoSlice;

/// Bytes in order, as few chunks as possible. Invariant: no chunk is empty, `front < chunks[0].len()`.
#[derive(Debug, Default)]
pub struct Chunks {
    chunks: VecDeque<Vec<u8>>,
    /// Bytes of the first chunk that are gone already.
    front: usize,
    len: usize,
    /// Whether the last chunk was given as a whole: then it takes no appends, which could make it
    /// move.
    is_tail_owned: bool,
}

/// A buffer at least this long is queued as a chunk of its own, without a copy.
const OWN_CHUNK_BYTES_MIN: usize = 16 << 10;

/// The tail chunk takes small appends up to this length.
const TAIL_BYTES_MAX: usize = 256 << 10;

impl Chunks {
    /// Bytes still queued.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether nothing is queued.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends a copy of `bytes`.
    pub fn push(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        self.tail(bytes.len()).extend_from_slice(bytes);
        self.len += bytes.len();
    }

    /// Appends `bytes`, without a copy when they are many.
    pub fn push_owned(&mut self, bytes: Vec<u8>) {
        if bytes.len() < OWN_CHUNK_BYTES_MIN {
            return self.push(&bytes);
        }
        self.len += bytes.len();
        self.is_tail_owned = true;
        self.chunks.push_back(bytes);
    }

    /// Moves everything queued in `other` to the end of this queue; `other` is empty afterwards.
    pub fn append(&mut self, other: &mut Chunks) {
        if self.is_empty() {
            return std::mem::swap(self, other);
        }
        while let Some((chunk, front)) = other.pop() {
            if front == 0 {
                self.push_owned(chunk);
            } else {
                self.push(&chunk[front..]);
            }
        }
    }

    /// Takes the first chunk, with the number of its bytes that are gone already.
    pub fn pop(&mut self) -> Option<(Vec<u8>, usize)> {
        let chunk = self.chunks.pop_front()?;
        let front = std::mem::take(&mut self.front);
        self.len -= chunk.len() - front;
        Some((chunk, front))
    }

    /// Fills `slices` from the front; returns how many were filled.
    pub fn slices<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize {
        let mut filled = 0;
        for (slot, chunk) in slices.iter_mut().zip(&self.chunks) {
            let start = if filled == 0 { self.front } else { 0 };
            *slot = IoSlice::new(&chunk[start..]);
            filled += 1;
        }
        filled
    }

    /// Drops `bytes` from the front; whole chunks that went are handed to `spent` for reuse.
    ///
    /// # Panics
    /// When fewer than `bytes` are queued: the caller counted wrong.
    pub fn consume(&mut self, mut bytes: usize, mut spent: impl FnMut(Vec<u8>)) {
        assert!(bytes <= self.len);
        self.len -= bytes;
        while bytes > 0 {
            let rest = self.chunks[0].len() - self.front;
            if bytes < rest {
                self.front += bytes;
                return;
            }
            bytes -= rest;
            self.front = 0;
            spent(self.chunks.pop_front().expect("a chunk holds the bytes counted in len"));
        }
    }

    /// Forgets everything queued.
    pub fn clear(&mut self) {
        *self = Chunks::default();
    }

    /// The chunk that takes `more` small bytes.
    fn tail(&mut self, more: usize) -> &mut Vec<u8> {
        let has_room = self.chunks.back().is_some_and(|tail| tail.len() + more <= TAIL_BYTES_MAX);
        if !has_room || self.is_tail_owned {
            self.is_tail_owned = false;
            self.chunks.push_back(Vec::with_capacity(more));
        }
        self.chunks.back_mut().expect("a chunk was just pushed or found")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flatten(chunks: &Chunks) -> Vec<u8> {
        let mut slices = [IoSlice::new(&[]); 64];
        let filled = chunks.slices(&mut slices);
        slices[..filled].iter().flat_map(|slice| slice.iter().copied()).collect()
    }

    #[test]
    fn small_appends_share_one_chunk() {
        let mut chunks = Chunks::default();
        for byte in 0..100u8 {
            chunks.push(&[byte]);
        }
        assert_eq!(chunks.slices(&mut [IoSlice::new(&[]); 8]), 1);
        assert_eq!(flatten(&chunks), (0..100).collect::<Vec<u8>>());
    }

    #[test]
    fn bytes_leave_in_order_across_chunks_and_spent_chunks_come_back() {
        let mut chunks = Chunks::default();
        chunks.push(b"ab");
        chunks.push_owned(vec![b'x'; OWN_CHUNK_BYTES_MIN]);
        chunks.push(b"cd");
        let mut spent = Vec::new();
        chunks.consume(1, |chunk| spent.push(chunk.len()));
        assert_eq!((chunks.len(), spent.len()), (OWN_CHUNK_BYTES_MIN + 3, 0));
        chunks.consume(1 + OWN_CHUNK_BYTES_MIN + 1, |chunk| spent.push(chunk.len()));
        assert_eq!(spent, [2, OWN_CHUNK_BYTES_MIN]);
        assert_eq!(flatten(&chunks), b"d");
    }

    #[test]
    fn append_keeps_a_half_gone_front() {
        let (mut from, mut to) = (Chunks::default(), Chunks::default());
        from.push(b"hello");
        from.consume(2, |_| {});
        to.push(b">");
        to.append(&mut from);
        assert_eq!((flatten(&to), from.len(), to.len()), (b">llo".to_vec(), 0, 4));
    }
}
