//! Streams and listeners: budgets, backpressure, ends and errors, closing, ports.

use std::net::{IpAddr, Ipv4Addr};

use footbridge::reactor::{
    Event, Kernel, Options, Phase, PortRange, READ_BYTES_MAX, StreamId, WriteError,
};
use footbridge::stdx::chunks::Chunks;

use crate::kernel::{Act, PIPE_BYTES};
use crate::world::{Name, Peer, Received, Simulated, Stage, World, on_both_kernels};

on_both_kernels!(
    bytes_and_the_end_sent_together_both_arrive,
    a_reset_met_by_reading_is_told_once,
    a_reset_met_by_writing_is_told_once,
    what_comes_during_a_pause_is_read_on_resume,
    discarded_bytes_are_dropped_until_the_end,
    a_filled_buffer_grows_with_what_arrives,
    marks_complete_in_order_and_totals_never_go_back,
    a_drained_queue_is_told_once,
    a_write_before_a_close_still_leaves,
    a_closed_stream_tells_nothing_more,
    the_last_words_outlive_a_peer_that_still_sends,
    a_flood_does_not_keep_others_waiting,
    a_thousand_writes_of_one_turn_leave_together,
    the_port_walk_takes_each_port_once_and_names_the_error,
    a_closed_listener_frees_its_port,
);

/// Runs until the peer's end and says what was read.
fn read_all<W: World>(stage: &mut Stage<W>) -> Vec<u8> {
    let mut all = Vec::new();
    stage.run(|stage, event| match event {
        Event::Data { bytes, .. } => all.extend_from_slice(bytes),
        Event::End { stream, .. } => stage.reactor.close(stream),
        Event::Closed { .. } => {}
        other => panic!("{other:?}"),
    });
    all
}

fn bytes_and_the_end_sent_together_both_arrive<W: World>() {
    let mut stage = Stage::<W>::new();
    let (_, peer) = stage.connected();
    stage.send(peer, b"last words");
    stage.finish(peer);
    assert_eq!(read_all(&mut stage), b"last words");
}

fn a_reset_met_by_reading_is_told_once<W: World>() {
    let mut stage = Stage::<W>::new();
    let (stream, peer) = stage.connected();
    stage.reactor.write(stream, b"unread");
    stage.reactor.mark(stream, 1);
    stage.run(|stage, event| match event {
        Event::Written { result: Ok(()), .. } => stage.reset(peer),
        Event::Failed { error, .. } => {
            assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
            stage.see("failed");
            stage.reactor.write(stream, b"in vain");
            stage.reactor.mark(stream, 2);
        }
        Event::Written { mark, result, .. } => {
            assert!(matches!(result, Err(WriteError::Failed(_))));
            stage.see(mark.to_string());
            stage.reactor.close(stream);
        }
        Event::Closed { .. } => stage.see("closed"),
        other => panic!("{other:?}"),
    });
    assert_eq!(stage.log(), "failed 2 closed");
}

fn a_reset_met_by_writing_is_told_once<W: World>() {
    let mut stage = Stage::<W>::new();
    let (stream, peer) = stage.connected();
    stage.reactor.write(stream, b"unread");
    stage.reactor.mark(stream, 1);
    stage.run(|stage, event| match event {
        Event::Written { .. } => stage.reactor.stop(),
        other => panic!("{other:?}"),
    });
    stage.reset(peer);
    stage.reactor.write(stream, b"in vain");
    stage.reactor.mark(stream, 2);
    stage.run(|stage, event| match event {
        Event::Written { mark, result, .. } => {
            assert!(result.is_err());
            stage.see(mark.to_string());
            if mark == 3 {
                stage.reactor.close(stream);
            }
        }
        Event::Failed { .. } => {
            stage.see("failed");
            stage.reactor.write(stream, b"in vain again");
            stage.reactor.mark(stream, 3);
        }
        Event::Closed { .. } => stage.see("closed"),
        other => panic!("{other:?}"),
    });
    assert_eq!(stage.log(), "2 failed 3 closed");
}

