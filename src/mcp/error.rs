//! Why a request is answered with a JSON-RPC error.
//!
//! A failed tool is no such case: that is a result (`isError`), and a step of the protocol that
//! worked.

use crate::proto::jsonrpc::error::ErrorCode;

/// An error to be sent under the request's id.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) code: ErrorCode,
    /// For a person: lower case, no full stop, what the peer sent cut short.
    pub(super) message: String,
}

impl Refusal {
    /// The request cannot come now.
    pub(super) fn invalid_request(message: impl Into<String>) -> Refusal {
        Refusal { code: ErrorCode::INVALID_REQUEST, message: message.into() }
    }

    /// The parameters do not fit the method.
    pub(super) fn invalid_params(message: impl Into<String>) -> Refusal {
        Refusal { code: ErrorCode::INVALID_PARAMS, message: message.into() }
    }

    /// There is no such method.
    pub(super) fn method_not_found(method: &str) -> Refusal {
        let message = format!("method not found: {}", quoted(method));
        Refusal { code: ErrorCode::METHOD_NOT_FOUND, message }
    }
}

/// A name the peer sent, in quotes, control characters escaped, cut to 80 characters.
pub(super) fn quoted(name: &str) -> String {
    match name.char_indices().nth(NAME_CHARS_MAX) {
        Some((end, _)) => format!("{:?}…", &name[..end]),
        None => format!("{name:?}"),
    }
}

/// Most of a peer's name that is repeated to it or logged; longer than any real method or tool.
const NAME_CHARS_MAX: usize = 80;
