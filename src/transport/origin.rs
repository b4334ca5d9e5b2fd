//! Which `Origin` a request may carry: the guard against web pages.
//!
//! Programs send none and pass; browsers always send one on a WebSocket. It is compared whole with
//! what the user listed, never with Host (a page decides where its name points). `null`, the origin
//! of sandboxed frames and local files, belongs to nobody and can never be listed.

use std::fmt;

use crate::proto::http::request::{Lookup, Request};

/// An origin as RFC 6454 §6.2 writes it: scheme, host, and a port unless it is the scheme's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin(String);

/// Why a request's Origin is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OriginRefusal {
    /// The origin `null`.
    Opaque,
    /// Not on the list, or no origin at all.
    NotListed,
    /// More than one Origin field.
    Repeated,
}

impl Origin {
    /// An origin, or `None` for anything else: `null`, a path, a user name, an odd port.
    pub fn parse(text: &str) -> Option<Origin> {
        let text = text.to_ascii_lowercase();
        let (scheme, rest) = text.split_once("://")?;
        let is_scheme_byte = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
        let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme.bytes().all(is_scheme_byte);
        let is_host_byte = |byte: u8| byte.is_ascii_graphic() && !b"/?#@,\\\"'<>*".contains(&byte);
        let (host, port) = split_port(rest)?;
        if !is_scheme || host.is_empty() || !host.bytes().all(is_host_byte) {
            return None;
        }
        let own_port = match scheme {
            "http" => Some(80),
            "https" => Some(443),
            _ => None,
        };
        Some(Origin(match port {
            Some(port) if Some(port) != own_port => format!("{scheme}://{host}:{port}"),
            Some(_) | None => format!("{scheme}://{host}"),
        }))
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl OriginRefusal {
    /// One line that says what is wrong.
    pub fn reason(self) -> &'static str {
        match self {
            OriginRefusal::Opaque => "requests of the origin null are refused",
            OriginRefusal::NotListed => {
                "requests of web pages are refused unless --allow-origin names their origin"
            }
            OriginRefusal::Repeated => "more than one Origin header",
        }
    }
}

/// Checks a request's Origin against the list.
pub fn check(request: &Request, allowed: &[Origin]) -> Result<(), OriginRefusal> {
    let text = match request.single("origin") {
        Lookup::Missing => return Ok(()),
        Lookup::One(text) => text,
        Lookup::Many => return Err(OriginRefusal::Repeated),
    };
    if text == "null" {
        return Err(OriginRefusal::Opaque);
    }
    match Origin::parse(text) {
        Some(origin) if allowed.contains(&origin) => Ok(()),
        Some(_) | None => Err(OriginRefusal::NotListed),
    }
}

/// Splits a port off; `None` when what follows the colon is no port.
fn split_port(text: &str) -> Option<(&str, Option<u16>)> {
    let host_len = match text.starts_with('[') {
        true => text.find(']')? + 1,
        false => text.find(':').unwrap_or(text.len()),
    };
    let (host, rest) = text.split_at(host_len);
    if rest.is_empty() {
        return Some((host, None));
    }
    let digits = rest.strip_prefix(':')?;
    let is_decimal = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let port: u16 = if is_decimal { digits.parse().ok()? } else { return None };
    Some((host, Some(port)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::door::tests::request;

    #[track_caller]
    fn check_rows(allowed: &[&str], rows: &[(&str, Result<(), OriginRefusal>)]) {
        let allowed: Vec<Origin> =
            allowed.iter().map(|text| Origin::parse(text).expect("rows list origins")).collect();
        for (lines, expected) in rows {
            let request = request(&format!("GET / HTTP/1.1\r\nHost: localhost\r\n{lines}\r\n"));
            assert_eq!(check(&request, &allowed), *expected, "{lines:?}");
        }
    }

    #[test]
    fn no_origin_passes_and_an_unlisted_one_does_not() {
        use OriginRefusal::{NotListed, Opaque, Repeated};
        check_rows(
            &[],
            &[
                ("", Ok(())),
                ("Origin: null\r\n", Err(Opaque)),
                ("Origin:\r\n", Err(NotListed)),
                ("Origin: http://localhost:6274\r\n", Err(NotListed)),
                ("Origin: http://localhost.evil.example\r\n", Err(NotListed)),
                ("Origin: https://127.0.0.1\r\n", Err(NotListed)),
                ("Origin: chrome-extension://x\r\n", Err(NotListed)),
                ("Origin: http://a.example\r\nOrigin: http://a.example\r\n", Err(Repeated)),
            ],
        );
    }

    #[test]
    fn a_listed_origin_passes_in_any_spelling_and_nothing_near_it_does() {
        use OriginRefusal::{NotListed, Opaque, Repeated};
        check_rows(
            &["https://App.example:443", "http://localhost:6274", "vscode-webview://abc"],
            &[
                ("Origin: https://app.example\r\n", Ok(())),
                ("Origin: http://localhost:6274\r\n", Ok(())),
                ("Origin: vscode-webview://abc\r\n", Ok(())),
                ("Origin: http://app.example\r\n", Err(NotListed)),
                ("Origin: https://app.example:8443\r\n", Err(NotListed)),
                ("Origin: https://app.example.evil.example\r\n", Err(NotListed)),
                ("Origin: https://app.example/\r\n", Err(NotListed)),
                ("Origin: https://user@app.example\r\n", Err(NotListed)),
                ("Origin: http://localhost:6274, http://x\r\n", Err(NotListed)),
                ("Origin: null\r\n", Err(Opaque)),
                ("Origin: https://app.example\r\nOrigin: null\r\n", Err(Repeated)),
            ],
        );
    }

    #[test]
    fn only_an_origin_can_be_listed() {
        for text in ["null", "*", "example.com", "http://", "http://*", "http://a/b", "http://a:x"]
        {
            assert_eq!(Origin::parse(text), None, "{text:?}");
        }
    }
}
