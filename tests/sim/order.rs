//! The order of callbacks, compared with libuv's own traces in `tests/data/libuv/order.txt`.
//!
//! The loop knows the default mode only. Where libuv ran single iterations (UV_RUN_ONCE and
//! NOWAIT), everything is started by a timer's handler: what follows is then one whole turn.

use footbridge::reactor::{Event, HandleId, Phase, WriteError};

use crate::world::{Name, Received, Stage, World, on_both_kernels};

on_both_kernels!(
    phases_of_the_default_mode,
    phases_of_single_iterations,
    the_last_started_handle_runs_first,
    the_last_closed_handle_is_told_first,
    a_timer_restarted_with_0_fires_once_a_turn,
    the_clock_stands_still_during_handlers,
    written_marks_come_before_idle_when_written_outside_the_poll,
    written_marks_of_a_read_handler_come_before_check,
    a_close_cancels_marks_in_order_then_closes,
    a_half_close_follows_the_last_written_mark,
    waiting_connections_come_one_a_turn,
    a_close_in_check_is_told_in_the_same_turn_and_one_in_a_timer_in_the_next,
);

/// libuv's trace of that name.
fn libuv(name: &str) -> &'static str {
    let traces = include_str!("../data/libuv/order.txt");
    let line = traces.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    line.unwrap_or_else(|| panic!("no trace of `{name}`"))
}

fn result_name(result: Result<(), WriteError>) -> &'static str {
    match result {
        Ok(()) => "ok",
        Err(WriteError::Cancelled) => "ECANCELED",
        Err(WriteError::ShutDown) => "EPIPE",
        Err(WriteError::Failed(_)) => "failed",
    }
}

fn start_everything<W: World>(stage: &mut Stage<W>) {
    let reactor = &mut stage.reactor;
    reactor.start_timer(Name("timer0"), 0, None);
    reactor.start_timer(Name("timer1rep"), 1, 1000.try_into().ok());
    reactor.start_phase(Phase::Idle, Name("idle"));
    reactor.start_phase(Phase::Prepare, Name("prepare"));
    reactor.start_phase(Phase::Check, Name("check"));
    let waker = reactor.waker(Name("async"));
    waker.wake();
    waker.wake();
    let closed = reactor.start_timer(Name("close_cb"), 9999, None);
    reactor.close_timer(closed);
    stage.pass(2);
}

fn phases_of_the_default_mode<W: World>() {
    let mut stage = Stage::<W>::new();
    start_everything(&mut stage);
    let mut turns = 0;
    stage.run(|stage, event| match event {
        Event::Phase { phase: Phase::Idle, .. } => {
            turns += 1;
            stage.see(format!("idle | i{turns}"));
        }
        Event::Phase { phase, owner, .. } => {
            stage.see(owner.0);
            if phase == Phase::Check && turns == 3 {
                stage.reactor.stop();
            }
        }
        Event::Timer { owner, .. } | Event::Woken { owner } | Event::HandleClosed { owner, .. } => {
            stage.see(owner.0);
        }
        other => panic!("{other:?}"),
    });
    assert_eq!(stage.log(), libuv("phases, UV_RUN_DEFAULT"));
}

fn phases_of_single_iterations<W: World>() {
    let mut stage = Stage::<W>::new();
    stage.reactor.start_timer(Name("start"), 0, None);
    let mut turns = 0;
    stage.run(|stage, event| match event {
        Event::Timer { owner: Name("start"), .. } => start_everything(stage),
        Event::Phase { phase: Phase::Idle, .. } => {
            turns += 1;
            stage.see(if turns == 1 { "idle" } else { "/ idle" });
        }
        Event::Phase { phase, owner, .. } => {
            stage.see(owner.0);
            if phase == Phase::Check && turns == 2 {
                stage.reactor.stop();
            }
        }
        Event::Timer { owner, .. } | Event::Woken { owner } | Event::HandleClosed { owner, .. } => {
            stage.see(owner.0);
        }
        other => panic!("{other:?}"),
    });
    assert_eq!(stage.log(), libuv("phases, UV_RUN_ONCE twice"));
    assert_eq!(stage.log(), libuv("phases, UV_RUN_NOWAIT twice"));
}

