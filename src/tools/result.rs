//! Shapes that several tools answer with: JSON in one text block, places, failures without error.

use serde_json::{Value, json};

use crate::editor::text::{Position, Range};
use crate::mcp::content::ToolResult;

/// A result whose one text block is this JSON.
pub(crate) fn json_text(value: &Value) -> ToolResult {
    ToolResult::text([value.to_string()])
}

/// `{success: false, message}`: the tool ran and found nothing to tell. Not an error.
pub(crate) fn nothing(message: impl Into<String>) -> ToolResult {
    json_text(&json!({ "success": false, "message": message.into() }))
}

/// `{line, character}`, both from 0.
pub(crate) fn position(place: Position) -> Value {
    json!({ "line": place.line, "character": place.character })
}

/// `{start, end}`.
pub(crate) fn range(range: Range) -> Value {
    json!({ "start": position(range.start()), "end": position(range.end()) })
}
