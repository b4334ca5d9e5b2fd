//! `openFile`: what it asks in which order, what it selects, and how it says what it could not.

use super::*;

const RUST: &str = "fn main() {\n    let é = 1;\n    let 测试 = \"😀\"; // end\n}\n";

fn reads(path: &str) -> Line {
    Line::Asks(Request::Io(Effect::ReadFile { path: path.into(), bytes_max: 16 << 20 }))
}

fn file(contents: &[u8]) -> Line {
    Line::Told(Reply::Io(Answer::File(Ok(contents.to_vec()))))
}

fn no_file(error: FileError) -> Line {
    Line::Told(Reply::Io(Answer::File(Err(error))))
}

fn shows(path: &str, line: u32, column: u32) -> Line {
    Line::Asks(Request::Open { path: path.into(), line, column })
}

fn shown(reply: Result<bool, &str>) -> Line {
    Line::Told(Reply::Opened(reply.map_err(Into::into)))
}

fn records(path: &str, line_count: Option<u32>, focus: Focus) -> Line {
    let document = Document::new(PathBuf::from(path), line_count);
    Line::Asks(Request::OpenDocument(Opened { document, focus }))
}

fn done() -> Line {
    Line::Told(Reply::Done)
}

/// Opens `/ws/a.rs` with these contents and passages; expects the selection and the answer.
#[track_caller]
fn check_selection(contents: &[u8], more: Value, selected: Option<(Range, &str)>, answer: &str) {
    let mut arguments = json!({ "filePath": "/ws/a.rs" });
    let Value::Object(more) = more else { panic!("arguments are an object") };
    for (name, value) in more {
        arguments[name] = value;
    }
    let at = selected.map(|(range, _)| range.start()).unwrap_or_default();
    let lines = String::from_utf8_lossy(contents).replace("\r\n", "\n").split('\n').count();
    let focus = selected.map_or(Focus::Front, |(range, text)| Focus::Selected(range, text.into()));
    check(
        &editor(),
        "openFile",
        arguments,
        vec![
            reads("/ws/a.rs"),
            file(contents),
            shows("/ws/a.rs", at.line, at.character),
            shown(Ok(false)),
            records("/ws/a.rs", u32::try_from(lines).ok(), focus),
            done(),
            text(answer),
        ],
    );
}

const OPENED: &str = "Opened file: /ws/a.rs";

#[test]
fn a_file_is_read_shown_and_recorded() {
    check_selection(RUST.as_bytes(), json!({}), None, OPENED);
    check_selection(b"", json!({ "preview": true }), None, OPENED);
}

#[test]
fn the_text_between_two_passages_is_selected() {
    let wanted = json!({ "startText": "main", "endText": "let é" });
    let selected = (range((0, 3), (1, 9)), "main() {\n    let é");
    check_selection(RUST.as_bytes(), wanted, Some(selected), OPENED);
    let wanted = json!({ "startText": "let é" });
    check_selection(RUST.as_bytes(), wanted, Some((range((1, 4), (1, 9)), "let é")), OPENED);
}

#[test]
fn columns_are_utf16_units() {
    let wanted = json!({ "startText": "试", "endText": "😀" });
    let selected = (range((2, 9), (2, 16)), "试 = \"😀");
    check_selection(RUST.as_bytes(), wanted, Some(selected), OPENED);
    let wanted = json!({ "startText": "= 1" });
    check_selection(RUST.as_bytes(), wanted, Some((range((1, 10), (1, 13)), "= 1")), OPENED);
}

#[test]
fn select_to_end_of_line_stops_before_the_line_end() {
    let wanted = json!({ "startText": "测试", "selectToEndOfLine": true });
    let selected = (range((2, 8), (2, 25)), "测试 = \"😀\"; // end");
    check_selection(RUST.as_bytes(), wanted, Some(selected), OPENED);
    let wanted = json!({ "startText": "a", "endText": "b", "selectToEndOfLine": true });
    let selected = (range((0, 0), (1, 2)), "a\r\nbc");
    check_selection(b"a\r\nbc\r\nd", wanted, Some(selected), OPENED);
}

#[test]
fn passages_with_plain_line_ends_are_found_in_crlf_files() {
    let wanted = json!({ "startText": "b\nc", "endText": "d\ne" });
    let selected = (range((1, 0), (4, 1)), "b\r\nc\r\nd\r\ne");
    check_selection(b"a\r\nb\r\nc\r\nd\r\ne\r\n", wanted, Some(selected), OPENED);
}

#[test]
fn a_byte_order_mark_takes_no_column_and_bad_utf8_one() {
    let wanted = json!({ "startText": "a", "endText": "b" });
    let selected = (range((0, 0), (0, 2)), "ab");
    check_selection("\u{feff}ab".as_bytes(), wanted, Some(selected), OPENED);
    let wanted = json!({ "startText": "b" });
    check_selection(b"a\xe9b", wanted, Some((range((0, 2), (0, 3)), "b")), OPENED);
}

#[test]
fn the_end_may_lie_within_the_start_but_never_before_its_end() {
    let wanted = json!({ "startText": "fn b() {}", "endText": "}" });
    let selected = (range((0, 10), (0, 19)), "fn b() {}");
    check_selection(b"fn a() {} fn b() {} }", wanted, Some(selected), OPENED);
}