fn what_comes_during_a_pause_is_read_on_resume<W: World>() {
    let mut stage = Stage::<W>::new();
    let (stream, peer) = stage.connected();
    stage.reactor.pause_reads(stream);
    stage.send(peer, b"while paused");
    stage.finish(peer);
    stage.reactor.start_timer(Name("resume"), 10, None);
    let mut is_resumed = false;
    stage.run(|stage, event| match event {
        Event::Timer { .. } => {
            is_resumed = true;
            stage.reactor.resume_reads(stream);
        }
        Event::Data { bytes, .. } => {
            assert!(is_resumed);
            assert_eq!(bytes, b"while paused");
            stage.see("read");
            stage.reactor.pause_reads(stream);
            stage.reactor.start_timer(Name("resume"), 10, None);
        }
        Event::End { .. } => {
            stage.see("end");
            stage.reactor.close(stream);
        }
        Event::Closed { .. } => {}
        other => panic!("{other:?}"),
    });
    assert_eq!(stage.log(), "read end");
}

fn discarded_bytes_are_dropped_until_the_end<W: World>() {
    let mut stage = Stage::<W>::new();
    let (stream, peer) = stage.connected();
    stage.reactor.pause_reads(stream);
    stage.reactor.discard_reads(stream);
    stage.send(peer, &[b'x'; 100_000]);
    stage.finish(peer);
    assert_eq!(read_all(&mut stage), b"");
    assert_eq!(stage.reactor.read_total(stream), 0, "the stream is gone");
}

fn a_filled_buffer_grows_with_what_arrives<W: World>() {
    let mut stage = Stage::<W>::new();
    let (stream, peer) = stage.connected();
    let mut held = Vec::from(*b"head");
    held.reserve_exact(0);
    stage.reactor.fill(stream, held, 100 << 20);
    stage.send(peer, &[b'x'; 1000]);
    let mut sizes = Vec::new();
    stage.run(|stage, event| match event {
        Event::Filled { buffer, fresh_from, .. } => {
            assert!(buffer.capacity() < 1 << 20, "not what was declared");
            assert!(buffer.starts_with(b"head"));
            sizes.push((fresh_from, buffer.len()));
            match sizes.len() {
                1 => {
                    stage.reactor.fill(stream, buffer, 3);
                    stage.send(peer, b"12345");
                }
                _ => stage.reactor.give_back(buffer),
            }
        }
        Event::Data { bytes, .. } => {
            assert_eq!(bytes, b"45");
            stage.reactor.stop();
        }
        other => panic!("{other:?}"),
    });
    assert_eq!(sizes, [(4, 1004), (1004, 1007)]);
}

fn marks_complete_in_order_and_totals_never_go_back<W: World>() {
    let mut stage = Stage::<W>::new();
    let (stream, peer) = stage.connected();
    let chunk = vec![b'x'; 300_000];
    for mark in 0..40 {
        stage.reactor.write(stream, &chunk);
        stage.reactor.mark(stream, mark);
    }
    let all = 40 * chunk.len();
    assert_eq!(stage.reactor.queued(stream), all);
    stage.reactor.start_phase(Phase::Idle, Name("reader"));
    let (mut marks, mut received, mut written) = (Vec::new(), 0, 0);
    stage.run(|stage, event| match event {
        Event::Written { mark, result, .. } => {
            assert_eq!(result, Ok(()));
            marks.push(mark);
        }
        Event::Phase { .. } => {
            if let Received::Bytes(bytes) = stage.receive(peer, 400_000) {
                received += bytes.len();
            }
            let total = stage.reactor.written_total(stream);
            assert!(total >= written && total as usize + stage.reactor.queued(stream) == all);
            written = total;
            if received == all {
                stage.reactor.stop();
            }
        }
        Event::Drained { .. } => {}
        other => panic!("{other:?}"),
    });
    assert_eq!(marks, (0..40).collect::<Vec<u64>>());
}

