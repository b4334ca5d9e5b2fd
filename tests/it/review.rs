//! Proposed changes, answered from scripts and on a terminal, through the real binary.
//!
//! The terminal is one end of a pseudo-terminal; what the program draws is read at the other end,
//! frame by frame. Claude Code is played by a client that holds `openDiff` open.

use std::io::Write;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::harness::{Bridge, Claude, Ended, Home, texts};

/// Proposes contents for a file of the workspace; the id of the held call.
fn propose(claude: &mut Claude, home: &Home, name: &str, contents: &str) -> u64 {
    let path = home.workspace().join(name);
    let arguments = json!({"old_file_path": path, "new_file_path": path,
        "new_file_contents": contents, "tab_name": format!("✻ [Claude Code] {name} (d78a97) ⧉")});
    let id = claude.call("openDiff", arguments);
    // Once a later call is answered the diff is held.
    claude.call_for_texts("getWorkspaceFolders", json!({}));
    id
}

fn saved(contents: &str) -> Vec<String> {
    vec!["FILE_SAVED".to_owned(), contents.to_owned()]
}

#[track_caller]
fn check(ended: &Ended, code: i32, stdout: &str, stderr: &str) {
    let said = (ended.status.code(), ended.stdout.as_str(), ended.stderr.as_str());
    assert_eq!(said, (Some(code), stdout, stderr));
}

fn write(home: &Home, name: &str, text: &str) {
    std::fs::write(home.workspace().join(name), text).unwrap();
}

fn read(home: &Home, name: &str) -> String {
    std::fs::read_to_string(home.workspace().join(name)).unwrap()
}

fn attached(home: &Home) -> (Bridge, Claude) {
    let bridge = home.start(&[]);
    let claude = bridge.attach();
    (bridge, claude)
}

#[test]
fn the_diffs_that_wait_are_listed_and_shown() {
    let home = Home::new();
    write(&home, "a.rs", "one\r\ntwo\r\n");
    let (_bridge, mut claude) = attached(&home);
    check(&home.run(&["review", "--list"]), 0, "", "no diff waits\n");
    propose(&mut claude, &home, "a.rs", "one\nTWO\u{1b}[2J\n");
    let listed = home.run(&["review", "--list"]);
    assert_eq!((listed.status.code(), listed.stderr.as_str()), (Some(0), ""));
    assert!(listed.stdout.starts_with("#1  0 s  client_1  a.rs  ✻ [Claude"), "{}", listed.stdout);
    let listed = home.run(&["review", "--list", "--json"]);
    let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
    assert_eq!(listed[0]["id"], 1);
    assert_eq!(listed[0]["newContents"], "one\nTWO\u{1b}[2J\n");
    let path = home.workspace().join("a.rs").display().to_string();
    let expected = format!(
        "--- {path}\n+++ {path}\n\
         # CRLF line ends; proposed with LF, Claude Code writes CRLF again\n\
         @@ -1,2 +1,2 @@\n one\n-two\n+TWO\\u{{1b}}[2J\n"
    );
    check(&home.run(&["review", "--show", "a.rs"]), 0, &expected, "");
}

