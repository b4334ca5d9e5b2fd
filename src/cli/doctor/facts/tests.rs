use super::*;

/// A bridge for `/w/a` with its lock, a Claude Code that attaches by itself, nothing else.
pub(crate) fn healthy() -> Facts {
    let there = Access::There { is_writable: true, owner_and_mode: Some((1000, 0o700)) };
    Facts {
        folder: PathBuf::from("/w/a"),
        version: "1.2.3".to_owned(),
        user: Some(1000),
        home_owner: Some(1000),
        variables: BTreeMap::new(),
        proxies: Vec::new(),
        is_loopback_direct: false,
        lock_folders: vec![LockFolder {
            path: PathBuf::from("/h/.claude/ide"),
            access: there.clone(),
        }],
        lock_folder_error: None,
        locks: vec![lock(40_000)],
        bridges: vec![bridge(40_000, "/w/a")],
        state: State {
            folder: Some(PathBuf::from("/h/state")),
            access: there,
            last_port: None,
            is_last_port_taken: false,
            token: TokenFile::Fine,
        },
        settings: ClaudeSettings {
            path: Some(PathBuf::from("/h/.claude.json")),
            is_auto_connecting: true,
            is_diff_in_terminal: false,
        },
        machine: Machine { has_claude: true, ancestors: vec![50, 1], ..Machine::default() },
    }
}

/// A lock of a bridge of ours that serves the current folder.
pub(crate) fn lock(port: u16) -> Lock {
    Lock {
        path: PathBuf::from(format!("/h/.claude/ide/{port}.lock")),
        port: Some(port),
        owner: Some(1000),
        text: LockText::Fields(Fields {
            ide_name: Some("footbridge".to_owned()),
            transport: Some("ws".to_owned()),
            folders: vec!["/w/a".to_owned()],
            is_ours: true,
        }),
        process: Process::Alive(700),
        is_answering: true,
        reach: Reach::Serves,
    }
}

/// A bridge that answers; it serves the current folder if that is `/w/a`.
pub(crate) fn bridge(port: u16, folder: &str) -> Bridge {
    Bridge {
        port,
        bind: IpAddr::V4(Ipv4Addr::LOCALHOST),
        pid: 700,
        version: "1.2.3".to_owned(),
        folders: vec![PathBuf::from(folder)],
        is_here: folder == "/w/a",
        is_stopped: false,
        answer: Answer::Figures(Figures {
            lock: Some(PathBuf::from(format!("/h/.claude/ide/{port}.lock"))),
            is_lock_in_sight: true,
            is_lock_there: true,
            agents: Vec::new(),
        }),
        door: Door::Open,
    }
}

/// On the disk of these tests `/link` leads to `/w/a`, and folders that begin with `/w` are there.
#[cfg(unix)]
fn physical(path: &Path) -> Option<PathBuf> {
    match path.strip_prefix("/link") {
        Ok(rest) => Some(Path::new("/w/a").join(rest)),
        Err(_) => {
            let mut folder = PathBuf::new();
            for part in path.components() {
                match part {
                    std::path::Component::ParentDir => drop(folder.pop()),
                    part => folder.push(part),
                }
            }
            folder.starts_with("/w").then_some(folder)
        }
    }
}

#[cfg(unix)]
#[track_caller]
fn check(current: &str, folders: &[&str], expected: Reach) {
    let folders: Vec<String> = folders.iter().map(|folder| (*folder).to_owned()).collect();
    assert_eq!(reach(Path::new(current), &folders, &physical), expected, "{current} {folders:?}");
}

#[cfg(unix)]
#[test]
fn a_lock_serves_its_folder_and_those_below_by_the_letter() {
    for folder in ["/w/a", "/w/a/", "/w/a//", "/w", "/"] {
        check("/w/a", &[folder], Reach::Serves);
        check("/w/a/b", &["/x", folder], Reach::Serves);
    }
    check("/w/ab", &["/w/a"], Reach::Elsewhere);
    check("/w/a", &["/v", "a", "", "."], Reach::Elsewhere);
    check("/w/a", &[], Reach::Elsewhere);
    // As Claude Code does, in one Unicode form.
    check("/w/e\u{301}", &["/w/\u{e9}"], Reach::Serves);
    check("/w/\u{e9}/x", &["/w/e\u{301}/"], Reach::Serves);
}

#[cfg(unix)]
#[test]
fn another_spelling_of_the_folder_is_known_by_what_the_disk_says() {
    let other = |folder: &str, how| Reach::Misspelled(folder.to_owned(), how);
    check("/w/a", &["/link"], other("/link", Spelling::Link));
    check("/w/a/b", &["/link"], other("/link", Spelling::Link));
    check("/w/a", &["/link/c"], Reach::Elsewhere);
    check("/w/a", &["/link", "/w/a"], Reach::Serves);
    check("/w/a", &["/w//a"], other("/w//a", Spelling::Form));
    check("/w/a", &["/w/./a"], other("/w/./a", Spelling::Form));
    check("/w/a", &["/w/b/../a"], other("/w/b/../a", Spelling::Form));
    // Not on the disk: large and small letters were mixed up.
    check("/w/a/b", &["/W/A"], other("/W/A", Spelling::Case));
    // On the disk, and another folder.
    check("/w/a/b", &["/w/A"], Reach::Elsewhere);
}

#[cfg(unix)]
#[test]
fn a_folder_below_is_listed_but_does_not_match() {
    check("/w/a", &["/w/a/b"], Reach::Below("/w/a/b".to_owned()));
    check("/w/a", &["/w/ab"], Reach::Elsewhere);
}

#[test]
fn locks_are_kept_by_their_process_or_else_by_their_port() {
    let check = |process, is_answering, expected| {
        let lock = Lock { process, is_answering, ..lock(1) };
        assert_eq!(lock.is_kept(), expected, "{process:?} {is_answering}");
    };
    check(Process::Alive(1), true, true);
    check(Process::Alive(1), false, true);
    check(Process::Gone(1), true, false);
    check(Process::Forbidden(1), true, false);
    check(Process::NotNamed, true, true);
    check(Process::NotNamed, false, false);
    assert!(!Lock { port: None, ..lock(1) }.is_kept());
    assert!(!Lock { text: LockText::Unreadable(String::new()), ..lock(1) }.is_kept());
    assert!(Lock { text: LockText::Lines, ..lock(1) }.is_kept());
}
