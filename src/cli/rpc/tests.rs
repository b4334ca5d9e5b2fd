use super::*;

#[track_caller]
fn check_head(bytes: &str, expected: Result<Option<usize>, &str>) {
    let parsed = parse_head(bytes.as_bytes(), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    let parsed = parsed.map_err(|error| error.to_string());
    assert_eq!(parsed.as_ref().copied().map_err(String::as_str), expected, "{bytes}");
}

#[test]
fn only_a_proven_upgrade_opens_the_door() {
    let good = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\
                SEC-WebSocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";
    check_head(good, Ok(Some(good.len())));
    check_head(&format!("{good}\u{1}"), Ok(Some(good.len())));
    check_head(&good[..good.len() - 1], Ok(None));
    check_head("", Ok(None));
    let unproven = "not understood: \"a handshake without its proof\"";
    check_head(&good.replace("s3pP", "s3pQ"), Err(unproven));
    check_head("HTTP/1.1 101 Switching Protocols\r\n\r\n", Err(unproven));
    let refused = "the bridge did not let us in: it answered HTTP 401";
    check_head("HTTP/1.1 401 Unauthorized\r\n\r\n", Err(refused));
    check_head("SSH-2.0-x\r\n", Err("not understood: \"invalid HTTP version\""));
}

#[track_caller]
fn check_answer(answer: Value, expected: Result<Value, &str>) {
    let result = result_of(answer).map_err(|error| error.to_string());
    assert_eq!(result.as_ref().map_err(String::as_str), expected.as_ref().map_err(|text| *text));
}

#[test]
fn an_answer_is_a_result_or_an_error() {
    check_answer(json!({"id": 1, "result": {"agents": 2}}), Ok(json!({"agents": 2})));
    check_answer(json!({"id": 1, "result": null}), Ok(Value::Null));
    check_answer(
        json!({"id": 1, "error": {"code": -32012, "message": "already answered by client_1"}}),
        Err("already answered by client_1"),
    );
    for garbled in [json!({"id": 1}), json!({"id": 1, "error": {"code": "x"}})] {
        let expected = "not understood: \"an answer without result or error\"";
        check_answer(garbled, Err(expected));
    }
}

#[test]
fn old_notifications_make_room() {
    let mut kept = VecDeque::new();
    for number in 0..=NOTIFICATIONS_MAX {
        keep(&mut kept, &json!({"method": number.to_string()}));
    }
    assert_eq!((kept.len(), kept[0].as_str()), (NOTIFICATIONS_MAX, "1"));
    keep(&mut kept, &json!({"params": {}}));
    assert_eq!(kept.len(), NOTIFICATIONS_MAX);
}
