use proptest::prelude::*;

use super::*;
use crate::proto::http::request::{BodyLength, Lookup};

/// A head of these lines after `GET / HTTP/1.1` and a Host.
fn with_lines(lines: &str) -> Vec<u8> {
    format!("GET / HTTP/1.1\r\nHost: localhost\r\n{lines}\r\n").into_bytes()
}

/// Feeds `bytes` in the pieces that `cuts` make: the request with what was left over, or why not.
fn feed(bytes: &[u8], cuts: &[usize]) -> Result<Option<(Request, Vec<u8>)>, HeadError> {
    let mut reader = HeadReader::new(Limits::default());
    let mut start = 0;
    for end in cuts.iter().copied().chain([bytes.len()]) {
        match reader.feed(&bytes[start..end]) {
            Progress::NeedMore => start = end,
            Progress::Complete { request, consumed } => {
                return Ok(Some((request, bytes[start + consumed..].to_vec())));
            }
            Progress::Failed(error) => {
                assert_eq!(reader.feed(b"GET / HTTP/1.1\r\n"), Progress::Failed(error));
                return Err(error);
            }
        }
    }
    Ok(None)
}

/// The outcome whole; byte by byte must be the same.
#[track_caller]
fn outcome(bytes: &[u8]) -> Result<Option<(Request, Vec<u8>)>, HeadError> {
    let whole = feed(bytes, &[]);
    let cuts: Vec<usize> = (1..bytes.len()).collect();
    assert_eq!(feed(bytes, &cuts), whole, "byte by byte: {:?}", String::from_utf8_lossy(bytes));
    whole
}

#[track_caller]
fn check_refused(rows: &[(&[u8], HeadError)]) {
    for (bytes, expected) in rows {
        let outcome = outcome(bytes).map(|found| found.map(|(request, _)| request));
        assert_eq!(outcome, Err(*expected), "{:?}", String::from_utf8_lossy(bytes));
    }
}

#[track_caller]
fn check_lines_refused(rows: &[(&str, HeadError)]) {
    for (lines, expected) in rows {
        check_refused(&[(&with_lines(lines), *expected)]);
    }
}

#[track_caller]
fn check_body(rows: &[(&str, BodyLength)]) {
    for (lines, expected) in rows {
        let (request, _) = outcome(&with_lines(lines)).unwrap().unwrap();
        assert_eq!(request.body, *expected, "{lines:?}");
    }
}

#[test]
fn a_head_is_taken_apart_and_what_follows_is_left() {
    let bytes = b"\r\n\r\nGET /a?b=c?d HTTP/1.1\r\nhOsT:localhost:1\r\nX-Empty:\r\n\
                  List: a , B\r\nlist:\t,c\t\r\nBytes: \xff\x80\r\n\r\n\x81\x00\r\n";
    let (request, rest) = outcome(bytes).unwrap().unwrap();
    assert_eq!(rest, b"\x81\x00\r\n");
    assert_eq!((request.method.as_str(), request.version), ("GET", Version::Http11));
    assert_eq!(
        (request.target.path.as_str(), request.target.query.as_deref()),
        ("/a", Some("b=c?d"))
    );
    assert_eq!(request.single("Host"), Lookup::One("localhost:1"));
    assert_eq!(request.single("x-empty"), Lookup::One(""));
    assert_eq!(request.single("list"), Lookup::Many);
    assert_eq!(request.single("nothing"), Lookup::Missing);
    assert_eq!(request.single("bytes"), Lookup::One("\u{fffd}\u{fffd}"));
    assert_eq!(request.tokens("LIST").collect::<Vec<_>>(), ["a", "B", "c"]);
    assert!(request.has_token("list", "b") && !request.has_token("list", "d"));
    assert!(!format!("{request:?}").contains("localhost"));
}

#[test]
fn an_unfinished_head_waits() {
    for bytes in
        [&b""[..], b"\r", b"\r\n", b"GET / HTTP/1.1\r\nHost: a\r\n", b"G", b"GET / HTTP/1.1\r"]
    {
        assert_eq!(outcome(bytes), Ok(None));
    }
}

