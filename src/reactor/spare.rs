//! One large buffer between uses.
//!
//! Large messages come seldom and one at a time, so one spare buffer saves most allocations; it is
//! freed when nobody wanted it for a second. It counts as a timer of the loop only while it exists.

use crate::stdx::Millis;

/// At most one buffer, with the time it is freed.
#[derive(Debug, Default)]
pub(super) struct Spare {
    buffer: Option<(Vec<u8>, Millis)>,
}

/// Smaller buffers are not worth keeping.
const CAPACITY_MIN: usize = 64 << 10;

/// How long an unused buffer is kept.
const UNUSED_MS: Millis = 1000;

impl Spare {
    /// Keeps `buffer` if it is large, and larger than the one kept already.
    pub(super) fn keep(&mut self, mut buffer: Vec<u8>, now: Millis) {
        let kept = self.buffer.as_ref().map_or(CAPACITY_MIN, |(kept, _)| kept.capacity());
        if buffer.capacity() >= kept {
            buffer.clear();
            self.buffer = Some((buffer, now.saturating_add(UNUSED_MS)));
        }
    }

    /// The kept buffer, else one without capacity.
    pub(super) fn take(&mut self) -> Vec<u8> {
        self.buffer.take().map(|(buffer, _)| buffer).unwrap_or_default()
    }

    /// When the kept buffer is freed.
    pub(super) fn due(&self) -> Option<Millis> {
        self.buffer.as_ref().map(|&(_, due)| due)
    }

    /// Frees the kept buffer if its time has come.
    pub(super) fn free_if_due(&mut self, now: Millis) {
        if self.due().is_some_and(|due| due <= now) {
            self.buffer = None;
        }
    }
}
