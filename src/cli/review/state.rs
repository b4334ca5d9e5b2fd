//! A review as a plain value: which diff is on the screen, what a key means, what is to be done.
//!
//! # Theory of operation
//!
//! The screen is empty and waits, shows one diff, or tells that the one it showed went away by
//! itself. Keys and news from the bridge come in; what is to be done comes out and is done by the
//! owner, who reports how it ended. A verdict takes effect on the diff on the screen alone, so no
//! diff may take another's place unasked: after one was withdrawn the next appears only when a key
//! says that this was seen. Without a bridge nothing can be answered, and nothing is shown: the
//! numbers of a bridge that comes back mean other diffs.

use std::collections::{BTreeSet, VecDeque};

use super::keys::Key;
use super::layout::Layout;
use super::page::Page;
use super::pending::{Pending, Verdict};

/// The screen's size, in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) columns: usize,
    pub(super) rows: usize,
}

impl Size {
    /// Rows between the bars.
    pub(super) fn body(self) -> usize {
        self.rows.saturating_sub(2).max(1)
    }
}

/// What the owner is to do.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Output {
    /// Make the diff ready and call [`Review::open`].
    Open(u64),
    /// Answer the diff and call [`Review::settled`].
    Settle(u64, Verdict),
    /// Let the person edit it.
    Edit(u64),
    /// Find out who answered it and call [`Review::explain`].
    Explain(u64),
    /// Leave.
    Leave,
}

/// What is on the screen.
#[derive(Debug)]
pub(super) enum Screen {
    /// Nothing to show.
    Waiting,
    Diff(Shown),
    /// The diff that was shown went away by itself; a line about it.
    Gone(String),
}

/// The diff on the screen.
#[derive(Debug)]
pub(super) struct Shown {
    pub(super) id: u64,
    pub(super) page: Page,
    pub(super) layout: Layout,
    /// The first row that is seen. Invariant: `<= last_top`.
    pub(super) top: usize,
}

/// A review under way.
#[derive(Debug)]
pub(super) struct Review {
    size: Size,
    /// Oldest first.
    pending: Vec<Pending>,
    /// Diffs to be left alone until all are.
    skipped: BTreeSet<u64>,
    screen: Screen,
    is_helping: bool,
    is_connected: bool,
    /// What happened last, one line.
    notice: String,
    outputs: VecDeque<Output>,
}

impl Review {
    /// Nothing is known yet.
    pub(super) fn new(size: Size) -> Review {
        Review {
            size,
            pending: Vec::new(),
            skipped: BTreeSet::new(),
            screen: Screen::Waiting,
            is_helping: false,
            is_connected: true,
            notice: String::new(),
            outputs: VecDeque::new(),
        }
    }

    /// The diffs that wait now.
    pub(super) fn set_pending(&mut self, pending: Vec<Pending>) {
        if !self.is_connected {
            self.is_connected = true;
            self.notice = "the bridge is back".to_owned();
        }
        self.skipped.retain(|id| pending.iter().any(|diff| diff.id == *id));
        let before = std::mem::replace(&mut self.pending, pending);
        match &self.screen {
            Screen::Waiting => self.advance(),
            Screen::Diff(shown) if self.diff(shown.id).is_none() => {
                let (id, title) = (shown.id, shown.page.title.clone());
                assert!(before.iter().any(|diff| diff.id == id));
                self.screen = Screen::Gone(format!("#{id} {title} is gone"));
                self.is_helping = false;
                self.outputs.push_back(Output::Explain(id));
            }
            Screen::Diff(_) | Screen::Gone(_) => {}
        }
    }

    /// Who answered the diff that went away.
    pub(super) fn explain(&mut self, id: u64, by: &str) {
        if let Screen::Gone(line) = &mut self.screen
            && line.starts_with(&format!("#{id} "))
        {
            *line = format!("{line}, ended by {by}");
        }
    }

    /// Shows a diff that was made ready, if it still waits and nothing else is shown.
    pub(super) fn open(&mut self, id: u64, page: Page) {
        if !matches!(self.screen, Screen::Waiting) || self.diff(id).is_none() {
            return;
        }
        let layout = Layout::new(&page.difference.lines, self.size.columns);
        self.screen = Screen::Diff(Shown { id, page, layout, top: 0 });
    }

    /// How an answer was taken; `Err` tells in one line why it was not.
    pub(super) fn settled(&mut self, id: u64, verdict: &Verdict, taken: Result<(), String>) {
        let title = match &self.screen {
            Screen::Diff(shown) if shown.id == id => shown.page.title.clone(),
            Screen::Diff(_) | Screen::Waiting | Screen::Gone(_) => return,
        };
        match taken {
            Ok(()) => {
                self.notice = match verdict {
                    Verdict::Accept => format!("accepted {title}"),
                    Verdict::AcceptAs(_) => format!("accepted {title} with your changes"),
                    Verdict::Reject => format!("rejected {title}"),
                };
                self.pending.retain(|diff| diff.id != id);
                self.screen = Screen::Waiting;
                self.advance();
            }
            Err(why) => self.notice = format!("{title}: {why}"),
        }
    }

