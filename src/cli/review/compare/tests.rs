use super::super::hunks::PIECE_LINES_MAX;
use super::*;

/// The page as `diff -u` would print it.
#[track_caller]
fn check(old: Option<&str>, new: &str, expected: &str) {
    let page = compare(old, new);
    let signed = |line: &Line| match line.kind {
        Kind::Note => format!("# {}\n", line.text),
        kind => format!("{}{}\n", kind.sign(), line.text),
    };
    let text: String = page.lines.iter().map(signed).collect();
    assert_eq!(text, expected, "{old:?} -> {new:?}");
    let plain = |text: &str| text.replace("\r\n", "\n").replace('\u{feff}', "");
    assert_eq!(applied(&plain(old.unwrap_or_default()), &page), plain(new));
    let count = |kind| page.lines.iter().filter(|line| line.kind == kind).count();
    assert_eq!((page.added, page.removed), (count(Kind::Added), count(Kind::Removed)));
}

/// The new text, made from the old one and the page as `patch` would.
fn applied(old: &str, page: &Difference) -> String {
    let mut old_lines = old.split_inclusive('\n');
    let (mut new, mut at) = (String::new(), 0);
    for (index, line) in page.lines.iter().enumerate() {
        let is_open = page.lines.get(index + 1).is_some_and(|next| next.kind == Kind::NoNewline);
        let text = format!("{}{}", line.text, if is_open { "" } else { "\n" });
        match line.kind {
            Kind::Note | Kind::NoNewline => {}
            Kind::Hunk => {
                let (start, len) = line.text[4..].split_once([',', ' ']).unwrap_or_default();
                let is_empty = len.starts_with("0 ");
                let start: usize = start.parse().expect("a line number");
                let start = start - usize::from(!is_empty);
                new.extend(old_lines.by_ref().take(start - at));
                at = start;
            }
            Kind::Context | Kind::Removed => {
                let old = old_lines.next().expect("no more lines than there are");
                assert_eq!(old, text);
                at += 1;
                new += if line.kind == Kind::Context { old } else { "" };
            }
            Kind::Added => new += &text,
        }
    }
    new.extend(old_lines);
    new
}

#[test]
fn changes_stand_among_three_lines_around_them() {
    let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
    check(
        Some(old),
        &old.replace("5\n", "five\n"),
        "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n",
    );
    check(Some(old), &old.replace("1\n", ""), "@@ -1,4 +1,3 @@\n-1\n 2\n 3\n 4\n");
    check(Some(old), &format!("{old}10\n"), "@@ -7,3 +7,4 @@\n 7\n 8\n 9\n+10\n");
    check(Some("a\n"), "b\n", "@@ -1 +1 @@\n-a\n+b\n");
    check(Some("a\nb\n"), "", "@@ -1,2 +0,0 @@\n-a\n-b\n");
}

#[test]
fn changes_six_lines_apart_share_a_hunk_and_seven_do_not() {
    let apart = |lines: usize| format!("a\n{}b\n", "x\n".repeat(lines));
    let changed = |lines: usize| format!("A\n{}B\n", "x\n".repeat(lines));
    let hunks = |lines| {
        let page = compare(Some(&apart(lines)), &changed(lines));
        page.lines.iter().filter(|line| line.kind == Kind::Hunk).count()
    };
    assert_eq!((hunks(6), hunks(7)), (1, 2));
    check(
        Some(&apart(8)),
        &changed(8),
        "@@ -1,4 +1,4 @@\n-a\n+A\n x\n x\n x\n@@ -7,4 +7,4 @@\n x\n x\n x\n-b\n+B\n",
    );
}

#[test]
fn a_new_file_is_all_additions() {
    check(None, "a\nb\n", "@@ -0,0 +1,2 @@\n+a\n+b\n");
    check(None, "", "# a new, empty file\n");
    check(
        None,
        "\u{feff}a\r\n",
        "# begins with a byte order mark\n# CRLF line ends\n@@ -0,0 +1 @@\n+a\n",
    );
    check(Some(""), "a\n", "@@ -0,0 +1 @@\n+a\n");
}

