//! Connected byte streams: reading within a budget, queueing, closing.
//!
//! A stream is read only in the poll phase, at most [`READS_PER_TURN`] reads of
//! [`READ_BYTES_MAX`] a turn; whatever is left keeps it on the still-ready list. Closing takes two
//! steps: the kernel's object goes at once, the slot after the closing phase told its last events,
//! so an event of the same batch meets a stream that is known to be closing and ends there.

use super::Reactor;
use super::event::{Event, StreamId, Tag};
use super::sys::{Kernel, Object, Ready};
use super::turn::{Closing, Pending, Source, Step};
use super::write_queue::{Flushed, Notice, WriteQueue};
use crate::stdx::chunks::Chunks;
use crate::stdx::slots::Key;

/// Most bytes one read gives.
pub const READ_BYTES_MAX: usize = 256 << 10;

/// Most reads of one stream in a turn, so that a flood delays others by 2 MiB at most.
pub(super) const READS_PER_TURN: u32 = 8;

/// A buffer to be filled grows at least by this.
const FILL_GROWTH_MIN: usize = 64 << 10;

/// One stream.
#[derive(Debug)]
pub(super) struct Stream<T> {
    owner: T,
    object: Object,
    queue: WriteQueue,
    read_total: u64,
    reading: Reading,
    is_paused: bool,
    /// The kernel told of something to read, and no read since came back empty.
    is_readable: bool,
    /// The kernel told that the peer's end will be met: no further edge need come.
    is_read_closed: bool,
    /// No write since the kernel's last word came back refused.
    is_writable: bool,
    /// Stands in `serving` or `still_ready`.
    pub(super) is_listed: bool,
    /// Stands in `dirty` or `unflushed`.
    is_dirty: bool,
    /// Stands in `pending`.
    is_pending: bool,
    is_closing: bool,
    has_failed: bool,
}

/// Where the next bytes go.
#[derive(Debug)]
enum Reading {
    /// Into the scratch, lent to the house.
    Lending,
    /// Onto the end of `buffer`, `want` bytes at most.
    Filling { buffer: Vec<u8>, want: usize },
    /// Nowhere.
    Discarding,
    /// The end was met, or an error.
    Over,
}

/// What one read came to.
enum Read {
    Bytes(usize),
    Nothing,
    Again,
    End,
    Failed(std::io::Error),
}

impl<T> Stream<T> {
    pub(super) fn new(owner: T, object: Object) -> Stream<T> {
        Stream {
            owner,
            object,
            queue: WriteQueue::default(),
            read_total: 0,
            reading: Reading::Lending,
            is_paused: false,
            is_readable: false,
            is_read_closed: false,
            is_writable: true,
            is_listed: false,
            is_dirty: false,
            is_pending: false,
            is_closing: false,
            has_failed: false,
        }
    }

    fn wants_to_read(&self) -> bool {
        self.is_readable && !self.is_paused && !matches!(self.reading, Reading::Over)
    }
}

/// What the house asks of a stream. A call with an id that names nothing does nothing.
impl<K: Kernel, T: Tag> Reactor<K, T> {
    /// Gives the stream to another owner; its later events carry that tag.
    pub fn set_owner(&mut self, stream: StreamId, owner: T) {
        if let Some(stream) = self.open_stream(stream.0) {
            stream.owner = owner;
        }
    }

    /// Queues a copy of `bytes`; they leave at the next flush. Dropped after a half-close or error.
    pub fn write(&mut self, stream: StreamId, bytes: &[u8]) {
        self.queue(stream, |chunks| chunks.push(bytes));
    }

    /// Queues `bytes`, without a copy when they are many.
    pub fn write_owned(&mut self, stream: StreamId, bytes: Vec<u8>) {
        self.queue(stream, |chunks| chunks.push_owned(bytes));
    }

    /// Queues everything in `bytes`, which is empty afterwards.
    pub fn write_chunks(&mut self, stream: StreamId, bytes: &mut Chunks) {
        self.queue(stream, |chunks| chunks.append(bytes));
        bytes.clear();
    }

    /// Has `Written { mark }` told once all bytes queued so far left, or never will. In order.
    pub fn mark(&mut self, stream: StreamId, mark: u64) {
        if let Some(entry) = self.open_stream(stream.0) {
            entry.queue.mark(mark);
            self.make_pending(stream.0);
        }
    }

