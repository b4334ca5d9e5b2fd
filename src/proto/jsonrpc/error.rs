//! Error codes of JSON-RPC 2.0 §5.1, by name.
//!
//! Codes a protocol above adds (-32800 of LSP, -32002 of MCP) live with that protocol; the number
//! is all they share.

use std::fmt;

/// The `code` member of an error object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErrorCode(pub i32);

impl ErrorCode {
    /// The text is not JSON.
    pub const PARSE_ERROR: ErrorCode = ErrorCode(-32700);
    /// The JSON is not a request, or no request that may come now.
    pub const INVALID_REQUEST: ErrorCode = ErrorCode(-32600);
    /// There is no such method.
    pub const METHOD_NOT_FOUND: ErrorCode = ErrorCode(-32601);
    /// The method exists, its parameters do not fit.
    pub const INVALID_PARAMS: ErrorCode = ErrorCode(-32602);
    /// We broke.
    pub const INTERNAL_ERROR: ErrorCode = ErrorCode(-32603);
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}