#[test]
fn heads_follow_one_another_and_a_refused_one_is_the_last() {
    let bytes = b"GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\nGET /3 HTTP/1.1\r\n\r\n\
                  GET /4 HTTP/1.1\r\nHost: a\r\n\r\n";
    let mut reader = HeadReader::new(Limits::default());
    let (mut rest, mut paths) = (&bytes[..], Vec::new());
    loop {
        match reader.feed(rest) {
            Progress::Complete { request, consumed } => {
                paths.push(request.target.path);
                rest = &rest[consumed..];
            }
            end => {
                assert_eq!(end, Progress::Failed(HeadError::MissingHost));
                break;
            }
        }
    }
    assert_eq!(paths, ["/1", "/2"]);
}

#[test]
fn broken_lines_are_refused_by_name() {
    use HeadError::*;
    check_lines_refused(&[
        ("A : b\r\n", SpaceBeforeColon),
        ("A\t: b\r\n", SpaceBeforeColon),
        ("Transfer-Encoding : chunked\r\n", SpaceBeforeColon),
        ("A: b\r\n c\r\n", FoldedField),
        ("A: b\r\n\tc\r\n", FoldedField),
        (" A: b\r\n", FoldedField),
        ("A: b\n", BareLf),
        ("\n", BareLf),
        ("A: b\rc\r\n", BareCr),
        ("A: b\r\r\n", BareCr),
        ("A\r: b\r\n", BareCr),
        ("A: b\0\r\n", Nul),
        ("A\0: b\r\n", Nul),
        ("A: b\u{1}\r\n", BadFieldValue),
        ("A: \u{7f}\r\n", BadFieldValue),
        ("A\r\n", MissingColon),
        ("A b\r\n", MissingColon),
        (": b\r\n", BadFieldName),
        (" : b\r\n", FoldedField),
        ("A b: c\r\n", BadFieldName),
        ("A(: c\r\n", BadFieldName),
        ("\u{e9}: c\r\n", BadFieldName),
        ("Host: localhost\r\n", RepeatedHost),
        ("HOST: other\r\n", RepeatedHost),
    ]);
    let space_first = b"GET / HTTP/1.1\r\n Host: a\r\n\r\n";
    check_refused(&[(space_first, FoldedField), (b"GET / HTTP/1.1\r\n\r\n", MissingHost)]);
}

#[test]
fn broken_request_lines_are_refused_by_name() {
    use HeadError::*;
    check_refused(&[
        (b"\x16\x03\x01\x02\x00\x01", NotHttp),
        (b"\n", BareLf),
        (b"GET / HTTP/1.1\nHost: a\n\n", BareLf),
        (b" GET / HTTP/1.1\r\n\r\n", NotHttp),
        (b"\r\n\x00", NotHttp),
        (b"\rGET / HTTP/1.1\r\n\r\n", BareCr),
        (b"hello\r\n\r\n", BadRequestLine),
        (b"GET /\r\n\r\n", BadRequestLine),
        (b"GET  / HTTP/1.1\r\n\r\n", BadRequestLine),
        (b"GET /  HTTP/1.1\r\n\r\n", BadRequestLine),
        (b"GET / x HTTP/1.1\r\n\r\n", BadRequestLine),
        (b"GET / HTTP/1.1 \r\n\r\n", BadRequestLine),
        (b"GET\t/ HTTP/1.1\r\n\r\n", BadRequestLine),
        (b"G(T / HTTP/1.1\r\n\r\n", BadRequestLine),
        (b"GET / http/1.1\r\n\r\n", BadRequestLine),
        (b"GET / HTTP/1.1x\r\n\r\n", BadRequestLine),
        (b"GET / HTTP/2.0\r\n\r\n", UnsupportedVersion),
        (b"GET / HTTP/0.9\r\n\r\n", UnsupportedVersion),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", UnsupportedVersion),
        (b"GET /\0 HTTP/1.1\r\n\r\n", Nul),
        (b"GET /\r HTTP/1.1\r\n\r\n", BareCr),
        (b"GET /\xc3\xa9 HTTP/1.1\r\nHost: a\r\n\r\n", BadTarget),
        (b"GET /\xff HTTP/1.1\r\nHost: a\r\n\r\n", BadTarget),
        (b"GET /#x HTTP/1.1\r\nHost: a\r\n\r\n", BadTarget),
        (b"GET x HTTP/1.1\r\nHost: a\r\n\r\n", BadTarget),
        (b"GET * HTTP/1.1\r\nHost: a\r\n\r\n", BadTarget),
        (b"GET http:/// HTTP/1.1\r\nHost: a\r\n\r\n", BadTarget),
        (b"GET https://a/ HTTP/1.1\r\nHost: a\r\n\r\n", BadTarget),
        (b"CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n", BadTarget),
    ]);
}