    /// Bytes queued and not yet taken by the system.
    pub fn queued(&self, stream: StreamId) -> usize {
        self.streams.get(stream.0).map_or(0, |stream| stream.queue.len())
    }

    /// Bytes the system has taken since the stream began. Never goes back.
    pub fn written_total(&self, stream: StreamId) -> u64 {
        self.streams.get(stream.0).map_or(0, |stream| stream.queue.written_total())
    }

    /// Bytes read since the stream began. Never goes back.
    pub fn read_total(&self, stream: StreamId) -> u64 {
        self.streams.get(stream.0).map_or(0, |stream| stream.read_total)
    }

    /// Has the next bytes, `want` at most, appended to `buffer` and told as `Filled`. The buffer
    /// grows with what arrives. One without capacity is replaced by the reactor's spare one.
    pub fn fill(&mut self, stream: StreamId, mut buffer: Vec<u8>, want: usize) {
        if buffer.capacity() == 0 {
            buffer = self.spare.take();
        }
        let old = match self.open_stream(stream.0) {
            Some(stream) if want > 0 && !matches!(stream.reading, Reading::Over) => {
                std::mem::replace(&mut stream.reading, Reading::Filling { buffer, want })
            }
            _ => Reading::Filling { buffer, want },
        };
        if let Reading::Filling { buffer, .. } = old {
            self.give_back(buffer);
        }
    }

    /// Gives a buffer up; one large one is kept for a second, for the next `fill`.
    pub fn give_back(&mut self, buffer: Vec<u8>) {
        self.spare.keep(buffer, self.now);
    }

    /// Stops reading, at once: not even what the poll under way brought is read.
    pub fn pause_reads(&mut self, stream: StreamId) {
        if let Some(stream) = self.open_stream(stream.0) {
            stream.is_paused = true;
        }
    }

    /// Ends the stream's share of this turn: what is left is read in the next one. For owners whose
    /// work on a few bytes takes far longer than reading them.
    pub fn end_share(&mut self, stream: StreamId) {
        if let Some((key, reads_left)) = &mut self.reading
            && *key == stream.0
        {
            *reads_left = 0;
        }
    }

    /// Has `Drained` told once fewer than `queue_low_bytes` are queued, even if the queue never was
    /// above the high mark.
    pub fn await_drained(&mut self, stream: StreamId) {
        if let Some(entry) = self.open_stream(stream.0) {
            entry.queue.await_drained();
            self.make_pending(stream.0);
        }
    }

    /// Goes on reading, in the next poll phase.
    pub fn resume_reads(&mut self, stream: StreamId) {
        if let Some(entry) = self.open_stream(stream.0) {
            entry.is_paused = false;
            self.list_if_readable(stream.0);
        }
    }

    /// Reads and drops everything until the peer's end. Ends a pause.
    pub fn discard_reads(&mut self, stream: StreamId) {
        let Some(entry) = self.open_stream(stream.0) else { return };
        if !matches!(entry.reading, Reading::Over) {
            let old = std::mem::replace(&mut entry.reading, Reading::Discarding);
            if let Reading::Filling { buffer, .. } = old {
                self.give_back(buffer);
            }
        }
        self.resume_reads(stream);
    }

    /// Sends our end once the queue is empty, then tells `ShutDown`. Reading goes on.
    pub fn shutdown_write(&mut self, stream: StreamId) {
        if let Some(entry) = self.open_stream(stream.0) {
            entry.queue.shut_down();
            self.make_dirty(stream.0);
        }
    }

    /// Closes the stream: what is queued gets one try, then the kernel's object goes at once. The
    /// closing phase tells each mark left (`Cancelled` unless written), then `Closed`.
    pub fn close(&mut self, stream: StreamId) {
        let Some(entry) = self.streams.get_mut(stream.0).filter(|entry| !entry.is_closing) else {
            return;
        };
        if entry.is_dirty && entry.is_writable && entry.queue.has_work() {
            entry.queue.flush(&mut self.kernel, entry.object, drop);
        }
        entry.queue.cancel();
        entry.is_closing = true;
        let reading = std::mem::replace(&mut entry.reading, Reading::Over);
        self.kernel.close(entry.object);
        self.closing.push(Closing::Stream(stream.0));
        if let Reading::Filling { buffer, .. } = reading {
            self.give_back(buffer);
        }
    }
}