#[test]
fn a_script_accepts_and_the_file_is_left_to_the_agent() {
    let home = Home::new();
    write(&home, "a.rs", "old\n");
    let (_bridge, mut claude) = attached(&home);
    // As proposed, with all that is easily lost.
    let proposed = "\u{feff}new\r\nno end";
    let held = propose(&mut claude, &home, "a.rs", proposed);
    check(&home.run(&["review", "--accept", "a.rs"]), 0, "", "");
    assert_eq!(texts(&claude.answer(held)), saved(proposed));
    // With a file's contents.
    let held = propose(&mut claude, &home, "a.rs", "new\n");
    write(&home, "mine.txt", "mine\r\n\r\nno end");
    check(&home.run(&["review", "--accept", "#2", "--contents", "mine.txt"]), 0, "", "");
    assert_eq!(texts(&claude.answer(held)), saved("mine\r\n\r\nno end"));
    // With what comes on stdin.
    let held = propose(&mut claude, &home, "a.rs", "new\n");
    let mut verb = home.command(&["review", "--accept", "#3", "--contents", "-"]);
    let mut child = verb.stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all("piped é".as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(texts(&claude.answer(held)), saved("piped é"));
    assert_eq!(read(&home, "a.rs"), "old\n");
}

#[test]
fn a_script_rejects_and_hears_who_was_first() {
    let home = Home::new();
    let (_bridge, mut claude) = attached(&home);
    let held = propose(&mut claude, &home, "a.rs", "new\n");
    check(&home.run(&["review", "--reject", "[Claude Code] a"]), 0, "", "");
    assert_eq!(texts(&claude.answer(held))[0], "DIFF_REJECTED");
    let expected = "footbridge: #1 is already answered by another review\n";
    check(&home.run(&["review", "--accept", "#1"]), 4, "", expected);
    let held = propose(&mut claude, &home, "b.rs", "new\n");
    claude.call("close_tab", json!({"tab_name": "✻ [Claude Code] b.rs (d78a97) ⧉"}));
    assert_eq!(claude.next()["id"].as_u64().max(claude.next()["id"].as_u64()), Some(held + 2));
    let expected = "footbridge: #2 is already answered by Claude Code\n";
    check(&home.run(&["review", "--reject", "#2"]), 4, "", expected);
}

#[test]
fn a_script_that_names_no_diff_or_several_is_told() {
    let home = Home::new();
    let run = |arguments: &[&str]| home.run(&[&["review"], arguments].concat());
    let none = run(&["--accept", "a"]);
    assert_eq!(none.status.code(), Some(1));
    assert!(none.stderr.contains("start one with footbridge"), "{}", none.stderr);
    let (_bridge, mut claude) = attached(&home);
    propose(&mut claude, &home, "a.rs", "new\n");
    propose(&mut claude, &home, "ba.rs", "new\n");
    check(&run(&["--accept", "#7"]), 1, "", "footbridge: there is no diff #7\n");
    check(&run(&["--show", "#7"]), 1, "", "footbridge: no diff #7 waits\n");
    check(&run(&["--reject", "x.rs"]), 1, "", "footbridge: no diff waits that is named \"x.rs\"\n");
    let expected = "footbridge: \"a.rs\" fits several: #1 ✻ [Claude Code] a.rs (d78a97) ⧉, \
                    #2 ✻ [Claude Code] ba.rs (d78a97) ⧉\n";
    check(&run(&["--accept", "a.rs"]), 2, "", expected);
    let expected = "footbridge: cannot read \"none\": No such file or directory (os error 2)\n";
    check(&run(&["--accept", "#1", "--contents", "none"]), 1, "", expected);
    let expected = "footbridge: stdin and stdout are no terminal; \
                    scripts use --list, --show, --accept and --reject\n";
    check(&run(&[]), 2, "", expected);
    assert_eq!(run(&["--list", "--accept", "a"]).status.code(), Some(2));
    assert_eq!(run(&["--contents", "a"]).status.code(), Some(2));
}

#[cfg(unix)]
mod on_a_terminal {
    use std::fs::File;
    use std::io::Read;
    use std::os::fd::OwnedFd;
    use std::process::{Child, ExitStatus};
    use std::sync::mpsc;
    use std::time::Instant;

    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    use rustix::termios::{Winsize, tcgetattr, tcsetwinsize};

    use super::*;
    use crate::harness::{DEADLINE, eventually};

    /// A review on a terminal of 80 by 24.
    struct Terminal {
        child: Child,
        keys: File,
        ours: File,
        /// The modes before the program began.
        cooked: String,
        drawn: mpsc::Receiver<Vec<u8>>,
        screen: Vec<u8>,
    }

    impl Terminal {
        fn review(home: &Home, editor: &str) -> Terminal {
            let keys = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
            grantpt(&keys).unwrap();
            unlockpt(&keys).unwrap();
            let path = ptsname(&keys, Vec::new()).unwrap().into_string().unwrap();
            let ours = File::options().read(true).write(true).open(path).unwrap();
            let size = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
            tcsetwinsize(&ours, size).unwrap();
            let cooked = modes(&ours);
            let end = || Stdio::from(OwnedFd::from(ours.try_clone().unwrap()));
            let folder = home.path().join("tmp");
            std::fs::create_dir_all(&folder).unwrap();
            let child = home
                .command(&["review"])
                .env("TERM", "xterm")
                .env("TMPDIR", folder)
                .env("EDITOR", editor)
                .stdin(end())
                .stdout(end())
                .stderr(end())
                .spawn()
                .unwrap();
            let keys = File::from(keys);
            let drawn = bytes_of(keys.try_clone().unwrap());
            Terminal { child, keys, ours, cooked, drawn, screen: Vec::new() }
        }

        fn press(&mut self, keys: &str) {
            self.keys.write_all(keys.as_bytes()).unwrap();
        }

        /// Waits until the last frame has the text in it, and returns the frame.
        #[track_caller]
        fn until(&mut self, text: &str) -> String {
            let due = Instant::now() + DEADLINE;
            loop {
                let all = String::from_utf8_lossy(&self.screen);
                let frame = all.rsplit("\x1b[H").next().unwrap_or_default();
                if frame.contains(text) {
                    return frame.to_owned();
                }
                let rest = due.saturating_duration_since(Instant::now());
                match self.drawn.recv_timeout(rest) {
                    Ok(bytes) => self.screen.extend_from_slice(&bytes),
                    Err(_) => panic!("no {text:?} in {frame:?}"),
                }
            }
        }

        /// Waits for the program's end; the terminal must be as it was.
        #[track_caller]
        fn end(&mut self) -> ExitStatus {
            let mut status = None;
            eventually("the review ended", || {
                status = self.child.try_wait().unwrap();
                status.is_some()
            });
            assert_eq!(modes(&self.ours), self.cooked);
            status.unwrap()
        }
    }

    impl Drop for Terminal {
        fn drop(&mut self) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }

    fn modes(terminal: &File) -> String {
        format!("{:?}", tcgetattr(terminal).unwrap())
    }

    fn bytes_of(mut pipe: File) -> mpsc::Receiver<Vec<u8>> {
        let (sender, receiver) = mpsc::channel();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(len @ 1..) = pipe.read(&mut bytes) {
                if sender.send(bytes[..len].to_vec()).is_err() {
                    return;
                }
            }
        });
        receiver
    }

    /// An editor that runs this shell code; `$1` is the file.
    fn editor(home: &Home, code: &str) -> String {
        let path = home.path().join("editor.sh");
        std::fs::write(&path, code).unwrap();
        format!("sh '{}'", path.display())
    }

    /// What is left of the copies that were edited.
    fn copies(home: &Home) -> usize {
        std::fs::read_dir(home.path().join("tmp")).unwrap().count()
    }

    #[test]
    fn keys_accept_and_reject_what_is_shown() {
        let home = Home::new();
        write(&home, "a.rs", "one\ntwo\n");
        let (_bridge, mut claude) = attached(&home);
        let mut terminal = Terminal::review(&home, "");
        terminal.until("No diff waits");
        let first = propose(&mut claude, &home, "a.rs", "one\nzwei\n");
        let frame = terminal.until("zwei");
        assert!(frame.contains("1/1  a.rs  +1 -1  client_1  #1"), "{frame:?}");
        assert!(frame.contains("\x1b[31m-two") && frame.contains("\x1b[32m+zwei"), "{frame:?}");
        let second = propose(&mut claude, &home, "new.rs", "fn new() {}");
        terminal.until("1/2  a.rs");
        // What is typed ahead answers nothing that was not seen.
        terminal.press("yyyy");
        assert_eq!(texts(&claude.answer(first)), saved("one\nzwei\n"));
        let frame = terminal.until("accepted a.rs");
        assert!(
            frame.contains("a new file") && frame.contains("\\ No newline at end"),
            "{frame:?}"
        );
        terminal.press("n");
        assert_eq!(texts(&claude.answer(second))[0], "DIFF_REJECTED");
        terminal.until("rejected new.rs");
        terminal.press("q");
        assert!(terminal.end().success());
        assert_eq!(read(&home, "a.rs"), "one\ntwo\n");
    }

    #[test]
    fn an_edit_is_handed_in_as_it_was_saved() {
        let home = Home::new();
        let (_bridge, mut claude) = attached(&home);
        let look = "test \"${1##*/}\" = a.rs && cat \"$1\" >> \"$HOME/seen\"";
        let code = format!("{look}; printf 'edited\\r\\nno end' > \"$1\"");
        let mut terminal = Terminal::review(&home, &editor(&home, &code));
        let held = propose(&mut claude, &home, "a.rs", "proposed\n");
        terminal.until("+proposed");
        terminal.press("e");
        assert_eq!(texts(&claude.answer(held)), saved("edited\r\nno end"));
        terminal.until("accepted a.rs with your changes");
        assert_eq!(std::fs::read_to_string(home.path().join("seen")).unwrap(), "proposed\n");
        // Saved as it was, but for the last line end that editors add.
        editor(&home, "printf 'open\\n' > \"$1\"");
        let held = propose(&mut claude, &home, "b.rs", "open");
        terminal.until("+open");
        terminal.press("e");
        assert_eq!(texts(&claude.answer(held)), saved("open"));
        terminal.until("accepted b.rs");
        assert_eq!(copies(&home), 0);
        terminal.press("q");
        assert!(terminal.end().success());
    }

    #[test]
    fn an_edit_that_comes_to_nothing_is_asked_again() {
        let home = Home::new();
        let (_bridge, mut claude) = attached(&home);
        let mut terminal = Terminal::review(&home, &editor(&home, "exit 3"));
        let held = propose(&mut claude, &home, "a.rs", "proposed\n");
        terminal.until("+proposed");
        for (code, expected) in [
            ("exit 3", "failed"),
            (": > \"$1\"", "emptied"),
            ("exit 0", "not saved"),
            ("printf 'caf\\351' > \"$1\"", "UTF-8"),
        ] {
            editor(&home, code);
            terminal.press("e");
            let frame = terminal.until(expected);
            assert!(frame.contains("+proposed"), "{frame:?}");
        }
        assert_eq!(copies(&home), 0);
        terminal.press("y");
        assert_eq!(texts(&claude.answer(held)), saved("proposed\n"));
    }

    #[test]
    fn an_edit_of_a_diff_that_went_away_is_kept() {
        let home = Home::new();
        let (_bridge, mut claude) = attached(&home);
        let code = "echo begun > \"$HOME/begun\"; while ! test -e \"$HOME/go\"; do :; done
            echo mine > \"$1\"";
        let mut terminal = Terminal::review(&home, &editor(&home, code));
        propose(&mut claude, &home, "a.rs", "proposed\n");
        terminal.until("+proposed");
        terminal.press("e");
        eventually("the editor runs", || home.path().join("begun").exists());
        claude.call("closeAllDiffTabs", json!({}));
        claude.next();
        claude.next();
        std::fs::write(home.path().join("go"), "").unwrap();
        terminal.until("is gone, ended by Claude Code");
        assert_eq!(copies(&home), 1);
        terminal.press("q");
        terminal.until("an edit that was not handed in is kept in ");
        assert!(terminal.end().success());
    }

    #[test]
    fn skipped_diffs_stay_and_leaving_says_so() {
        let home = Home::new();
        let (_bridge, mut claude) = attached(&home);
        propose(&mut claude, &home, "a.rs", "aaa\n");
        propose(&mut claude, &home, "b.rs", "bbb\n");
        let mut terminal = Terminal::review(&home, "");
        terminal.until("+aaa");
        terminal.press("s");
        terminal.until("+bbb");
        terminal.press("s");
        terminal.until("2 diffs wait, and were skipped");
        terminal.press("s");
        terminal.until("+aaa");
        terminal.press("?");
        terminal.until("accept as proposed");
        terminal.press("x");
        terminal.until("+aaa");
        terminal.press("q");
        terminal.until("2 diffs still to answer: footbridge review");
        assert!(terminal.end().success());
        let closing = claude.call("closeAllDiffTabs", json!({}));
        let answers = [claude.next(), claude.next(), claude.next()];
        let closed = answers.iter().find(|answer| answer["id"] == closing).unwrap();
        assert_eq!(texts(closed), ["CLOSED_2_DIFF_TABS"]);
    }

    #[test]
    fn a_withdrawn_diff_vanishes_at_once_and_says_who_answered() {
        let home = Home::new();
        let (_bridge, mut claude) = attached(&home);
        let mut terminal = Terminal::review(&home, "");
        propose(&mut claude, &home, "a.rs", "aaa\n");
        let held = propose(&mut claude, &home, "b.rs", "bbb\n");
        terminal.until("1/2  a.rs");
        claude.call("close_tab", json!({"tab_name": "✻ [Claude Code] a.rs (d78a97) ⧉"}));
        let frame = terminal.until("#1 a.rs is gone, ended by Claude Code");
        assert!(!frame.contains("aaa") && !frame.contains("bbb"), "{frame:?}");
        claude.next();
        claude.next();
        // A key that was meant for the diff that went answers nothing.
        terminal.press("y");
        terminal.until("+bbb");
        // Another review answers first.
        check(&home.run(&["review", "--accept", "b.rs"]), 0, "", "");
        terminal.until("#2 b.rs is gone, ended by another review");
        assert_eq!(texts(&claude.answer(held)), saved("bbb\n"));
    }

    #[test]
    fn a_signal_gives_the_terminal_back() {
        for (name, code) in [("-TERM", 143), ("-INT", 130), ("-HUP", 129)] {
            let home = Home::new();
            let _bridge = home.start(&[]);
            let mut terminal = Terminal::review(&home, "");
            terminal.until("No diff waits");
            assert_ne!(modes(&terminal.ours), terminal.cooked);
            let pid = terminal.child.id().to_string();
            assert!(
                std::process::Command::new("kill").args([name, &pid]).status().unwrap().success()
            );
            assert_eq!(terminal.end().code(), Some(code));
        }
    }

    #[test]
    fn a_bridge_that_comes_back_is_found_again() {
        let home = Home::new();
        let (mut bridge, mut claude) = attached(&home);
        propose(&mut claude, &home, "a.rs", "aaa\n");
        let mut terminal = Terminal::review(&home, "");
        terminal.until("+aaa");
        bridge.stop();
        let frame = terminal.until("The bridge went away");
        assert!(!frame.contains("+aaa"), "{frame:?}");
        terminal.press("y");
        let (_bridge, mut claude) = attached(&home);
        terminal.until("the bridge is back");
        let held = propose(&mut claude, &home, "b.rs", "bbb\n");
        terminal.until("+bbb");
        terminal.press("y");
        assert_eq!(texts(&claude.answer(held)), saved("bbb\n"));
    }
}
