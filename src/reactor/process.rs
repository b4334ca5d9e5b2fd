//! Child processes: started and forgotten but for their exit.
//!
//! The kernel tells when a child may have ended; reaping it gives the event. No thread waits, and
//! no child stays a zombie while the loop turns.

use std::io;

use super::Reactor;
use super::event::{Event, ProcessId, Tag};
use super::sys::{Exit, Kernel, Object};
use super::turn::Source;
use crate::effect::Command;
use crate::stdx::slots::Key;

/// One child.
#[derive(Debug)]
pub(super) struct Process<T> {
    owner: T,
    object: Object,
}

impl<K: Kernel, T: Tag> Reactor<K, T> {
    /// Starts a program with no input, its output discarded, in a session of its own. Its end is
    /// told as `Exited`.
    ///
    /// # Errors
    /// When `argv` is empty, the program or folder is not there, or the system refuses.
    pub fn spawn(&mut self, owner: T, command: &Command) -> io::Result<ProcessId> {
        let object = self.kernel.spawn(command)?;
        let key = self.processes.insert(Process { owner, object });
        if let Err(error) = self.kernel.register(object, Source::Process(key).pack()) {
            self.processes.remove(key);
            self.kernel.close(object);
            return Err(error);
        }
        Ok(ProcessId(key))
    }

    /// Reaps the child if it ended.
    pub(super) fn reap(&mut self, key: Key) -> Option<Event<'static, T>> {
        let process = self.processes.get(key)?;
        let status = match self.kernel.reap(process.object) {
            Ok(None) => return None,
            Ok(Some(status)) => status,
            Err(error) => {
                log::error!("process: the exit status was lost: {error}");
                Exit::Code(LOST_STATUS)
            }
        };
        let Process { owner, object } = self.processes.remove(key)?;
        self.kernel.close(object);
        Some(Event::Exited { owner, process: ProcessId(key), status })
    }
}

/// Told when someone else reaped our child; no program exits with it.
const LOST_STATUS: i32 = -1;
