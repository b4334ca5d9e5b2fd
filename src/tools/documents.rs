//! Open documents and workspace folders: `getOpenEditors`, `getWorkspaceFolders`,
//! `checkDocumentDirty` and `saveDocument`.
//!
//! Only an editor can save what only an editor holds: a dirty document is saved through whoever
//! holds it, a clean one is on disk already. No file is written from here.

use std::path::Path;

use serde_json::{Value, json};

use crate::editor::state::{Document, State};
use crate::editor::uri;
use crate::mcp::content::ToolResult;
use crate::tools::args::Args;
use crate::tools::ask::Save;
use crate::tools::mailbox::Cx;
use crate::tools::result;
use crate::tools::tool::{Coroutine, at_once};
use crate::tools::view::View;

/// `getOpenEditors`
pub(crate) fn open_editors(_: &Args, view: &View<'_>) -> ToolResult {
    let documents = view.editor.documents().iter();
    let tabs: Vec<Value> = documents.map(|document| tab(document, view.editor)).collect();
    result::json_text(&json!({ "tabs": tabs }))
}

/// `getWorkspaceFolders`
pub(crate) fn workspace_folders(_: &Args, view: &View<'_>) -> ToolResult {
    let given = || view.editor.folders().iter().map(|folder| folder.given.as_path());
    let shape = |path: &Path| {
        json!({
            "name": name(path),
            "uri": uri::encoded(path),
            "path": path.to_string_lossy(),
        })
    };
    result::json_text(&json!({
        "success": true,
        "folders": given().map(shape).collect::<Vec<Value>>(),
        "rootPath": given().next().map(Path::to_string_lossy),
    }))
}

/// `checkDocumentDirty`
pub(crate) fn check_dirty(args: &Args, view: &View<'_>) -> ToolResult {
    let path = view.editor.resolve(args.text("filePath"));
    let Some(document) = view.editor.document(&path) else { return not_open(&path) };
    result::json_text(&json!({
        "success": true,
        "filePath": path.to_string_lossy(),
        "isDirty": document.is_dirty,
        "isUntitled": document.is_untitled,
    }))
}

/// `saveDocument`
pub(crate) fn save(args: Args, view: &View<'_>, cx: Cx) -> Coroutine {
    let path = view.editor.resolve(args.text("filePath"));
    match view.editor.document(&path) {
        None => at_once(not_open(&path)),
        Some(document) if !document.is_dirty => {
            at_once(saved(&path, true, "Document has no unsaved changes".into()))
        }
        Some(_) => Box::pin(async move {
            let answer = cx.ask(Save { path: path.clone() }).await;
            match answer {
                Ok(Ok(())) => saved(&path, true, "Document saved successfully".into()),
                Ok(Err(why)) => saved(&path, false, why),
                Err(lost) => saved(&path, false, lost.to_string()),
            }
        }),
    }
}

fn tab(document: &Document, state: &State) -> Value {
    json!({
        "uri": uri::encoded(&document.path),
        "isActive": state.is_active(document),
        "label": name(&document.path),
        "languageId": document.language_id,
        "isDirty": document.is_dirty,
        "fileName": document.path.to_string_lossy(),
        "lineCount": document.line_count,
    })
}

fn saved(path: &Path, is_saved: bool, message: String) -> ToolResult {
    result::json_text(&json!({
        "success": true,
        "filePath": path.to_string_lossy(),
        "saved": is_saved,
        "message": message,
    }))
}

fn not_open(path: &Path) -> ToolResult {
    result::nothing(format!("Document not open: {}", path.display()))
}

/// The last name of a path; the path itself where it has none.
fn name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}