impl<K: Kernel, T: Tag> Reactor<K, T> {
    /// The stream, unless it is gone or closing: the one place that drops what comes too late.
    fn open_stream(&mut self, key: Key) -> Option<&mut Stream<T>> {
        self.streams.get_mut(key).filter(|stream| !stream.is_closing)
    }

    fn queue(&mut self, stream: StreamId, append: impl FnOnce(&mut Chunks)) {
        let high_bytes = self.options.queue_high_bytes;
        let Some(entry) = self.open_stream(stream.0) else { return };
        if entry.queue.admits() {
            append(entry.queue.chunks());
            entry.queue.grew(high_bytes);
            self.make_dirty(stream.0);
        }
    }

    /// Has the stream flushed, unless it waits for the kernel to say it can be.
    fn make_dirty(&mut self, key: Key) {
        let Some(stream) = self.open_stream(key) else { return };
        if stream.is_writable && !stream.is_dirty && stream.queue.has_work() {
            stream.is_dirty = true;
            self.dirty.push(key);
        }
    }

    /// Has the stream told in the next pending phase, if it has anything to tell.
    fn make_pending(&mut self, key: Key) {
        let low_bytes = self.options.queue_low_bytes;
        let Some(stream) = self.open_stream(key) else { return };
        if stream.queue.has_notice(low_bytes) && !stream.is_pending {
            stream.is_pending = true;
            self.pending.push_back(Pending::Stream(key));
        }
    }

    fn list_if_readable(&mut self, key: Key) {
        let Some(stream) = self.open_stream(key) else { return };
        if stream.wants_to_read() && !stream.is_listed {
            stream.is_listed = true;
            self.still_ready.push_back(Source::Stream(key));
        }
    }

    /// Notes what the kernel told; whether the stream is to be put on the list of this turn.
    pub(super) fn note_stream_ready(&mut self, key: Key, ready: Ready) -> bool {
        let Some(stream) = self.open_stream(key) else { return false };
        stream.is_readable |= ready.is_readable || ready.is_read_closed;
        stream.is_read_closed |= ready.is_read_closed;
        stream.is_writable |= ready.is_writable;
        let is_to_be_listed = stream.wants_to_read() && !stream.is_listed;
        stream.is_listed |= is_to_be_listed;
        self.make_dirty(key);
        is_to_be_listed
    }

    /// Offers each dirty stream's queue to the kernel.
    pub(super) fn flush(&mut self) {
        let mut dirty = std::mem::take(&mut self.dirty);
        for key in dirty.drain(..) {
            let Some(stream) = self.streams.get_mut(key).filter(|stream| !stream.is_closing) else {
                continue;
            };
            stream.is_dirty = false;
            let (spare, now) = (&mut self.spare, self.now);
            let spent = |chunk| spare.keep(chunk, now);
            match stream.queue.flush(&mut self.kernel, stream.object, spent) {
                Flushed::All => {}
                Flushed::Blocked => stream.is_writable = false,
                // Linux tells a reset to one call only: a read would now find a clean end.
                Flushed::Failed => stream.reading = Reading::Over,
                Flushed::Budget => {
                    stream.is_dirty = true;
                    self.unflushed.push(key);
                }
            }
            self.make_pending(key);
        }
        self.dirty = dirty;
    }

