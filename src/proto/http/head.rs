//! Bytes of a request head in, one request or one named refusal out.
//!
//! The reader looks for line ends alone and keeps the head until its empty line is there; only
//! then is it parsed, by httparse. So the answer cannot depend on how the bytes were cut. Shapes
//! over which two parsers could disagree where a message ends are refused, never repaired: that is
//! what request smuggling lives on. What httparse refuses is named afterwards by walking the lines.
//!
//! Bodies are not read here; [`Request::body`] says what would follow.

use memchr::memchr;

use super::request::{Field, Request, Target, Version};
use super::response::Status;

/// Most bytes a head may have, empty lines before it included. Browsers stay below 8 KiB; a cookie
/// jar of a shared `localhost` may double that.
pub const HEAD_BYTES_MAX: usize = 16 << 10;

/// Most fields a head may have; the agents send ten.
pub const FIELDS_MAX: usize = 100;

/// How much of a head is taken in before it is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes, empty lines before the head included.
    pub head_bytes_max: usize,
    /// Field lines.
    pub fields_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { head_bytes_max: HEAD_BYTES_MAX, fields_max: FIELDS_MAX }
    }
}

/// What came of the bytes fed so far.
#[derive(Debug, PartialEq, Eq)]
pub enum Progress {
    /// The head goes on.
    NeedMore,
    /// The head is whole.
    Complete {
        /// The request it holds.
        request: Request,
        /// How many of the bytes just fed belong to it; the rest belongs to what follows.
        consumed: usize,
    },
    /// The head is refused; nothing after it may be read as HTTP.
    Failed(HeadError),
}

/// Why a head is refused. The peer broke the rule named at each variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeadError {
    /// The first byte cannot begin a method: another protocol, often TLS.
    NotHttp,
    /// The request line outgrew the limit; RFC 9112 §3.
    RequestLineTooLong,
    /// The head outgrew the limit; RFC 6585 §5.
    HeadTooLong,
    /// More fields than the limit; RFC 6585 §5.
    TooManyFields,
    /// Not `method SP target SP version`; RFC 9112 §3.
    BadRequestLine,
    /// Neither HTTP/1.0 nor HTTP/1.1.
    UnsupportedVersion,
    /// A target that is neither a path nor an `http` URL; RFC 9112 §3.2.
    BadTarget,
    /// A line ends in LF without CR; RFC 9112 §2.2.
    BareLf,
    /// A CR that no LF follows; RFC 9112 §2.2.
    BareCr,
    /// A NUL byte; RFC 9110 §5.5.
    Nul,
    /// A line begins with white space: a folded field, or junk before the first; RFC 9112 §5.2.
    FoldedField,
    /// White space between a field's name and its colon; RFC 9112 §5.1.
    SpaceBeforeColon,
    /// A field line without a colon; RFC 9112 §5.
    MissingColon,
    /// A field name that is empty or no token; RFC 9110 §5.1.
    BadFieldName,
    /// A control character in a field value; RFC 9110 §5.5.
    BadFieldValue,
    /// More than one Content-Length, in one line or several; RFC 9112 §6.3.
    RepeatedContentLength,
    /// A Content-Length that is not a plain decimal number; RFC 9110 §8.6.
    BadContentLength,
    /// Both Content-Length and Transfer-Encoding; RFC 9112 §6.1.
    LengthAndTransferEncoding,
    /// A Transfer-Encoding that is empty, repeats `chunked`, does not end in it, or stands in
    /// HTTP/1.0; RFC 9112 §6.1.
    BadTransferEncoding,
    /// A transfer coding other than `chunked`; RFC 9112 §6.1.
    UnknownTransferCoding,
    /// No Host in HTTP/1.1; RFC 9112 §3.2.
    MissingHost,
    /// More than one Host; RFC 9112 §3.2.
    RepeatedHost,
}

impl HeadError {
    /// The status of the response that says so.
    pub fn status(self) -> Status {
        match self {
            HeadError::RequestLineTooLong => Status::UriTooLong,
            HeadError::HeadTooLong | HeadError::TooManyFields => Status::FieldsTooLarge,
            HeadError::UnsupportedVersion => Status::VersionNotSupported,
            HeadError::UnknownTransferCoding => Status::NotImplemented,
            HeadError::NotHttp
            | HeadError::BadRequestLine
            | HeadError::BadTarget
            | HeadError::BareLf
            | HeadError::BareCr
            | HeadError::Nul
            | HeadError::FoldedField
            | HeadError::SpaceBeforeColon
            | HeadError::MissingColon
            | HeadError::BadFieldName
            | HeadError::BadFieldValue
            | HeadError::RepeatedContentLength
            | HeadError::BadContentLength
            | HeadError::LengthAndTransferEncoding
            | HeadError::BadTransferEncoding
            | HeadError::MissingHost
            | HeadError::RepeatedHost => Status::BadRequest,
        }
    }

