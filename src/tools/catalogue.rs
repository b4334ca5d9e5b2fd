//! The table of tools: name, description, schema and handler of each, in listing order.
//!
//! The IDE door's tools have the names and arguments of the VS Code extension. Of these the agent
//! itself calls only `openDiff`, `close_tab`, `closeAllDiffTabs` and `getDiagnostics`, and shows
//! its model the last; the others are there for whoever else speaks this protocol. The first tool
//! takes `{}`. A definition costs every session that lists it: at most 600 bytes.

use crate::mcp::tool::Descriptor;
use crate::tools::tool::{Handler, Surface, Tool};
use crate::tools::{diagnostics, diff, documents, open_file, selection};

/// The tools of the IDE door.
pub(super) const IDE_TOOLS: [Tool; 11] = [
    ide(
        "getCurrentSelection",
        "The text selected in the active editor, with its file and position.",
        NO_ARGUMENTS,
        Handler::Now(selection::current),
    ),
    ide(
        "getLatestSelection",
        "The last selection made, also in an editor that is no longer active.",
        NO_ARGUMENTS,
        Handler::Now(selection::latest),
    ),
    ide(
        "getOpenEditors",
        "The open files: language, line count, unsaved changes, which one is active.",
        NO_ARGUMENTS,
        Handler::Now(documents::open_editors),
    ),
    ide(
        "getWorkspaceFolders",
        "The workspace folders; the first one is the root.",
        NO_ARGUMENTS,
        Handler::Now(documents::workspace_folders),
    ),
    ide(
        "getDiagnostics",
        "Errors and warnings the editor knows of, of one file or of all. Lines count from 0.",
        GET_DIAGNOSTICS,
        Handler::Now(diagnostics::get),
    ),
    ide(
        "openFile",
        "Opens a file in the editor and selects the text from startText to endText.",
        OPEN_FILE,
        Handler::Later(open_file::open_file),
    ),
    held(
        "openDiff",
        "Proposes new contents for a file and waits until a person accepts or rejects them. Writes nothing.",
        OPEN_DIFF,
        Handler::Later(diff::open),
    ),
    ide(
        "checkDocumentDirty",
        "Whether an open file has unsaved changes.",
        FILE_PATH,
        Handler::Now(documents::check_dirty),
    ),
    ide(
        "saveDocument",
        "Saves an open file that has unsaved changes, through the editor that holds it.",
        FILE_PATH,
        Handler::Later(documents::save),
    ),
    ide(
        "close_tab",
        "Closes the diff of that name; if it still waits, it counts as rejected.",
        TAB_NAME,
        Handler::Later(diff::close_tab),
    ),
    ide(
        "closeAllDiffTabs",
        "Closes every diff this client opened; those that still wait count as rejected.",
        NO_ARGUMENTS,
        Handler::Later(diff::close_all),
    ),
];

/// What clients of the IDE door are told, row for row.
pub(super) const IDE_DESCRIPTORS: [Descriptor; IDE_TOOLS.len()] = {
    let mut descriptors = [IDE_TOOLS[0].descriptor; IDE_TOOLS.len()];
    let mut row = 0;
    while row < descriptors.len() {
        descriptors[row] = IDE_TOOLS[row].descriptor;
        row += 1;
    }
    descriptors
};

const NO_ARGUMENTS: &str = r#"{"type":"object","properties":{},"additionalProperties":false}"#;

const GET_DIAGNOSTICS: &str = r#"{"type":"object","properties":{"uri":{"type":"string","description":"file:// and the path; without it, all files"}},"additionalProperties":false}"#;

const OPEN_FILE: &str = r#"{"type":"object","properties":{"filePath":{"type":"string"},"preview":{"type":"boolean","default":false},"startText":{"type":"string"},"endText":{"type":"string"},"selectToEndOfLine":{"type":"boolean","default":false},"makeFrontmost":{"type":"boolean","default":true}},"required":["filePath"],"additionalProperties":false}"#;

const OPEN_DIFF: &str = r#"{"type":"object","properties":{"old_file_path":{"type":"string"},"new_file_path":{"type":"string"},"new_file_contents":{"type":"string"},"tab_name":{"type":"string"}},"required":["old_file_path","new_file_path","new_file_contents","tab_name"],"additionalProperties":false}"#;

const FILE_PATH: &str = r#"{"type":"object","properties":{"filePath":{"type":"string"}},"required":["filePath"],"additionalProperties":false}"#;

const TAB_NAME: &str = r#"{"type":"object","properties":{"tab_name":{"type":"string"}},"required":["tab_name"],"additionalProperties":false}"#;

const fn ide(
    name: &'static str,
    description: &'static str,
    input_schema: &'static str,
    handler: Handler,
) -> Tool {
    let descriptor = Descriptor { name, description, input_schema, is_held: false };
    Tool { surface: Surface::Ide, descriptor, handler }
}

/// A tool whose answer may take as long as a person does.
const fn held(
    name: &'static str,
    description: &'static str,
    input_schema: &'static str,
    handler: Handler,
) -> Tool {
    let mut tool = ide(name, description, input_schema, handler);
    tool.descriptor.is_held = true;
    tool
}
