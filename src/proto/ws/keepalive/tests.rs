//! Rows of (time, what the client did, what the policy says), and random patterns of late ticks.

use proptest::prelude::*;

use super::*;

const INTERVAL_MS: Millis = 30_000;

const START: Sample = Sample { read_total: 0, written_total: 0, queued: 0, is_paused: false };

/// One tick, or the confirmation after one.
#[derive(Clone, Copy)]
struct Row {
    at_ms: Millis,
    is_confirmation: bool,
    read: u64,
    written: u64,
    queued: usize,
    is_paused: bool,
    expected: Option<Verdict>,
}

/// A tick so many seconds after the client connected: nothing came, nothing was written, and
/// 2 KiB wait.
fn at(seconds: Millis) -> Row {
    Row {
        at_ms: seconds * 1000,
        is_confirmation: false,
        read: 0,
        written: 0,
        queued: 2048,
        is_paused: false,
        expected: None,
    }
}

fn confirm_at(seconds: Millis) -> Row {
    Row { is_confirmation: true, ..at(seconds) }
}

impl Row {
    /// A pong came, or anything else.
    fn pong(self) -> Row {
        Row { read: 6, ..self }
    }

    /// So many bytes left since the last row.
    fn written(self, bytes: u64) -> Row {
        Row { written: bytes, ..self }
    }

    fn queued(self, bytes: usize) -> Row {
        Row { queued: bytes, ..self }
    }

    fn paused(self) -> Row {
        Row { is_paused: true, ..self }
    }

    fn expect(self, verdict: Verdict) -> Row {
        Row { expected: Some(verdict), ..self }
    }

    fn keep(self) -> Row {
        self.expect(Verdict::Keep)
    }

    fn confirm(self) -> Row {
        self.expect(Verdict::Confirm)
    }

    fn no_reply(self, seconds: u64) -> Row {
        self.expect(Verdict::Drop(DropReason::NoReply { seconds }))
    }

    fn not_reading(self, seconds: u64, queued_kb: usize) -> Row {
        self.expect(Verdict::Drop(DropReason::NotReading { seconds, queued_kb }))
    }
}

/// Plays `rows` to a client that connected at 0, the timer starting with it.
#[track_caller]
fn check(rows: &[Row]) {
    let mut ticker = Ticker::new(INTERVAL_MS);
    // The handshake's bytes, of which the policy must make nothing.
    let mut sample = Sample { read_total: 300, written_total: 129, queued: 0, is_paused: false };
    let mut policy = KeepAlive::new(sample, 0);
    for row in rows {
        sample.read_total += row.read;
        sample.written_total += row.written;
        sample.queued = row.queued;
        sample.is_paused = row.is_paused;
        let verdict = match row.is_confirmation {
            true => policy.confirm(sample, row.at_ms),
            false => policy.tick(ticker.tick(row.at_ms), sample, row.at_ms),
        };
        assert_eq!(Some(verdict), row.expected, "at {} ms", row.at_ms);
    }
}

#[test]
fn a_client_that_never_answers_goes_at_the_second_silent_tick() {
    check(&[
        at(30).queued(0).keep(),
        at(60).queued(0).keep(), // Two intervals: pinged again, overdue.
        at(90).queued(0).no_reply(90),
    ]);
}

#[test]
fn silence_counts_from_the_ping_that_was_answered_last() {
    check(&[
        at(30).queued(0).keep(),
        at(60).queued(0).pong().keep(), // Answers the ping of 30.
        at(90).queued(0).keep(),
        at(120).queued(0).keep(),
        at(150).queued(0).no_reply(120),
    ]);
}

#[test]
fn a_pong_read_late_clears_the_second_chance() {
    check(&[
        at(30).queued(0).keep(),
        at(60).queued(0).keep(),
        at(90).queued(0).pong().keep(),
        at(120).queued(0).keep(),
        at(150).queued(0).keep(), // Overdue for the first time again.
        at(180).queued(0).pong().keep(),
    ]);
}

#[test]
fn the_window_starts_when_the_client_is_connected() {
    let sample = Sample { read_total: 300, written_total: 129, queued: 0, is_paused: false };
    let mut ticker = Ticker::new(INTERVAL_MS);
    let mut policy = KeepAlive::new(sample, 29_000); // A loop that blocked during the handshake.
    for (at_ms, verdict) in [
        (30_000, Verdict::Keep),
        (60_000, Verdict::Keep), // Silent for 31 s only: not overdue.
        (90_000, Verdict::Keep),
        (120_000, Verdict::Drop(DropReason::NoReply { seconds: 91 })),
    ] {
        assert_eq!(policy.tick(ticker.tick(at_ms), sample, at_ms), verdict, "at {at_ms} ms");
    }
}

#[test]
fn a_stalled_reader_is_dropped_only_after_the_poll() {
    check(&[
        at(30).pong().written(9).keep(),
        at(60).pong().keep(),
        at(90).pong().confirm(),
        confirm_at(90).queued(2049).not_reading(60, 3),
    ]);
}

