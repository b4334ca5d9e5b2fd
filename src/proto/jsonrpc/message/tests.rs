//! What is a message, what is not, and under which id that is said.

use super::*;

/// `kind` is "request ID METHOD PARAMS", "notification METHOD PARAMS", "response ID RESULT ERROR"
/// or "CODE ID", with `-` for what is absent.
#[track_caller]
fn check(text: &str, expected: &str) {
    let raw = |value: Option<&RawValue>| value.map_or("-", RawValue::get).to_owned();
    let told = match parse(text) {
        Ok(Message::Request { id, method, params }) => {
            format!("request {} {method} {}", id.token(), raw(params))
        }
        Ok(Message::Notification { method, params }) => {
            format!("notification {method} {}", raw(params))
        }
        Ok(Message::Response { id, result, error }) => {
            format!("response {} {} {}", id.map_or("-", Id::token), raw(result), raw(error))
        }
        Err(ParseError { fault, id }) => {
            format!("{} {}", fault.code(), id.map_or("null", Id::token))
        }
    };
    assert_eq!(told, expected, "{text:.200}");
}

#[test]
fn messages_are_told_apart_and_borrowed() {
    for (text, expected) in [
        (r#"{"jsonrpc":"2.0","id":0,"method":"ping"}"#, "request 0 ping -"),
        (
            r#" {"method":"a","params":{"x": 1},"jsonrpc":"2.0","id":""}  "#,
            r#"request "" a {"x": 1}"#,
        ),
        (r#"{"jsonrpc":"2.0","id":-7,"method":"","params":[]}"#, "request -7  []"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"a","params":null}"#, "request 1 a -"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"p\u0069ng","other":{"id":9}}"#, "request 1 ping -"),
        (
            r#"{"\u006asonrpc":"2.0","id":9007199254740993,"method":"m"}"#,
            "request 9007199254740993 m -",
        ),
        (r#"{"jsonrpc":"2.\u0030","method":"n","params":5}"#, "notification n 5"),
        (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, "response 1 {} -"),
        (r#"{"jsonrpc":"2.0","id":null,"error":{}}"#, "response - - {}"),
        (r#"{"jsonrpc":"2.0","id":{},"result":null}"#, "response - null -"),
    ] {
        check(text, expected);
    }
}

#[test]
fn what_is_no_json_is_a_parse_error_without_id() {
    for text in [
        "",
        " ",
        "{",
        "}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"",
        "nul",
        "{'a':1}",
        "01",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"} x",
        "\u{feff}{}",
        "[1,]",
        "\"\n\"",
        r#"{"jsonrpc":"2.0","id":01,"method":"ping"}"#,
        r#"{"a":"\x"}"#,
        "Content-Length: 5\r\n\r\n{}",
    ] {
        check(text, "-32700 null");
    }
}

#[test]
fn what_is_json_but_no_request_echoes_a_valid_id() {
    for (text, expected) in [
        ("1", "-32600 null"),
        ("true", "-32600 null"),
        ("null", "-32600 null"),
        ("\"text\"", "-32600 null"),
        ("[]", "-32600 null"),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, "-32600 null"),
        ("{}", "-32600 null"),
        (r#"{"id":7,"method":"ping"}"#, "-32600 7"),
        (r#"{"jsonrpc":"1.0","id":"a","method":"ping"}"#, r#"-32600 "a""#),
        (r#"{"jsonrpc":2.0,"id":7,"method":"ping"}"#, "-32600 7"),
        (r#"{"jsonrpc":"2.0","id":7}"#, "-32600 7"),
        (r#"{"jsonrpc":"2.0","id":7,"method":1}"#, "-32600 7"),
        (r#"{"jsonrpc":"2.0","id":7,"method":null,"result":1}"#, "-32600 7"),
        (r#"{"jsonrpc":"2.0","id":7,"method":"\ud800"}"#, "-32600 7"),
        (r#"{"jsonrpc":"2.0","method":{}}"#, "-32600 null"),
        (r#"{"method":"notification without version"}"#, "-32600 null"),
    ] {
        check(text, expected);
    }
}

#[test]
fn an_id_that_is_none_is_answered_with_null() {
    for id in ["null", "true", "false", "{}", "[]", "1.5", "1.0", "1e3", "[1]", "{\"id\":1}"] {
        check(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#), "-32600 null");
    }
}

#[test]
fn a_repeated_member_has_no_meaning() {
    for (text, expected) in [
        (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"m"}"#, "-32600 null"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"a","m\u0065thod":"b"}"#, "-32600 1"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"a","params":{},"params":{}}"#, "-32600 1"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"a","x":1,"x":2}"#, "request 1 a -"),
    ] {
        check(text, expected);
    }
}

#[test]
fn depth_and_length_are_survived() {
    let deep = "[".repeat(1 << 20);
    check(&deep, "-32700 null");
    check(&format!("{deep}{}", "]".repeat(1 << 20)), "-32600 null");
    let deep = format!("{}{}", "{\"a\":".repeat(100_000), "1".to_owned() + &"}".repeat(100_000));
    check(&deep, "-32600 null");
    let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{deep}}}"#);
    check(&text, &format!("request 1 m {deep}"));
    let long = "x".repeat(1 << 20);
    let text = format!(r#"{{"jsonrpc":"2.0","id":"{}","method":"{long}"}}"#, "i".repeat(10_000));
    check(&text, &format!("request \"{}\" {long} -", "i".repeat(10_000)));
}

#[test]
fn parameters_are_not_copied() {
    let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":["{}"]}}"#, "x".repeat(9));
    let Ok(Message::Request { params: Some(params), method, .. }) = parse(&text) else { panic!() };
    assert!(text.as_bytes().as_ptr_range().contains(&params.get().as_ptr()));
    assert!(matches!(method, Cow::Borrowed("m")));
}
