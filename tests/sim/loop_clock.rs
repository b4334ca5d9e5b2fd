//! Time, sleep and the phases, with a virtual clock: how long each poll was allowed to sleep.

use std::num::NonZeroU64;

use footbridge::effect::{Command, FileError};
use footbridge::reactor::sys::Object;
use footbridge::reactor::{Event, Exit, Phase, Signal};

use crate::kernel::Act;
use crate::world::{Name, Simulated, Stage, World, on_both_kernels};

on_both_kernels!(
    a_handle_started_in_its_own_phase_runs_from_the_next_turn,
    after_next_poll_waits_for_a_poll_that_begins_later,
    a_cancelled_wait_for_the_poll_stays_silent,
    stop_finishes_the_turn_and_the_loop_can_go_on,
    a_waker_rung_twice_wakes_once,
    a_waker_rings_from_another_thread_and_its_end_lets_the_loop_end,
);

#[test]
fn the_poll_sleeps_exactly_until_the_next_timer() {
    let mut stage = Stage::<Simulated>::new();
    let start = stage.reactor.now();
    stage.reactor.start_timer(Name("far"), 70_000, None);
    stage.reactor.start_timer(Name("near"), 65, NonZeroU64::new(100));
    let mut fired = Vec::new();
    stage.run(|stage, event| {
        let Event::Timer { owner, timer } = event else { panic!("{event:?}") };
        fired.push((owner.0, stage.reactor.now() - start));
        if owner.0 == "far" {
            stage.reactor.stop();
        } else if fired.len() == 3 {
            stage.reactor.stop_timer(timer);
        }
    });
    assert_eq!(fired, [("near", 65), ("near", 165), ("near", 265), ("far", 70_000)]);
    let polls = [Some(65), Some(100), Some(100), Some(69_735)];
    assert_eq!(stage.reactor.kernel().polls, polls);
}

#[test]
fn an_interrupted_poll_sleeps_on_for_the_rest() {
    let mut stage = Stage::<Simulated>::new();
    stage.reactor.start_timer(Name("timer"), 100, None);
    stage.reactor.kernel().faults.interrupts = 2;
    stage.reactor.kernel().faults.interrupt_after_ms = 30;
    stage.run(|_, _| {});
    assert_eq!(stage.reactor.kernel().polls, [Some(100), Some(70), Some(40)]);
}

#[test]
fn nothing_wakes_an_idle_loop() {
    let mut stage = Stage::<Simulated>::new();
    let (stream, peer) = stage.connected();
    let polls = stage.reactor.kernel().polls.len();
    stage.reactor.kernel().plan(3_600_000, Act::Send(peer, b"hello".to_vec()));
    stage.run(|stage, event| match event {
        Event::Data { .. } => stage.reactor.stop(),
        other => panic!("{other:?}"),
    });
    // One look for what the connect left over, then one sleep of an hour.
    assert_eq!(stage.reactor.kernel().polls[polls..], [Some(0), None]);
    assert_eq!(stage.reactor.read_total(stream), 5);
}

#[test]
fn the_spare_buffer_is_freed_after_a_second_and_then_lets_the_loop_sleep() {
    let mut stage = Stage::<Simulated>::new();
    let (_stream, peer) = stage.connected();
    let polls = stage.reactor.kernel().polls.len();
    stage.reactor.give_back(Vec::with_capacity(1 << 20));
    stage.reactor.kernel().plan(5000, Act::Finish(peer));
    stage.run(|stage, event| match event {
        Event::End { .. } => stage.reactor.stop(),
        other => panic!("{other:?}"),
    });
    assert_eq!(stage.reactor.kernel().polls[polls..], [Some(0), Some(1000), None]);
}

#[test]
fn signals_are_told_last_and_exits_and_files_find_their_owner() {
    let mut stage = Stage::<Simulated>::new();
    stage.reactor.watch_signals(Name("signals")).unwrap();
    let command = Command { argv: vec!["true".into()], cwd: None };
    stage.reactor.spawn(Name("child"), &command).unwrap();
    stage.reactor.kernel().put_file("/a", b"contents");
    stage.reactor.read_file(Name("file"), "/a".as_ref(), 8);
    stage.reactor.read_file(Name("big"), "/a".as_ref(), 7);
    stage.reactor.kernel().plan(5, Act::Signal(Signal::Terminate));
    stage.reactor.kernel().plan(5, Act::Exit(Object(0), Exit::Code(3)));
    stage.run(|stage, event| match event {
        Event::File { owner, result } => stage.see(format!("{}:{result:?}", owner.0)),
        Event::Exited { owner, status, .. } => stage.see(format!("{}:{status:?}", owner.0)),
        Event::Signal { owner, signal } => {
            stage.see(format!("{}:{signal:?}", owner.0));
            stage.reactor.stop();
        }
        other => panic!("{other:?}"),
    });
    let (whole, refused) = (b"contents".to_vec(), FileError::TooBig { bytes: 8 });
    let expected =
        format!("file:Ok({whole:?}) big:Err({refused:?}) child:Code(3) signals:Terminate");
    assert_eq!(stage.log(), expected);
    assert_eq!(
        (stage.reactor.kernel().started.len(), stage.reactor.kernel().open_objects()),
        (1, 0)
    );
}

