//! What is selected in a document, and the shape in which clients hear of it.
//!
//! One shape serves the notification and the tools. An empty selection is sent as a cursor, never
//! as `null`: the agent takes `null` for no news.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::editor::text::Range;
use crate::editor::uri;

/// What is selected in a document; an empty range is a cursor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    /// Absolute path of the document.
    pub path: PathBuf,
    /// The selected text; empty for a cursor.
    pub text: String,
    /// Where it stands.
    pub range: Range,
}

impl Selection {
    /// A cursor at the start of a document.
    pub fn none_in(path: PathBuf) -> Selection {
        Selection { path, text: String::new(), range: Range::default() }
    }

    /// `{text, filePath, fileUrl, selection: {start, end, isEmpty}}`
    pub fn json(&self) -> Value {
        json!({
            "text": self.text,
            "filePath": self.path.to_string_lossy(),
            "fileUrl": uri::encoded(&self.path),
            "selection": {
                "start": self.range.start().json(),
                "end": self.range.end().json(),
                "isEmpty": self.range.is_empty(),
            },
        })
    }
}
