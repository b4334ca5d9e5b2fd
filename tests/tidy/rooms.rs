//! What may stand in one room only: the clock, sockets, threads, unsafe code, shared ownership.
//!
//! Each row of [`ROOMS`] names words of code and the paths they belong to, each with its reason. An
//! exception that nothing uses any more is an offence too, so that the list stays true.

use crate::tree::{File, Tree, has_word};
use crate::{check, the_tree_obeys};

/// Words of code with a home.
struct Room {
    words: &'static [&'static str],
    /// Paths that begin so may use them, and why.
    homes: &'static [(&'static str, &'static str)],
    /// What to do instead.
    advice: &'static str,
}

const ROOMS: [Room; 9] = [
    Room {
        words: &["unsafe"],
        homes: &[("src/reactor/sys/", "system calls that std and rustix do not wrap")],
        advice: "unsafe code stands in src/reactor/sys alone",
    },
    Room {
        words: &["Instant::now", "SystemTime::now"],
        homes: &[
            ("src/reactor/sys/", "the kernel seam is where time comes from"),
            ("src/cli/", "log lines carry the time of day"),
        ],
        advice: "take `now` as a parameter",
    },
    Room {
        words: &["TcpListener", "TcpStream", "UdpSocket", "UnixStream", "mio"],
        homes: &[("src/reactor/", "all I/O"), ("src/cli/", "a client program may block")],
        advice: "sockets belong to the reactor: ask it by StreamId",
    },
    Room {
        words: &["std::fs", "File::open", "OpenOptions"],
        homes: &[
            ("src/reactor/", "files are effects run by the kernel seam"),
            ("src/cli/", "what the command line names is read before the loop runs"),
        ],
        advice: "ask for an effect, or go through the kernel",
    },
    Room {
        words: &["std::process::Command", "process::Command"],
        homes: &[
            ("src/reactor/", "children are started and reaped by the loop"),
            ("src/cli/claude.rs", "becomes another program; no loop runs"),
            ("src/cli/review/drive.rs", "an editor has the terminal until it ends"),
        ],
        advice: "ask for Effect::Spawn",
    },
    Room {
        words: &["std::thread", "thread::spawn", "mpsc", "Mutex", "RwLock", "Condvar"],
        homes: &[("src/reactor/worker", "the one pool, lazily started, for what blocks")],
        advice: "one thread: blocking work goes to the reactor's worker pool",
    },
    Room {
        words: &["Rc", "RefCell"],
        homes: &[("src/tools/mailbox.rs", "a coroutine and its caller meet in a mailbox")],
        advice: "own it in one place and name it by id",
    },
    Room {
        words: &["rustix", "signal_hook", "signal_hook_mio"],
        homes: &[
            ("src/reactor/", "system calls"),
            ("src/cli/logger.rs", "a log line must not block on a full pipe"),
            ("src/cli/review/terminal.rs", "modes of the terminal, and waiting for keys"),
            ("src/cli/review/drive.rs", "a signal that ends us is passed on to the editor"),
        ],
        advice: "the system is reached through src/reactor/sys",
    },
    Room {
        words: &["env::var", "env::var_os", "env::args", "env::args_os", "env::current_dir"],
        homes: &[
            ("src/main.rs", "the environment comes in here"),
            ("src/cli/", "and is handed down as plain values"),
        ],
        advice: "take it as a parameter; nothing below `cli` reads the environment",
    },
];

/// Words outside the rooms they belong to. Unit tests make files and threads as they like.
fn rooms(tree: &Tree) -> Vec<String> {
    let mut offences = Vec::new();
    for file in tree.src().filter(|file| !file.is_test()) {
        let code = file.code();
        for (index, line) in code.lines().enumerate().take(file.lines_before_tests()) {
            for room in ROOMS.iter().filter(|room| !room.is_home_of(&file.path)) {
                for word in room.words.iter().filter(|word| has_word(line, word)) {
                    let what = format!("`{word}` has no place here: {}", room.advice);
                    offences.push(file.offence(index, &what));
                }
            }
        }
    }
    offences
}

impl Room {
    fn is_home_of(&self, path: &str) -> bool {
        self.homes.iter().any(|(home, _)| path.starts_with(home))
    }
}

/// Grouped imports that would hide a word above: `use std::{fs, …}` has no `std::fs` in it.
fn grouped_imports(tree: &Tree) -> Vec<String> {
    let is_hiding = |line: &str| {
        let group = line.trim_start().strip_prefix("use std::{").unwrap_or_default();
        ["fs", "process", "thread"].iter().any(|module| has_word(group, module))
    };
    offending_lines(tree.src(), is_hiding, "hides what it imports: one `use` line a module")
}

