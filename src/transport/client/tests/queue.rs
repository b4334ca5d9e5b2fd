//! A client that asks for more than it reads: what it is owed stays bounded, and nothing is lost.

use super::*;
use crate::transport::session::{QUEUE_HIGH_BYTES, QUEUE_LOW_BYTES};

/// Far more answers than the mark admits.
const REQUESTS: usize = 5_000;

/// Bytes the socket takes at once.
const PIECE: usize = 100_000;

/// Has the socket take bytes piece by piece until nothing is left, and says what the peer read.
#[track_caller]
fn read_slowly(play: &mut Play, reply_bytes: usize) -> String {
    let mut resumes = 0;
    while !play.queue.is_empty() {
        let left = play.queue.len().saturating_sub(PIECE);
        play.write(PIECE);
        let has_resumed = play.queue.len() > left;
        assert!(!has_resumed || left <= QUEUE_LOW_BYTES, "resumed at {left} bytes");
        assert!(play.queued_most <= QUEUE_HIGH_BYTES + reply_bytes, "{}", play.queued_most);
        resumes += usize::from(has_resumed);
    }
    assert!(resumes >= 2, "the answers fill the queue several times over");
    play.take_sent()
}

#[test]
fn lists_asked_for_in_one_read_never_queue_more_than_the_mark_and_one_reply() {
    let mut play = Play::connected();
    play.feed(&list(0));
    let reply_bytes = play.wire.iter().filter(|&&byte| byte != READ).count() + 3;
    assert_eq!(play.take_sent(), "answer(0)");
    play.is_flowing = false;
    play.feed(&(0..REQUESTS).flat_map(list).collect::<Vec<u8>>());
    assert_eq!(play.take_log(), "pause");
    assert!(play.queue.len() > QUEUE_HIGH_BYTES);
    let expected: Vec<String> = (0..REQUESTS).map(|id| format!("answer({id})")).collect();
    assert!(read_slowly(&mut play, reply_bytes) == expected.join(" "), "all, in order");
    assert_eq!(play.take_log(), "resume", "once, when nothing is kept any more");
    assert!(!play.client.is_paused());
}

#[test]
fn calls_asked_for_in_one_read_never_queue_more_than_the_mark_and_one_reply() {
    let mut play = Play::connected();
    play.is_flowing = false;
    play.feed(&(0..200).flat_map(|id| call(id, "large")).collect::<Vec<u8>>());
    let started = play.log.iter().filter(|word| *word == "large").count();
    assert_eq!(started, QUEUE_HIGH_BYTES / LARGE_BYTES + 1, "the rest waits");
    let expected: Vec<String> = (0..200).map(|id| format!("answer({id})")).collect();
    assert!(read_slowly(&mut play, LARGE_BYTES + 100) == expected.join(" "), "all, in order");
    let log = play.take_log();
    assert_eq!(log.split(' ').filter(|word| *word == "large").count(), 200);
    assert_eq!(log.replace("large ", ""), "pause resume");
}

#[test]
fn late_answers_above_the_mark_hold_the_next_message_back() {
    let mut play = Play::connected();
    play.is_flowing = false;
    play.feed(&(0..3).flat_map(|id| call(id, "held")).collect::<Vec<u8>>());
    for held in play.held.clone() {
        play.answer(held, "x".repeat(2 << 20));
    }
    play.feed(&[list(3), call(4, "quick"), list(5)].concat());
    assert_eq!(play.take_log(), "held held held pause", "one message, then the mark is seen");
    play.is_flowing = true;
    play.settle();
    assert_eq!(play.take_log(), "quick resume");
    let expected = "answer(0) answer(1) answer(2) answer(3) answer(4) answer(5)";
    assert_eq!(play.take_sent(), expected);
}

#[test]
fn what_is_kept_goes_with_its_client() {
    let mut play = Play::connected();
    play.is_flowing = false;
    let many: Vec<u8> = (0..REQUESTS).flat_map(list).collect();
    play.feed(&[many, call(REQUESTS, "quick")].concat());
    let queued = play.queue.len();
    assert_eq!(play.take_log(), "pause");
    play.stop();
    assert!(!play.client.is_paused(), "nobody waits for its queue any more");
    assert_eq!(play.queue.len(), queued + 2 + 2 + "Server shutting down".len());
    play.is_flowing = true;
    play.settle();
    assert_eq!(play.take_log(), "left finish");
    assert!(play.take_sent().ends_with(" Close(1001 Server shutting down)"));
}

#[test]
fn a_paused_client_is_not_asked_for_pongs() {
    let mut play = Play::connected();
    play.is_flowing = false;
    play.feed(&(0..REQUESTS).flat_map(list).collect::<Vec<u8>>());
    assert!(play.client.is_paused());
    // Its pongs wait behind its requests, and it reads a little in each interval.
    for tick in 1..=10 {
        play.at(tick * INTERVAL_MS - 1).write(1_000);
        play.tick_at(tick);
    }
    assert_eq!(play.take_log(), "pause");
    play.is_flowing = true;
    play.settle();
    assert_eq!(play.take_log(), "resume");
    // The window starts with the tick that finds it resumed; then the rule holds again.
    for tick in 11..=13 {
        play.tick_at(tick);
        assert_eq!(play.take_log(), "", "tick {tick}");
    }
    play.tick_at(14);
    assert_eq!(play.take_log(), "left finish");
    assert!(play.take_sent().ends_with("Close(1011 Keepalive timeout)"));
}

#[test]
fn a_paused_client_that_reads_nothing_is_dropped_as_not_reading() {
    let mut play = Play::connected();
    play.is_flowing = false;
    play.feed(&(0..REQUESTS).flat_map(list).collect::<Vec<u8>>());
    for tick in 1..=2 {
        play.tick_at(tick);
    }
    assert_eq!(play.take_log(), "pause");
    play.tick_at(3);
    assert_eq!(play.take_log(), "confirm left finish");
    assert!(words(&play.queue).ends_with("Close(1011 Not reading)"));
}

impl Play {
    fn tick_at(&mut self, tick: Millis) {
        self.at(tick * INTERVAL_MS).tick();
    }
}