#[test]
fn targets_are_paths_or_http_urls() {
    let rows = [
        ("GET", "/", None, "/", None),
        ("GET", "//etc", None, "//etc", None),
        ("GET", "/?", None, "/", Some("")),
        ("GET", "/a%2e/?x=/y", None, "/a%2e/", Some("x=/y")),
        ("OPTIONS", "*", None, "*", None),
        ("GET", "http://localhost:80", Some("localhost:80"), "/", None),
        ("GET", "HTTP://a@b/c?d", Some("a@b"), "/c", Some("d")),
        ("GET", "http://a?b", Some("a"), "/", Some("b")),
    ];
    for (method, target, authority, path, query) in rows {
        let head = format!("{method} {target} HTTP/1.1\r\nHost: a\r\n\r\n");
        let (request, _) = outcome(head.as_bytes()).unwrap().unwrap();
        let found = request.target;
        let expected = (authority, path, query);
        assert_eq!(
            (found.authority.as_deref(), found.path.as_str(), found.query.as_deref()),
            expected
        );
    }
}

#[test]
fn heads_of_doubtful_length_are_refused() {
    use HeadError::*;
    check_lines_refused(&[
        ("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", LengthAndTransferEncoding),
        ("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", LengthAndTransferEncoding),
        ("Content-Length: 46\r\nContent-Length: 0\r\n", RepeatedContentLength),
        ("Content-Length: 5\r\ncontent-length: 5\r\n", RepeatedContentLength),
        ("Content-Length: 5,5\r\n", RepeatedContentLength),
        ("Content-Length: +5\r\n", BadContentLength),
        ("Content-Length: -1\r\n", BadContentLength),
        ("Content-Length: 0x10\r\n", BadContentLength),
        ("Content-Length: 5 5\r\n", BadContentLength),
        ("Content-Length:\r\n", BadContentLength),
        ("Content-Length: 5.0\r\n", BadContentLength),
        ("Content-Length: 18446744073709551616\r\n", BadContentLength),
        ("Content-Length: 99999999999999999999\r\n", BadContentLength),
        ("Transfer-Encoding:\r\n", BadTransferEncoding),
        ("Transfer-Encoding: xchunked\r\n", UnknownTransferCoding),
        ("Transfer-Encoding: identity\r\n", UnknownTransferCoding),
        ("Transfer-Encoding: gzip, chunked\r\n", UnknownTransferCoding),
        ("Transfer-Encoding: chunked, identity\r\n", BadTransferEncoding),
        ("Transfer-Encoding: chunked, chunked\r\n", BadTransferEncoding),
        ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", BadTransferEncoding),
        ("Transfer-Encoding: chunked\r\nTransfer-Encoding: gzip\r\n", BadTransferEncoding),
        ("Transfer-Encoding: \"chunked\"\r\n", UnknownTransferCoding),
    ]);
    let old = b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n";
    check_refused(&[(old, BadTransferEncoding)]);
}

