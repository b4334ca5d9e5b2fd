//! Bytes of one stream on their way out, and the marks between them.
//!
//! Handlers only queue; `flush` hands to the kernel what it takes, once a turn. What came of it is
//! told later, in the pending phase, by [`WriteQueue::next_notice`]: marks in order, then that the
//! queue drained, then the half-close, then the error. This file knows neither owners nor ids.
//!
//! `written_total` counts each byte the kernel took and never goes back, so that its growth is
//! progress; a mark stands at the total that all bytes queued before it would bring.

use std::collections::VecDeque;
use std::io::{self, IoSlice};

use super::event::WriteError;
use super::sys::{Kernel, Object};
use crate::stdx::chunks::Chunks;

/// The way out of one stream.
#[derive(Debug, Default)]
pub(super) struct WriteQueue {
    chunks: Chunks,
    marks: VecDeque<Mark>,
    written_total: u64,
    shutdown: Shutdown,
    /// Set once nothing will leave any more; then `chunks` is empty for good.
    fault: Option<WriteError>,
    /// Set once bytes were dropped instead of queued.
    refused: Option<WriteError>,
    /// The error behind `fault`, until told.
    error: Option<io::Error>,
    /// The queue rose above the high mark, or the owner waits for it; not told drained yet.
    is_high: bool,
}

#[derive(Debug)]
struct Mark {
    position: u64,
    mark: u64,
    refused: Option<WriteError>,
}

/// How far a half-close is.
#[derive(Debug, Default, Clone, Copy)]
enum Shutdown {
    #[default]
    None,
    /// Asked for; done when the queue is empty.
    Asked,
    /// Done or failed, not yet told.
    Ended(Result<(), WriteError>),
    Told,
}

/// How a flush ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flushed {
    /// Nothing is queued any more.
    All,
    /// The kernel takes no more for now.
    Blocked,
    /// The budget of one flush is spent; the kernel may take more.
    Budget,
    /// The kernel refused for good; the notices tell why.
    Failed,
}

/// What the queue has to tell.
#[derive(Debug)]
pub(super) enum Notice {
    Written { mark: u64, result: Result<(), WriteError> },
    Drained,
    ShutDown(Result<(), WriteError>),
    Failed(io::Error),
}

/// Most buffers handed to the kernel at once; far above what coalescing leaves.
const SLICES_MAX: usize = 64;

/// Most one stream writes in one flush before others get their turn.
const FLUSH_BYTES_MAX: usize = 4 << 20;

impl WriteQueue {
    /// Whether bytes may still be queued; if not they are dropped, and marks after them fail.
    pub(super) fn admits(&mut self) -> bool {
        let refusal = match self.shutdown {
            Shutdown::None => self.fault,
            Shutdown::Asked | Shutdown::Ended(_) | Shutdown::Told => Some(WriteError::ShutDown),
        };
        self.refused = self.refused.or(refusal);
        refusal.is_none()
    }

    /// The queue to append to, after [`WriteQueue::admits`].
    pub(super) fn chunks(&mut self) -> &mut Chunks {
        &mut self.chunks
    }

    /// Notes that the queue grew.
    pub(super) fn grew(&mut self, high_bytes: usize) {
        self.is_high |= self.chunks.len() > high_bytes;
    }

    /// Has the owner told when little is queued, as if much had been.
    pub(super) fn await_drained(&mut self) {
        self.is_high = true;
    }

    /// Sets a mark behind everything queued so far.
    pub(super) fn mark(&mut self, mark: u64) {
        let position = self.written_total + self.chunks.len() as u64;
        self.marks.push_back(Mark { position, mark, refused: self.refused.or(self.fault) });
    }

    /// Asks for a half-close behind everything queued so far.
    pub(super) fn shut_down(&mut self) {
        if matches!(self.shutdown, Shutdown::None) {
            self.shutdown = Shutdown::Asked;
        }
    }

    pub(super) fn len(&self) -> usize {
        self.chunks.len()
    }

    pub(super) fn written_total(&self) -> u64 {
        self.written_total
    }

    /// Whether a flush has anything to do.
    pub(super) fn has_work(&self) -> bool {
        !self.chunks.is_empty() || matches!(self.shutdown, Shutdown::Asked)
    }

    /// Hands queued bytes to the kernel until it takes no more; spent large chunks go to `spent`.
    pub(super) fn flush<K: Kernel>(
        &mut self,
        kernel: &mut K,
        object: Object,
        mut spent: impl FnMut(Vec<u8>),
    ) -> Flushed {
        let mut budget = FLUSH_BYTES_MAX;
        while !self.chunks.is_empty() {
            if budget == 0 {
                return Flushed::Budget;
            }
            let mut slices = [IoSlice::new(&[]); SLICES_MAX];
            let filled = self.chunks.slices(&mut slices);
            match kernel.write(object, &slices[..filled]) {
                Ok(0) => return self.fail(io::ErrorKind::WriteZero.into()),
                Ok(bytes) => {
                    self.written_total += bytes as u64;
                    self.chunks.consume(bytes, &mut spent);
                    budget = budget.saturating_sub(bytes);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Flushed::Blocked,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return self.fail(error),
            }
        }
        if matches!(self.shutdown, Shutdown::Asked) {
            let result = kernel.shutdown_write(object);
            self.shutdown =
                Shutdown::Ended(result.map_err(|error| WriteError::Failed(error.kind())));
        }
        Flushed::All
    }

    /// Gives up what is queued: the stream was closed.
    pub(super) fn cancel(&mut self) {
        self.give_up(WriteError::Cancelled);
        self.error = None;
        self.is_high = false;
    }

    /// Whether [`WriteQueue::next_notice`] would tell something.
    pub(super) fn has_notice(&self, low_bytes: usize) -> bool {
        self.marks.front().is_some_and(|front| self.result_of(front).is_some())
            || self.is_drained(low_bytes)
            || matches!(self.shutdown, Shutdown::Ended(_))
            || self.error.is_some()
    }

    /// The next thing to tell, if any.
    pub(super) fn next_notice(&mut self, low_bytes: usize) -> Option<Notice> {
        if let Some(front) = self.marks.front()
            && let Some(result) = self.result_of(front)
        {
            let mark = front.mark;
            self.marks.pop_front();
            return Some(Notice::Written { mark, result });
        }
        if self.is_drained(low_bytes) {
            self.is_high = false;
            return Some(Notice::Drained);
        }
        if let Shutdown::Ended(result) = self.shutdown {
            self.shutdown = Shutdown::Told;
            return Some(Notice::ShutDown(result));
        }
        self.error.take().map(Notice::Failed)
    }

    fn is_drained(&self, low_bytes: usize) -> bool {
        self.is_high && self.chunks.len() < low_bytes && self.fault.is_none()
    }

    fn result_of(&self, mark: &Mark) -> Option<Result<(), WriteError>> {
        match (mark.refused, self.fault) {
            (Some(refused), _) => Some(Err(refused)),
            (None, _) if mark.position <= self.written_total => Some(Ok(())),
            (None, fault) => fault.map(Err),
        }
    }

    fn fail(&mut self, error: io::Error) -> Flushed {
        self.give_up(WriteError::Failed(error.kind()));
        self.error = Some(error);
        Flushed::Failed
    }

    fn give_up(&mut self, fault: WriteError) {
        let fault = *self.fault.get_or_insert(fault);
        self.chunks.clear();
        if matches!(self.shutdown, Shutdown::Asked) {
            self.shutdown = Shutdown::Ended(Err(fault));
        }
    }
}
