//! Who is dropped for silence or for not reading, at which tick, and who is kept.
//!
//! Times count from the 101; the interval is 30 s, so ticks come at 30, 60, 90 s and so on.

use footbridge::config::options::ServeOptions;
use footbridge::stdx::Millis;
use serde_json::json;

use super::harness::{Guest, INTERVAL_MS, Site, options};
use super::normal;
use crate::kernel::{Act, PIPE_BYTES};

/// A masked pong nobody asked for.
const PONG: [u8; 6] = [0x8a, 0x80, 0, 0, 0, 0];

/// Asks for so many bytes of answers at once; returns how many answers that are.
fn ask_for(site: &mut Site, guest: &mut Guest, bytes: usize) -> u64 {
    let answer = guest.ask(site, json!({"id": "sample", "method": "tools/list"}));
    guest.heard.clear();
    let count = (bytes / answer.to_string().len()) as u64;
    for id in 1..=count {
        guest.tell(site, json!({"id": id, "method": "tools/list"}));
    }
    site.settle();
    count
}

/// Reads until nothing more comes.
fn read_all(site: &mut Site, guest: &mut Guest) {
    while guest.read(site, usize::MAX) > 0 {
        site.settle();
    }
}

#[track_caller]
fn check_answers(guest: &Guest, count: u64) {
    let ids: Vec<u64> = guest.heard.iter().filter_map(|message| message.id.as_u64()).collect();
    assert!(ids == (1..=count).collect::<Vec<u64>>(), "all in order, once: {} came", ids.len());
}

/// A guest that is owed so many bytes, reads once at `read_at`, and otherwise only sends pongs.
fn deaf(bytes: usize, read_at: Millis, until: Millis) -> (Site, Guest, u64) {
    let mut site = Site::start(&options());
    let mut guest = Guest::initialized(&mut site);
    let count = ask_for(&mut site, &mut guest, bytes);
    let pongs = (5_000..until).step_by(10_000);
    let mut times: Vec<Millis> = pongs.chain([read_at, until]).collect();
    times.sort_unstable();
    let mut now = 0;
    for time in times {
        site.run_for(time - now);
        now = time;
        if time == read_at {
            assert_eq!(guest.read(&mut site, PIPE_BYTES / 2), PIPE_BYTES / 2);
        } else if time < until {
            guest.send_bytes(&mut site, &PONG);
        }
    }
    (site, guest, count)
}

#[test]
fn who_reads_nothing_is_dropped_60_to_90_seconds_after_the_last_progress() {
    const BELOW_THE_MARK: usize = 3 << 20;
    const ABOVE_THE_MARK: usize = 6 << 20;
    for (bytes, reads_at) in
        [(BELOW_THE_MARK, [1, 29_998, 30_001]), (ABOVE_THE_MARK, [12_345, 29_999, 45_000])]
    {
        for read_at in reads_at {
            let dropped_at = (Millis::div_ceil(read_at, INTERVAL_MS) + 2) * INTERVAL_MS;
            assert!((60_000..=90_000).contains(&(dropped_at - read_at)));
            let (mut site, mut guest, count) = deaf(bytes, read_at, dropped_at - 1);
            read_all(&mut site, &mut guest);
            assert_eq!(guest.closed, None, "read at {read_at}, again just before the tick");
            check_answers(&guest, count);

            let (mut site, mut guest, _) = deaf(bytes, read_at, dropped_at);
            read_all(&mut site, &mut guest);
            let closed = guest.closed.take().unwrap();
            assert_eq!((closed.code.unwrap().get(), closed.reason.as_str()), (1011, "Not reading"));
            guest.finish(&mut site);
            site.settle();
            assert!(!site.kernel().is_open(guest.peer), "its end is seen at once, paused or not");

            let (mut site, guest, _) = deaf(bytes, read_at, dropped_at);
            site.run_for(1_999);
            assert!(site.kernel().is_open(guest.peer));
            site.run_for(1);
            assert!(!site.kernel().is_open(guest.peer));
            assert_eq!(site.kernel().open_objects(), 1, "the listener alone");
        }
    }
}

#[test]
fn a_slow_reader_that_answers_pings_is_kept() {
    const BYTES_A_SECOND: usize = 20_000;
    const SECONDS: u64 = 600;
    let mut site = Site::start(&options());
    let mut guest = Guest::initialized(&mut site);
    // More than it reads in that time, what the wire and the queue hold included.
    let count = ask_for(&mut site, &mut guest, BYTES_A_SECOND * SECONDS as usize + (8 << 20));
    for _ in 0..SECONDS {
        site.run_for(1_000);
        assert_eq!(guest.read(&mut site, BYTES_A_SECOND), BYTES_A_SECOND);
    }
    assert!(site.kernel().is_open(guest.peer));
    read_all(&mut site, &mut guest);
    check_answers(&guest, count);
    assert!(guest.pings > 0);
    site.live_for(&mut [&mut guest], 300);
    assert_eq!(guest.closed, None);
}

