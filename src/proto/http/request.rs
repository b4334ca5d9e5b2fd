//! One request head, parsed: method, target, version, fields, and how long its body would be.
//!
//! Not the bytes: `head` reads those. A [`Request`] exists only once its framing is beyond doubt
//! (RFC 9112 §6.3) and its Host is there exactly once (§3.2); who may ask for what is for the
//! doors. Its `Debug` shows field names but no values, since values carry tokens.

use std::fmt;

use super::head::HeadError;

/// A request head.
#[derive(Clone, PartialEq, Eq)]
pub struct Request {
    /// As spelled; methods are case-sensitive (RFC 9110 §9.1).
    pub method: String,
    /// What is asked for.
    pub target: Target,
    /// What the peer speaks.
    pub version: Version,
    /// What follows the head.
    pub body: BodyLength,
    fields: Vec<Field>,
}

/// A request target, RFC 9112 §3.2.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Host and port of an absolute form (`http://host:port/…`), which stand over the Host field.
    pub authority: Option<String>,
    /// Begins with `/`, still percent-encoded; `*` of `OPTIONS *`.
    pub path: String,
    /// What follows the first `?`, still percent-encoded.
    pub query: Option<String>,
}

/// The versions this program speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// HTTP/1.0
    Http10,
    /// HTTP/1.1
    Http11,
}

/// How the bytes after a head are framed, RFC 9112 §6.3.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyLength {
    /// Neither Content-Length nor Transfer-Encoding: no body.
    None,
    /// Exactly this many bytes.
    Bytes(u64),
    /// `Transfer-Encoding: chunked`.
    Chunked,
}

/// One field line.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Field {
    /// A token, as spelled.
    pub(crate) name: String,
    /// Without white space around it. Bytes that are not UTF-8 became U+FFFD, which nothing that
    /// is compared here contains.
    pub(crate) value: String,
}

/// What a field that may stand once holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lookup<'a> {
    /// No such field.
    Missing,
    /// One line; its value.
    One(&'a str),
    /// Several lines, equal or not.
    Many,
}

impl Request {
    /// A request whose framing and Host hold.
    pub(crate) fn new(
        method: String,
        target: Target,
        version: Version,
        fields: Vec<Field>,
    ) -> Result<Request, HeadError> {
        let mut request = Request { method, target, version, body: BodyLength::None, fields };
        request.body = request.body_length()?;
        match (request.single("host"), version) {
            (Lookup::Many, _) => Err(HeadError::RepeatedHost),
            (Lookup::Missing, Version::Http11) => Err(HeadError::MissingHost),
            (Lookup::One(_), _) | (Lookup::Missing, Version::Http10) => Ok(request),
        }
    }