    /// One line that says what is wrong.
    pub fn reason(self) -> &'static str {
        match self {
            HeadError::NotHttp => "not an HTTP request; this port speaks plain HTTP/1.1",
            HeadError::RequestLineTooLong => "the request line is too long",
            HeadError::HeadTooLong => "the request head is too long",
            HeadError::TooManyFields => "the request has too many header fields",
            HeadError::BadRequestLine => "the request line is not `method target HTTP/1.1`",
            HeadError::UnsupportedVersion => "only HTTP/1.1 and HTTP/1.0 are spoken here",
            HeadError::BadTarget => "the request target is neither a path nor an http URL",
            HeadError::BareLf => "a line ends in LF without CR",
            HeadError::BareCr => "a CR without LF",
            HeadError::Nul => "a NUL byte in the request head",
            HeadError::FoldedField => "a header line begins with white space",
            HeadError::SpaceBeforeColon => "white space before the colon of a header field",
            HeadError::MissingColon => "a header line without a colon",
            HeadError::BadFieldName => "a header field's name is not a token",
            HeadError::BadFieldValue => "a control character in a header field's value",
            HeadError::RepeatedContentLength => "more than one Content-Length",
            HeadError::BadContentLength => "Content-Length is not a decimal number",
            HeadError::LengthAndTransferEncoding => "both Content-Length and Transfer-Encoding",
            HeadError::BadTransferEncoding => "Transfer-Encoding does not end in one `chunked`",
            HeadError::UnknownTransferCoding => "a transfer coding other than `chunked`",
            HeadError::MissingHost => "no Host header",
            HeadError::RepeatedHost => "more than one Host header",
        }
    }
}

/// Reads request heads, one after another.
#[derive(Debug)]
pub struct HeadReader {
    limits: Limits,
    /// The head so far, without the empty lines before it.
    /// Invariant: `skipped + head.len() <= limits.head_bytes_max`.
    head: Vec<u8>,
    /// Where the line begins that has not ended yet. Invariant: `line_start <= head.len()`.
    line_start: usize,
    /// Bytes of empty lines before the head; they count, so that they cannot go on for ever.
    skipped: usize,
    failed: Option<HeadError>,
}

impl Default for HeadReader {
    fn default() -> Self {
        HeadReader::new(Limits::default())
    }
}

impl HeadReader {
    /// A reader at the start of a connection.
    pub fn new(limits: Limits) -> HeadReader {
        HeadReader { limits, head: Vec::new(), line_start: 0, skipped: 0, failed: None }
    }

    /// Takes in the next bytes. After [`Progress::Complete`] the next head may be fed; after
    /// [`Progress::Failed`] every further call fails the same way.
    pub fn feed(&mut self, bytes: &[u8]) -> Progress {
        if let Some(error) = self.failed {
            return Progress::Failed(error);
        }
        let mut consumed = 0;
        while consumed < bytes.len() {
            match self.feed_line(&bytes[consumed..]) {
                Ok((taken, is_whole)) => {
                    consumed += taken;
                    if is_whole {
                        return self.finish(consumed);
                    }
                }
                Err(error) => return self.fail(error),
            }
        }
        Progress::NeedMore
    }

    /// Takes `bytes` up to the end of the line; says how many, and whether the head is whole.
    fn feed_line(&mut self, bytes: &[u8]) -> Result<(usize, bool), HeadError> {
        if self.head.is_empty() && !may_begin_head(bytes[0]) {
            return Err(HeadError::NotHttp);
        }
        let line_end = memchr(b'\n', bytes).map(|at| at + 1);
        let wanted = line_end.unwrap_or(bytes.len());
        if wanted > self.limits.head_bytes_max - self.skipped - self.head.len() {
            let is_request_line = self.line_start == 0;
            return Err(match is_request_line {
                true => HeadError::RequestLineTooLong,
                false => HeadError::HeadTooLong,
            });
        }
        self.head.extend_from_slice(&bytes[..wanted]);
        let is_whole = line_end.is_some() && self.end_line()?;
        Ok((wanted, is_whole))
    }

    /// Looks at the line that just ended; true when it was the empty one after the fields.
    fn end_line(&mut self) -> Result<bool, HeadError> {
        let line = &self.head[self.line_start..];
        if !line.ends_with(b"\r\n") {
            return Err(HeadError::BareLf);
        }
        let is_empty = line.len() == 2;
        if is_empty && self.line_start == 0 {
            // RFC 9112 §2.2: empty lines before the request line are ignored.
            self.skipped += self.head.len();
            self.head.clear();
            return Ok(false);
        }
        self.line_start = self.head.len();
        Ok(is_empty)
    }

    fn finish(&mut self, consumed: usize) -> Progress {
        let head = std::mem::take(&mut self.head);
        self.line_start = 0;
        self.skipped = 0;
        match parse(&head, self.limits.fields_max) {
            Ok(request) => Progress::Complete { request, consumed },
            Err(error) => self.fail(error),
        }
    }

