//! How fast do frames pass the WebSocket codec, without sockets?
//!
//! Each size is a whole message: as the server takes it (header, unmasking, UTF-8), as it sends it,
//! and both in one, as an echo. Two shapes that used to be slow elsewhere stand beside them: a
//! thousand small frames in one read, and one message in many fragments. Compare the bytes a second
//! with `memcpy` at the same size, which is what the machine can do at best.

use std::hint::black_box;

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use footbridge::proto::ws::connection::{Connection, Event, Input, Options, Role};
use footbridge::proto::ws::frame::{Header, Opcode};
use footbridge::proto::ws::mask;

/// The sizes quoted for peers: a key press, the last short length, a tool result, a file, a large
/// file.
const SIZES: [usize; 5] = [16, 125, 1 << 10, 64 << 10, 1 << 20];

/// Small frames in one read, and their payload.
const BURST: (usize, usize) = (1_000, 64);

/// Fragments of one message, and their payload.
const FRAGMENTS: (usize, usize) = (1_024, 64);

const MASKING_KEY: [u8; 4] = [0x37, 0xFA, 0x21, 0x3D];

/// Text as tools send it: mostly ASCII, some of it not.
fn text(len: usize) -> String {
    let mut text =
        "{\"name\":\"getDiagnostics\",\"text\":\"straße \u{2713}\"} ".repeat(len / 40 + 1);
    while !text.is_char_boundary(len) {
        text.insert(0, ' ');
    }
    text.truncate(len);
    text
}

/// A masked frame, as clients send it.
fn frame(opcode: Opcode, is_final: bool, payload: &[u8]) -> Vec<u8> {
    let header = Header { opcode, is_final, mask: Some(MASKING_KEY), payload_len: payload.len() };
    let (head, head_len) = header.encode();
    let mut wire = head[..head_len].to_vec();
    wire.extend_from_slice(payload);
    mask::apply(&mut wire[head_len..], MASKING_KEY, 0);
    wire
}

fn server() -> Connection {
    Connection::new(Role::Server, Options::default())
}

/// Takes every message in `wire`; returns how many there were, so that none is optimised away.
fn receive(connection: &mut Connection, wire: &mut [u8]) -> usize {
    let mut input = Input::new(wire);
    let mut messages = 0;
    while let Some(event) = connection.receive(&mut input) {
        assert!(matches!(event, Event::Text(_)), "{event:?}");
        messages += 1;
    }
    messages
}

fn batch(len: usize) -> BatchSize {
    if len < 64 << 10 { BatchSize::SmallInput } else { BatchSize::LargeInput }
}

fn memcpy(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("memcpy");
    for len in SIZES {
        let from = frame(Opcode::Text, true, text(len).as_bytes());
        let mut to = from.clone();
        group.throughput(Throughput::Bytes(len as u64));
        group.bench_function(BenchmarkId::from_parameter(len), |bencher| {
            bencher.iter(|| black_box(&mut to).copy_from_slice(black_box(&from)));
        });
    }
}

fn received(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("receive");
    for len in SIZES {
        let wire = frame(Opcode::Text, true, text(len).as_bytes());
        group.throughput(Throughput::Bytes(len as u64));
        group.bench_function(BenchmarkId::from_parameter(len), |bencher| {
            let mut connection = server();
            let take = |wire: &mut Vec<u8>| assert_eq!(receive(&mut connection, wire), 1);
            bencher.iter_batched_ref(|| wire.clone(), take, batch(len));
        });
    }
}

fn sent(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("send");
    for len in SIZES {
        let text = text(len);
        group.throughput(Throughput::Bytes(len as u64));
        group.bench_function(BenchmarkId::from_parameter(len), |bencher| {
            let mut connection = server();
            bencher.iter(|| {
                connection.send_text(black_box(&text));
                black_box(connection.output()).clear();
            });
        });
    }
}

fn echoed(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("echo");
    for len in SIZES {
        let wire = frame(Opcode::Text, true, text(len).as_bytes());
        group.throughput(Throughput::Bytes(len as u64));
        group.bench_function(BenchmarkId::from_parameter(len), |bencher| {
            let mut connection = server();
            let echo = |wire: &mut Vec<u8>| {
                let mut input = Input::new(wire);
                while connection.receive(&mut input).is_some() {
                    connection.send_back(&input);
                }
                assert!(connection.queued() > len);
                black_box(connection.output()).clear();
            };
            bencher.iter_batched_ref(|| wire.clone(), echo, batch(len));
        });
    }
}

/// A thousand small frames in one read; the rate is in frames.
fn burst(criterion: &mut Criterion) {
    let (frames, len) = BURST;
    let wire = frame(Opcode::Text, true, text(len).as_bytes()).repeat(frames);
    let mut group = criterion.benchmark_group("burst");
    group.throughput(Throughput::Elements(frames as u64));
    group.bench_function(BenchmarkId::from_parameter(frames), |bencher| {
        let mut connection = server();
        let take = |wire: &mut Vec<u8>| assert_eq!(receive(&mut connection, wire), frames);
        bencher.iter_batched_ref(|| wire.clone(), take, batch(wire.len()));
    });
}

/// One message in many fragments; the rate is in fragments.
fn fragments(criterion: &mut Criterion) {
    let (count, len) = FRAGMENTS;
    let payload = text(len);
    let mut wire = frame(Opcode::Text, false, payload.as_bytes());
    for index in 1..count {
        let is_last = index == count - 1;
        wire.extend(frame(Opcode::Continuation, is_last, payload.as_bytes()));
    }
    let mut group = criterion.benchmark_group("fragments");
    group.throughput(Throughput::Elements(count as u64));
    group.bench_function(BenchmarkId::from_parameter(count), |bencher| {
        let mut connection = server();
        let take = |wire: &mut Vec<u8>| assert_eq!(receive(&mut connection, wire), 1);
        bencher.iter_batched_ref(|| wire.clone(), take, batch(wire.len()));
    });
}

criterion_group!(benches, memcpy, received, sent, echoed, burst, fragments);
criterion_main!(benches);
