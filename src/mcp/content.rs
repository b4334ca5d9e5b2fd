//! What a tool answers: content blocks, or a failure that is still a result.
//!
//! Plain data for the tools; the JSON form stands here too, so that it is nowhere else.

use crate::proto::jsonrpc::write;

/// One block of a tool's result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// `{"type":"text","text":…}`
    Text(String),
}

/// The result of a tool that ran, well or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolResult {
    /// Blocks in order.
    pub content: Vec<Content>,
    /// The tool failed; the content says why and what to do.
    pub is_error: bool,
}

/// How a call ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The tool ran.
    Result(ToolResult),
    /// The tool broke: the client gets -32603 with this text.
    Internal(String),
}

impl ToolResult {
    /// A result of text blocks.
    pub fn text<const N: usize>(blocks: [String; N]) -> ToolResult {
        ToolResult { content: blocks.into_iter().map(Content::Text).collect(), is_error: false }
    }

    /// A failure, told in one text block.
    pub fn error(text: impl Into<String>) -> ToolResult {
        ToolResult { content: vec![Content::Text(text.into())], is_error: true }
    }

    /// Bytes of all blocks before they are written as JSON, which never makes them fewer.
    pub(super) fn bytes(&self) -> usize {
        self.content.iter().map(|Content::Text(text)| text.len()).sum()
    }

    /// Appends the result of `tools/call`.
    pub(super) fn render(&self, out: &mut String) {
        out.push_str(r#"{"content":["#);
        for (index, Content::Text(text)) in self.content.iter().enumerate() {
            out.push_str(if index == 0 { BLOCK } else { NEXT_BLOCK });
            write::json(out, text);
            out.push('}');
        }
        out.push_str(if self.is_error { r#"],"isError":true}"# } else { "]}" });
    }
}

const BLOCK: &str = r#"{"type":"text","text":"#;
const NEXT_BLOCK: &str = r#",{"type":"text","text":"#;
