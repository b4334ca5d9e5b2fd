//! Documents, selection, folders and diagnostics, as the getters tell them after commands.

use super::*;
use crate::editor::diagnostic::Severity;
use crate::editor::text::Position;

fn folder(given: &str, physical: &str) -> Folder {
    Folder { given: given.into(), physical: physical.into() }
}

fn state() -> State {
    State::new(vec![folder("/link", "/disk"), folder("/b", "/b")])
}

fn opened(path: &str, focus: Focus) -> Opened {
    Opened { document: Document::new(path.into(), Some(1)), focus }
}

fn selection(path: &str, text: &str) -> Selection {
    let range = Range::between(Position::default(), Position { line: 0, character: 4 });
    Selection { path: path.into(), text: text.into(), range }
}

fn diagnostic(message: &str) -> Diagnostic {
    Diagnostic {
        message: message.into(),
        severity: Severity::Error,
        range: Range::default(),
        source: None,
        code: None,
    }
}

/// Open paths, the active path, the text of the latest selection.
#[track_caller]
fn check(state: &State, open: &[&str], active: Option<&str>, latest: Option<&str>) {
    let paths: Vec<String> =
        state.documents().iter().map(|document| document.path.display().to_string()).collect();
    assert_eq!(paths, open);
    let active_path = state.current_selection().map(|selection| selection.path.as_path());
    assert_eq!(active_path, active.map(Path::new));
    let flagged: Vec<&Path> = state
        .documents()
        .iter()
        .filter(|document| state.is_active(document))
        .map(|document| document.path.as_path())
        .collect();
    assert_eq!(flagged.len(), usize::from(active.is_some()));
    assert_eq!(state.latest_selection().map(|selection| selection.text.as_str()), latest);
}

#[test]
fn a_document_in_the_background_does_not_become_active() {
    let mut state = state();
    check(&state, &[], None, None);
    assert!(!state.open(opened("/b/1", Focus::Background)));
    check(&state, &["/b/1"], None, None);
    assert!(state.open(opened("/b/2", Focus::Front)));
    check(&state, &["/b/1", "/b/2"], Some("/b/2"), None);
    assert!(state.open(opened("/b/1", Focus::Selected(Range::default(), String::new()))));
    check(&state, &["/b/2", "/b/1"], Some("/b/1"), Some(""));
}

#[test]
fn the_selection_stays_when_its_document_is_opened_again() {
    let mut state = state();
    assert!(state.select(selection("/b/1", "text")));
    assert!(!state.select(selection("/b/1", "text")), "nothing new");
    assert!(!state.open(opened("/b/1", Focus::Front)));
    assert_eq!(state.current_selection(), Some(&selection("/b/1", "text")));
    assert!(state.open(opened("/b/2", Focus::Front)));
    check(&state, &["/b/1", "/b/2"], Some("/b/2"), Some("text"));
    assert!(state.current_selection().is_some_and(|current| current.range.is_empty()));
}

#[test]
fn closing_takes_the_selections_of_that_document_along() {
    let mut state = state();
    state.select(selection("/b/1", "one"));
    state.open(opened("/b/2", Focus::Front));
    assert!(state.close(Path::new("/b/2")));
    check(&state, &["/b/1"], None, Some("one"));
    assert_eq!(state.selection_notification(), None);
    assert!(state.close(Path::new("/b/1")));
    check(&state, &[], None, None);
    assert!(!state.close(Path::new("/b/1")), "closed twice");
    assert!(!state.activate(Path::new("/b/1")), "not open");
}

#[test]
fn the_document_opened_longest_ago_goes_but_never_the_active_one() {
    let mut state = state();
    state.select(selection("/b/active", "kept"));
    for number in 0..DOCUMENTS_MAX {
        state.open(opened(&format!("/b/{number}"), Focus::Background));
    }
    assert_eq!(state.documents().len(), DOCUMENTS_MAX);
    assert!(state.document(Path::new("/b/active")).is_some());
    assert!(state.document(Path::new("/b/0")).is_none());
    assert!(state.document(Path::new("/b/1")).is_some());
}

#[test]
fn both_spellings_of_a_linked_folder_name_one_document() {
    let mut state = state();
    state.open(opened("/link/a.rs", Focus::Front));
    assert!(state.set_dirty(Path::new("/disk/a.rs"), true));
    assert!(state.document(Path::new("/disk/./a.rs")).is_some_and(|document| document.is_dirty));
    state.open(opened("/disk/a.rs", Focus::Background));
    check(&state, &["/disk/a.rs"], Some("/link/a.rs"), None);
    assert!(!state.set_dirty(Path::new("/disk/other"), true));
    assert!(state.close(Path::new("/link/a.rs")));
}

#[test]
fn diagnostics_are_kept_by_physical_path_until_the_file_is_clean() {
    let mut state = state();
    state.publish(Path::new("/link/a"), vec![diagnostic("x")]);
    state.publish(Path::new("/disk/a"), vec![diagnostic("y"), diagnostic("z")]);
    let listed: Vec<(&Path, usize)> =
        state.diagnostics().map(|(path, list)| (path, list.len())).collect();
    assert_eq!(listed, [(Path::new("/disk/a"), 2)]);
    assert_eq!(state.diagnostics_of(Path::new("/link/a")).len(), 2);
    state.publish(Path::new("/link/a"), vec![]);
    assert_eq!(state.diagnostics().count(), 0);
    assert!(state.diagnostics_of(Path::new("/link/a")).is_empty());
}

#[test]
fn diagnostics_are_bounded_by_file_and_in_number() {
    let mut state = state();
    state.publish(Path::new("/b/0"), vec![diagnostic("x"); DIAGNOSTICS_PER_FILE_MAX + 1]);
    assert_eq!(state.diagnostics_of(Path::new("/b/0")).len(), DIAGNOSTICS_PER_FILE_MAX);
    for number in 0..=DIAGNOSTIC_FILES_MAX {
        state.publish(Path::new(&format!("/b/{number}")), vec![diagnostic("y")]);
    }
    assert_eq!(state.diagnostics().count(), DIAGNOSTIC_FILES_MAX);
    assert!(state.diagnostics_of(Path::new(&format!("/b/{DIAGNOSTIC_FILES_MAX}"))).is_empty());
    assert_eq!(state.diagnostics_of(Path::new("/b/0")).len(), 1, "a known file is still replaced");
}

#[cfg(unix)]
#[test]
fn paths_are_literal_but_for_file_uris_and_relative_ones() {
    for (text, path) in [
        ("/a/~/$HOME/%41", "/a/~/$HOME/%41"),
        ("file:///a/b%20c", "/a/b c"),
        ("./src/a.rs", "/link/src/a.rs"),
        ("~/a", "/link/~/a"),
        ("../a", "/link/../a"),
        ("file://host/a", "/link/file:/host/a"),
        ("", "/link"),
    ] {
        assert_eq!(state().resolve(text), PathBuf::from(path), "{text:?}");
    }
    assert_eq!(State::new(vec![]).resolve("a"), PathBuf::from("a"));
}

#[cfg(unix)]
#[test]
fn clients_hear_of_a_selection_in_the_shape_of_the_protocol() {
    let mut state = state();
    state.select(selection("/b/é b", "text"));
    let expected = serde_json::json!({
        "text": "text",
        "filePath": "/b/é b",
        "fileUrl": "file:///b/%C3%A9%20b",
        "selection": {
            "start": {"line": 0, "character": 0},
            "end": {"line": 0, "character": 4},
            "isEmpty": false,
        },
    });
    assert_eq!(state.selection_notification(), Some(expected));
}