    /// The next thing a stream's queue has to tell in a pending phase.
    pub(super) fn tell_stream(&mut self, key: Key) -> Option<Event<'static, T>> {
        let low_bytes = self.options.queue_low_bytes;
        let stream = self.open_stream(key)?;
        stream.is_pending = false;
        let (owner, id) = (stream.owner, StreamId(key));
        loop {
            return Some(match stream.queue.next_notice(low_bytes)? {
                Notice::Written { mark, result } => {
                    Event::Written { owner, stream: id, mark, result }
                }
                Notice::Drained => Event::Drained { owner, stream: id },
                Notice::ShutDown(result) => Event::ShutDown { owner, stream: id, result },
                Notice::Failed(error) => {
                    if std::mem::replace(&mut stream.has_failed, true) {
                        continue;
                    }
                    Event::Failed { owner, stream: id, error }
                }
            });
        }
    }

    /// The next event of a stream that was closed, and whether it is the last.
    pub(super) fn tell_closed_stream(&mut self, key: Key) -> (Event<'static, T>, bool) {
        let stream = self.streams.get_mut(key).expect("a closing stream keeps its slot");
        assert!(stream.is_closing);
        let (owner, id) = (stream.owner, StreamId(key));
        // After `cancel` the queue tells marks and the half-close only; no bound is crossed.
        while let Some(notice) = stream.queue.next_notice(0) {
            match notice {
                Notice::Written { mark, result } => {
                    return (Event::Written { owner, stream: id, mark, result }, false);
                }
                Notice::ShutDown(result) => {
                    return (Event::ShutDown { owner, stream: id, result }, false);
                }
                Notice::Drained | Notice::Failed(_) => {}
            }
        }
        self.streams.remove(key);
        (Event::Closed { owner, stream: id }, true)
    }

    /// Reads the current stream once more, or ends its share of this turn.
    pub(super) fn read_on(&mut self) -> Option<Step<T>> {
        let (key, reads_left) = self.reading.take()?;
        let stream = self.open_stream(key)?;
        if !stream.wants_to_read() {
            return None;
        }
        if reads_left == 0 {
            self.list_if_readable(key);
            return None;
        }
        let outcome = self.read_once(key);
        let stream = self.streams.get_mut(key).expect("it was there before the read");
        let (owner, id) = (stream.owner, StreamId(key));
        match outcome {
            Read::Bytes(count) => {
                stream.read_total += count as u64;
                self.reading = Some((key, reads_left - 1));
                self.bytes_came(key, count)
            }
            Read::Again => {
                self.reading = Some((key, reads_left - 1));
                None
            }
            Read::Nothing => {
                stream.is_readable = false;
                None
            }
            Read::End => {
                stream.reading = Reading::Over;
                Some(Step::Event(Event::End { owner, stream: id }))
            }
            Read::Failed(error) => {
                stream.reading = Reading::Over;
                if std::mem::replace(&mut stream.has_failed, true) {
                    return None;
                }
                Some(Step::Event(Event::Failed { owner, stream: id, error }))
            }
        }
    }

    /// One read into wherever the stream's bytes go.
    fn read_once(&mut self, key: Key) -> Read {
        let stream = self.streams.get_mut(key).expect("the caller looked");
        let (into, bytes_max) = match &mut stream.reading {
            Reading::Filling { buffer, want } => {
                let bytes_max = (*want).min(READ_BYTES_MAX);
                let spare = buffer.capacity() - buffer.len();
                if spare < bytes_max.min(FILL_GROWTH_MIN) {
                    buffer.reserve_exact(buffer.len().max(FILL_GROWTH_MIN).min(*want));
                }
                (buffer, bytes_max)
            }
            Reading::Lending | Reading::Discarding => {
                self.scratch.clear();
                (&mut self.scratch, READ_BYTES_MAX)
            }
            Reading::Over => return Read::Nothing,
        };
        let room = (into.capacity() - into.len()).min(bytes_max);
        match self.kernel.read(stream.object, into, bytes_max) {
            Ok(0) => Read::End,
            Ok(count) => {
                let is_drained = count < room && K::SHORT_READ_DRAINS && !stream.is_read_closed;
                stream.is_readable = !is_drained;
                Read::Bytes(count)
            }
            Err(error) => match error.kind() {
                std::io::ErrorKind::WouldBlock => Read::Nothing,
                std::io::ErrorKind::Interrupted => Read::Again,
                _ => Read::Failed(error),
            },
        }
    }

    /// The event for `count` bytes that were just read.
    fn bytes_came(&mut self, key: Key, count: usize) -> Option<Step<T>> {
        let stream = self.streams.get_mut(key)?;
        let (owner, id) = (stream.owner, StreamId(key));
        match &mut stream.reading {
            Reading::Lending => Some(Step::Data { owner, stream: id }),
            Reading::Filling { buffer, .. } => {
                let buffer = std::mem::take(buffer);
                let fresh_from = buffer.len() - count;
                stream.reading = Reading::Lending;
                Some(Step::Event(Event::Filled { owner, stream: id, buffer, fresh_from }))
            }
            Reading::Discarding | Reading::Over => None,
        }
    }
}
