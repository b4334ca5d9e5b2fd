use super::*;

#[track_caller]
fn check_lines(text: &str, existing: &[&str], file: &str, lines: Option<(u32, u32)>) {
    let parsed = Lines::parse(text, |name| existing.contains(&name));
    assert_eq!(parsed, Ok(Lines { file: file.to_owned(), lines }), "{text}");
}

#[test]
fn lines_are_read_from_the_right_and_an_existing_file_wins() {
    check_lines("a.rs", &[], "a.rs", None);
    check_lines("a.rs:3", &[], "a.rs", Some((2, 2)));
    check_lines("a.rs:3-5", &[], "a.rs", Some((2, 4)));
    check_lines("a.rs:5-3", &[], "a.rs", Some((2, 4)));
    check_lines("a:1:3-5", &[], "a:1", Some((2, 4)));
    check_lines("a:1", &["a:1"], "a:1", None);
    check_lines("a:1-2", &["a:1-2", "a"], "a:1-2", None);
    check_lines("a-2", &[], "a-2", None);
    check_lines("a:2-", &[], "a:2-", None);
    check_lines("a:+2", &[], "a:+2", None);
    check_lines("a:", &[], "a:", None);
    check_lines(":3", &[], ":3", None);
    check_lines("a:99999999999", &[], "a:99999999999", None);
    check_lines(r"C:\a.rs:3", &[], r"C:\a.rs", Some((2, 2)));
    check_lines("a-1:2-3", &[], "a-1", Some((1, 2)));
    for zero in ["a:0", "a:0-2", "a:2-0"] {
        let error = Lines::parse(zero, |_| false).expect_err(zero);
        assert!(error.is_usage(), "{error}");
        let expected = format!("lines and columns count from 1, not 0 as in \"{zero}\"");
        assert_eq!(error.to_string(), expected);
    }
}

#[track_caller]
fn check_span(text: &str, file: &str, start: (u32, u32), end: Option<(u32, u32)>) {
    assert_eq!(Span::parse(text), Ok(Span { file: file.to_owned(), start, end }), "{text}");
}

#[test]
fn places_are_read_from_the_right_and_put_in_order() {
    check_span("a.rs:1:2", "a.rs", (1, 2), None);
    check_span("a.rs:1:2-3:4", "a.rs", (1, 2), Some((3, 4)));
    check_span("a.rs:3:4-1:2", "a.rs", (1, 2), Some((3, 4)));
    check_span("a.rs:3:4-3:2", "a.rs", (3, 2), Some((3, 4)));
    check_span("a:9:1:2", "a:9", (1, 2), None);
    check_span("a:9:8-7:1:2-3:4", "a:9:8-7", (1, 2), Some((3, 4)));
    check_span(r"C:\a:1:2-1:2", r"C:\a", (1, 2), Some((1, 2)));
    for text in ["a.rs", "a.rs:1", "a.rs:1-2", ":1:2", "a:1:2-3", "a:1:2-x:4", "a:1:-2"] {
        let error = Span::parse(text).expect_err(text);
        assert!(error.is_usage());
        let expected = format!("\"{text}\" has no :LINE:COLUMN behind the file");
        assert_eq!(error.to_string(), expected);
    }
    for text in ["a:0:1", "a:1:0", "a:1:1-0:1", "a:1:1-1:0"] {
        assert_eq!(Span::parse(text), Err(PlaceError::Zero(text.to_owned())));
    }
}

#[track_caller]
fn check_place(place: (u32, u32), columns: Columns, expected: Result<(usize, (u32, u32)), &str>) {
    // Bytes:       0123 45 6789   line 2: "é" 2 bytes, "😀" 4 bytes in 2 UTF-16 units.
    let text = "ab\r\né😀x\n\rend";
    let found = locate(text, place, columns)
        .map(|(byte, at)| (byte, (at.line, at.character)))
        .map_err(|error| error.to_string());
    assert_eq!(found.as_ref().copied().map_err(String::as_str), expected, "{place:?} {columns:?}");
}

#[test]
fn columns_count_what_they_are_said_to() {
    use Columns::{Bytes, Characters, Utf16};
    check_place((1, 1), Characters, Ok((0, (0, 0))));
    check_place((1, 3), Characters, Ok((2, (0, 2))));
    check_place((2, 2), Characters, Ok((6, (1, 1))));
    check_place((2, 3), Characters, Ok((10, (1, 3))));
    check_place((2, 4), Characters, Ok((11, (1, 4))));
    check_place((2, 3), Bytes, Ok((6, (1, 1))));
    check_place((2, 7), Bytes, Ok((10, (1, 3))));
    check_place((2, 4), Utf16, Ok((10, (1, 3))));
    check_place((3, 1), Characters, Ok((12, (2, 0))));
    check_place((4, 4), Characters, Ok((16, (3, 3))));
    let inside = "column 3 of line 2 is inside a character: see --columns";
    check_place((2, 3), Utf16, Err(inside));
    check_place((2, 2), Bytes, Err("column 2 of line 2 is inside a character: see --columns"));
}

#[test]
fn a_place_outside_the_file_is_told() {
    let columns = Columns::Characters;
    check_place((1, 4), columns, Err("line 1 ends at column 3, so there is no column 4"));
    check_place((3, 2), columns, Err("line 3 ends at column 1, so there is no column 2"));
    check_place((5, 1), columns, Err("the file has 4 lines, so no line 5"));
    check_place((u32::MAX, u32::MAX), columns, Err("the file has 4 lines, so no line 4294967295"));
    let huge = "line 1 ends at column 3, so there is no column 4294967295";
    check_place((1, u32::MAX), columns, Err(huge));
    assert_eq!(
        locate("", (1, 1), columns),
        Ok((0, Position { line: 0, character: 0 })),
        "an empty file has one line"
    );
}

#[test]
fn a_text_ends_where_its_last_line_does() {
    let start = Position { line: 4, character: 3 };
    for (text, line, character) in
        [("", 4, 3), ("ab", 4, 5), ("😀", 4, 5), ("a\nbc", 5, 2), ("a\r\n", 5, 0), ("\r\n\n", 6, 0)]
    {
        assert_eq!(end_of(start, text), Position { line, character }, "{text:?}");
    }
}

#[cfg(unix)]
#[test]
fn the_folder_of_a_path_is_physical_and_its_name_stays() {
    let home = tempfile::TempDir::new().expect("a folder");
    let root = std::fs::canonicalize(home.path()).expect("it is there");
    std::fs::create_dir(root.join("real")).expect("a folder");
    std::fs::write(root.join("real/file"), "").expect("a file");
    std::os::unix::fs::symlink(root.join("real"), root.join("link")).expect("a link");
    std::os::unix::fs::symlink("file", root.join("real/alias")).expect("a link");
    let path = |name: &str| root.join(name).to_str().expect("Unicode").to_owned();
    for (given, expected) in [
        ("real/file", "real/file"),
        ("link/file", "real/file"),
        ("link/alias", "real/alias"),
        ("link/../link/./file", "real/file"),
        ("real/", "real"),
        ("link/..", ""),
    ] {
        let expected = root.join(expected);
        assert_eq!(
            absolute(&path(given)).map(|p| p.components().collect()),
            Ok(expected),
            "{given}"
        );
    }
    assert!(absolute(&path("none/file")).is_err());
}
