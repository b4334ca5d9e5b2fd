//! Blocking work on other threads: the only file that starts them or uses a channel.
//!
//! A thread lives for one job. At most [`THREADS_MAX`] run at once and the rest wait in line, so at
//! rest the process has one thread and an idle bridge pays nothing.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;

use super::sys::Bell;

type Job<R> = Box<dyn FnOnce() -> R + Send>;
/// The result, or one line on why there is none.
type Outcome<R> = Result<R, String>;

/// Most jobs that run at once; they are bound by the disk.
const THREADS_MAX: usize = 4;

/// Jobs with results of type `R`.
pub(super) struct Workers<R> {
    bell: Bell,
    waiting: VecDeque<(u64, Job<R>)>,
    running: usize,
    jobs_begun: u64,
    results: mpsc::Receiver<(u64, Outcome<R>)>,
    sender: mpsc::Sender<(u64, Outcome<R>)>,
}

impl<R: Send + 'static> Workers<R> {
    pub(super) fn new(bell: Bell) -> Workers<R> {
        let (sender, results) = mpsc::channel();
        Workers { bell, waiting: VecDeque::new(), running: 0, jobs_begun: 0, results, sender }
    }

    /// Runs `job` on a thread and rings the bell when it is done; returns its number.
    pub(super) fn start(&mut self, job: Job<R>) -> u64 {
        self.jobs_begun += 1;
        self.waiting.push_back((self.jobs_begun, job));
        self.run_waiting();
        self.jobs_begun
    }

    /// Takes a job out of the line; one that has begun goes on to its end.
    pub(super) fn give_up(&mut self, number: u64) {
        self.waiting.retain(|(waiting, _)| *waiting != number);
    }

    /// The number and result of a job that ended.
    pub(super) fn take_done(&mut self) -> Option<(u64, Outcome<R>)> {
        let done = self.results.try_recv().ok()?;
        self.running -= 1;
        self.run_waiting();
        Some(done)
    }

    fn run_waiting(&mut self) {
        while self.running < THREADS_MAX
            && let Some((number, job)) = self.waiting.pop_front()
        {
            self.running += 1;
            let (sender, bell) = (self.sender.clone(), self.bell.clone());
            let work = move || {
                let outcome = catch_unwind(AssertUnwindSafe(job));
                // The loop may be gone; then nobody wants the result.
                let _ = sender.send((number, outcome.map_err(|_| "the worker failed".into())));
                bell();
            };
            let name = std::thread::Builder::new().name("worker".into());
            if let Err(error) = name.spawn(work) {
                let _ = self.sender.send((number, Err(format!("no thread: {error}"))));
                (self.bell)();
            }
        }
    }
}
