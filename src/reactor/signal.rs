//! Signals as events.
//!
//! SIGINT, SIGTERM and SIGHUP come in by a self-pipe of the kernel's; they are told last in the
//! poll phase, as in libuv.

use std::io;

use super::Reactor;
use super::event::{Event, Tag};
use super::sys::Kernel;
use super::turn::Source;

impl<K: Kernel, T: Tag> Reactor<K, T> {
    /// Tells `owner` of SIGINT, SIGTERM and SIGHUP instead of dying of them. A second call only
    /// changes the owner.
    ///
    /// # Errors
    /// `Unsupported` on Windows, where Ctrl-C still ends the process; else the system's refusal.
    pub fn watch_signals(&mut self, owner: T) -> io::Result<()> {
        if self.signals_owner.is_none() {
            self.kernel.watch_signals(Source::Signals.pack())?;
        }
        self.signals_owner = Some(owner);
        Ok(())
    }

    /// Moves the signals that came to the outbox.
    pub(super) fn take_signals(&mut self) {
        let mut signals = Vec::new();
        self.kernel.take_signals(&mut signals);
        if let Some(owner) = self.signals_owner {
            self.outbox.extend(signals.into_iter().map(|signal| Event::Signal { owner, signal }));
        }
    }
}