fn the_last_started_handle_runs_first<W: World>() {
    for phase in [Phase::Idle, Phase::Prepare, Phase::Check] {
        let mut stage = Stage::<W>::new();
        stage.reactor.start_timer(Name("start"), 0, None);
        let mut runs = 0;
        stage.run(|stage, event| match event {
            Event::Timer { owner: Name("start"), .. } => {
                for name in ["a", "b", "c"] {
                    stage.reactor.start_phase(phase, Name(name));
                }
                for name in ["ta", "tb", "tc"] {
                    stage.reactor.start_timer(Name(name), 0, None);
                }
            }
            Event::Timer { owner: Name("turn"), .. } => {}
            Event::Timer { owner, .. } => {
                stage.see(owner.0);
                // Keeps the next poll from sleeping where no idle handle does.
                stage.reactor.start_timer(Name("turn"), 0, None);
            }
            Event::Phase { owner, .. } => {
                runs += 1;
                stage.see(if runs == 4 { format!("/ {}", owner.0) } else { owner.0.into() });
                if runs == 6 {
                    stage.reactor.stop();
                }
            }
            other => panic!("{other:?}"),
        });
        assert_eq!(stage.log(), libuv("order of handles started a,b,c"), "{phase:?}");
    }
}

fn the_last_closed_handle_is_told_first<W: World>() {
    let mut stage = Stage::<W>::new();
    for name in ["a", "b", "c"] {
        let id = stage.reactor.start_phase(Phase::Prepare, Name(name));
        stage.reactor.close_phase(id);
    }
    stage.run(|stage, event| match event {
        Event::HandleClosed { owner, handle: HandleId::Phase(_) } => stage.see(owner.0),
        other => panic!("{other:?}"),
    });
    assert_eq!(stage.log(), libuv("uv_close a,b,c"));
}

fn a_timer_restarted_with_0_fires_once_a_turn<W: World>() {
    let mut stage = Stage::<W>::new();
    stage.reactor.start_timer(Name("again"), 0, None);
    stage.reactor.start_phase(Phase::Idle, Name("mark"));
    let (mut fires, mut turns) = (0, 0);
    stage.run(|stage, event| match event {
        Event::Timer { .. } => {
            fires += 1;
            stage.see(format!("fire{fires}"));
            stage.reactor.start_timer(Name("again"), 0, None);
        }
        Event::Phase { .. } => {
            turns += 1;
            stage.see(format!("| i{turns}"));
            if turns == 5 {
                stage.reactor.stop();
            }
        }
        other => panic!("{other:?}"),
    });
    // The turn of the stop is finished, timers included; libuv's program stopped the timer.
    let expected = format!("{} fire6", libuv("timer that restarts itself with 0"));
    assert_eq!(stage.log(), expected);
}

fn the_clock_stands_still_during_handlers<W: World>() {
    let mut stage = Stage::<W>::new();
    stage.reactor.start_timer(Name("start"), 0, None);
    let (mut base, mut idle) = (0, None);
    stage.run(|stage, event| match event {
        Event::Timer { owner: Name("start"), .. } => {
            base = stage.reactor.now();
            idle = Some(stage.reactor.start_phase(Phase::Idle, Name("idle")));
            stage.reactor.start_timer(Name("timer10"), 10, None);
        }
        Event::Phase { id, .. } => {
            stage.pass(30);
            let passed = stage.reactor.now() - base;
            stage.see(format!("idle:now+{passed}"));
            stage.reactor.stop_phase(id);
        }
        Event::Timer { .. } => {
            // The real clock may be a little past the 30 ms.
            let passed = stage.reactor.now() - base;
            assert!((30..60).contains(&passed), "{passed}");
            stage.see("timer10:now+30");
        }
        other => panic!("{other:?}"),
    });
    assert!(idle.is_some());
    assert_eq!(stage.log(), libuv("uv_now while idle cb blocks 30 ms, timer due in 10"));
}

