//! Open documents, the selection, and diagnostics: what is known of the editor right now.
//!
//! A plain value: commands change it, getters read it, nothing comes out by itself. It reads no
//! file and asks no editor; whoever learns something (a link, an opened file, a person's
//! `select`) puts it in. The active document is the one the current selection stands in, so the
//! two cannot disagree. Paths are kept as given; two spellings of one file below a workspace
//! folder reached through a symbolic link count as one.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::editor::diagnostic::Diagnostic;
use crate::editor::language;
use crate::editor::selection::Selection;
use crate::editor::text::Range;
use crate::editor::uri;

/// Most documents known as open; beyond it the one opened longest ago goes, never the active one.
/// More tabs than anyone reads, and a list of them stays below 100 KB.
pub const DOCUMENTS_MAX: usize = 256;

/// Most files with diagnostics; a new file beyond it is left out until another is clean. All of
/// them in one answer stay below the 16 MiB the agent accepts.
pub const DIAGNOSTIC_FILES_MAX: usize = 500;

/// Most diagnostics of one file; the rest is cut. As many as editor extensions send.
pub const DIAGNOSTICS_PER_FILE_MAX: usize = 100;

/// A workspace folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folder {
    /// As the person named it, made absolute.
    pub given: PathBuf,
    /// With symbolic links resolved.
    pub physical: PathBuf,
}

/// A document that is open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// Absolute.
    pub path: PathBuf,
    /// As in LSP and VS Code.
    pub language_id: Cow<'static, str>,
    /// Line ends plus one; `None` when the text was never read.
    pub line_count: Option<u32>,
    /// Whether it holds changes that are not on disk.
    pub is_dirty: bool,
    /// Whether it never was on disk.
    pub is_untitled: bool,
}

impl Document {
    /// A clean document of a file on disk, its language told by its name.
    pub fn new(path: PathBuf, line_count: Option<u32>) -> Document {
        let language_id = Cow::Borrowed(language::language_id(&path));
        Document { path, language_id, line_count, is_dirty: false, is_untitled: false }
    }
}

/// A document that comes to be open, and where that leaves the person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opened {
    /// The document.
    pub document: Document,
    /// Whether it comes to the front.
    pub focus: Focus,
}

/// Whether an opened document comes to the front.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Focus {
    /// It stays in the background.
    Background,
    /// It becomes the active one.
    Front,
    /// It becomes the active one with this selected in it.
    Selected(Range, String),
}

/// What is known of the editor.
#[derive(Debug)]
pub struct State {
    folders: Vec<Folder>,
    /// Opened longest ago first. Invariant: one entry a file, `len() <= DOCUMENTS_MAX`.
    documents: Vec<Document>,
    /// Invariant: its document is among `documents`.
    current: Option<Selection>,
    /// The last selection made, in whichever open document. Same invariant.
    latest: Option<Selection>,
    /// By physical path. Invariant: no list is empty; both bounds above hold.
    diagnostics: BTreeMap<PathBuf, Vec<Diagnostic>>,
}

impl State {
    /// An editor with nothing open. Relative paths count from the first folder.
    pub fn new(folders: Vec<Folder>) -> State {
        State {
            folders,
            documents: Vec::new(),
            current: None,
            latest: None,
            diagnostics: BTreeMap::new(),
        }
    }

    /// Records a document as open, or what is new of one that is. Returns whether the current
    /// selection is another one now.
    pub fn open(&mut self, opened: Opened) -> bool {
        let Opened { document, focus } = opened;
        let path = document.path.clone();
        self.record(document);
        match focus {
            Focus::Background => false,
            Focus::Front => self.activate(&path),
            Focus::Selected(range, text) => self.select(Selection { path, text, range }),
        }
    }

    /// Brings an open document to the front, its selection kept when it already was there. Returns
    /// whether the current selection is another one now; `false` also for a document not open.
    pub fn activate(&mut self, path: &Path) -> bool {
        let Some(document) = self.document(path) else { return false };
        if self.current.as_ref().is_some_and(|current| self.is_same(&current.path, path)) {
            return false;
        }
        self.current = Some(Selection::none_in(document.path.clone()));
        self.check_invariants();
        true
    }

    /// Takes in a selection, made in a document that becomes active and is opened if it was not.
    /// Returns whether the current selection is another one now.
    pub fn select(&mut self, selection: Selection) -> bool {
        if self.document(&selection.path).is_none() {
            self.record(Document::new(selection.path.clone(), None));
        }
        let is_new = self.current.as_ref() != Some(&selection);
        self.latest = Some(selection.clone());
        self.current = Some(selection);
        self.check_invariants();
        is_new
    }

    /// Forgets a document and every selection in it. Returns whether it was open.
    pub fn close(&mut self, path: &Path) -> bool {
        let folders = &self.folders;
        let is_closed = |other: &Path| is_same(folders, other, path);
        let open = self.documents.len();
        self.documents.retain(|document| !is_closed(&document.path));
        self.current.take_if(|selection| is_closed(&selection.path));
        self.latest.take_if(|selection| is_closed(&selection.path));
        self.check_invariants();
        self.documents.len() < open
    }