fn a_drained_queue_is_told_once<W: World>() {
    let mut stage =
        Stage::<W>::with(Options { queue_high_bytes: 8 << 20, queue_low_bytes: 1 << 20 });
    let (stream, peer) = stage.connected();
    let mut chunks = Chunks::default();
    chunks.push_owned(vec![b'x'; 16 << 20]);
    stage.reactor.write_chunks(stream, &mut chunks);
    assert!(chunks.is_empty());
    stage.reactor.start_phase(Phase::Idle, Name("reader"));
    stage.run(|stage, event| match event {
        Event::Phase { .. } => {
            stage.receive(peer, 1 << 20);
            if stage.reactor.queued(stream) == 0 {
                stage.reactor.stop();
            }
        }
        Event::Drained { .. } => {
            assert!(stage.reactor.queued(stream) < 1 << 20);
            stage.see("drained");
        }
        other => panic!("{other:?}"),
    });
    assert_eq!(stage.log(), "drained");
}

fn a_write_before_a_close_still_leaves<W: World>() {
    let mut stage = Stage::<W>::new();
    let (stream, peer) = stage.connected();
    stage.reactor.write(stream, b"bye");
    stage.reactor.mark(stream, 5);
    stage.reactor.close(stream);
    stage.run(|stage, event| match event {
        Event::Written { mark, result, .. } => stage.see(format!("{mark}:{result:?}")),
        Event::Closed { .. } => stage.see("closed"),
        other => panic!("{other:?}"),
    });
    assert_eq!(stage.log(), "5:Ok(()) closed");
    assert_eq!(stage.receive(peer, 9), Received::Bytes(b"bye".into()));
    assert_eq!(stage.receive(peer, 9), Received::End);
}

/// Case B22: half-close, discard until the peer's end, then close; no reset eats the last words.
fn the_last_words_outlive_a_peer_that_still_sends<W: World>() {
    let mut stage = Stage::<W>::new();
    let (stream, peer) = stage.connected();
    stage.send(peer, b"first");
    stage.reactor.start_phase(Phase::Idle, Name("peer"));
    let (mut turns, mut received) = (0, Vec::new());
    stage.run(|stage, event| match event {
        Event::Data { .. } => {
            stage.reactor.write(stream, b"last words");
            stage.reactor.shutdown_write(stream);
            stage.reactor.discard_reads(stream);
        }
        Event::Phase { id, .. } => {
            turns += 1;
            stage.send(peer, b"more and more");
            if turns == 20 {
                stage.finish(peer);
                stage.reactor.stop_phase(id);
            }
        }
        Event::ShutDown { result, .. } => assert_eq!(result, Ok(())),
        Event::End { .. } => stage.reactor.close(stream),
        Event::Closed { .. } => {}
        other => panic!("{other:?}"),
    });
    while let Received::Bytes(bytes) = stage.receive(peer, 3) {
        received.extend(bytes);
    }
    assert_eq!(received, b"last words");
    assert_eq!(stage.receive(peer, 3), Received::End);
}

/// Two streams are ready in one poll; the handler of the first closes the second.
fn a_closed_stream_tells_nothing_more<W: World>() {
    let mut stage = Stage::<W>::new();
    let (first, first_peer) = stage.connected();
    let (second, second_peer) = stage.connected();
    stage.send(first_peer, b"1");
    stage.send(second_peer, b"2");
    let mut reads = 0;
    stage.run(|stage, event| match event {
        Event::Data { stream, .. } => {
            reads += 1;
            let other = if stream == first { second } else { first };
            stage.reactor.close(other);
            stage.reactor.close(other);
            // A new stream may take the slot or the descriptor of the closed one.
            let (_, port) = stage.listen();
            stage.connect(port);
        }
        Event::Closed { .. } => stage.see("closed"),
        Event::Accepted { stream, .. } => {
            assert!(stream != first && stream != second);
            stage.reactor.stop();
        }
        other => panic!("{other:?}"),
    });
    assert_eq!((reads, stage.log().as_str()), (1, "closed"));
}