    /// Tells the person something in a line.
    pub(super) fn tell(&mut self, notice: String) {
        self.notice = notice;
    }

    /// The bridge went away; what was shown cannot be answered any more.
    pub(super) fn lost(&mut self) {
        self.is_connected = false;
        self.is_helping = false;
        self.pending.clear();
        self.skipped.clear();
        self.outputs.clear();
        self.screen = Screen::Waiting;
    }

    /// The screen has another size.
    pub(super) fn resize(&mut self, size: Size) {
        if std::mem::replace(&mut self.size, size) == size {
            return;
        }
        if let Screen::Diff(shown) = &mut self.screen {
            shown.layout = Layout::new(&shown.page.difference.lines, size.columns);
            shown.top = shown.top.min(shown.last_top(size));
        }
    }

    /// A key was pressed.
    pub(super) fn handle_key(&mut self, key: Key) {
        let is_leaving = matches!(key, Key::Letter('q' | 'Q' | '\u{3}' | '\u{4}'));
        if std::mem::replace(&mut self.is_helping, false) && key != Key::Letter('\u{3}') {
            return;
        }
        if is_leaving {
            self.outputs.push_back(Output::Leave);
            return;
        }
        if key == Key::Letter('?') {
            self.is_helping = true;
            return;
        }
        match &mut self.screen {
            Screen::Diff(shown) => {
                let id = shown.id;
                if shown.scroll(key, self.size) {
                    return;
                }
                self.handle_answer(key, id);
            }
            Screen::Waiting if key == Key::Letter('s') => {
                self.skipped.clear();
                self.advance();
            }
            Screen::Waiting => {}
            Screen::Gone(_) => {
                self.screen = Screen::Waiting;
                self.notice.clear();
                self.advance();
            }
        }
    }

    /// What is to be done now; drain it after every input.
    pub(super) fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// The diff of that number, while it waits.
    pub(super) fn diff(&self, id: u64) -> Option<&Pending> {
        self.pending.iter().find(|diff| diff.id == id)
    }

    /// The diff on the screen.
    pub(super) fn shown(&self) -> Option<&Shown> {
        match &self.screen {
            Screen::Diff(shown) => Some(shown),
            Screen::Waiting | Screen::Gone(_) => None,
        }
    }

    pub(super) fn screen(&self) -> &Screen {
        &self.screen
    }

    pub(super) fn size(&self) -> Size {
        self.size
    }

    pub(super) fn notice(&self) -> &str {
        &self.notice
    }

    pub(super) fn is_helping(&self) -> bool {
        self.is_helping
    }

    pub(super) fn is_connected(&self) -> bool {
        self.is_connected
    }

    /// How many diffs wait.
    pub(super) fn waiting(&self) -> usize {
        self.pending.len()
    }

    /// Where the diff stands among those that wait, from 1.
    pub(super) fn place(&self, id: u64) -> usize {
        self.pending.iter().take_while(|diff| diff.id != id).count() + 1
    }

    fn handle_answer(&mut self, key: Key, id: u64) {
        match key {
            Key::Letter('y') => self.settle(id, Verdict::Accept),
            Key::Letter('n') => self.settle(id, Verdict::Reject),
            Key::Letter('e') => self.outputs.push_back(Output::Edit(id)),
            Key::Letter('s') => {
                self.skipped.insert(id);
                self.screen = Screen::Waiting;
                self.notice.clear();
                self.advance();
            }
            Key::Letter(_) | Key::Other => {
                self.notice = "no such key; ? tells which there are".to_owned();
            }
            Key::Up | Key::Down | Key::PageUp | Key::PageDown | Key::Home | Key::End => {}
        }
    }

    fn settle(&mut self, id: u64, verdict: Verdict) {
        self.outputs.push_back(Output::Settle(id, verdict));
    }

    /// Asks for the oldest diff that was not skipped.
    fn advance(&mut self) {
        self.outputs.retain(|output| !matches!(output, Output::Open(_)));
        let next = self.pending.iter().find(|diff| !self.skipped.contains(&diff.id));
        if let Some(next) = next {
            self.outputs.push_back(Output::Open(next.id));
        }
    }
}

impl Shown {
    /// The lowest row that can be the first.
    fn last_top(&self, size: Size) -> usize {
        self.layout.len().saturating_sub(size.body())
    }

    /// Moves the rows as the key says; false when it says something else.
    fn scroll(&mut self, key: Key, size: Size) -> bool {
        let page = size.body();
        let top = match key {
            Key::Letter(' ' | 'f') | Key::PageDown => self.top.saturating_add(page),
            Key::Letter('b') | Key::PageUp => self.top.saturating_sub(page),
            Key::Letter('j' | '\r' | '\n') | Key::Down => self.top + 1,
            Key::Letter('k') | Key::Up => self.top.saturating_sub(1),
            Key::Letter('d') => self.top + page.div_ceil(2),
            Key::Letter('u') => self.top.saturating_sub(page.div_ceil(2)),
            Key::Letter('g') | Key::Home => 0,
            Key::Letter('G') | Key::End => usize::MAX,
            Key::Letter(_) | Key::Other => return false,
        };
        self.top = top.min(self.last_top(size));
        true
    }
}

#[cfg(test)]
mod tests;
