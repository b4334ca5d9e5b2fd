//! Model Context Protocol over JSON-RPC; never learns which transport carries it.

pub mod call;
pub mod content;
pub mod tool;