#[test]
fn a_missing_last_line_end_is_shown_and_counts() {
    let mark = "\\ No newline at end of file";
    check(Some("a"), "a\n", &format!("@@ -1 +1 @@\n-a\n{mark}\n+a\n"));
    check(Some("a\nb"), "A\nb", &format!("@@ -1,2 +1,2 @@\n-a\n+A\n b\n{mark}\n"));
    check(None, "a", &format!("@@ -0,0 +1 @@\n+a\n{mark}\n"));
    check(Some("a\r"), "a\r\n", &format!("# CRLF line ends\n@@ -1 +1 @@\n-a\r\n{mark}\n+a\n"));
}

#[test]
fn line_ends_are_told_once_and_change_no_line() {
    let change = "@@ -1,2 +1,2 @@\n-a\n+A\n b\n";
    let crlf = "# CRLF line ends; proposed with LF, Claude Code writes CRLF again\n";
    check(Some("a\r\nb\r\n"), "A\nb\n", &format!("{crlf}{change}"));
    check(Some("a\r\nb\r\n"), "A\r\nb\r\n", &format!("# CRLF line ends\n{change}"));
    check(Some("a\r\n"), "a\n", &format!("{crlf}# no line changes\n"));
    check(Some("a\n"), "a\r\n", "# line ends change from LF to CRLF\n# no line changes\n");
    check(Some("a\r\nb\n"), "A\nb\n", &format!("# mixed line ends; proposed with LF\n{change}"));
    check(Some("a\nb\n"), "A\r\nb\n", &format!("# LF and CRLF line ends are mixed\n{change}"));
    check(Some("a\n"), "a\n", "# no line changes\n");
}

#[test]
fn a_byte_order_mark_is_no_part_of_the_first_line() {
    let change = "@@ -1 +1 @@\n-a\n+b\n";
    check(Some("\u{feff}a\n"), "\u{feff}b\n", change);
    check(Some("\u{feff}a\n"), "b\n", &format!("# the byte order mark goes\n{change}"));
    check(Some("a\n"), "\u{feff}b\n", &format!("# a byte order mark is put in front\n{change}"));
}

#[test]
fn long_files_are_compared_in_good_time_and_truly() {
    // Lines that repeat, with some among them that do not.
    let text = |count: usize, step: usize, once: usize| -> String {
        let line = |n: usize| match n {
            n if n % once == 0 => format!("{n}\n"),
            n if n % step == 0 => "x\n".to_owned(),
            _ => "\n".to_owned(),
        };
        (0..count).map(line).collect()
    };
    for (count, once, is_fine) in [
        (PIECE_LINES_MAX, usize::MAX, true),
        (PIECE_LINES_MAX + 40, usize::MAX, false),
        (10 * PIECE_LINES_MAX, PIECE_LINES_MAX - 1, true),
        (20 * PIECE_LINES_MAX, PIECE_LINES_MAX - 1, false),
        (180_000, 2, true),
    ] {
        let (old, new) = (text(count, 3, once), text(count, 5, once));
        let page = compare(Some(&old), &new);
        let is_told = page.lines.iter().any(|line| line.text.starts_with("too many changes"));
        assert_eq!(is_told, !is_fine, "{count} {once}");
        assert_eq!(applied(&old, &page), new);
    }
}

#[test]
fn the_page_of_any_two_texts_makes_one_of_the_other() {
    let mut state = 7_u64;
    let mut text = || -> String {
        let mut lines = String::new();
        for _ in 0..40 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            lines += ["a\n", "b\n", "\n", "  c\n", "d"][(state >> 33) as usize % 5];
        }
        lines
    };
    for _ in 0..200 {
        let (old, new) = (text(), text());
        assert_eq!(applied(&old, &compare(Some(&old), &new)), new);
    }
}