fn written_marks_come_before_idle_when_written_outside_the_poll<W: World>() {
    let mut stage = Stage::<W>::new();
    let (stream, peer) = stage.connected();
    stage.reactor.start_timer(Name("start"), 0, None);
    let mut turns = 0;
    stage.run(|stage, event| match event {
        Event::Timer { .. } => {
            for mark in 0..2 {
                stage.reactor.write(stream, b"x");
                stage.reactor.mark(stream, mark);
            }
            stage.reactor.start_phase(Phase::Idle, Name("idle"));
            stage.reactor.start_phase(Phase::Check, Name("check"));
            stage.see("/");
        }
        Event::Written { mark, result, .. } => {
            stage.see(format!("write_cb{mark}({})", result_name(result)));
        }
        Event::Phase { phase: Phase::Idle, .. } => {
            turns += 1;
            stage.see(if turns == 1 { "idle" } else { "/ idle" });
            if turns == 1 {
                // In libuv's program the other end is read by the same loop; here it answers.
                let Received::Bytes(bytes) = stage.receive(peer, 9) else { panic!("nothing came") };
                stage.send(peer, &bytes);
            }
        }
        Event::Phase { .. } => {
            stage.see("check");
            if turns == 2 {
                stage.reactor.stop();
            }
        }
        Event::Data { bytes, .. } => stage.see(format!("read{}", bytes.len())),
        other => panic!("{other:?}"),
    });
    assert_eq!(stage.log(), libuv("uv_write small x2"));
}

fn written_marks_of_a_read_handler_come_before_check<W: World>() {
    let mut stage = Stage::<W>::new();
    let (stream, peer) = stage.connected();
    stage.reactor.start_timer(Name("start"), 0, None);
    let mut turns = 0;
    stage.run(|stage, event| match event {
        Event::Timer { .. } => {
            stage.reactor.start_phase(Phase::Idle, Name("idle"));
            stage.reactor.start_phase(Phase::Check, Name("check"));
            stage.send(peer, b"?");
        }
        Event::Phase { phase: Phase::Idle, .. } => {
            turns += 1;
            stage.see("/ idle");
        }
        Event::Data { bytes, .. } => {
            stage.see(format!("read{} (uv_write)", bytes.len()));
            stage.reactor.write(stream, b"!");
            stage.reactor.mark(stream, 0);
        }
        Event::Written { mark, result, .. } => {
            stage.see(format!("write_cb{mark}({})", result_name(result)));
        }
        Event::Phase { .. } => {
            stage.see("check");
            if turns == 2 {
                stage.reactor.stop();
            }
        }
        other => panic!("{other:?}"),
    });
    assert_eq!(stage.log(), libuv("uv_write inside a read callback"));
}

fn a_close_cancels_marks_in_order_then_closes<W: World>() {
    let mut stage = Stage::<W>::new();
    let (stream, _peer) = stage.connected();
    stage.reactor.start_timer(Name("write"), 0, None);
    stage.run(|stage, event| match event {
        Event::Timer { owner: Name("write"), .. } => {
            stage.reactor.write_owned(stream, vec![b'x'; 32 << 20]);
            stage.reactor.mark(stream, 0);
            stage.reactor.write(stream, b"x");
            stage.reactor.mark(stream, 1);
            stage.reactor.start_timer(Name("close"), 20, None);
        }
        Event::Timer { .. } => {
            let written = stage.reactor.written_total(stream);
            assert!(written > 0 && stage.reactor.queued(stream) > 1);
            stage.reactor.start_phase(Phase::Check, Name("check"));
            stage.reactor.close(stream);
            assert_eq!(stage.reactor.written_total(stream), written);
            stage.see("uv_close /");
        }
        Event::Phase { id, .. } => {
            stage.see("check");
            stage.reactor.stop_phase(id);
        }
        Event::Written { mark, result, .. } => {
            stage.see(format!("write_cb{mark}({})", result_name(result)));
        }
        Event::Closed { .. } => stage.see("close_cb"),
        other => panic!("{other:?}"),
    });
    assert_eq!(stage.log(), libuv("uv_write to a peer that does not read, then close"));
}