/// A sends without pause; B's one byte is told within a turn or two, and A's share is bounded.
fn a_flood_does_not_keep_others_waiting<W: World>() {
    let mut stage = Stage::<W>::new();
    let (flooded, flooding) = stage.connected();
    let (calm, calm_peer) = stage.connected();
    stage.reactor.start_phase(Phase::Prepare, Name("prepare"));
    let (mut turns, mut in_turn, mut sent_in, mut seen_in) = (0, 0, 0, 0);
    let mut most = 0;
    stage.run(|stage, event| match event {
        Event::Phase { .. } => {
            turns += 1;
            most = most.max(std::mem::take(&mut in_turn));
            if turns < 60 {
                stage.send(flooding, &vec![b'x'; 100_000]);
            }
            if turns == 30 {
                stage.send(calm_peer, b"ping");
                sent_in = turns;
            }
            if turns == 60 {
                stage.reactor.stop();
            } else {
                stage.reactor.start_timer(Name("turn"), 0, None);
            }
        }
        Event::Timer { .. } => {}
        Event::Data { stream, bytes, .. } if stream == flooded => in_turn += bytes.len(),
        Event::Data { stream, .. } => {
            assert_eq!(stream, calm);
            seen_in = turns;
        }
        other => panic!("{other:?}"),
    });
    assert_eq!(seen_in, sent_in);
    assert!(most <= 8 * READ_BYTES_MAX, "{most}");
}

fn a_thousand_writes_of_one_turn_leave_together<W: World>() {
    let mut stage = Stage::<W>::new();
    let (stream, peer) = stage.connected();
    stage.send(peer, b"go");
    stage.run(|stage, event| match event {
        Event::Data { .. } => {
            for _ in 0..1000 {
                stage.reactor.write(stream, b"reply ");
            }
            assert_eq!(stage.receive(peer, 9), Received::Nothing, "not before the flush");
            stage.reactor.mark(stream, 0);
        }
        Event::Written { .. } => stage.reactor.stop(),
        other => panic!("{other:?}"),
    });
    assert_eq!(stage.receive(peer, 10_000), Received::Bytes(b"reply ".repeat(1000)));
}

/// Case A03: binding is the probe; twenty take twenty ports, the next one learns why not.
fn the_port_walk_takes_each_port_once_and_names_the_error<W: World>() {
    let local = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let mut stage = Stage::<W>::new();
    let (first, port) = stage.listen();
    // The only port known to be taken is our own, so the range is that one port.
    let taken = PortRange { min: port, max: port };
    let error = stage.reactor.listen(Name("x"), local, taken).unwrap_err();
    assert_eq!(error.to_string(), format!("No free port in {port}-{port} (EADDRINUSE)"));
    stage.reactor.close_listener(first);
    assert_eq!(stage.reactor.listen(Name("x"), local, taken).unwrap().1, port);
    let empty = PortRange { min: 9, max: 8 };
    let error = stage.reactor.listen(Name("x"), local, empty).unwrap_err();
    assert_eq!(error.to_string(), "No available ports in range 9-8");
}

#[test]
fn twenty_reactors_in_a_range_of_twenty_take_all_its_ports() {
    let local = IpAddr::V4(Ipv4Addr::LOCALHOST);
    for _ in 0..50 {
        let mut stage = Stage::<Simulated>::new();
        let range = PortRange { min: 20_000, max: 20_019 };
        let mut ports: Vec<u16> =
            (0..20).map(|_| stage.reactor.listen(Name("x"), local, range).unwrap().1).collect();
        ports.sort_unstable();
        assert_eq!(ports, (20_000..20_020).collect::<Vec<u16>>());
        let error = stage.reactor.listen(Name("x"), local, range).unwrap_err();
        assert_eq!(error.to_string(), "No free port in 20000-20019 (EADDRINUSE)");
    }
}

