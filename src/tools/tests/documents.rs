//! Selection, open documents, folders, diagnostics and saving: what is known, in its wire shape.

use super::*;
use crate::editor::diagnostic::{Diagnostic, Severity};
use crate::editor::selection::Selection;

#[track_caller]
fn check_now(editor: &State, tool: &str, arguments: Value, expected: Value) {
    check(editor, tool, arguments, vec![Line::EndsJson(expected)]);
}

fn select(editor: &mut State, path: &str, range: Range, text: &str) {
    editor.select(Selection { path: path.into(), text: text.into(), range });
}

fn open(editor: &mut State, path: &str, focus: Focus) {
    editor.open(Opened { document: Document::new(path.into(), Some(3)), focus });
}

fn selection_json(path: &str, url: &str, text: &str, end: u32) -> Value {
    json!({
        "success": true,
        "text": text,
        "filePath": path,
        "fileUrl": url,
        "selection": {
            "start": { "line": 0, "character": 0 },
            "end": { "line": 0, "character": end },
            "isEmpty": end == 0,
        },
    })
}

#[test]
fn without_an_editor_there_is_no_selection() {
    let message = |message: &str| json!({ "success": false, "message": message });
    check_now(&editor(), "getCurrentSelection", json!({}), message("No active editor found"));
    check_now(&editor(), "getLatestSelection", json!({}), message("No selection available"));
}

#[test]
fn the_latest_selection_outlives_its_editor_being_active_but_not_its_document() {
    let mut editor = editor();
    select(&mut editor, "/ws/é b.rs", range((0, 0), (0, 2)), "😀");
    let first = selection_json("/ws/é b.rs", "file:///ws/%C3%A9%20b.rs", "😀", 2);
    check_now(&editor, "getCurrentSelection", json!({}), first.clone());
    open(&mut editor, "/ws/b", Focus::Front);
    let second = selection_json("/ws/b", "file:///ws/b", "", 0);
    check_now(&editor, "getCurrentSelection", json!({}), second);
    check_now(&editor, "getLatestSelection", json!({}), first);
    editor.close("/ws/é b.rs".as_ref());
    let none = json!({ "success": false, "message": "No selection available" });
    check_now(&editor, "getLatestSelection", json!({}), none);
}

#[test]
fn open_editors_are_listed_in_the_order_they_were_opened() {
    let mut editor = editor();
    check_now(&editor, "getOpenEditors", json!({}), json!({ "tabs": [] }));
    open(&mut editor, "/ws/a b.rs", Focus::Front);
    select(&mut editor, "/ws/c", range((0, 0), (0, 0)), "");
    editor.set_dirty("/ws/a b.rs".as_ref(), true);
    let tabs = json!([
        {
            "uri": "file:///ws/a%20b.rs", "isActive": false, "label": "a b.rs",
            "languageId": "rust", "isDirty": true, "fileName": "/ws/a b.rs", "lineCount": 3,
        },
        {
            "uri": "file:///ws/c", "isActive": true, "label": "c",
            "languageId": "plaintext", "isDirty": false, "fileName": "/ws/c", "lineCount": null,
        },
    ]);
    check_now(&editor, "getOpenEditors", json!({}), json!({ "tabs": tabs }));
}

#[test]
fn the_first_workspace_folder_is_the_root() {
    let folders = json!([
        { "name": "ws", "uri": "file:///ws", "path": "/ws" },
        { "name": "other ws", "uri": "file:///other%20ws", "path": "/other ws" },
    ]);
    let expected = json!({ "success": true, "folders": folders, "rootPath": "/ws" });
    check_now(&editor(), "getWorkspaceFolders", json!({}), expected);
    let none = json!({ "success": true, "folders": [], "rootPath": null });
    check_now(&State::new(vec![]), "getWorkspaceFolders", json!({}), none);
}

fn diagnostic(severity: Severity, source: Option<&str>, code: Option<&str>) -> Diagnostic {
    Diagnostic {
        message: "unused".into(),
        severity,
        range: range((1, 2), (1, 4)),
        source: source.map(Into::into),
        code: code.map(Into::into),
    }
}

fn diagnostic_json(severity: &str) -> Value {
    json!({
        "message": "unused",
        "severity": severity,
        "range": { "start": { "line": 1, "character": 2 }, "end": { "line": 1, "character": 4 } },
    })
}