fn a_handle_started_in_its_own_phase_runs_from_the_next_turn<W: World>() {
    for phase in [Phase::Idle, Phase::Prepare, Phase::Check] {
        let mut stage = Stage::<W>::new();
        stage.reactor.start_phase(phase, Name("first"));
        stage.reactor.start_timer(Name("turn"), 0, None);
        let mut turns = 0;
        stage.run(|stage, event| match event {
            Event::Phase { owner, .. } => {
                stage.see(owner.0);
                if owner.0 == "first" && turns == 1 {
                    stage.reactor.start_phase(phase, Name("second"));
                }
            }
            Event::Timer { .. } => {
                turns += 1;
                stage.see("/");
                match turns {
                    4 => stage.reactor.stop(),
                    _ => drop(stage.reactor.start_timer(Name("turn"), 0, None)),
                }
            }
            other => panic!("{other:?}"),
        });
        assert_eq!(stage.log(), "/ first / second first / second first /");
    }
}

fn after_next_poll_waits_for_a_poll_that_begins_later<W: World>() {
    let mut stage = Stage::<W>::new();
    let (_stream, peer) = stage.connected();
    stage.send(peer, b"x");
    stage.reactor.start_phase(Phase::Check, Name("check"));
    let mut turns = 0;
    stage.reactor.after_next_poll(Name("outside"));
    stage.run(|stage, event| match event {
        Event::Data { .. } => {
            stage.see("read");
            stage.reactor.after_next_poll(Name("from-read"));
        }
        Event::AfterPoll { owner } => {
            stage.see(owner.0);
            if owner.0 == "outside" {
                stage.reactor.start_timer(Name("timer"), 0, None);
            }
        }
        Event::Timer { .. } => {
            stage.see("timer");
            stage.reactor.after_next_poll(Name("from-timer"));
        }
        Event::Phase { .. } => {
            turns += 1;
            stage.see("check /");
            if turns == 2 {
                stage.reactor.stop();
            }
        }
        other => panic!("{other:?}"),
    });
    let expected = "read outside check / timer from-timer from-read check /";
    assert_eq!(stage.log(), expected);
}

fn a_cancelled_wait_for_the_poll_stays_silent<W: World>() {
    let mut stage = Stage::<W>::new();
    let wait = stage.reactor.after_next_poll(Name("wait"));
    stage.reactor.after_next_poll(Name("other"));
    stage.reactor.stop_phase(wait);
    stage.run(|stage, event| match event {
        Event::AfterPoll { owner } => stage.see(owner.0),
        other => panic!("{other:?}"),
    });
    assert_eq!(stage.log(), "other");
}

fn stop_finishes_the_turn_and_the_loop_can_go_on<W: World>() {
    let mut stage = Stage::<W>::new();
    stage.reactor.start_phase(Phase::Prepare, Name("prepare"));
    stage.reactor.start_phase(Phase::Check, Name("check"));
    for _ in 0..2 {
        stage.run(|stage, event| {
            let Event::Phase { owner, phase, .. } = event else { panic!("{event:?}") };
            stage.see(owner.0);
            if phase == Phase::Prepare {
                stage.reactor.stop();
            }
        });
        stage.see("stopped");
    }
    assert_eq!(stage.log(), "prepare check stopped prepare check stopped");
}

fn a_waker_rung_twice_wakes_once<W: World>() {
    let mut stage = Stage::<W>::new();
    let waker = stage.reactor.waker(Name("waker"));
    let other = stage.reactor.waker(Name("other"));
    waker.wake();
    waker.wake();
    stage.run(|stage, event| match event {
        Event::Woken { owner } => {
            stage.see(owner.0);
            match owner.0 {
                "waker" => other.wake(),
                _ => stage.reactor.stop(),
            }
        }
        other => panic!("{other:?}"),
    });
    assert_eq!(stage.log(), "waker other");
}

fn a_waker_rings_from_another_thread_and_its_end_lets_the_loop_end<W: World>() {
    let mut stage = Stage::<W>::new();
    let waker = stage.reactor.waker(Name("waker"));
    // The simulated poll cannot wait for a thread, so the ring is sure to be there before it.
    std::thread::scope(|scope| drop(scope.spawn(|| waker.wake()).join()));
    let mut waker = Some(waker);
    stage.run(|stage, event| match event {
        Event::Woken { owner } => {
            stage.see(owner.0);
            waker = None;
        }
        other => panic!("{other:?}"),
    });
    assert_eq!(stage.log(), "waker");
}