fn a_closed_listener_frees_its_port<W: World>() {
    let mut stage = Stage::<W>::new();
    let (listener, port) = stage.listen();
    let address = (Ipv4Addr::LOCALHOST, port).into();
    let patience = std::time::Duration::from_secs(5);
    assert!(stage.reactor.kernel().connect_probe(address, patience));
    stage.reactor.close_listener(listener);
    assert!(!stage.reactor.kernel().connect_probe(address, patience));
    stage.run(|_, event| panic!("{event:?}"));
}

/// Opens with all descriptors taken; the peers' ends are what libuv's trace says.
#[test]
fn out_of_descriptors_waiting_connections_are_shed() {
    let mut stage = Stage::<Simulated>::new();
    let (_, port) = stage.listen();
    let peers: Vec<Peer> = (0..3).map(|_| stage.connect(port)).collect();
    stage.reactor.kernel().faults.out_of_descriptors = true;
    stage.reactor.start_timer(Name("later"), 50, None);
    let mut late = None;
    stage.run(|stage, event| match event {
        Event::AcceptFailed { error, .. } => {
            assert_eq!(error.raw_os_error(), Some(24));
            stage.see("failed");
        }
        Event::Timer { .. } => {
            stage.reactor.kernel().faults.out_of_descriptors = false;
            late = Some(stage.connect(port));
        }
        Event::Accepted { .. } => {
            stage.see("accepted");
            stage.reactor.stop();
        }
        other => panic!("{other:?}"),
    });
    assert_eq!(stage.log(), "failed accepted");
    assert!(peers.iter().all(|&peer| stage.receive(peer, 1) == Received::End));
    assert_eq!(stage.receive(late.unwrap(), 1), Received::Nothing);
}

#[test]
fn a_read_takes_its_share_and_the_rest_waits_for_the_next_turn() {
    check_shares(false, &[[8; 12].as_slice(), &[4]].concat());
    check_shares(true, &[[1; 100].as_slice(), &[0]].concat());
}

/// How many of a hundred reads each turn holds.
#[track_caller]
fn check_shares(ends_share: bool, expected: &[usize]) {
    let mut stage = Stage::<Simulated>::new();
    let (stream, peer) = stage.connected();
    stage.send(peer, &[b'x'; 1600]);
    // Sixteen bytes a read: a short read would mean that nothing is left, so let it look full.
    stage.reactor.kernel().faults.read_bytes_max = 16;
    stage.finish(peer);
    stage.reactor.start_phase(Phase::Check, Name("check"));
    let (mut reads, mut counts) = (0, Vec::new());
    stage.run(|stage, event| match event {
        Event::Data { bytes, .. } => {
            assert_eq!(bytes.len(), 16);
            reads += 1;
            if ends_share {
                stage.reactor.end_share(stream);
            }
        }
        Event::Phase { .. } => counts.push(std::mem::take(&mut reads)),
        Event::End { .. } => stage.reactor.stop(),
        other => panic!("{other:?}"),
    });
    assert_eq!(counts, expected);
    assert!(stage.reactor.kernel().polls.iter().rev().take(12).all(|&poll| poll == Some(0)));
}

#[test]
fn partial_writes_lose_nothing_and_wait_for_room() {
    let mut stage = Stage::<Simulated>::new();
    let (stream, peer) = stage.connected();
    stage.reactor.kernel().faults.write_bytes_max = 70_001;
    let sent: Vec<u8> = (0..3_000_000u32).map(|index| index as u8).collect();
    for piece in sent.chunks(9_999) {
        stage.reactor.write(stream, piece);
    }
    for step in 1..=40 {
        stage.reactor.kernel().plan(step * 10, Act::Receive(peer, 0));
    }
    let mut received = Vec::new();
    stage.reactor.start_timer(Name("read"), 10, 10.try_into().ok());
    stage.run(|stage, event| match event {
        Event::Timer { .. } => {
            assert!(stage.reactor.queued(stream) + received.len() + PIPE_BYTES >= sent.len());
            if let Received::Bytes(bytes) = stage.receive(peer, 400_000) {
                received.extend(bytes);
            }
            if received.len() == sent.len() {
                stage.reactor.stop();
            }
        }
        other => panic!("{other:?}"),
    });
    assert!(received == sent);
}

