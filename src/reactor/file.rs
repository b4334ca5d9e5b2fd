//! Reading whole files.
//!
//! Up to [`INLINE_BYTES_MAX`] a read is quicker than handing it over, so it is done in the call;
//! its answer still comes as an event, in the next pending phase. Longer files go to a worker.

use std::collections::VecDeque;
use std::path::Path;

use super::Reactor;
use super::event::{Event, Tag};
use super::sys::{Bell, Kernel, LongRead};
use super::turn::Pending;
use super::worker::Workers;
use crate::effect::FileError;

/// Longest file read in the loop: about a tenth of a millisecond from the page cache.
const INLINE_BYTES_MAX: u64 = 1 << 20;

type FileResult = Result<Vec<u8>, FileError>;

/// Reads under way on workers.
pub(super) struct Files<T> {
    workers: Workers<FileResult>,
    /// Who asked, by the number of the job.
    asked: VecDeque<(u64, T)>,
}

impl<T: Copy> Files<T> {
    pub(super) fn new(bell: Bell) -> Files<T> {
        Files { workers: Workers::new(bell), asked: VecDeque::new() }
    }

    /// Whether no read is under way.
    pub(super) fn is_idle(&self) -> bool {
        self.asked.is_empty()
    }

    /// Tells the reads that ended.
    pub(super) fn take_done(&mut self, outbox: &mut VecDeque<Event<'static, T>>) {
        while let Some((job, result)) = self.workers.take_done() {
            let index = self.asked.iter().position(|&(asked, _)| asked == job);
            if let Some((_, owner)) = index.and_then(|index| self.asked.remove(index)) {
                let result = result.unwrap_or_else(|lost| Err(FileError::Other(lost)));
                outbox.push_back(Event::File { owner, result });
            }
        }
    }
}

impl<T: PartialEq> Files<T> {
    /// Forgets what `owner` asked for. What waits is never read; what is being read is not told.
    fn give_up(&mut self, owner: T) {
        let workers = &mut self.workers;
        self.asked.retain(|(job, asked)| {
            let is_given_up = *asked == owner;
            if is_given_up {
                workers.give_up(*job);
            }
            !is_given_up
        });
    }
}

impl<K: Kernel, T: Tag + PartialEq> Reactor<K, T> {
    /// Gives up the reads of long files that `owner` asked for: those that have not begun are not
    /// done at all, so that whoever asks and leaves does not keep the workers from others.
    pub fn give_up_reads(&mut self, owner: T) {
        self.files.give_up(owner);
    }
}

impl<K: Kernel, T: Tag> Reactor<K, T> {
    /// Reads a regular file of at most `bytes_max` bytes whole; the answer comes as `File`.
    pub fn read_file(&mut self, owner: T, path: &Path, bytes_max: u64) {
        let result = match self.kernel.read_file(path, bytes_max.min(INLINE_BYTES_MAX)) {
            Err(FileError::TooBig { bytes }) if bytes <= bytes_max => {
                match self.kernel.read_long_file(path, bytes_max) {
                    LongRead::Done(result) => result,
                    LongRead::Elsewhere(read) => {
                        let job = self.files.workers.start(read);
                        self.files.asked.push_back((job, owner));
                        return;
                    }
                }
            }
            result => result,
        };
        self.pending.push_back(Pending::File(owner, result));
    }
}