#[test]
fn what_is_not_found_is_said_and_nothing_is_selected() {
    for (wanted, remark) in [
        (json!({ "startText": "secret" }), "startText not found: nothing selected"),
        (
            json!({ "startText": "main", "endText": "fn" }),
            "endText not found after startText: nothing selected",
        ),
        (json!({ "endText": "main" }), "endText without startText: nothing selected"),
    ] {
        check_selection(RUST.as_bytes(), wanted, None, &format!("{OPENED} ({remark})"));
    }
    check_selection(RUST.as_bytes(), json!({ "startText": "", "endText": "" }), None, OPENED);
}

#[test]
fn a_file_in_the_background_is_recorded_but_not_shown() {
    let arguments =
        json!({ "filePath": "/ws/a.rs", "makeFrontmost": false, "startText": "secret" });
    check(
        &editor(),
        "openFile",
        arguments,
        vec![
            reads("/ws/a.rs"),
            file(b"a\nb"),
            records("/ws/a.rs", Some(2), Focus::Background),
            done(),
            Line::EndsJson(json!({
                "success": true, "filePath": "/ws/a.rs", "languageId": "rust", "lineCount": 2,
                "message": "startText not found: nothing selected",
            })),
        ],
    );
    check(
        &editor(),
        "openFile",
        json!({ "filePath": "/ws/a.rs", "makeFrontmost": false, "startText": "a" }),
        vec![
            reads("/ws/a.rs"),
            file(b"a\nb"),
            records("/ws/a.rs", Some(2), Focus::Background),
            done(),
            Line::EndsJson(json!({
                "success": true, "filePath": "/ws/a.rs", "languageId": "rust", "lineCount": 2,
            })),
        ],
    );
}

#[test]
fn a_file_too_big_to_look_into_is_opened_all_the_same() {
    check(
        &editor(),
        "openFile",
        json!({ "filePath": "/ws/a.rs", "startText": "a" }),
        vec![
            reads("/ws/a.rs"),
            no_file(FileError::TooBig { bytes: 20_000_000 }),
            shows("/ws/a.rs", 0, 0),
            shown(Ok(true)),
            records("/ws/a.rs", None, Focus::Front),
            done(),
            text(format!("{OPENED} (20000000 bytes, over 16 MiB: opened without a selection)")),
        ],
    );
}

#[test]
fn a_file_that_cannot_be_read_fails_by_name() {
    for (error, failure) in [
        (FileError::NotFound, "file not found: \"/ws/a.rs\""),
        (FileError::IsFolder, "this is a folder, not a file: \"/ws/a.rs\""),
        (FileError::NotRegular, "this is a device, socket or pipe, not a file: \"/ws/a.rs\""),
        (FileError::Denied, "permission denied: \"/ws/a.rs\""),
        (FileError::Other("disk on fire".into()), "cannot read \"/ws/a.rs\": disk on fire"),
    ] {
        let arguments = json!({ "filePath": "a.rs" });
        let transcript = vec![reads("/ws/a.rs"), no_file(error), Line::Fails(failure)];
        check(&editor(), "openFile", arguments, transcript);
    }
}

#[test]
fn an_open_command_that_fails_fails_the_call_and_records_nothing() {
    let failure = Line::Fails("cannot open \"/ws/a.rs\": no such program");
    check(
        &editor(),
        "openFile",
        json!({ "filePath": "/ws/a.rs" }),
        vec![
            reads("/ws/a.rs"),
            file(b""),
            shows("/ws/a.rs", 0, 0),
            shown(Err("no such program")),
            failure,
        ],
    );
}

#[test]
fn an_answer_that_does_not_come_fails_the_call_in_time() {
    let arguments = || json!({ "filePath": "/ws/a.rs" });
    check(
        &editor(),
        "openFile",
        arguments(),
        vec![
            reads("/ws/a.rs"),
            Line::Passes(ANSWER_MS_MAX - 1),
            Line::Passes(1),
            Line::GivesUp,
            Line::Fails("cannot read \"/ws/a.rs\": no answer within 10 seconds"),
        ],
    );
    check(
        &editor(),
        "openFile",
        arguments(),
        vec![
            reads("/ws/a.rs"),
            Line::Passes(ANSWER_MS_MAX - 1),
            file(b""),
            shows("/ws/a.rs", 0, 0),
            Line::Passes(ANSWER_MS_MAX - 1),
            shown(Ok(true)),
            records("/ws/a.rs", Some(1), Focus::Front),
            Line::Told(Reply::Lost(Lost::Refused("no room".into()))),
            Line::Fails("cannot open \"/ws/a.rs\": no room"),
        ],
    );
}

#[test]
fn paths_are_literal_but_for_file_uris() {
    for (asked, path) in [
        ("file:///a%20b/c%23.rs", "/a b/c#.rs"),
        ("/ws/$HOME/~/%20", "/ws/$HOME/~/%20"),
        ("./b.rs", "/ws/b.rs"),
        ("~/b.rs", "/ws/~/b.rs"),
    ] {
        let transcript = vec![
            reads(path),
            no_file(FileError::NotFound),
            Line::Fails(Box::leak(format!("file not found: \"{path}\"").into_boxed_str())),
        ];
        check(&editor(), "openFile", json!({ "filePath": asked }), transcript);
    }
    let failure = Line::Fails("filePath is empty: name the file to open");
    check(&editor(), "openFile", json!({ "filePath": "" }), vec![failure]);
}
