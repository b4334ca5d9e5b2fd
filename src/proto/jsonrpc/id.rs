//! The id of a request, as the peer spelled it.
//!
//! An id is a JSON string or an integer; the raw token is kept and echoed, so `9007199254740993`,
//! `""` and `"é"` come back byte for byte. It is never turned into a number. Two ids are
//! the same when they are the same JSON value: `1` and `"1"` are not, `"a"` and `"\u0061"` are.

use serde_json::value::RawValue;

use super::message;

/// Longest id served, in bytes of its token. An id is stored while its call runs, so it is bounded
/// apart from the message; real clients stay below 100.
pub const ID_BYTES_MAX: usize = 64 << 10;

/// A valid id, borrowed from its message.
#[derive(Debug, Clone, Copy)]
pub struct Id<'a>(&'a str);

impl<'a> Id<'a> {
    /// The id in a raw JSON value; `None` unless it is a string or an integer of at most
    /// [`ID_BYTES_MAX`] bytes. `1.0` and `1e3` are refused with `1.5`: what decides is the
    /// spelling.
    pub fn parse(raw: &'a RawValue) -> Option<Id<'a>> {
        let token = raw.get();
        let is_id = match token.as_bytes()[0] {
            b'"' => true,
            b'-' | b'0'..=b'9' => !token.contains(['.', 'e', 'E']),
            _ => false,
        };
        (is_id && token.len() <= ID_BYTES_MAX).then_some(Id(token))
    }

    /// The JSON token, ready to be written.
    pub fn token(self) -> &'a str {
        self.0
    }

    /// A copy that outlives the message.
    pub fn to_owned(self) -> OwnedId {
        OwnedId(self.0.into())
    }
}

impl PartialEq for Id<'_> {
    fn eq(&self, other: &Id<'_>) -> bool {
        if self.0 == other.0 {
            return true;
        }
        let is_escaped = self.0.contains('\\') || other.0.contains('\\');
        is_escaped && matches!((decode(*self), decode(*other)), (Some(a), Some(b)) if a == b)
    }
}

impl Eq for Id<'_> {}

/// An id kept while its request is answered.
#[derive(Debug, Clone)]
pub struct OwnedId(Box<str>);

impl OwnedId {
    /// The id as the other functions take it.
    pub fn get(&self) -> Id<'_> {
        Id(&self.0)
    }
}

fn decode(id: Id<'_>) -> Option<std::borrow::Cow<'_, str>> {
    message::decode_string(id.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(token: &str, is_id: bool) {
        let raw: &RawValue = serde_json::from_str(token).unwrap();
        assert_eq!(Id::parse(raw).map(Id::token), is_id.then_some(token), "{token}");
    }

    #[test]
    fn strings_and_integers_are_ids_and_keep_their_spelling() {
        for token in ["0", "-1", "-0", "9007199254740993", "123456789012345678901234567890"] {
            check(token, true);
        }
        for token in [r#""""#, r#""1""#, r#""1e3""#, r#""é""#, r#""\u00e9""#, r#""\ud800""#] {
            check(token, true);
        }
    }

    #[test]
    fn nothing_else_is_an_id() {
        for token in
            ["null", "true", "false", "{}", "[]", "[1]", "1.5", "1.0", "1e3", "1E3", "-2e0"]
        {
            check(token, false);
        }
    }

    #[test]
    fn an_id_is_bounded() {
        let text = |len: usize| format!("\"{}\"", "x".repeat(len - 2));
        check(&text(ID_BYTES_MAX), true);
        check(&text(ID_BYTES_MAX + 1), false);
    }

    #[test]
    fn sameness_is_of_the_value_and_its_type() {
        for (a, b, is_same) in [
            ("1", "1", true),
            ("1", r#""1""#, false),
            (r#""a""#, r#""\u0061""#, true),
            (r#""\ud800""#, r#""\ud801""#, false),
            (r#""\ud800""#, r#""\ud800""#, true),
            (r#""a""#, r#""A""#, false),
        ] {
            assert_eq!(Id(a) == Id(b), is_same, "{a} {b}");
        }
    }
}
