//! What an editor knows: open documents, the selection, diagnostics, and the diffs that wait.
//!
//! Nothing here reads or writes a file, and nothing here is told what the words go out as: the
//! catalogue in `tools` gives them their shape. Without a link to an editor these cores are filled
//! by what the agent opens and what a person selects by hand; a link, once there is one, feeds the
//! same cores through the same commands. Being headless is thus no mode: it is an editor state
//! with less in it, and a diff that nobody but the agent's own prompt can answer.

pub mod diagnostic;
pub mod diff;
pub mod language;
pub mod selection;
pub mod state;
pub mod text;
pub mod uri;
