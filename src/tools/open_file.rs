//! `openFile`: shows a file, and in it the text between two given passages.
//!
//! The file is read to see that it is there and to find the passages; a configured command shows
//! it to the person; the editor state records it. A passage that is not found is no failure: the
//! file is open, and the answer says what was not found. A file in the background runs no command,
//! since whatever opens a file in an editor also brings it to the front.

use std::ops;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::editor::state::{Document, Focus, Opened};
use crate::editor::text::{self, Range};
use crate::effect::FileError;
use crate::mcp::content::ToolResult;
use crate::tools::args::Args;
use crate::tools::ask::{Open, OpenDocument, ReadFile};
use crate::tools::mailbox::Cx;
use crate::tools::result;
use crate::tools::tool::{Coroutine, at_once};
use crate::tools::view::View;

/// Largest file that is looked into; a larger one is opened unread. A person opens no larger text
/// by its passages, and one read of it would stall the loop.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// `openFile`
pub(crate) fn open_file(mut args: Args, view: &View<'_>, cx: Cx) -> Coroutine {
    if args.text("filePath").is_empty() {
        return at_once(ToolResult::error("filePath is empty: name the file to open"));
    }
    let wish = Wish {
        path: view.editor.resolve(args.text("filePath")),
        is_frontmost: args.flag("makeFrontmost", true),
        passage: Passage {
            takes_whole_line: args.flag("selectToEndOfLine", false),
            start: args.take_text("startText"),
            end: args.take_text("endText"),
        },
    };
    Box::pin(async move {
        match open(wish, cx).await {
            Ok(result) => result,
            Err(failure) => ToolResult::error(failure),
        }
    })
}

/// What the caller wants.
struct Wish {
    path: PathBuf,
    is_frontmost: bool,
    passage: Passage,
}

/// From one text to another; an empty one was not given.
struct Passage {
    start: String,
    end: String,
    takes_whole_line: bool,
}

/// What a look into the file showed.
struct Seen {
    line_count: Option<u32>,
    selection: Option<(Range, String)>,
    /// What did not go as wished, for the answer.
    remark: Option<String>,
}

async fn open(wish: Wish, cx: Cx) -> Result<ToolResult, String> {
    let Wish { path, is_frontmost, passage } = wish;
    let shown = path.display();
    let read = ReadFile { path: path.clone(), bytes_max: FILE_BYTES_MAX };
    let read = cx.ask(read).await.map_err(|lost| format!("cannot read \"{shown}\": {lost}"))?;
    let seen = match read {
        Ok(bytes) => look(&bytes, &passage),
        Err(FileError::TooBig { bytes }) => Seen::too_big(bytes),
        Err(error) => return Err(failure(&path, error)),
    };
    if is_frontmost {
        let at = seen.selection.as_ref().map(|(range, _)| range.start()).unwrap_or_default();
        let question = Open { path: path.clone(), line: at.line, column: at.character };
        let opening = cx.ask(question).await;
        let opening = opening.map_err(|lost| format!("cannot open \"{shown}\": {lost}"))?;
        opening.map_err(|why| format!("cannot open \"{shown}\": {why}"))?;
    }
    let document = Document::new(path.clone(), seen.line_count);
    let answer = answer(&document, is_frontmost, seen.remark);
    let focus = match seen.selection {
        Some((range, text)) if is_frontmost => Focus::Selected(range, text),
        None if is_frontmost => Focus::Front,
        Some(_) | None => Focus::Background,
    };
    let recorded = cx.ask(OpenDocument(Opened { document, focus })).await;
    recorded.map_err(|lost| format!("cannot open \"{shown}\": {lost}"))?;
    Ok(answer)
}

fn answer(document: &Document, is_frontmost: bool, remark: Option<String>) -> ToolResult {
    if is_frontmost {
        let mut text = format!("Opened file: {}", document.path.display());
        if let Some(remark) = remark {
            text.push_str(&format!(" ({remark})"));
        }
        return ToolResult::text([text]);
    }
    let mut shape = json!({
        "success": true,
        "filePath": document.path.to_string_lossy(),
        "languageId": document.language_id,
        "lineCount": document.line_count,
    });
    if let Some(remark) = remark {
        shape["message"] = json!(remark);
    }
    result::json_text(&shape)
}

/// Why a file cannot be opened, in words that name it.
fn failure(path: &Path, error: FileError) -> String {
    let path = path.display();
    match error {
        FileError::NotFound => format!("file not found: \"{path}\""),
        FileError::IsFolder => format!("this is a folder, not a file: \"{path}\""),
        FileError::NotRegular => {
            format!("this is a device, socket or pipe, not a file: \"{path}\"")
        }
        FileError::Denied => format!("permission denied: \"{path}\""),
        FileError::TooBig { bytes } => format!("too big ({bytes} bytes): \"{path}\""),
        FileError::Other(why) => format!("cannot read \"{path}\": {why}"),
    }
}

impl Seen {
    fn too_big(bytes: u64) -> Seen {
        let mib = FILE_BYTES_MAX >> 20;
        let remark = format!("{bytes} bytes, over {mib} MiB: opened without a selection");
        Seen { line_count: None, selection: None, remark: Some(remark) }
    }
}

/// Bytes that are no UTF-8 count as one replacement character each run, as editors show them.
fn look(bytes: &[u8], passage: &Passage) -> Seen {
    let text = String::from_utf8_lossy(bytes);
    let text = text::without_bom(&text);
    let line_count = Some(text::line_count(text));
    let found = match passage.find_in(text) {
        Ok(found) => found,
        Err(remark) => return Seen { line_count, selection: None, remark: Some(remark) },
    };
    let selection =
        found.map(|bytes| (text::range_of(text, bytes.clone()), text[bytes].to_owned()));
    Seen { line_count, selection, remark: None }
}

impl Passage {
    /// The bytes to select, `None` if nothing was asked for.
    fn find_in(&self, text: &str) -> Result<Option<ops::Range<usize>>, String> {
        if self.start.is_empty() {
            let is_half = !self.end.is_empty();
            return if is_half {
                Err("endText without startText: nothing selected".into())
            } else {
                Ok(None)
            };
        }
        let found = find(text, &self.start, 0).ok_or("startText not found: nothing selected")?;
        let mut end = found.end;
        if !self.end.is_empty() {
            let least = end - found.start;
            let rest = find(&text[found.start..], &self.end, least);
            end = found.start
                + rest.ok_or("endText not found after startText: nothing selected")?.end;
        }
        if self.takes_whole_line {
            end = text::line_end_after(text, end);
        }
        Ok(Some(found.start..end))
    }
}

/// The first place of `wanted` that ends at `end_min` or later. The agent writes `\n` where the
/// file may have `\r\n`; such a passage is found as well.
fn find(text: &str, wanted: &str, end_min: usize) -> Option<ops::Range<usize>> {
    let exact = |wanted: &str| {
        let mut places = text.match_indices(wanted).map(|(at, hit)| at..at + hit.len());
        places.find(|place| place.end >= end_min)
    };
    exact(wanted).or_else(|| {
        let may_differ = wanted.contains('\n') && !wanted.contains('\r');
        may_differ.then(|| wanted.replace('\n', "\r\n")).and_then(|wanted| exact(&wanted))
    })
}
