//! Frames on their way out: encoded into one queue, masked in the client role.
//!
//! Small frames are copied to the tail of the queue, so that the replies of a turn leave in one
//! write; a large payload that is handed over is queued as it is, behind its header. Not here:
//! whether a frame may still be sent, which `connection` decides.

use sha1::{Digest, Sha1};

use super::connection::Role;
use super::frame::{Header, Opcode};
use super::mask;
use crate::stdx::chunks::Chunks;

/// Encodes frames.
#[derive(Debug)]
pub(super) struct Sender {
    pub(super) role: Role,
    pub(super) queue: Chunks,
    /// Masking keys handed out.
    masks: u64,
}

impl Sender {
    pub(super) fn new(role: Role) -> Sender {
        Sender { role, queue: Chunks::default(), masks: 0 }
    }

    /// Queues one whole frame with a copy of `payload`.
    pub(super) fn push(&mut self, opcode: Opcode, payload: &[u8]) {
        match self.next_mask() {
            None => {
                self.push_header(opcode, None, payload.len());
                self.queue.push(payload);
            }
            Some(key) => self.push_masked(opcode, key, payload.to_vec()),
        }
    }

    /// Queues one whole frame; a large payload is not copied.
    pub(super) fn push_owned(&mut self, opcode: Opcode, payload: Vec<u8>) {
        match self.next_mask() {
            None => {
                self.push_header(opcode, None, payload.len());
                self.queue.push_owned(payload);
            }
            Some(key) => self.push_masked(opcode, key, payload),
        }
    }

    fn push_masked(&mut self, opcode: Opcode, key: [u8; 4], mut payload: Vec<u8>) {
        mask::apply(&mut payload, key, 0);
        self.push_header(opcode, Some(key), payload.len());
        self.queue.push_owned(payload);
    }

    fn push_header(&mut self, opcode: Opcode, mask: Option<[u8; 4]>, payload_len: usize) {
        let (bytes, len) = Header { opcode, is_final: true, mask, payload_len }.encode();
        self.queue.push(&bytes[..len]);
    }

    /// A masking key nobody can foresee who has not seen the seed, another for each frame.
    fn next_mask(&mut self) -> Option<[u8; 4]> {
        let Role::Client { mask_seed } = self.role else { return None };
        let digest = Sha1::new().chain_update(mask_seed).chain_update(self.masks.to_be_bytes());
        self.masks += 1;
        let [a, b, c, d, ..]: [u8; 20] = digest.finalize().into();
        Some([a, b, c, d])
    }
}