    /// The value of a field that may stand once. Names compare without case.
    pub fn single(&self, name: &str) -> Lookup<'_> {
        let mut values = self.values(name);
        match (values.next(), values.next()) {
            (None, _) => Lookup::Missing,
            (Some(value), None) => Lookup::One(value),
            (Some(_), Some(_)) => Lookup::Many,
        }
    }

    /// Whether a field of that name stands at all.
    pub fn has(&self, name: &str) -> bool {
        self.values(name).next().is_some()
    }

    /// The elements of a comma-separated list over all its lines, in order, trimmed, without the
    /// empty ones (RFC 9110 §5.6.1).
    pub fn tokens<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a str> {
        self.values(name)
            .flat_map(|value| value.split(','))
            .map(|token| token.trim_matches([' ', '\t']))
            .filter(|token| !token.is_empty())
    }

    /// Whether a list holds `token`, compared without case.
    pub fn has_token(&self, name: &str, token: &str) -> bool {
        self.tokens(name).any(|found| found.eq_ignore_ascii_case(token))
    }

    /// Whether a body of at least one byte follows, or may follow.
    pub fn has_body(&self) -> bool {
        match self.body {
            BodyLength::None | BodyLength::Bytes(0) => false,
            BodyLength::Bytes(_) | BodyLength::Chunked => true,
        }
    }

    fn values<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a str> {
        let fields = self.fields.iter().filter(move |field| field.name.eq_ignore_ascii_case(name));
        fields.map(|field| field.value.as_str())
    }

    fn body_length(&self) -> Result<BodyLength, HeadError> {
        match (self.has("content-length"), self.has("transfer-encoding")) {
            (true, true) => Err(HeadError::LengthAndTransferEncoding),
            (false, true) => self.check_transfer_encoding().map(|()| BodyLength::Chunked),
            (true, false) => self.content_length().map(BodyLength::Bytes),
            (false, false) => Ok(BodyLength::None),
        }
    }

    /// Exactly one decimal number that fits 64 bits. RFC 9110 §8.6 would let equal repeats pass;
    /// no honest client sends them.
    fn content_length(&self) -> Result<u64, HeadError> {
        let value = match self.single("content-length") {
            Lookup::One(value) if value.contains(',') => {
                return Err(HeadError::RepeatedContentLength);
            }
            Lookup::One(value) => value,
            Lookup::Many | Lookup::Missing => return Err(HeadError::RepeatedContentLength),
        };
        // `u64::from_str` would take a leading plus sign.
        let is_decimal = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
        if !is_decimal {
            return Err(HeadError::BadContentLength);
        }
        value.parse().map_err(|_| HeadError::BadContentLength)
    }

    /// `chunked` once, at the end, and no other coding.
    fn check_transfer_encoding(&self) -> Result<(), HeadError> {
        if self.version == Version::Http10 {
            return Err(HeadError::BadTransferEncoding);
        }
        let is_chunked = |coding: &&str| coding.eq_ignore_ascii_case("chunked");
        let codings: Vec<&str> = self.tokens("transfer-encoding").collect();
        let chunked = codings.iter().filter(|coding| is_chunked(coding)).count();
        let ends_chunked = codings.last().is_some_and(is_chunked);
        match (chunked, codings.len()) {
            (_, 0) => Err(HeadError::BadTransferEncoding),
            (0, _) => Err(HeadError::UnknownTransferCoding),
            (1, 1) => Ok(()),
            (1, _) if ends_chunked => Err(HeadError::UnknownTransferCoding),
            (_, _) => Err(HeadError::BadTransferEncoding),
        }
    }
}

impl fmt::Debug for Request {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.fields.iter().map(|field| field.name.as_str()).collect();
        out.debug_struct("Request")
            .field("method", &self.method)
            .field("path", &self.target.path)
            .field("version", &self.version)
            .field("body", &self.body)
            .field("field_names", &names)
            .finish_non_exhaustive()
    }
}

impl Target {
    /// The target of a request line: a path, an `http` URL, or the `*` of OPTIONS.
    pub(crate) fn parse(method: &str, text: &str) -> Option<Target> {
        // A fragment never travels (RFC 9112 §3.2), and a URI is ASCII.
        if text.contains('#') || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return None;
        }
        if text == "*" {
            let target = Target { authority: None, path: "*".to_owned(), query: None };
            return (method == "OPTIONS").then_some(target);
        }
        if text.starts_with('/') {
            return Some(Target::split(None, text));
        }
        let (scheme, rest) = text.split_once("://")?;
        if !scheme.eq_ignore_ascii_case("http") {
            return None;
        }
        let authority_len = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, rest) = rest.split_at(authority_len);
        (!authority.is_empty()).then(|| Target::split(Some(authority.to_owned()), rest))
    }

    fn split(authority: Option<String>, path_and_query: &str) -> Target {
        let (path, query) = match path_and_query.split_once('?') {
            Some((path, query)) => (path, Some(query.to_owned())),
            None => (path_and_query, None),
        };
        let path = if path.is_empty() { "/" } else { path };
        Target { authority, path: path.to_owned(), query }
    }
}
