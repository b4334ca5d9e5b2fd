//! Where a running tool and the table of calls meet: one question out, one reply in.
//!
//! The one place where `Rc<RefCell<_>>` is allowed. The coroutine holds one end through its
//! [`Cx`], the table of calls the other; no borrow outlives a method. There is no waker: a
//! coroutine is polled when its call starts and when a reply was put here, and at no other time.
//!
//! ```text
//!            ask, polled              take_question            put_reply
//!   Idle ───────────────▶ Asked ───────────────▶ Waiting ───────────────▶ Replied
//!    ▲                                              ▲                        │
//!    │ the coroutine takes the reply                │ it answers another     │
//!    └──────────────────────────────────────────────┴────── question ────────┘
//! ```

use std::cell::RefCell;
use std::future::Future;
use std::marker::PhantomData;
use std::mem;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use crate::stdx::Millis;
use crate::tools::ask::{Ask, Lost, Reply, Request};

/// A question on its way out.
#[derive(Debug)]
pub(crate) struct Question {
    pub(crate) request: Request,
    /// How long to wait for the reply; `None` for ever.
    pub(crate) deadline_ms: Option<Millis>,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Idle,
    Asked(Question),
    Waiting,
    Replied(Reply),
}

/// One end of the mailbox.
#[derive(Debug, Clone, Default)]
pub(crate) struct Mailbox {
    state: Rc<RefCell<State>>,
}

impl Mailbox {
    /// The question put since; from now on the reply is awaited.
    pub(crate) fn take_question(&self) -> Option<Question> {
        let mut state = self.state.borrow_mut();
        match mem::replace(&mut *state, State::Waiting) {
            State::Asked(question) => Some(question),
            other @ (State::Idle | State::Waiting | State::Replied(_)) => {
                *state = other;
                None
            }
        }
    }

    /// Whether a question was handed out that has no reply yet.
    pub(crate) fn is_waiting(&self) -> bool {
        matches!(*self.state.borrow(), State::Waiting)
    }

    /// Leaves the reply to the question that was handed out.
    ///
    /// # Panics
    /// When none waits.
    pub(crate) fn put_reply(&self, reply: Reply) {
        assert!(self.is_waiting());
        *self.state.borrow_mut() = State::Replied(reply);
    }
}

/// What a running tool holds of the world: the right to ask.
#[derive(Debug)]
pub struct Cx {
    mailbox: Mailbox,
}

impl Cx {
    pub(crate) fn new(mailbox: Mailbox) -> Cx {
        Cx { mailbox }
    }

    /// Asks one question and waits for its answer. One at a time: a second one put before the
    /// first is answered is a bug of the tool, and ends its call as such.
    pub fn ask<A: Ask>(&self, ask: A) -> Asking<'_, A> {
        let deadline_ms = ask.deadline_ms();
        let question = Question { request: ask.lower(), deadline_ms };
        Asking { mailbox: &self.mailbox, question: Some(question), answer: PhantomData }
    }
}

/// A question that is being asked.
#[must_use = "a question is only put when it is awaited"]
pub struct Asking<'a, A> {
    mailbox: &'a Mailbox,
    question: Option<Question>,
    answer: PhantomData<fn() -> A>,
}

impl<A: Ask> Future for Asking<'_, A> {
    type Output = Result<A::Answer, Lost>;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        let asking = self.get_mut();
        let mut state = asking.mailbox.state.borrow_mut();
        if let Some(question) = asking.question.take() {
            assert!(matches!(*state, State::Idle), "a tool asks one question at a time");
            *state = State::Asked(question);
            return Poll::Pending;
        }
        let reply = match mem::replace(&mut *state, State::Waiting) {
            State::Replied(reply) => reply,
            other @ (State::Idle | State::Asked(_) | State::Waiting) => {
                *state = other;
                return Poll::Pending;
            }
        };
        let answer = match reply {
            Reply::Lost(lost) => Some(Err(lost)),
            reply => A::raise(reply).map(Ok),
        };
        let Some(answer) = answer else { return Poll::Pending };
        *state = State::Idle;
        Poll::Ready(answer)
    }
}