    /// Sets whether an open document holds unsaved changes. Returns whether it is open.
    pub fn set_dirty(&mut self, path: &Path, is_dirty: bool) -> bool {
        let folders = &self.folders;
        let document =
            self.documents.iter_mut().find(|document| is_same(folders, &document.path, path));
        document.map(|document| document.is_dirty = is_dirty).is_some()
    }

    /// Replaces the diagnostics of a file; an empty list says the file is clean.
    pub fn publish(&mut self, path: &Path, mut diagnostics: Vec<Diagnostic>) {
        let path = physical(&self.folders, path).into_owned();
        if diagnostics.is_empty() {
            self.diagnostics.remove(&path);
            return;
        }
        let is_full = self.diagnostics.len() == DIAGNOSTIC_FILES_MAX;
        if is_full && !self.diagnostics.contains_key(&path) {
            log::debug!("editor: diagnostics of {DIAGNOSTIC_FILES_MAX} files kept, more left out");
            return;
        }
        diagnostics.truncate(DIAGNOSTICS_PER_FILE_MAX);
        self.diagnostics.insert(path, diagnostics);
    }

    /// The workspace folders, the main one first.
    pub fn folders(&self) -> &[Folder] {
        &self.folders
    }

    /// Open documents, opened longest ago first.
    pub fn documents(&self) -> &[Document] {
        &self.documents
    }

    /// The open document at a path, in any spelling of it.
    pub fn document(&self, path: &Path) -> Option<&Document> {
        self.documents.iter().find(|document| self.is_same(&document.path, path))
    }

    /// Whether a document is the active one.
    pub fn is_active(&self, document: &Document) -> bool {
        self.current.as_ref().is_some_and(|current| self.is_same(&current.path, &document.path))
    }

    /// The selection in the active document; a cursor when nothing is selected there.
    pub fn current_selection(&self) -> Option<&Selection> {
        self.current.as_ref()
    }

    /// What a client is told of the current selection: the parameters of `selection_changed`.
    /// `None` while no document is active.
    pub fn selection_notification(&self) -> Option<Value> {
        self.current.as_ref().map(Selection::json)
    }

    /// The last selection made, also in a document no longer active.
    pub fn latest_selection(&self) -> Option<&Selection> {
        self.latest.as_ref()
    }

    /// What is known to be wrong in a file; empty when it is clean or unknown.
    pub fn diagnostics_of(&self, path: &Path) -> &[Diagnostic] {
        self.diagnostics.get(physical(&self.folders, path).as_ref()).map_or(&[], Vec::as_slice)
    }

    /// Every file that has diagnostics, by its physical path, in order of path.
    pub fn diagnostics(&self) -> impl Iterator<Item = (&Path, &[Diagnostic])> {
        self.diagnostics.iter().map(|(path, list)| (path.as_path(), list.as_slice()))
    }

    /// The path a caller means: a `file:` URI decoded, a relative path counted from the first
    /// folder, anything else literally. No `~`, `$` or `%` is expanded, no `..` resolved.
    pub fn resolve(&self, text: &str) -> PathBuf {
        let path = uri::path_of(text).unwrap_or_else(|| PathBuf::from(text));
        match self.folders.first() {
            Some(folder) if path.is_relative() => folder.given.join(path).components().collect(),
            Some(_) | None => path,
        }
    }

    fn is_same(&self, one: &Path, other: &Path) -> bool {
        is_same(&self.folders, one, other)
    }

    fn record(&mut self, document: Document) {
        self.documents.retain(|known| !is_same(&self.folders, &known.path, &document.path));
        if self.documents.len() == DOCUMENTS_MAX {
            self.close_oldest();
        }
        self.documents.push(document);
        self.check_invariants();
    }

    /// Closes the document opened longest ago that is not active.
    fn close_oldest(&mut self) {
        let oldest = self.documents.iter().find(|document| !self.is_active(document));
        let oldest = oldest.expect("at most one of DOCUMENTS_MAX is active").path.clone();
        self.close(&oldest);
    }

    fn check_invariants(&self) {
        assert!(self.documents.len() <= DOCUMENTS_MAX);
        for selection in self.current.iter().chain(&self.latest) {
            assert!(self.document(&selection.path).is_some());
        }
    }
}

/// Whether two paths name one file, as far as the folders' two spellings tell.
fn is_same(folders: &[Folder], one: &Path, other: &Path) -> bool {
    one == other || physical(folders, one) == physical(folders, other)
}

/// `path` with the given spelling of the folder that holds it exchanged for the physical one.
fn physical<'a>(folders: &[Folder], path: &'a Path) -> Cow<'a, Path> {
    for folder in folders {
        if folder.given == folder.physical {
            continue;
        }
        if let Ok(inside) = path.strip_prefix(&folder.given) {
            return Cow::Owned(folder.physical.join(inside));
        }
    }
    Cow::Borrowed(path)
}

#[cfg(test)]
mod tests;
