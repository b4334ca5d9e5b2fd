//! What a tool may look at when its call starts.
//!
//! Borrowed for that moment alone: a tool that waits keeps nothing of it, since the world has moved
//! on when it wakes.

use crate::editor::state::State;

/// The cores a tool reads.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    /// What is known of the editor.
    pub editor: &'a State,
}