    fn fail(&mut self, error: HeadError) -> Progress {
        self.failed = Some(error);
        self.head = Vec::new();
        Progress::Failed(error)
    }
}

/// Whether a method or an empty line may begin with `byte`; a lone LF is refused at its line's end.
fn may_begin_head(byte: u8) -> bool {
    is_token_byte(byte) || matches!(byte, b'\r' | b'\n')
}

/// `tchar` of RFC 9110 §5.6.2.
fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// A whole head, its empty line included.
fn parse(head: &[u8], fields_max: usize) -> Result<Request, HeadError> {
    let mut headers = vec![httparse::EMPTY_HEADER; fields_max];
    let mut parsed = httparse::Request::new(&mut headers);
    match parsed.parse(head) {
        Ok(httparse::Status::Complete(len)) if len == head.len() => {}
        Ok(_) => return Err(diagnose(head)),
        Err(httparse::Error::TooManyHeaders) => return Err(HeadError::TooManyFields),
        Err(_) => return Err(diagnose(head)),
    }
    let (Some(method), Some(target), Some(minor)) = (parsed.method, parsed.path, parsed.version)
    else {
        return Err(HeadError::BadRequestLine);
    };
    let fields = parsed.headers.iter().map(|header| Field {
        name: header.name.to_owned(),
        value: String::from_utf8_lossy(header.value).trim_matches([' ', '\t']).to_owned(),
    });
    let version = if minor == 0 { Version::Http10 } else { Version::Http11 };
    let target = Target::parse(method, target).ok_or(HeadError::BadTarget)?;
    Request::new(method.to_owned(), target, version, fields.collect())
}

/// Names what is wrong with a head that httparse refuses.
fn diagnose(head: &[u8]) -> HeadError {
    // Every LF of a head follows the CR of its line end; a CR left in a line is a bare one.
    let lines = head.split_inclusive(|&byte| byte == b'\n');
    let mut lines = lines.map(|line| line.strip_suffix(b"\r\n").unwrap_or(line));
    let request_line = lines.next().unwrap_or_default();
    if let Some(error) = diagnose_request_line(request_line) {
        return error;
    }
    let mut fields = lines.take_while(|line| !line.is_empty());
    fields.find_map(diagnose_field).unwrap_or(HeadError::BadRequestLine)
}

fn diagnose_request_line(line: &[u8]) -> Option<HeadError> {
    if let Some(error) = diagnose_bytes(line) {
        return Some(error);
    }
    let mut parts = line.split(|&byte| byte == b' ');
    let (method, target, version) = (parts.next(), parts.next(), parts.next());
    let is_method = method.is_some_and(|text| !text.is_empty() && text.iter().all(is_token));
    let has_target = target.is_some_and(|text| !text.is_empty());
    let is_whole = is_method && has_target && parts.next().is_none();
    let Some(version) = version.filter(|_| is_whole) else {
        return Some(HeadError::BadRequestLine);
    };
    match version {
        b"HTTP/1.1" | b"HTTP/1.0" => {
            let is_target = target.is_some_and(|text| text.iter().all(u8::is_ascii_graphic));
            if is_target { None } else { Some(HeadError::BadTarget) }
        }
        [b'H', b'T', b'T', b'P', b'/', major, b'.', minor]
            if major.is_ascii_digit() && minor.is_ascii_digit() =>
        {
            Some(HeadError::UnsupportedVersion)
        }
        _ => Some(HeadError::BadRequestLine),
    }
}

fn diagnose_field(line: &[u8]) -> Option<HeadError> {
    if let Some(error) = diagnose_bytes(line) {
        return Some(error);
    }
    if matches!(line.first(), Some(b' ' | b'\t')) {
        return Some(HeadError::FoldedField);
    }
    let Some(colon) = memchr(b':', line) else {
        return Some(HeadError::MissingColon);
    };
    let (name, value) = line.split_at(colon);
    if name.is_empty() || !name.iter().all(is_token) {
        let trimmed = name.trim_ascii_end();
        let is_spaced = trimmed.len() < name.len() && trimmed.iter().all(is_token);
        return Some(match is_spaced && !trimmed.is_empty() {
            true => HeadError::SpaceBeforeColon,
            false => HeadError::BadFieldName,
        });
    }
    let is_value = value.iter().all(|&byte| byte == b'\t' || !byte.is_ascii_control());
    if is_value { None } else { Some(HeadError::BadFieldValue) }
}

fn diagnose_bytes(line: &[u8]) -> Option<HeadError> {
    if line.contains(&0) {
        return Some(HeadError::Nul);
    }
    line.contains(&b'\r').then_some(HeadError::BareCr)
}

fn is_token(byte: &u8) -> bool {
    is_token_byte(*byte)
}

#[cfg(test)]
mod tests;
