//! How a client goes: told once, in order, and in bounded time.

use super::*;

/// Ways in which a connected client goes, and what it is sent.
const WAYS: [Way; 7] = [
    ("hangs up", Play::end, ""),
    ("sends Close", |play| play.feed(&close(&[0x03, 0xe8])), "Close(1000)"),
    ("breaks a rule", |play| play.feed(&violation()), "Close(1002 Protocol error)"),
    ("is reset", Play::fail, ""),
    ("is silent", silence, "ping ping ping Close(1011 Keepalive timeout)"),
    ("is stopped", Play::stop, "Close(1001 Server shutting down)"),
    ("sends more than Close", |play| play.feed(&closed_twice()), "Close(1000)"),
];

fn silence(play: &mut Play) {
    // What was read before the first tick counts as life there.
    for _ in 1..=4 {
        play.at(play.now + INTERVAL_MS).tick();
    }
}

fn closed_twice() -> Vec<u8> {
    [close(&[0x03, 0xe8]), close(&[0x03, 0xe9]), call(9, "quick"), violation()].concat()
}

#[test]
fn a_client_comes_and_leaves_once_whatever_way_it_goes() {
    for (way, go, sent) in WAYS {
        for (then_way, then_go, _) in WAYS {
            let mut play = Play::new();
            play.feed(UPGRADE.as_bytes());
            play.feed(&[text(INITIALIZE), call(1, "held")].concat());
            assert_eq!(play.take_log(), "pause came resume held");
            assert_eq!(play.take_sent(), "101 answer(0)");
            go(&mut play);
            assert_eq!(play.take_sent(), sent, "{way}");
            assert!(!play.client.is_connected(), "{way}");
            then_go(&mut play);
            play.end();
            play.end();
            assert_eq!(play.take_sent(), "", "{way}, then {then_way}");
            let log = play.take_log();
            let orderly = ["left finish close", "left close"];
            assert!(orderly.contains(&log.as_str()), "{way}, then {then_way}: {log}");
            assert_eq!(play.client.poll_timeout(), None);
        }
    }
}

#[test]
fn a_client_that_closes_with_its_first_read_came_and_left() {
    for (last, sent) in [
        (close(&[0x03, 0xe8]), "101 answer(0) answer(1) Close(1000)"),
        (violation(), "101 answer(0) answer(1) Close(1002 Protocol error)"),
    ] {
        let mut play = Play::new();
        let frames = [text(INITIALIZE), call(1, "quick"), last, call(2, "quick")].concat();
        play.feed(&[UPGRADE.as_bytes(), &frames].concat());
        assert_eq!(play.take_sent(), sent);
        assert_eq!(play.take_log(), "pause came resume quick left finish");
    }
}

#[test]
fn what_was_parsed_before_a_close_or_a_violation_is_answered_first() {
    for (last, code) in [
        (close(&[0x0f, 0xa0, b'b', b'y', b'e']), "Close(4000)"),
        (violation(), "Close(1002 Protocol error)"),
        (frame(2, b"x"), "Close(1003 Unsupported data)"),
        (frame(1, b"\xff"), "Close(1007 Invalid frame payload data)"),
    ] {
        let mut play = Play::connected();
        let before = [list(1), call(2, "quick"), list(3), call(4, "large"), call(5, "held")];
        play.feed(&[before.concat(), last, call(6, "quick"), list(7)].concat());
        assert_eq!(play.take_sent(), format!("answer(1) answer(2) answer(3) answer(4) {code}"));
        assert_eq!(play.take_log(), "quick large held left finish");
        play.feed(&call(8, "quick"));
        play.end();
        assert_eq!((play.take_log().as_str(), play.take_sent().as_str()), ("close", ""));
    }
}

#[test]
fn a_call_that_did_not_start_before_its_client_went_never_starts() {
    let ways: [(&str, Act); 3] =
        [("hangs up", Play::end), ("is reset", Play::fail), ("is stopped", Play::stop)];
    for (way, go) in ways {
        let mut play = Play::connected();
        play.feed_unsettled(&[call(1, "quick"), call(2, "quick")].concat());
        go(&mut play);
        play.end();
        let log = play.take_log();
        assert!(["left finish close", "left close"].contains(&log.as_str()), "{way}: {log}");
    }
}

#[test]
fn a_close_is_answered_with_its_code_and_no_reason() {
    for (payload, answer) in [
        (&b""[..], "Close()"),
        (b"\x03\xe8", "Close(1000)"),
        (b"\x03\xe9going", "Close(1001)"),
        (b"\x13\x87x", "Close(4999)"),
        (b"\x03\xee", "Close(1002 Protocol error)"),
        (b"\x03", "Close(1002 Protocol error)"),
        (b"\x03\xe8\xff", "Close(1007 Invalid frame payload data)"),
    ] {
        let mut play = Play::connected();
        play.feed(&close(payload));
        assert_eq!(play.take_sent(), answer, "{payload:?}");
    }
}