#[test]
fn an_unknown_or_clean_file_has_an_empty_list_under_the_uri_asked_for() {
    for (asked, echoed) in [
        ("file:///ws/é b%41.rs", "file:///ws/é b%41.rs"),
        ("file:///ws/a%20b", "file:///ws/a%20b"),
        ("_claude_fs_right:/ws/a", "_claude_fs_right:/ws/a"),
        ("/ws/a b", "file:///ws/a b"),
        ("src/a.rs", "file:///ws/src/a.rs"),
    ] {
        let expected = json!([{ "uri": echoed, "diagnostics": [] }]);
        check_now(&editor(), "getDiagnostics", json!({ "uri": asked }), expected);
    }
    check_now(&editor(), "getDiagnostics", json!({}), json!([]));
    check_now(&editor(), "getDiagnostics", json!({ "uri": "" }), json!([]));
}

#[test]
fn diagnostics_carry_a_raw_uri_and_words_for_severity() {
    let mut editor = editor();
    let all = vec![
        diagnostic(Severity::Error, Some("rustc"), Some("E0425")),
        diagnostic(Severity::Warning, None, None),
        diagnostic(Severity::Info, None, None),
        diagnostic(Severity::Hint, None, None),
    ];
    editor.publish("/ws/é b".as_ref(), all);
    editor.publish("/ws/a%41".as_ref(), vec![diagnostic(Severity::Hint, None, None)]);
    editor.publish("/ws/clean".as_ref(), vec![]);
    let mut first = diagnostic_json("Error");
    first["source"] = json!("rustc");
    first["code"] = json!("E0425");
    let list = json!([
        first,
        diagnostic_json("Warning"),
        diagnostic_json("Info"),
        diagnostic_json("Hint"),
    ]);
    let entry = |uri: &str| json!({ "uri": uri, "diagnostics": list });
    let hint = |uri: &str| json!({ "uri": uri, "diagnostics": [diagnostic_json("Hint")] });
    let both = json!([hint("file:///ws/a%41"), entry("file:///ws/é b")]);
    check_now(&editor, "getDiagnostics", json!({}), both);
    for uri in ["file:///ws/é b", "file:///ws/%C3%A9%20b", "_claude_fs_right:/ws/é b"] {
        check_now(&editor, "getDiagnostics", json!({ "uri": uri }), json!([entry(uri)]));
    }
    for uri in ["file:///ws/a%41", "file:///ws/a%2541"] {
        check_now(&editor, "getDiagnostics", json!({ "uri": uri }), json!([hint(uri)]));
    }
}

#[test]
fn a_document_that_is_not_open_is_neither_dirty_nor_saved() {
    let none = json!({ "success": false, "message": "Document not open: /ws/a" });
    for tool in ["checkDocumentDirty", "saveDocument"] {
        check_now(&editor(), tool, json!({ "filePath": "a" }), none.clone());
    }
}

#[test]
fn unsaved_changes_are_told() {
    let mut editor = editor();
    open(&mut editor, "/ws/a", Focus::Front);
    for is_dirty in [false, true] {
        editor.set_dirty("/ws/a".as_ref(), is_dirty);
        let expected = json!({
            "success": true, "filePath": "/ws/a", "isDirty": is_dirty, "isUntitled": false,
        });
        check_now(&editor, "checkDocumentDirty", json!({ "filePath": "/ws/a" }), expected);
    }
}

#[test]
fn a_dirty_document_is_saved_by_whoever_holds_it() {
    let saved = |saved: bool, message: &str| {
        let path = "/ws/a";
        Line::EndsJson(
            json!({ "success": true, "filePath": path, "saved": saved, "message": message }),
        )
    };
    let mut editor = editor();
    let arguments = || json!({ "filePath": "file:///ws/a" });
    open(&mut editor, "/ws/a", Focus::Front);
    let clean = saved(true, "Document has no unsaved changes");
    check(&editor, "saveDocument", arguments(), vec![clean]);
    editor.set_dirty("/ws/a".as_ref(), true);
    for (reply, end) in [
        (Reply::Saved(Ok(())), saved(true, "Document saved successfully")),
        (Reply::Saved(Err("read-only".into())), saved(false, "read-only")),
        (Reply::Lost(Lost::Refused("no editor".into())), saved(false, "no editor")),
    ] {
        let asks = Line::Asks(Request::Save { path: "/ws/a".into() });
        check(&editor, "saveDocument", arguments(), vec![asks, Line::Told(reply), end]);
    }
}
