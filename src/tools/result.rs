//! Shapes that several tools answer with: JSON in one text block, and having nothing to tell.
//!
//! A tool that looked and found nothing did not fail: it says so in its own shape, which the
//! agent's model reads as an answer and not as a fault.

use serde_json::{Value, json};

use crate::mcp::content::ToolResult;

/// A result whose one text block is this JSON.
pub(crate) fn json_text(value: &Value) -> ToolResult {
    ToolResult::text([value.to_string()])
}

/// `{success: false, message}`
pub(crate) fn nothing(message: impl Into<String>) -> ToolResult {
    json_text(&json!({ "success": false, "message": message.into() }))
}
