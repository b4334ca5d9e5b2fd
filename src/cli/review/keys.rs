//! Bytes of a terminal become keys.
//!
//! Only what a pager needs is known; everything else is a key without meaning. An escape sequence
//! is swallowed whole, also when it comes in parts, so that none of its letters counts as a key:
//! the last letter of an unknown one must not accept a diff. Neither must pasted text.

/// A key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    /// A character, or a control character as itself.
    Letter(char),
    Up,
    Down,
    PageUp,
    PageDown,
    Home,
    End,
    /// Nothing we know.
    Other,
}

/// Longest escape sequence that is waited for, in bytes; real ones have less than ten.
const SEQUENCE_BYTES_MAX: usize = 32;

/// Turns bytes into keys; holds what is not whole yet.
#[derive(Debug, Default)]
pub(super) struct Keys {
    rest: Vec<u8>,
    is_pasting: bool,
}

/// What the bytes begin with.
enum Token {
    Key(Key),
    PasteBegins,
    PasteEnds,
}

impl Keys {
    /// Takes bytes; the keys that are whole now.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Vec<Key> {
        self.rest.extend_from_slice(bytes);
        let mut keys = Vec::new();
        while let Some((token, len)) = first(&self.rest) {
            self.rest.drain(..len);
            match token {
                Token::PasteBegins => self.is_pasting = true,
                Token::PasteEnds => self.is_pasting = false,
                Token::Key(_) if self.is_pasting => {}
                Token::Key(key) => keys.push(key),
            }
        }
        keys
    }

    /// Whether a sequence has begun and not ended.
    pub(super) fn is_waiting(&self) -> bool {
        !self.rest.is_empty()
    }

    /// Forgets what is not whole: a lone Escape, once nothing follows.
    pub(super) fn forget(&mut self) {
        self.rest.clear();
    }
}

/// The first key and its length; `None` when it is not all there.
fn first(bytes: &[u8]) -> Option<(Token, usize)> {
    let (&start, rest) = bytes.split_first()?;
    match (start, rest.first()) {
        (0x1b, None) => None,
        (0x1b, Some(b'[')) => control_sequence(bytes),
        (0x1b, Some(b'O')) => Some((Token::Key(final_key(*rest.get(1)?)), 3)),
        // Alt with a key is no key of ours; two Escapes are one and the next.
        (0x1b, Some(0x1b)) => Some((Token::Key(Key::Other), 1)),
        (0x1b, Some(_)) => Some((Token::Key(Key::Other), 2)),
        (0x00..0x80, _) => Some((Token::Key(Key::Letter(char::from(start))), 1)),
        (0x80.., _) => Some((Token::Key(Key::Other), 1)),
    }
}

/// `ESC [ parameters final`, ECMA-48 §5.4.
fn control_sequence(bytes: &[u8]) -> Option<(Token, usize)> {
    let end = bytes[2..].iter().position(|byte| !(0x20..0x40).contains(byte));
    let Some(end) = end.map(|end| end + 2) else {
        let is_endless = bytes.len() > SEQUENCE_BYTES_MAX;
        return is_endless.then_some((Token::Key(Key::Other), bytes.len()));
    };
    let token = match (&bytes[2..end], bytes[end]) {
        (b"200", b'~') => Token::PasteBegins,
        (b"201", b'~') => Token::PasteEnds,
        (b"1" | b"7", b'~') => Token::Key(Key::Home),
        (b"4" | b"8", b'~') => Token::Key(Key::End),
        (b"5", b'~') => Token::Key(Key::PageUp),
        (b"6", b'~') => Token::Key(Key::PageDown),
        (b"", last) => Token::Key(final_key(last)),
        (_, _) => Token::Key(Key::Other),
    };
    Some((token, end + 1))
}

fn final_key(last: u8) -> Key {
    match last {
        b'A' => Key::Up,
        b'B' => Key::Down,
        b'F' => Key::End,
        b'H' => Key::Home,
        _ => Key::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fed whole, and byte by byte.
    #[track_caller]
    fn check(bytes: &[u8], expected: &[Key]) {
        assert_eq!(Keys::default().take(bytes), expected, "{bytes:?}");
        let mut keys = Keys::default();
        let one_by_one: Vec<Key> = bytes.iter().flat_map(|&byte| keys.take(&[byte])).collect();
        assert_eq!(one_by_one, expected, "{bytes:?} byte by byte");
    }

    #[test]
    fn letters_and_sequences_are_keys() {
        check(b"y q", &[Key::Letter('y'), Key::Letter(' '), Key::Letter('q')]);
        check(b"\x03\r", &[Key::Letter('\x03'), Key::Letter('\r')]);
        check(b"\x1b[A\x1b[B\x1bOA", &[Key::Up, Key::Down, Key::Up]);
        check(b"\x1b[5~\x1b[6~", &[Key::PageUp, Key::PageDown]);
        check(b"\x1b[H\x1b[4~\x1bOF", &[Key::Home, Key::End, Key::End]);
    }

    #[test]
    fn no_letter_of_a_sequence_counts() {
        check(b"\x1b[1;5y", &[Key::Other]);
        check(b"\x1b[?1;2nk", &[Key::Other, Key::Letter('k')]);
        check(b"\x1by", &[Key::Other]);
        check(b"\x1bOy", &[Key::Other]);
        check(b"\x1b\x1b[Ay", &[Key::Other, Key::Up, Key::Letter('y')]);
        check("é".as_bytes(), &[Key::Other, Key::Other]);
        check(b"\x1b[200~yes\ny\x1b[201~n", &[Key::Letter('n')]);
    }

    #[test]
    fn what_never_ends_is_given_up() {
        let mut keys = Keys::default();
        let endless = [b"\x1b[".as_slice(), &[b'1'; SEQUENCE_BYTES_MAX]].concat();
        assert_eq!(keys.take(&endless), [Key::Other]);
        assert_eq!(keys.take(b"\x1b"), []);
        keys.forget();
        assert_eq!(keys.take(b"y"), [Key::Letter('y')]);
    }
}
