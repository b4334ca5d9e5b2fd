//! One row of the catalogue: what a client is told of a tool, and the function that runs it.
//!
//! A tool that only reads what is known answers at once (`Now`). One that needs a file, an editor
//! or a person is a coroutine (`Later`): it reads what it needs of the view before it first waits,
//! and afterwards holds nothing but its own values and the right to ask.

use std::fmt;
use std::future::{self, Future};
use std::pin::Pin;

use crate::mcp::content::ToolResult;
use crate::mcp::tool::Descriptor;
use crate::tools::args::Args;
use crate::tools::mailbox::Cx;
use crate::tools::view::View;

/// A tool, as the catalogue has it. Its key is surface and name.
#[derive(Debug, Clone, Copy)]
pub struct Tool {
    /// Where it is served.
    pub surface: Surface,
    /// What clients are told.
    pub descriptor: Descriptor,
    /// What runs it.
    pub handler: Handler,
}

/// A door's set of tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Surface {
    /// The IDE door.
    Ide,
}

/// How a tool runs.
#[derive(Clone, Copy)]
pub enum Handler {
    /// Reads state and answers.
    Now(fn(&Args, &View<'_>) -> ToolResult),
    /// Asks and waits. The view is gone once the function has returned its coroutine.
    Later(fn(Args, &View<'_>, Cx) -> Coroutine),
}

/// A tool that runs. Dropping it ends it at the question it waits for.
pub type Coroutine = Pin<Box<dyn Future<Output = ToolResult>>>;

/// A coroutine that had nothing to ask.
pub(crate) fn at_once(result: ToolResult) -> Coroutine {
    Box::pin(future::ready(result))
}

impl fmt::Debug for Handler {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Handler::Now(_) => out.write_str("Now"),
            Handler::Later(_) => out.write_str("Later"),
        }
    }
}
