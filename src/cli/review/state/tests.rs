use super::super::compare::compare;
use super::super::pending::example;
use super::*;

const SIZE: Size = Size { columns: 40, rows: 6 };

/// A review of diffs with these numbers, and what it does about its outputs.
struct Play {
    review: Review,
    log: Vec<String>,
}

impl Play {
    fn new(ids: &[u64]) -> Play {
        let mut play = Play { review: Review::new(SIZE), log: Vec::new() };
        play.pending(ids);
        play
    }

    fn pending(&mut self, ids: &[u64]) {
        self.review.set_pending(ids.iter().map(|&id| example(id, &format!("{id}.rs"))).collect());
        self.drain();
    }

    fn keys(&mut self, keys: &str) {
        for key in keys.chars() {
            self.review.handle_key(Key::Letter(key));
            self.drain();
        }
    }

    /// Opens what is to be opened, and takes every answer as counting.
    fn drain(&mut self) {
        while let Some(output) = self.review.poll_output() {
            match output {
                Output::Open(id) => {
                    let contents: String = (0..30).map(|n| format!("{n}\n")).collect();
                    let difference = compare(None, &contents);
                    let title = format!("{id}.rs");
                    self.review.open(id, Page { title, difference, old: None });
                }
                Output::Settle(id, verdict) => {
                    self.log.push(format!("{verdict:?} {id}"));
                    self.review.settled(id, &verdict, Ok(()));
                }
                Output::Edit(id) => self.log.push(format!("edit {id}")),
                Output::Explain(id) => {
                    self.log.push(format!("explain {id}"));
                    self.review.explain(id, "Claude Code");
                }
                Output::Leave => self.log.push("leave".to_owned()),
            }
        }
    }

    fn screen(&self) -> String {
        match self.review.screen() {
            Screen::Waiting => "waiting".to_owned(),
            Screen::Diff(shown) => format!("{} from {}", shown.id, shown.top),
            Screen::Gone(line) => line.clone(),
        }
    }
}

/// Keys are pressed on diffs 1, 2 and 3; what was done, and what the screen shows then.
#[track_caller]
fn check(keys: &str, log: &[&str], screen: &str) {
    let mut play = Play::new(&[1, 2, 3]);
    play.keys(keys);
    assert_eq!((play.log.as_slice(), play.screen().as_str()), (&*owned(log), screen), "{keys}");
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[test]
fn keys_answer_the_diff_on_the_screen_and_show_the_next() {
    check("", &[], "1 from 0");
    check("y", &["Accept 1"], "2 from 0");
    check("n", &["Reject 1"], "2 from 0");
    check("yny", &["Accept 1", "Reject 2", "Accept 3"], "waiting");
    check("e", &["edit 1"], "1 from 0");
    check("q", &["leave"], "1 from 0");
    check("\u{3}", &["leave"], "1 from 0");
    check("x", &[], "1 from 0");
}

#[test]
fn skipped_diffs_come_again_only_when_asked_for() {
    check("s", &[], "2 from 0");
    check("ss", &[], "3 from 0");
    check("sss", &[], "waiting");
    check("sssy", &[], "waiting");
    check("ssss", &[], "1 from 0");
    check("sysy", &["Accept 2"], "waiting");
    let mut play = Play::new(&[1]);
    play.keys("s");
    play.pending(&[1, 4]);
    assert_eq!(play.screen(), "4 from 0");
}

#[test]
fn help_takes_one_key_and_gives_no_answer() {
    check("?", &[], "1 from 0");
    check("?y", &[], "1 from 0");
    check("?q", &[], "1 from 0");
    check("?yy", &["Accept 1"], "2 from 0");
    check("?\u{3}", &["leave"], "1 from 0");
}

#[test]
fn rows_move_within_the_page() {
    // A hunk's head and 30 lines, 4 at a time.
    check(" ", &[], "1 from 4");
    check(" fb", &[], "1 from 4");
    check("jjk", &[], "1 from 1");
    check("du", &[], "1 from 0");
    check("k", &[], "1 from 0");
    check("G", &[], "1 from 27");
    check("Gj ", &[], "1 from 27");
    check("Gg", &[], "1 from 0");
}

#[test]
fn a_withdrawn_diff_goes_at_once_and_no_other_takes_its_place_unasked() {
    let mut play = Play::new(&[1, 2]);
    play.pending(&[2]);
    assert_eq!(play.screen(), "#1 1.rs is gone, ended by Claude Code");
    play.keys("y");
    assert_eq!(
        (play.log.as_slice(), play.screen().as_str()),
        (&*owned(&["explain 1"]), "2 from 0")
    );
    // One that was not on the screen goes without a word.
    let mut play = Play::new(&[1, 2]);
    play.pending(&[1]);
    assert_eq!(play.screen(), "1 from 0");
    assert!(play.log.is_empty());
}

#[test]
fn a_new_diff_shows_itself_only_on_an_empty_screen() {
    let mut play = Play::new(&[]);
    assert_eq!(play.screen(), "waiting");
    play.keys("yn");
    play.pending(&[1]);
    assert_eq!(play.screen(), "1 from 0");
    play.pending(&[1, 2]);
    assert_eq!((play.screen().as_str(), play.review.waiting()), ("1 from 0", 2));
}

#[test]
fn an_answer_that_does_not_count_leaves_the_diff_and_says_why() {
    let mut play = Play::new(&[1]);
    play.review.settled(1, &Verdict::Accept, Err("already answered by another review".to_owned()));
    assert_eq!(play.screen(), "1 from 0");
    assert_eq!(play.review.notice(), "1.rs: already answered by another review");
    // The list that comes next has it no more.
    play.pending(&[]);
    assert_eq!(play.screen(), "#1 1.rs is gone, ended by Claude Code");
}

#[test]
fn nothing_can_be_answered_while_the_bridge_is_away() {
    let mut play = Play::new(&[1]);
    play.review.lost();
    play.keys("yne");
    assert_eq!((play.log.as_slice(), play.screen().as_str()), (&[][..], "waiting"));
    assert!(!play.review.is_connected());
    // Another run of the bridge: the number means another diff.
    play.pending(&[1]);
    assert!(play.review.is_connected());
    assert_eq!(play.screen(), "1 from 0");
    play.review.lost();
    play.keys("q");
    assert_eq!(play.log, ["leave"]);
}

#[test]
fn the_next_diff_is_asked_for_once_and_is_one_that_waits() {
    let mut review = Review::new(SIZE);
    review.set_pending(vec![example(1, "1.rs"), example(2, "2.rs")]);
    review.set_pending(vec![example(2, "2.rs"), example(3, "3.rs")]);
    assert_eq!(review.poll_output(), Some(Output::Open(2)));
    assert_eq!(review.poll_output(), None);
}

#[test]
fn another_size_keeps_the_place_within_the_page() {
    let mut play = Play::new(&[1]);
    play.keys("G");
    play.review.resize(Size { columns: 40, rows: 30 });
    assert_eq!(play.screen(), "1 from 3");
    play.review.resize(Size { columns: 1, rows: 1 });
    play.keys("G");
    // The hunk's head takes two rows now.
    assert_eq!(play.screen(), "1 from 31");
}