#[test]
fn a_confirmation_that_finds_progress_starts_over() {
    check(&[
        at(30).pong().written(9).keep(),
        at(60).pong().keep(),
        at(90).pong().confirm(),
        confirm_at(90).written(1).keep(),
        at(120).pong().keep(),
        at(150).pong().confirm(),
        confirm_at(150).queued(0).keep(),
    ]);
}

#[test]
fn a_confirmation_that_could_not_run_leaves_the_client_to_the_next_tick() {
    check(&[
        at(30).pong().written(9).keep(),
        at(60).pong().keep(),
        at(90).pong().confirm(),
        at(120).pong().confirm(),
        confirm_at(120).not_reading(90, 2),
    ]);
}

#[test]
fn an_empty_queue_is_progress_and_so_is_a_single_byte() {
    check(&[
        at(30).pong().written(9).keep(),
        at(60).pong().keep(),
        at(90).pong().queued(0).keep(),
        at(120).pong().keep(),
        at(150).pong().written(1).queued(9 << 20).keep(),
        at(180).pong().keep(),
        at(210).pong().written(1).queued(9 << 20).keep(),
    ]);
}

#[test]
fn the_pong_rule_runs_first() {
    check(&[
        at(30).keep(),
        at(60).keep(), // Stalled and overdue.
        at(90).no_reply(90),
    ]);
}

#[test]
fn a_client_that_never_reads_has_two_whole_intervals() {
    // Connected just before a tick, which therefore is no stalled one.
    check(&[
        at(1).pong().keep(),
        at(31).pong().keep(),
        at(61).pong().confirm(),
        confirm_at(61).not_reading(60, 2),
    ]);
}

#[test]
fn a_pong_does_not_save_a_client_whose_queue_stands_still() {
    check(&[
        at(30).keep(),
        at(60).keep(),
        at(90).pong().confirm(),
        confirm_at(90).not_reading(60, 2),
    ]);
}

#[test]
fn while_we_do_not_read_only_the_stall_rule_judges() {
    check(&[
        at(30).written(9).paused().keep(),
        at(60).written(9).paused().keep(),
        at(90).written(9).paused().keep(),
        at(120).written(9).paused().keep(),
        at(150).written(9).keep(), // Read from again: the window starts here.
        at(180).written(9).keep(),
        at(210).written(9).keep(),
        at(240).written(9).no_reply(90),
    ]);
    check(&[
        at(30).written(9).paused().keep(),
        at(60).paused().keep(),
        at(90).paused().confirm(),
        confirm_at(90).paused().not_reading(60, 2),
    ]);
}

#[test]
fn a_long_upload_that_cannot_pong_is_life() {
    check(&[
        at(30).queued(0).pong().keep(),
        at(60).queued(0).pong().keep(),
        at(90).queued(0).pong().keep(),
        at(120).queued(0).pong().keep(),
    ]);
}

#[test]
fn a_tick_after_a_sleep_judges_nothing() {
    check(&[
        at(30).pong().written(9).keep(),
        at(60).keep(),
        at(3660).keep(), // In place of the confirming tick.
        at(3690).pong().keep(),
        at(3720).pong().confirm(),
        confirm_at(3720).not_reading(60, 2), // The sleep is not in the seconds.
    ]);
    check(&[
        at(30).queued(0).keep(),
        at(3630).queued(0).keep(),
        at(3660).queued(0).keep(),
        at(3690).queued(0).keep(), // Overdue only now.
        at(3720).queued(0).no_reply(90),
    ]);
}

#[test]
fn the_two_ticks_after_a_fresh_start_count_however_late() {
    check(&[
        at(30).pong().written(9).keep(),
        at(80).pong().keep(),     // Fresh.
        at(130).pong().keep(),    // Late and counted: stalled.
        at(180).pong().confirm(), // Late and counted again.
        confirm_at(180).not_reading(100, 2),
    ]);
}

#[test]
fn the_third_tick_after_a_fresh_start_may_start_another() {
    check(&[
        at(30).pong().written(9).keep(),
        at(80).pong().keep(), // Fresh.
        at(130).pong().written(1).keep(),
        at(180).pong().keep(), // Stalled.
        at(230).pong().keep(), // Fresh again: the count is cleared.
        at(280).pong().keep(),
        at(330).pong().confirm(),
    ]);
}

#[test]
fn a_gap_is_late_above_one_and_a_half_intervals_and_only_within_a_run() {
    let mut ticker = Ticker::new(INTERVAL_MS);
    let kinds = [30_000, 75_000, 120_001].map(|now| ticker.tick(now).kind);
    assert_eq!(kinds, [TickKind::Ordinary, TickKind::Ordinary, TickKind::WakeFresh]);
    ticker.stop();
    let kinds = [9_000_000, 9_045_001, 9_090_002].map(|now| ticker.tick(now).kind);
    assert_eq!(kinds, [TickKind::Ordinary, TickKind::WakeFresh, TickKind::Wake]);
}

