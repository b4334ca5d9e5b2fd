//! What the person has selected: `getCurrentSelection` and `getLatestSelection`.
//!
//! The current one stands in the active document and is a cursor when nothing is selected there;
//! the latest is the last that was made, wherever. Both answer in one shape.

use serde_json::Value;

use crate::editor::selection::Selection;
use crate::mcp::content::ToolResult;
use crate::tools::args::Args;
use crate::tools::result;
use crate::tools::view::View;

/// `getCurrentSelection`
pub(crate) fn current(_: &Args, view: &View<'_>) -> ToolResult {
    match view.editor.current_selection() {
        Some(selection) => shape(selection),
        None => result::nothing("No active editor found"),
    }
}

/// `getLatestSelection`
pub(crate) fn latest(_: &Args, view: &View<'_>) -> ToolResult {
    match view.editor.latest_selection() {
        Some(selection) => shape(selection),
        None => result::nothing("No selection available"),
    }
}

fn shape(selection: &Selection) -> ToolResult {
    let mut shape = selection.json();
    shape["success"] = Value::Bool(true);
    result::json_text(&shape)
}