#[test]
fn heads_of_plain_length_pass() {
    check_body(&[
        ("", BodyLength::None),
        ("Content-Length: 0\r\n", BodyLength::Bytes(0)),
        ("Content-Length: \t007 \r\n", BodyLength::Bytes(7)),
        ("Content-Length: 18446744073709551615\r\n", BodyLength::Bytes(u64::MAX)),
        ("Transfer-Encoding: chunked\r\n", BodyLength::Chunked),
        ("Transfer-Encoding: chunked\t\r\n", BodyLength::Chunked),
        ("transfer-encoding: , CHUNKED ,\r\n", BodyLength::Chunked),
    ]);
}

#[test]
fn http_1_0_needs_no_host_but_not_two() {
    let (request, _) = outcome(b"GET / HTTP/1.0\r\n\r\n").unwrap().unwrap();
    assert_eq!((request.version, request.single("host")), (Version::Http10, Lookup::Missing));
    let two = b"GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n";
    check_refused(&[(two, HeadError::RepeatedHost)]);
}

#[test]
fn a_head_of_exactly_the_limit_passes_and_one_byte_more_does_not() {
    let padded = |len: usize| {
        let empty = with_lines("X: \r\n").len();
        with_lines(&format!("X: {}\r\n", "x".repeat(len - empty)))
    };
    assert!(matches!(feed(&padded(HEAD_BYTES_MAX), &[]), Ok(Some(_))));
    check_refused(&[(&padded(HEAD_BYTES_MAX + 1), HeadError::HeadTooLong)]);
    let long_line = format!("GET /{} HTTP/1.1\r\n", "x".repeat(HEAD_BYTES_MAX));
    let empty_lines = "\r\n".repeat(HEAD_BYTES_MAX);
    let endless = vec![b'x'; 1 << 20];
    check_refused(&[
        (long_line.as_bytes(), HeadError::RequestLineTooLong),
        (empty_lines.as_bytes(), HeadError::RequestLineTooLong),
        (&endless, HeadError::RequestLineTooLong),
    ]);
}

#[test]
fn a_hundred_fields_pass_and_one_more_does_not() {
    let lines = |count: usize| with_lines(&"A: b\r\n".repeat(count));
    assert!(matches!(feed(&lines(FIELDS_MAX - 1), &[]), Ok(Some(_))));
    check_refused(&[
        (&lines(FIELDS_MAX), HeadError::TooManyFields),
        (&lines(2_000), HeadError::TooManyFields),
        (&lines(3_000), HeadError::HeadTooLong),
    ]);
}

/// Text that is nearly a head: the pieces that matter, in any order, with junk between.
fn nearly_a_head() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        8 => prop::sample::select(vec![
            &b"GET / HTTP/1.1\r\n"[..], b"Host: a\r\n", b"A: b\r\n", b"\r\n", b"\r", b"\n", b" ", b":",
            b"\t", b"\0", b"Content-Length: 1\r\n", b"Transfer-Encoding: chunked\r\n", b",", b"HTTP/1.0",
            b"http://", b"?", b"A: b \r\n",
        ]).prop_map(<[u8]>::to_vec),
        1 => prop::collection::vec(any::<u8>(), 0..4),
    ];
    let tail = prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat());
    (any::<bool>(), tail).prop_map(|(is_begun, tail)| {
        let start: &[u8] = if is_begun { b"GET / HTTP/1.1\r\nHost: a\r\n" } else { b"" };
        [start, &tail].concat()
    })
}

proptest! {
    #[test]
    fn the_outcome_does_not_depend_on_how_the_bytes_are_cut(
        bytes in nearly_a_head(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let whole = outcome(&bytes);
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        cuts.sort_unstable();
        prop_assert_eq!(&feed(&bytes, &cuts), &whole);
        if let Ok(Some((request, rest))) = whole {
            prop_assert!(bytes.ends_with(&rest));
            let host = request.single("host");
            let is_clean = |value: &str| !value.contains(['\r', '\n', '\0']);
            prop_assert!(matches!(host, Lookup::One(value) if is_clean(value)) || host == Lookup::Missing);
            prop_assert!(request.target.path.starts_with('/') || request.target.path == "*");
        }
    }
}
