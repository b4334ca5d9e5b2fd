//! The revisions of the protocol and how they differ, in one table.
//!
//! Nothing outside this file compares revisions: code asks a row for the property it needs.
//! 2026-07-28 has no `initialize`; asked for there, it is a revision like any unknown one.

use std::fmt;

/// One revision that starts with `initialize`.
#[derive(Debug)]
pub struct Revision {
    /// Its date, as it stands on the wire.
    pub name: &'static str,
    /// Names may carry a `title` for people.
    pub has_titles: bool,
    /// `serverInfo` may carry a `description`.
    pub has_descriptions: bool,
    /// How arguments that fail a tool's schema are answered.
    pub bad_arguments: BadArguments,
}

/// How arguments that fail a tool's schema are answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BadArguments {
    /// With -32602.
    ProtocolError,
    /// With an `isError` result, which the model sees and can correct (SEP-1303).
    ToolError,
}

/// All handshake revisions, oldest first.
pub static HANDSHAKE: [Revision; 4] = [
    Revision {
        name: "2024-11-05",
        has_titles: false,
        has_descriptions: false,
        bad_arguments: BadArguments::ProtocolError,
    },
    Revision {
        name: "2025-03-26",
        has_titles: false,
        has_descriptions: false,
        bad_arguments: BadArguments::ProtocolError,
    },
    Revision {
        name: "2025-06-18",
        has_titles: true,
        has_descriptions: false,
        bad_arguments: BadArguments::ProtocolError,
    },
    Revision {
        name: "2025-11-25",
        has_titles: true,
        has_descriptions: true,
        bad_arguments: BadArguments::ToolError,
    },
];

/// The revision to answer an `initialize` with: the one offered when it is known, else our latest.
pub fn negotiate(offered: Option<&str>) -> &'static Revision {
    let latest = &HANDSHAKE[HANDSHAKE.len() - 1];
    HANDSHAKE.iter().find(|revision| Some(revision.name) == offered).unwrap_or(latest)
}

impl fmt::Display for Revision {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_revision_is_echoed_and_the_latest_answers_the_rest() {
        for known in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
            assert_eq!(negotiate(Some(known)).name, known);
        }
        for other in [None, Some("2026-07-28"), Some("1900-01-01"), Some(""), Some("2025-11-25 ")] {
            assert_eq!(negotiate(other).name, "2025-11-25", "{other:?}");
        }
    }
}
