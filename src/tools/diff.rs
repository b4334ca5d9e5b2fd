//! Reviewing a proposed change: `openDiff`, `close_tab` and `closeAllDiffTabs`.
//!
//! The file is never written here: the agent writes what `FILE_SAVED` carries. A view that went
//! away answers `DIFF_REJECTED`, since the agent takes `TAB_CLOSED` for a yes.

use crate::editor::diff::{Proposal, Verdict};
use crate::mcp::content::ToolResult;
use crate::tools::args::Args;
use crate::tools::ask::{CloseAllDiffTabs, CloseTab, OpenDiff};
use crate::tools::mailbox::Cx;
use crate::tools::tool::Coroutine;
use crate::tools::view::View;

/// `openDiff`
pub(crate) fn open(mut args: Args, view: &View<'_>, cx: Cx) -> Coroutine {
    let proposal = Proposal {
        old_path: view.editor.resolve(args.text("old_file_path")),
        new_path: view.editor.resolve(args.text("new_file_path")),
        new_contents: args.take_text("new_file_contents"),
        tab_name: args.take_text("tab_name"),
    };
    Box::pin(async move {
        let tab_name = proposal.tab_name.clone();
        match cx.ask(OpenDiff(proposal)).await {
            Ok(Verdict::Saved(contents)) => ToolResult::text(["FILE_SAVED".into(), contents]),
            Ok(Verdict::Rejected) => ToolResult::text(["DIFF_REJECTED".into(), tab_name]),
            Err(lost) => ToolResult::error(format!("cannot show the diff: {lost}")),
        }
    })
}

/// `close_tab`
pub(crate) fn close_tab(mut args: Args, _: &View<'_>, cx: Cx) -> Coroutine {
    let tab_name = args.take_text("tab_name");
    Box::pin(async move {
        match cx.ask(CloseTab { tab_name }).await {
            Ok(()) => ToolResult::text(["TAB_CLOSED".into()]),
            Err(lost) => ToolResult::error(format!("cannot close the tab: {lost}")),
        }
    })
}

/// `closeAllDiffTabs`
pub(crate) fn close_all(_: Args, _: &View<'_>, cx: Cx) -> Coroutine {
    Box::pin(async move {
        match cx.ask(CloseAllDiffTabs).await {
            Ok(count) => ToolResult::text([format!("CLOSED_{count}_DIFF_TABS")]),
            Err(lost) => ToolResult::error(format!("cannot close the diffs: {lost}")),
        }
    })
}
