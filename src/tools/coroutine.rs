//! One call whose tool runs as a coroutine: the smallest executor there can be.
//!
//! A call is stepped when it starts and when a reply came, never in between, so no waker is
//! needed. A panic inside a tool stays inside its call. Dropping a [`Call`] drops its coroutine at
//! the question it waits for.

use std::fmt;
use std::panic::{self, AssertUnwindSafe};
use std::task::{Context, Poll, Waker};

use crate::mcp::content::ToolResult;
use crate::stdx::Millis;
use crate::tools::args::Args;
use crate::tools::ask::Reply;
use crate::tools::mailbox::{Cx, Mailbox, Question};
use crate::tools::tool::Coroutine;
use crate::tools::view::View;

/// A call in flight.
pub(super) struct Call {
    /// For the log.
    pub(super) tool: &'static str,
    pub(super) started_at: Millis,
    /// When the question that waits is given up; `None` if a person answers it.
    pub(super) deadline: Option<Millis>,
    /// Whether the house has seen the question. Until then nothing can be a reply to it, so what
    /// comes is one to an earlier question that was given up.
    pub(super) is_handed_out: bool,
    coroutine: Coroutine,
    mailbox: Mailbox,
}

impl fmt::Debug for Call {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Call({}, since {})", self.tool, self.started_at)
    }
}

/// How far a step went.
#[derive(Debug)]
pub(super) enum Step {
    /// To a new question.
    Asked(Question),
    /// Nowhere: what came answers another question.
    Waiting,
    /// To the end.
    Finished(ToolResult),
    /// The tool panicked, or waits for what is no question.
    Broke,
}

impl Call {
    /// A call about to take its first step; `None` when the tool panicked before it had one.
    pub(super) fn new(
        tool: &'static str,
        handler: fn(Args, &View<'_>, Cx) -> Coroutine,
        args: Args,
        view: &View<'_>,
        now: Millis,
    ) -> Option<Call> {
        let mailbox = Mailbox::default();
        let cx = Cx::new(mailbox.clone());
        let coroutine = guarded(|| handler(args, view, cx))?;
        let (deadline, is_handed_out) = (None, false);
        Some(Call { tool, started_at: now, deadline, is_handed_out, coroutine, mailbox })
    }

    /// Leaves the reply to the question that waits; the next step takes it.
    pub(super) fn put_reply(&self, reply: Reply) {
        self.mailbox.put_reply(reply);
    }

    /// Runs the tool to its next question or its end.
    pub(super) fn step(&mut self) -> Step {
        let mut context = Context::from_waker(Waker::noop());
        match guarded(|| self.coroutine.as_mut().poll(&mut context)) {
            None => Step::Broke,
            Some(Poll::Ready(result)) => Step::Finished(result),
            Some(Poll::Pending) => match self.mailbox.take_question() {
                Some(question) => Step::Asked(question),
                None if self.mailbox.is_waiting() => Step::Waiting,
                None => Step::Broke,
            },
        }
    }
}

/// Runs a piece of a tool; `None` when it panicked. Whatever it had is dropped, so that nothing
/// half-changed is seen again; the payload, which may quote an argument, goes unseen.
pub(super) fn guarded<T>(piece: impl FnOnce() -> T) -> Option<T> {
    panic::catch_unwind(AssertUnwindSafe(piece)).ok()
}
