use super::*;

fn lock() -> LockFile {
    LockFile {
        pid: Some(4711),
        workspace_folders: vec![PathBuf::from("/home/me/link"), PathBuf::from("/data/project")],
        ide_name: "footbridge".to_owned(),
        token: Some(Token::from_random([0x5a; 16])),
        started_at_ms: 1_760_000_000_123,
        nonce: "00112233445566778899aabbccddeeff".to_owned(),
        version: "0.1.0".to_owned(),
        boot_id: "b0071d".to_owned(),
        host: String::new(),
        address: None,
    }
}

#[test]
fn the_lock_file_reads_as_agreed() {
    let golden = concat!(
        r#"{"pid":4711,"workspace":"/home/me/link","#,
        r#""workspaceFolders":["/home/me/link","/data/project"],"ideName":"footbridge","#,
        r#""transport":"ws","runningInWindows":false,"#,
        r#""authToken":"5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a","isBridge":true,"#,
        r#""startedAt":1760000000123,"nonce":"00112233445566778899aabbccddeeff","#,
        r#""footbridge":{"version":"0.1.0","bootId":"b0071d"}}"#,
        "\n"
    );
    assert_eq!(lock().render(), golden);
    let bare = LockFile { pid: None, token: None, ..lock() }.render();
    assert!(!bare.contains("\"pid\"") && !bare.contains("authToken"), "{bare}");
    assert!(bare.starts_with(r#"{"workspace":"/home/me/link","#), "{bare}");
}

#[test]
fn our_lock_is_known_by_mark_and_nonce() {
    let found = FoundLock::parse(lock().render().as_bytes()).unwrap();
    assert!(found.is_marked() && found.is_ours(&lock().nonce) && !found.is_ours("other"));
    assert_eq!(found.pid, Some(4711));
    assert_eq!(found.token, lock().token);
    assert_eq!(found.workspace_folders, ["/home/me/link", "/data/project"]);
    assert_eq!(found.transport.as_deref(), Some("ws"));
    assert_eq!(found.mark.unwrap().boot_id, "b0071d");
}

#[test]
fn a_lock_is_judged_by_its_port_only_from_the_machine_that_wrote_it() {
    let local = LockFile { host: "desk".to_owned(), ..lock() };
    let elsewhere = LockFile { address: "10.0.0.5".parse().ok(), ..local.clone() };
    let foreign = r#"{"pid":5,"nonce":"n","startedAt":1}"#.to_owned();
    let two_days = 2 * 24 * 60 * 60 * 1000;
    for (text, from_desk, from_container, may_age) in [
        (local.render(), Some("127.0.0.1"), None, true),
        (elsewhere.render(), Some("10.0.0.5"), None, true),
        (foreign, None, None, false),
    ] {
        let found = FoundLock::parse(text.as_bytes()).unwrap();
        let seen_from = |host: &str| found.address_seen_from(host).map(|ip| ip.to_string());
        assert_eq!(seen_from("desk").as_deref(), from_desk, "{text}");
        assert_eq!(seen_from("container").as_deref(), from_container, "{text}");
        assert!(!found.is_outdated(lock().started_at_ms + two_days), "{text}");
        assert_eq!(found.is_outdated(lock().started_at_ms + two_days + 1), may_age, "{text}");
    }
}

#[test]
fn only_our_own_names_are_those_of_locks_being_written() {
    let nonce = lock().nonce;
    assert_eq!(port_of_temporary(&temporary_name(40_123, &nonce)), Some(40_123));
    for name in [
        "40123.lock".to_owned(),
        "40123.tmp".to_owned(),
        format!("40123.{}.tmp", &nonce[1..]),
        format!("40123.{}g.tmp", &nonce[1..]),
        format!("040123.{nonce}.tmp"),
        format!("x.{nonce}.tmp"),
        format!("40123.{nonce}.lock"),
    ] {
        assert_eq!(port_of_temporary(&name), None, "{name}");
    }
}

#[test]
fn foreign_locks_are_read_as_far_as_they_go_and_are_never_ours() {
    let rows: [(&str, Option<Option<u32>>); 12] = [
        ("", None),
        ("/a/folder\n/b/folder", None),
        ("[]", None),
        ("5", None),
        ("{\"pid\":1", None),
        ("{}", Some(None)),
        (r#"{"pid":"123","transport":"sse"}"#, Some(Some(123))),
        (r#"{"pid":-5}"#, Some(None)),
        (r#"{"pid":1e30,"workspaceFolders":"/"}"#, Some(None)),
        (r#"{"pid":5,"nonce":"n","authToken":7,"ideName":[]}"#, Some(Some(5))),
        (r#"{"pid":5,"nonce":"n","footbridge":true}"#, Some(Some(5))),
        (r#"{"pid":5,"nonce":"n","footbridge":{"bootId":"x"}}"#, Some(Some(5))),
    ];
    for (text, expected) in rows {
        let found = FoundLock::parse(text.as_bytes());
        assert_eq!(found.as_ref().map(|found| found.pid), expected, "{text}");
        assert!(!found.is_some_and(|found| found.is_marked() || found.is_ours("n")), "{text}");
    }
    assert_eq!(FoundLock::parse(b"\xff\xfe"), None);
}

#[cfg(unix)]
#[track_caller]
fn check_folder(env: &[(&str, &str)], expected: Result<&str, FolderError>) {
    let env = |name: &str| {
        env.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(value))
    };
    assert_eq!(lock_folder(&env), expected.map(PathBuf::from));
}

#[cfg(unix)]
#[test]
fn the_folder_follows_the_config_folder_then_the_home() {
    check_folder(&[("CLAUDE_CONFIG_DIR", "/x"), ("HOME", "/h")], Ok("/x/ide"));
    check_folder(&[("CLAUDE_CONFIG_DIR", "/x/")], Ok("/x/ide"));
    check_folder(&[("CLAUDE_CONFIG_DIR", ""), ("HOME", "/h")], Ok("/h/.claude/ide"));
    check_folder(&[("HOME", "/h")], Ok("/h/.claude/ide"));
    check_folder(&[], Err(FolderError::NoHome));
    check_folder(&[("HOME", "")], Err(FolderError::NoHome));
    check_folder(&[("HOME", "h")], Err(FolderError::Relative("HOME")));
    check_folder(
        &[("CLAUDE_CONFIG_DIR", ".claude"), ("HOME", "/h")],
        Err(FolderError::Relative("CLAUDE_CONFIG_DIR")),
    );
}

#[cfg(unix)]
#[test]
fn a_workspace_is_listed_as_given_and_as_the_disk_knows_it() {
    let rows: [(&str, &str, &[&str]); 9] = [
        ("/w/a", "/w/a", &["/w/a"]),
        ("/w/a/", "/w/a", &["/w/a"]),
        ("/w//a/./", "/w/a", &["/w/a"]),
        ("/w/b/../a", "/w/a", &["/w/a"]),
        ("/w/link", "/data/a", &["/w/link", "/data/a"]),
        ("/w/link/../a", "/data/a", &["/w/a", "/data/a"]),
        ("/../..", "/", &["/"]),
        ("/w/caf\u{e9}", "/w/caf\u{e9}", &["/w/caf\u{e9}"]),
        ("/w/cafe\u{301}", "/w/caf\u{e9}", &["/w/cafe\u{301}", "/w/caf\u{e9}"]),
    ];
    for (given, physical, expected) in rows {
        let forms = workspace_forms(Path::new(given), Path::new(physical));
        // Compared as text: as paths, `/w/a` and `/w/a/` are equal.
        let forms: Vec<&str> = forms.iter().map(|form| form.to_str().unwrap()).collect();
        assert_eq!(forms, expected, "{given}");
    }
}

#[test]
fn only_port_numbers_name_locks() {
    let rows = [
        ("1.lock", Some(1)),
        ("65535.lock", Some(65535)),
        ("65536.lock", None),
        ("0.lock", None),
        ("080.lock", None),
        ("+80.lock", None),
        (".lock", None),
        ("80.lock.tmp", None),
        ("80.tmp", None),
        ("a80.lock", None),
        ("", None),
    ];
    for (name, expected) in rows {
        assert_eq!(port_of(name), expected, "{name}");
    }
    assert_eq!(port_of(&file_name(40_000)), Some(40_000));
}
