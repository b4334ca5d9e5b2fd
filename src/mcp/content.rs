//! What a tool answers: content blocks, or a failure that is still a result.

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
}