#[test]
fn each_reason_has_its_three_texts() {
    let no_reply = DropReason::NoReply { seconds: 90 };
    let not_reading = DropReason::NotReading { seconds: 60, queued_kb: 4711 };
    let texts = [no_reply, not_reading].map(|reason| {
        let code = reason.close_code().get();
        (reason.to_string(), code, reason.close_reason(), reason.disconnect_reason())
    });
    assert_eq!(
        texts,
        [
            ("no reply for 90s".to_owned(), 1011, "Keepalive timeout", "Connection timeout"),
            (
                "not reading for 60s, 4711 KB queued".to_owned(),
                1011,
                "Not reading",
                "Write queue stalled"
            ),
        ]
    );
}

/// Gaps between ticks, in milliseconds: in time, late, or after a sleep.
fn gaps() -> impl Strategy<Value = Vec<Millis>> {
    let gap = prop_oneof![
        3 => INTERVAL_MS..=45_000,
        2 => 45_001..=200_000u64,
        1 => 1_000_000..=90_000_000u64,
    ];
    proptest::collection::vec(gap, 16..40)
}

proptest! {
    #[test]
    fn a_stalled_client_goes_at_the_second_tick_of_its_window(
        gaps in gaps(),
        drained_ticks in 0..8usize,
    ) {
        let mut ticker = Ticker::new(INTERVAL_MS);
        let mut policy = KeepAlive::new(START, 0);
        let (mut now, mut window_ticks, mut sample) = (0, 0, Sample {
            read_total: 0, written_total: 0, queued: 4096, is_paused: false,
        });
        let mut is_dropped = false;
        for (index, gap) in gaps.into_iter().enumerate() {
            now += gap;
            sample.read_total += 6;
            let is_stalled = index > drained_ticks;
            sample.written_total += u64::from(!is_stalled);
            let tick = ticker.tick(now);
            let verdict = policy.tick(tick, sample, now);
            // Ticks of the window: those without progress since the last progress or fresh start.
            let is_fresh = tick.kind == TickKind::WakeFresh;
            // Progress that a fresh tick did not look at shows at the tick after it.
            let shows_late = index == drained_ticks + 1
                && policy.progress_at == now && !is_fresh;
            window_ticks = match is_fresh || !is_stalled || shows_late {
                true => 0,
                false => window_ticks + 1,
            };
            prop_assert_eq!(verdict == Verdict::Confirm, window_ticks == 2, "tick {}", index);
            if verdict == Verdict::Confirm {
                let verdict = policy.confirm(sample, now);
                prop_assert!(
                    matches!(verdict, Verdict::Drop(DropReason::NotReading { .. })),
                    "{:?}", verdict
                );
                prop_assert!(index <= drained_ticks + 6, "six ticks at most");
                is_dropped = true;
                break;
            }
        }
        prop_assert!(is_dropped);
    }

    #[test]
    fn a_client_that_reads_and_answers_in_each_window_stays(gaps in gaps(), step in 1..2_000u64) {
        let mut ticker = Ticker::new(INTERVAL_MS);
        let mut policy = KeepAlive::new(START, 0);
        let mut now = 0;
        let mut sample =
            Sample { read_total: 0, written_total: 0, queued: 100 << 20, is_paused: false };
        for gap in gaps {
            now += gap;
            sample.read_total += 6;
            sample.written_total += step;
            let tick = ticker.tick(now);
            prop_assert_eq!(policy.tick(tick, sample, now), Verdict::Keep);
        }
    }

    #[test]
    fn a_client_that_reads_between_tick_and_poll_stays(gaps in gaps(), seed: u64) {
        let mut ticker = Ticker::new(INTERVAL_MS);
        let mut policy = KeepAlive::new(START, 0);
        let mut now = 0;
        let mut sample =
            Sample { read_total: 0, written_total: 0, queued: 4096, is_paused: false };
        for (index, gap) in gaps.into_iter().enumerate() {
            now += gap;
            sample.read_total += 6;
            let tick = ticker.tick(now);
            let mut verdict = policy.tick(tick, sample, now);
            if verdict == Verdict::Confirm {
                sample.written_total += 1;
                verdict = policy.confirm(sample, now);
            }
            prop_assert_eq!(verdict, Verdict::Keep);
            sample.written_total += seed >> (index % 64) & 1;
        }
    }

    #[test]
    fn a_silent_client_goes_once_ticks_come_in_time(gaps in gaps()) {
        let mut ticker = Ticker::new(INTERVAL_MS);
        let mut policy = KeepAlive::new(START, 0);
        let (mut now, mut in_time) = (0, 0);
        let sample = Sample { read_total: 0, written_total: 0, queued: 0, is_paused: false };
        for gap in gaps {
            now += gap;
            let tick = ticker.tick(now);
            let verdict = policy.tick(tick, sample, now);
            in_time = if tick.kind == TickKind::Ordinary { in_time + 1 } else { 0 };
            match verdict {
                Verdict::Drop(DropReason::NoReply { .. }) => return Ok(()),
                Verdict::Keep => prop_assert!(in_time < 3, "three ticks in time without a byte"),
                other => prop_assert!(false, "{:?}", other),
            }
        }
    }
}