/// What tests must not do: wait by the clock, or be left out.
fn idle_tests(tree: &Tree) -> Vec<String> {
    let is_sleep = |line: &str| has_word(line, "sleep(") && !line.contains("fn sleep(");
    let mut offences = offending_lines(tree.rust(), is_sleep, "waits by the clock: use a deadline");
    let is_ignored = |line: &str| line.contains("#[ignore") || line.contains("#[should_panic");
    offences.extend(offending_lines(
        tree.rust(),
        is_ignored,
        "a test runs, and states what it saw",
    ));
    offences
}

fn offending_lines<'a>(
    files: impl Iterator<Item = &'a File>,
    is_offence: impl Fn(&str) -> bool,
    what: &str,
) -> Vec<String> {
    let mut offences = Vec::new();
    for file in files {
        for (index, line) in file.code().lines().enumerate().filter(|(_, line)| is_offence(line)) {
            offences.push(file.offence(index, &format!("`{}` {what}", line.trim())));
        }
    }
    offences
}

#[test]
fn everything_stands_in_its_room() {
    the_tree_obeys(rooms);
    the_tree_obeys(grouped_imports);
}

#[test]
fn what_left_its_room_is_found() {
    for (path, line, word) in [
        ("src/proto/a.rs", "let p = unsafe { *q };", "`unsafe`"),
        ("src/reactor/stream.rs", "unsafe fn f() {}", "`unsafe`"),
        ("src/bridge/a.rs", "let now = Instant::now();", "`Instant::now`"),
        ("src/reactor/turn.rs", "let now = std::time::SystemTime::now();", "`SystemTime::now`"),
        ("src/transport/a.rs", "use std::net::TcpStream;", "`TcpStream`"),
        ("src/transport/a.rs", "fn f(s: UdpSocket) {}", "`UdpSocket`"),
        ("src/tools/a.rs", "use mio::Poll;", "`mio`"),
        ("src/tools/a.rs", "let text = std::fs::read(path);", "`std::fs`"),
        ("src/editor/a.rs", "use std::process::Command;", "`std::process::Command`"),
        ("src/bridge/a.rs", "std::thread::spawn(f);", "`std::thread`"),
        ("src/reactor/turn.rs", "use std::sync::mpsc;", "`mpsc`"),
        ("src/tools/a.rs", "use std::rc::Rc;", "`Rc`"),
        ("src/editor/a.rs", "x: RefCell<u8>,", "`RefCell`"),
        ("src/transport/a.rs", "rustix::process::getpid();", "`rustix`"),
        ("src/config/a.rs", "std::env::var(\"HOME\")", "`env::var`"),
    ] {
        let text = format!("//! A file.\n{line}\n");
        let offences = rooms(&Tree::of(&[(path, &text)]));
        let place = format!("{path}:2: {word}");
        assert!(offences.iter().any(|offence| offence.starts_with(&place)), "{line}: {offences:?}");
    }
}

#[test]
fn each_thing_in_its_room_is_fine() {
    check(rooms, &[("src/reactor/sys/unix.rs", "unsafe { f() };\nInstant::now();")], &[]);
    check(rooms, &[("src/tools/mailbox.rs", "use std::rc::Rc;\nuse std::cell::RefCell;")], &[]);
    check(rooms, &[("src/a/tests.rs", "std::fs::read(path);")], &[]);
    check(
        rooms,
        &[("src/a.rs", "f();\n#[cfg(test)]\nmod tests {\n  std::fs::read(path);\n}")],
        &[],
    );
    check(rooms, &[("src/a.rs", "/// unsafe\nlet a = \"std::fs\"; use std::net::IpAddr;")], &[]);
    check(rooms, &[("src/a.rs", "#![deny(unsafe_code)]\nlet source = Arc::new(1);")], &[]);
}

#[test]
fn grouped_imports_of_std_are_found() {
    let grouped = "use std::{fs, net};";
    check(grouped_imports, &[("src/a.rs", grouped)], &["src/a.rs:1 one `use` line"]);
    check(grouped_imports, &[("src/a.rs", "use std::{fmt, io, net::IpAddr};")], &[]);
}

#[test]
fn no_test_sleeps_or_is_left_out() {
    the_tree_obeys(idle_tests);
}

#[test]
fn a_test_that_sleeps_or_is_left_out_is_found() {
    check(idle_tests, &[("tests/it/a.rs", "std::thread::sleep(a);")], &["tests/it/a.rs:1 waits"]);
    check(idle_tests, &[("src/a.rs", "#[test]\n#[ignore]\n")], &["src/a.rs:2 a test runs"]);
    check(idle_tests, &[("src/a.rs", "#[ignore = \"slow\"]\n")], &["src/a.rs:1 a test runs"]);
    check(idle_tests, &[("src/a.rs", "#[should_panic]\n")], &["src/a.rs:1 a test runs"]);
    check(idle_tests, &[("src/a.rs", "self.forbid_sleep();\n// sleep(1)")], &[]);
}
