//! Short responses, whole in one buffer, after which the connection closes.
//!
//! Not for streams or for the 101 of a WebSocket. Every response here carries `Connection: close`
//! and an exact Content-Length, so that a body we did not read can never be taken for a request.

/// The status codes this program answers with, RFC 9110 §15 and RFC 6585.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// 200
    Ok,
    /// 400
    BadRequest,
    /// 401
    Unauthorized,
    /// 403
    Forbidden,
    /// 404
    NotFound,
    /// 405
    MethodNotAllowed,
    /// 408
    RequestTimeout,
    /// 414
    UriTooLong,
    /// 431
    FieldsTooLarge,
    /// 501
    NotImplemented,
    /// 503
    ServiceUnavailable,
    /// 505
    VersionNotSupported,
}

impl Status {
    /// The number on the wire.
    pub fn code(self) -> u16 {
        self.row().0
    }

    /// The words after the number.
    pub fn phrase(self) -> &'static str {
        self.row().1
    }

    fn row(self) -> (u16, &'static str) {
        match self {
            Status::Ok => (200, "OK"),
            Status::BadRequest => (400, "Bad Request"),
            Status::Unauthorized => (401, "Unauthorized"),
            Status::Forbidden => (403, "Forbidden"),
            Status::NotFound => (404, "Not Found"),
            Status::MethodNotAllowed => (405, "Method Not Allowed"),
            Status::RequestTimeout => (408, "Request Timeout"),
            Status::UriTooLong => (414, "URI Too Long"),
            Status::FieldsTooLarge => (431, "Request Header Fields Too Large"),
            Status::NotImplemented => (501, "Not Implemented"),
            Status::ServiceUnavailable => (503, "Service Unavailable"),
            Status::VersionNotSupported => (505, "HTTP Version Not Supported"),
        }
    }
}

/// A response in the making.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    status: Status,
    content_type: &'static str,
    fields: Vec<(&'static str, String)>,
    body: String,
    /// An answer to HEAD: the length is told, the body is not sent (RFC 9110 §9.3.2).
    is_body_left_out: bool,
}

impl Response {
    /// Plain text; a line end is added for whoever reads it in a terminal.
    pub fn text(status: Status, body: &str) -> Response {
        Response::new(status, "text/plain; charset=utf-8", format!("{body}\n"))
    }

    /// A JSON text.
    pub fn json(status: Status, body: String) -> Response {
        Response::new(status, "application/json", body)
    }

    fn new(status: Status, content_type: &'static str, body: String) -> Response {
        Response { status, content_type, fields: Vec::new(), body, is_body_left_out: false }
    }

    /// Adds a field.
    ///
    /// # Panics
    /// When `value` could end the line: values are ours, never a peer's.
    pub fn with_field(mut self, name: &'static str, value: impl Into<String>) -> Response {
        let value = value.into();
        assert!(!value.bytes().any(|byte| byte.is_ascii_control()));
        self.fields.push((name, value));
        self
    }

    /// Leaves the body out, as HEAD wants it.
    pub fn without_body(mut self) -> Response {
        self.is_body_left_out = true;
        self
    }

    /// The status it says.
    pub fn status(&self) -> Status {
        self.status
    }

    /// The body it carries, or would carry.
    pub fn body(&self) -> &str {
        &self.body
    }

    /// The bytes to send.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut text = format!("HTTP/1.1 {} {}\r\n", self.status.code(), self.status.phrase());
        for (name, value) in &self.fields {
            text += &format!("{name}: {value}\r\n");
        }
        text += &format!("Content-Type: {}\r\n", self.content_type);
        text += &format!("Content-Length: {}\r\n", self.body.len());
        text += "Connection: close\r\n\r\n";
        if !self.is_body_left_out {
            text += &self.body;
        }
        text.into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(response: Response, expected: &str) {
        assert_eq!(String::from_utf8(response.to_bytes()).unwrap(), expected);
    }

    #[test]
    fn a_response_says_its_length_and_closes() {
        check(
            Response::text(Status::NotFound, "no such path"),
            "HTTP/1.1 404 Not Found\r\nContent-Type: text/plain; charset=utf-8\r\n\
             Content-Length: 13\r\nConnection: close\r\n\r\nno such path\n",
        );
        check(
            Response::json(Status::Ok, "{}".to_owned()).with_field("Allow", "GET").without_body(),
            "HTTP/1.1 200 OK\r\nAllow: GET\r\nContent-Type: application/json\r\n\
             Content-Length: 2\r\nConnection: close\r\n\r\n",
        );
    }
}
