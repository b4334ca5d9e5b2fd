//! Text of others, fit for one line of a terminal or a log.
//!
//! Paths and peers' words may hold anything. Shown as they are they could break a line, move the
//! cursor or turn the direction of what follows; escaped they cannot.

use std::fmt::{self, Write as _};

/// Shows a text with every such character escaped.
pub struct OneLine<T>(pub T);

impl<T: fmt::Display> fmt::Display for OneLine<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(Escaping(out), "{}", self.0)
    }
}

/// Passes text on, escaped.
struct Escaping<W>(W);

impl<W: fmt::Write> fmt::Write for Escaping<W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.chars().try_for_each(|letter| match moves_the_cursor(letter) {
            true => write!(self.0, "{}", letter.escape_default()),
            false => self.0.write_char(letter),
        })
    }
}

/// Control characters, line and paragraph separators, and marks that reverse the text's direction.
pub fn moves_the_cursor(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_moves_the_cursor_is_escaped_and_the_rest_is_not() {
        for (text, expected) in [
            ("/w/naïve ✓ 'x' \\", "/w/naïve ✓ 'x' \\"),
            ("a\nb\r\tc", "a\\nb\\r\\tc"),
            ("\u{1b}[2J\u{7f}\u{9b}", "\\u{1b}[2J\\u{7f}\\u{9b}"),
            ("a\u{2028}b\u{202e}c\u{2069}", "a\\u{2028}b\\u{202e}c\\u{2069}"),
        ] {
            assert_eq!(OneLine(text).to_string(), expected);
        }
    }
}