#[test]
fn the_writes_of_a_turn_are_one_call() {
    let mut stage = Stage::<Simulated>::new();
    let (stream, peer) = stage.connected();
    stage.send(peer, b"go");
    stage.run(|stage, event| match event {
        Event::Data { .. } => {
            (0..1000).for_each(|_| stage.reactor.write(stream, b"reply"));
            stage.reactor.stop();
        }
        other => panic!("{other:?}"),
    });
    assert_eq!(stage.reactor.kernel().writes, 1);
}

/// A write refused by the far end fails its marks and is told once.
#[test]
fn marks_behind_a_failed_write_fail_in_order() {
    let mut stage = Stage::<Simulated>::new();
    let (stream, peer) = stage.connected();
    let fail = |stage: &mut Stage<Simulated>, stream: StreamId| {
        stage.reactor.write(stream, b"a");
        stage.reactor.mark(stream, 1);
        stage.reactor.write(stream, b"b");
        stage.reactor.mark(stream, 2);
        stage.reactor.shutdown_write(stream);
    };
    stage.reactor.pause_reads(stream);
    stage.reset(peer);
    fail(&mut stage, stream);
    stage.run(|stage, event| match event {
        Event::Written { mark, result, .. } => {
            assert!(matches!(result, Err(WriteError::Failed(_))));
            stage.see(mark.to_string());
        }
        Event::ShutDown { result, .. } => {
            assert!(result.is_err());
            stage.see("shut");
        }
        Event::Failed { .. } => {
            stage.see("failed");
            stage.reactor.close(stream);
        }
        Event::Closed { .. } => stage.see("closed"),
        other => panic!("{other:?}"),
    });
    assert_eq!(stage.log(), "1 2 shut failed closed");
}

#[test]
fn a_full_stream_is_offered_to_the_kernel_again_only_when_it_has_room() {
    let mut stage = Stage::<Simulated>::new();
    let (stream, peer) = stage.connected();
    stage.reactor.write_owned(stream, vec![b'x'; 2 * PIPE_BYTES]);
    stage.reactor.start_timer(Name("more"), 10, 10.try_into().ok());
    let (mut fires, mut writes) = (0, 0);
    stage.run(|stage, event| match event {
        Event::Timer { .. } => {
            fires += 1;
            stage.reactor.write(stream, b"more");
            match fires {
                2 => writes = stage.reactor.kernel().writes,
                // Too little room to be told of.
                3 => drop(stage.receive(peer, 1000)),
                10 => {
                    assert_eq!(stage.reactor.kernel().writes, writes);
                    stage.receive(peer, PIPE_BYTES);
                }
                11 => {
                    assert!(stage.reactor.kernel().writes > writes);
                    stage.reactor.stop();
                }
                _ => {}
            }
        }
        other => panic!("{other:?}"),
    });
    assert_eq!(fires, 11);
}

#[test]
fn what_written_handlers_write_leaves_in_eight_rounds_before_check() {
    let mut stage = Stage::<Simulated>::new();
    let (stream, peer) = stage.connected();
    stage.send(peer, b"go");
    stage.reactor.start_phase(Phase::Check, Name("check"));
    let mut rounds = 0;
    stage.run(|stage, event| match event {
        Event::Data { .. } | Event::Written { .. } => {
            rounds += usize::from(matches!(event, Event::Written { .. }));
            stage.reactor.write(stream, b"x");
            stage.reactor.mark(stream, 0);
        }
        Event::Phase { .. } => stage.reactor.stop(),
        other => panic!("{other:?}"),
    });
    assert_eq!(rounds, 8);
}