/// A client that leaves while its socket takes nothing.
#[track_caller]
fn leaving(interval_ms: Millis) -> Play {
    let mut play = Play::connected_every(interval_ms);
    play.is_flowing = false;
    play.feed(&[list(1), list(2), close(b"\x03\xe8")].concat());
    assert_eq!(play.take_log(), "left finish");
    play
}

#[test]
fn the_last_words_must_move_once_a_window() {
    for (interval_ms, window_ms) in [(30_000, 60_000), (1_000, 2_000), (0, 60_000)] {
        let mut play = leaving(interval_ms);
        play.at(window_ms - 1).time_out();
        assert_eq!(play.take_log(), "");
        play.at(window_ms).time_out();
        assert_eq!(play.take_log(), "close", "interval {interval_ms}");

        let mut play = leaving(interval_ms);
        for window in 1..=20 {
            play.at(window * window_ms - 1).write(1);
            play.at(window * window_ms).time_out();
            assert_eq!(play.take_log(), "", "window {window} of {window_ms}");
        }
        play.at(21 * window_ms).time_out();
        assert_eq!(play.take_log(), "close");
    }
}

#[test]
fn after_the_half_close_the_peer_has_two_seconds_to_end() {
    let gone: Act = Play::end;
    for (at, act, log) in [
        (51_999, Play::time_out as Act, ""),
        (52_000, Play::time_out, "close"),
        (50_001, gone, "close"),
    ] {
        let mut play = leaving(INTERVAL_MS);
        play.at(50_000).write(usize::MAX);
        // The half-close is told once the queue is empty.
        assert_eq!(play.take_sent(), "answer(1) answer(2) Close(1000)");
        act(play.at(at));
        assert_eq!(play.take_log(), log, "at {at}");
    }
}

#[test]
fn a_second_close_shortens_what_is_left() {
    let mut play = leaving(INTERVAL_MS);
    play.at(10_000).stop();
    assert_eq!(play.client.poll_timeout(), Some(11_000));
    play.at(10_500).stop();
    assert_eq!(play.client.poll_timeout(), Some(11_000), "never lengthened");
    play.write(10);
    play.at(11_000).time_out();
    assert_eq!(play.take_log(), "close", "whatever still moves");

    let mut play = leaving(INTERVAL_MS);
    play.write(usize::MAX);
    play.at(500).stop();
    assert_eq!(play.client.poll_timeout(), Some(1_500));
    assert_eq!(play.take_sent(), "answer(1) answer(2) Close(1000)");
}

#[test]
fn a_stop_sends_one_close_and_ends_within_its_second() {
    let mut play = Play::connected();
    play.is_flowing = false;
    play.feed(&call(1, "held"));
    play.stop();
    play.stop();
    play.feed(&call(2, "quick"));
    play.at(999).time_out();
    assert_eq!(play.take_log(), "held left finish");
    assert_eq!(words(&play.queue), "Close(1001 Server shutting down)");
    play.at(1_000).time_out();
    assert_eq!(play.take_log(), "close");
}

#[test]
fn a_silent_client_is_dropped_and_gone_within_two_seconds() {
    for is_flowing in [true, false] {
        let mut play = Play::connected();
        play.is_flowing = is_flowing;
        // Life, so that no window begins with the connect.
        play.feed(&frame(10, b""));
        for tick in 1..=3 {
            play.at(tick * INTERVAL_MS).tick();
            assert_eq!(play.take_log(), "", "tick {tick}");
        }
        // A queue of pings alone stands still as well, but the pong rule speaks first.
        play.at(4 * INTERVAL_MS).tick();
        assert_eq!(play.take_log(), "left finish");
        let last = "Close(1011 Keepalive timeout)";
        assert!([words(&play.wire), words(&play.queue)].concat().ends_with(last));
        play.at(4 * INTERVAL_MS + 1_999).time_out();
        assert_eq!(play.take_log(), "");
        play.at(4 * INTERVAL_MS + 2_000).time_out();
        assert_eq!(play.take_log(), "close");
    }
}

#[test]
fn who_answers_but_does_not_read_is_dropped_as_not_reading() {
    let mut play = Play::connected();
    play.is_flowing = false;
    play.feed(&list(1));
    for tick in 1..=2 {
        play.feed(&frame(10, b""));
        play.at(tick * INTERVAL_MS).tick();
    }
    assert_eq!(play.take_log(), "");
    play.feed(&frame(10, b""));
    play.at(3 * INTERVAL_MS).tick();
    assert_eq!(play.take_log(), "confirm left finish");
    assert_eq!(words(&play.queue), "answer(1) ping ping ping Close(1011 Not reading)");
    play.at(3 * INTERVAL_MS + 2_000).time_out();
    assert_eq!(play.take_log(), "close");
}