#[test]
fn who_is_silent_is_dropped_at_the_second_tick_that_finds_two_intervals_of_it() {
    // Bytes are found at the tick after them; the 101 itself counts from when it was written.
    for (last_byte_at, dropped_at) in
        [(None, 90_000), (Some(1), 120_000), (Some(29_999), 120_000), (Some(30_001), 150_000)]
    {
        let mut site = Site::start(&options());
        let mut guest = Guest::upgraded(&mut site);
        guest.answers_pings = false;
        let said_at = last_byte_at.unwrap_or(0);
        site.run_for(said_at);
        if last_byte_at.is_some() {
            guest.send_bytes(&mut site, &PONG);
        }
        site.run_for(dropped_at - 1 - said_at);
        guest.read(&mut site, usize::MAX);
        assert_eq!(guest.closed, None, "last byte at {last_byte_at:?}");
        site.run_for(1);
        guest.read(&mut site, usize::MAX);
        let closed = guest.closed.take().unwrap();
        let reason = closed.reason.as_str();
        assert_eq!((closed.code.unwrap().get(), reason), (1011, "Keepalive timeout"));
        site.run_for(2_000);
        assert!(!site.kernel().is_open(guest.peer));
    }
}

#[test]
fn a_machine_that_slept_drops_nobody_and_then_judges_afresh() {
    let mut site = Site::start(&options());
    let mut silent = Guest::upgraded(&mut site);
    silent.answers_pings = false;
    let mut stalled = Guest::initialized(&mut site);
    ask_for(&mut site, &mut stalled, 3 << 20);
    let mut lively = Guest::initialized(&mut site);
    // At 60 s both are one tick away from being dropped; the next tick comes after the sleep.
    site.live_for(&mut [&mut lively], 75);
    site.kernel().plan(1_000, Act::Sleep(600_000));
    site.run_for(601_000);
    for (guest, name) in [(&silent, "silent"), (&stalled, "stalled"), (&lively, "lively")] {
        assert!(site.kernel().is_open(guest.peer), "{name}");
    }
    // A fresh stall window ends with its second tick, a fresh silence one tick later.
    for (tick, [is_silent_kept, is_stalled_kept]) in
        [(1, [true, true]), (2, [true, false]), (3, [false, false])]
    {
        let and_the_last_words = 2;
        stalled.send_bytes(&mut site, &PONG);
        site.live_for(&mut [&mut lively], INTERVAL_MS / 1_000 + and_the_last_words);
        assert_eq!(site.kernel().is_open(silent.peer), is_silent_kept, "tick {tick}");
        assert_eq!(site.kernel().is_open(stalled.peer), is_stalled_kept, "tick {tick}");
    }
    lively.ask(&mut site, json!({"id": 9, "method": "ping"}));
    assert_eq!(lively.closed, None);
}

#[test]
fn the_keep_alive_rests_while_nobody_is_connected_and_when_it_is_off() {
    let mut site = Site::start(&options());
    let mut guest = Guest::initialized(&mut site);
    site.live_for(&mut [&mut guest], 45);
    guest.close(&mut site, &normal());
    guest.finish(&mut site);
    site.run_for(1);
    let polls = site.kernel().polls.len();
    site.run_for(3_600_000);
    assert!(site.kernel().polls.len() < polls + 5, "an idle bridge sleeps");
    let mut at = 0;
    let mut next = Guest::upgraded(&mut site);
    next.answers_pings = false;
    // Its first interval starts with it. The hour before is no gap between two ticks, which would
    // be taken for a sleep and put its end off.
    for (now, pings, is_closed) in
        [(29_999, 0, false), (30_000, 1, false), (89_999, 2, false), (90_000, 2, true)]
    {
        let left = now - at;
        at = now;
        site.run_for(left);
        next.read(&mut site, usize::MAX);
        assert_eq!((next.pings, next.closed.is_some()), (pings, is_closed), "at {now}");
    }

    let mut quiet = Site::start(&ServeOptions { ping_interval_ms: None, ..options() });
    let mut guest = Guest::initialized(&mut quiet);
    ask_for(&mut quiet, &mut guest, 3 << 20);
    quiet.run_for(3_600_000);
    read_all(&mut quiet, &mut guest);
    assert_eq!((guest.pings, &guest.closed), (0, &None));
}