fn a_half_close_follows_the_last_written_mark<W: World>() {
    let mut stage = Stage::<W>::new();
    let (stream, peer) = stage.connected();
    stage.reactor.start_timer(Name("start"), 0, None);
    let mut turns = 0;
    let mut refused = Vec::new();
    stage.run(|stage, event| match event {
        Event::Timer { owner: Name("turn"), .. } => {}
        Event::Timer { .. } => {
            stage.reactor.write(stream, b"x");
            stage.reactor.mark(stream, 0);
            stage.reactor.shutdown_write(stream);
            stage.reactor.write(stream, b"late");
            stage.reactor.mark(stream, 1);
            stage.reactor.start_phase(Phase::Prepare, Name("prepare"));
            stage.reactor.start_phase(Phase::Check, Name("check"));
            stage.see("/");
        }
        Event::Written { mark: 0, result, .. } => {
            stage.see(format!("write_cb0({})", result_name(result)));
        }
        Event::Written { mark, result, .. } => refused.push((mark, result)),
        Event::ShutDown { result, .. } => {
            stage.see(format!("shutdown_cb({})", result_name(result)));
        }
        Event::Phase { phase: Phase::Prepare, .. } => {
            turns += 1;
            if turns > 1 {
                stage.see("/");
            }
            match turns {
                1 => assert_eq!(stage.receive(peer, 9), Received::Bytes(b"x".into())),
                2 => assert_eq!(stage.receive(peer, 9), Received::End),
                _ => {}
            }
            stage.log_peer(turns);
            // Nothing else keeps the loop from sleeping, here as there.
            stage.reactor.start_timer(Name("turn"), 0, None);
        }
        Event::Phase { .. } => {
            stage.see("check");
            if turns == 3 {
                stage.reactor.stop();
            }
        }
        other => panic!("{other:?}"),
    });
    assert_eq!(stage.log(), libuv("uv_write + uv_shutdown"));
    assert_eq!(refused, [(1, Err(WriteError::ShutDown))]);
}

fn waiting_connections_come_one_a_turn<W: World>() {
    let mut stage = Stage::<W>::new();
    let (_, port) = stage.listen();
    let _peers: Vec<_> = (0..5).map(|_| stage.connect(port)).collect();
    stage.reactor.start_phase(Phase::Check, Name("check"));
    let (mut accepted, mut turns) = (0, 0);
    stage.run(|stage, event| match event {
        Event::Accepted { .. } => accepted += 1,
        Event::Phase { .. } => {
            turns += 1;
            stage.see(accepted.to_string());
            accepted = 0;
            if turns == 4 {
                stage.reactor.stop();
            }
        }
        other => panic!("{other:?}"),
    });
    assert_eq!(stage.log(), libuv("5 connections waiting"));
}

fn a_close_in_check_is_told_in_the_same_turn_and_one_in_a_timer_in_the_next<W: World>() {
    let mut stage = Stage::<W>::new();
    stage.reactor.start_timer(Name("start"), 0, None);
    let far = 1_000_000;
    let second = stage.reactor.start_timer(Name("close2"), far, None);
    let third = stage.reactor.start_timer(Name("close3"), far, None);
    let mut turns = 0;
    stage.run(|stage, event| match event {
        Event::Timer { owner: Name("start"), .. } => {
            stage.reactor.start_phase(Phase::Prepare, Name("prepare"));
            stage.reactor.start_phase(Phase::Check, Name("check"));
            stage.reactor.start_timer(Name("timer"), 0, None);
        }
        Event::Phase { phase: Phase::Prepare, .. } => {
            turns += 1;
            stage.see("/ prepare");
            if turns == 3 {
                stage.reactor.stop();
            }
        }
        Event::Phase { id, .. } => {
            stage.reactor.stop_phase(id);
            stage.reactor.close_timer(second);
            stage.see("check(uv_close timer2)");
        }
        Event::HandleClosed { owner, .. } => {
            stage.see(owner.0);
            if owner.0 == "close3" {
                stage.reactor.start_timer(Name("last"), 0, None);
            }
        }
        Event::Timer { owner: Name("timer"), .. } => {
            stage.reactor.close_timer(third);
            stage.see("timer(uv_close timer3)");
        }
        Event::Timer { .. } => {}
        other => panic!("{other:?}"),
    });
    assert_eq!(stage.log(), libuv("uv_close from a check and from a timer callback"));
}

impl<W: World> Stage<W> {
    /// What libuv's program logged of the other end, which its own loop read.
    fn log_peer(&mut self, turn: usize) {
        match turn {
            1 => self.see("read1"),
            2 => self.see("read:EOF"),
            _ => {}
        }
    }
}
