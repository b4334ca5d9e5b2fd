//! The secret that lets a client in, and the check of the header that carries it.
//!
//! One token a workspace. It is compared in constant time and never printed: `Debug` shows its
//! length alone. Randomness comes from the caller.

use std::fmt;

use subtle::ConstantTimeEq;

use crate::proto::http::request::{Lookup, Request};

/// The header in which Claude Code sends the token (seed 000).
pub const IDE_FIELD: &str = "x-claude-code-ide-authorization";

/// Fewest bytes of a token (seed 000).
pub const TOKEN_BYTES_MIN: usize = 10;

/// Most bytes of a token (seed 000).
pub const TOKEN_BYTES_MAX: usize = 500;

/// A secret of 10..=500 visible ASCII bytes.
#[derive(Clone)]
pub struct Token(String);

/// Why a text cannot be a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenError {
    /// Fewer than [`TOKEN_BYTES_MIN`] or more than [`TOKEN_BYTES_MAX`] bytes.
    Length(usize),
    /// A byte outside `!`..=`~`: it could not travel in a header unchanged.
    NotVisibleAscii,
}

/// Why a request's token does not open the door. What was sent is never part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenRefusal {
    /// No header.
    Missing,
    /// More than one header.
    Repeated,
    /// Shorter or longer than any token.
    Length,
    /// Another token.
    Mismatch,
}

impl Token {
    /// A token as a person or a file gives it.
    pub fn new(text: &str) -> Result<Token, TokenError> {
        if !(TOKEN_BYTES_MIN..=TOKEN_BYTES_MAX).contains(&text.len()) {
            return Err(TokenError::Length(text.len()));
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(TokenError::NotVisibleAscii);
        }
        Ok(Token(text.to_owned()))
    }

    /// A fresh token of 32 hex digits.
    pub fn from_random(random: [u8; 16]) -> Token {
        Token(hex(&random))
    }

    /// Its text, for the lock file and the state file alone.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Whether `offered` is this token. How long the comparison takes tells nothing but the length.
    pub fn matches(&self, offered: &str) -> bool {
        self.0.as_bytes().ct_eq(offered.as_bytes()).into()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Token({} bytes)", self.0.len())
    }
}

impl PartialEq for Token {
    fn eq(&self, other: &Token) -> bool {
        self.matches(&other.0)
    }
}

impl Eq for Token {}

impl fmt::Display for TokenError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TokenError::Length(bytes) => write!(
                out,
                "a token has {TOKEN_BYTES_MIN} to {TOKEN_BYTES_MAX} characters, this one {bytes}"
            ),
            TokenError::NotVisibleAscii => {
                write!(out, "a token is made of visible ASCII characters, without spaces")
            }
        }
    }
}

impl TokenRefusal {
    /// One line that says what is wrong.
    pub fn reason(self) -> &'static str {
        match self {
            TokenRefusal::Missing => "no token in the header its door wants",
            TokenRefusal::Repeated => "more than one header with a token",
            TokenRefusal::Length => "the token has an impossible length",
            TokenRefusal::Mismatch => "the token is not this bridge's",
        }
    }
}

/// Checks the header of Claude Code's IDE link against `expected`.
pub fn check_ide_field(request: &Request, expected: &Token) -> Result<(), TokenRefusal> {
    let offered = match request.single(IDE_FIELD) {
        Lookup::One(offered) => offered,
        Lookup::Missing => return Err(TokenRefusal::Missing),
        Lookup::Many => return Err(TokenRefusal::Repeated),
    };
    if !(TOKEN_BYTES_MIN..=TOKEN_BYTES_MAX).contains(&offered.len()) {
        return Err(TokenRefusal::Length);
    }
    if !expected.matches(offered) {
        return Err(TokenRefusal::Mismatch);
    }
    Ok(())
}

/// Checks `Authorization: Bearer <token>` against `expected` (RFC 6750 §2.1; the scheme's case is
/// free, RFC 9110 §11.1).
pub fn check_bearer(request: &Request, expected: &Token) -> Result<(), TokenRefusal> {
    let value = match request.single("authorization") {
        Lookup::One(value) => value,
        Lookup::Missing => return Err(TokenRefusal::Missing),
        Lookup::Many => return Err(TokenRefusal::Repeated),
    };
    let Some((scheme, offered)) = value.split_once(' ') else { return Err(TokenRefusal::Missing) };
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(TokenRefusal::Missing);
    }
    match expected.matches(offered.trim_ascii()) {
        true => Ok(()),
        false => Err(TokenRefusal::Mismatch),
    }
}

/// Lower-case hex digits, two a byte.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Result<(), TokenError>) {
        assert_eq!(Token::new(text).map(|token| assert_eq!(token.reveal(), text)), expected);
    }

    #[test]
    fn a_token_is_10_to_500_visible_ascii_bytes() {
        check("0123456789", Ok(()));
        check(&"~".repeat(500), Ok(()));
        check("012345678", Err(TokenError::Length(9)));
        check("", Err(TokenError::Length(0)));
        check(&"x".repeat(501), Err(TokenError::Length(501)));
        check("0123 56789", Err(TokenError::NotVisibleAscii));
        check("0123456789\n", Err(TokenError::NotVisibleAscii));
        check("012345678\u{e9}", Err(TokenError::NotVisibleAscii));
    }

    #[test]
    fn a_token_is_never_shown_and_compares_whole() {
        let token = Token::from_random([0xab; 16]);
        assert_eq!(token.reveal(), "ab".repeat(16));
        assert_eq!(format!("{token:?}"), "Token(32 bytes)");
        assert!(token.matches(&"ab".repeat(16)));
        assert!(!token.matches(&"ab".repeat(15)));
        assert!(!token.matches(&format!("{}ac", "ab".repeat(15))));
    }
}
