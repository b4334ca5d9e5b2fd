//! Random traffic: whatever the sizes, pauses, fills and faults, bytes arrive whole and in order.
//!
//! An echo answers a peer that sends and reads in random pieces; the kernel moves random amounts a
//! call. One seed is one run; a failure names its seed.

use footbridge::reactor::{Event, Kernel};

use crate::kernel::SimKernel;
use crate::world::{Name, Received, Simulated, Stage};

/// Numbers below a bound, from the kernel's own seeded randomness.
struct Dice(SimKernel);

impl Dice {
    fn roll(&mut self, below: usize) -> usize {
        let mut bytes = [0; 8];
        self.0.fill_random(&mut bytes).unwrap();
        usize::try_from(u64::from_le_bytes(bytes) % below as u64).unwrap()
    }
}

/// Most bytes a peer sends in one run.
const BYTES: usize = 3_000_000;

fn echo(seed: u64) {
    let mut dice = Dice(SimKernel::new(seed));
    let mut stage = Stage::<Simulated>::new();
    let (stream, peer) = stage.connected();
    let all = dice.roll(BYTES) + 1;
    let pattern = |index: usize| (index % 251) as u8;
    let (mut sent, mut received, mut paused, mut marks) = (0, 0, false, (0, 0));
    stage.reactor.start_timer(Name("peer"), 1, 1.try_into().ok());
    stage.run(|stage, event| {
        let faults = &mut stage.reactor.kernel().faults;
        faults.read_bytes_max = 1 + dice.roll(300_000);
        faults.write_bytes_max = 1 + dice.roll(300_000);
        match event {
            Event::Timer { .. } => {
                let piece = dice.roll(200_000).min(all - sent);
                let bytes: Vec<u8> = (sent..sent + piece).map(pattern).collect();
                sent += stage.reactor.kernel().send(peer, &bytes);
                if sent == all && dice.roll(2) == 0 {
                    stage.finish(peer);
                }
                if let Received::Bytes(bytes) = stage.receive(peer, 1 + dice.roll(400_000)) {
                    let in_order = bytes.iter().zip(received..).all(|(&b, i)| b == pattern(i));
                    assert!(in_order, "seed {seed}: bytes out of order after {received}");
                    received += bytes.len();
                }
                paused = !paused && dice.roll(4) == 0;
                match paused {
                    true => stage.reactor.pause_reads(stream),
                    false => stage.reactor.resume_reads(stream),
                }
                if received == all {
                    stage.reactor.close(stream);
                    stage.reactor.stop();
                }
            }
            Event::Data { bytes, .. } => {
                assert!(!paused, "seed {seed}: read during a pause");
                stage.reactor.write(stream, bytes);
                stage.reactor.mark(stream, marks.0);
                marks.0 += 1;
                if dice.roll(3) == 0 {
                    stage.reactor.fill(stream, Vec::new(), 1 + dice.roll(500_000));
                }
            }
            Event::Filled { buffer, fresh_from, .. } => {
                assert_eq!(fresh_from, 0, "seed {seed}");
                stage.reactor.write_owned(stream, buffer);
            }
            Event::Written { mark, .. } => {
                assert_eq!(mark, marks.1, "seed {seed}: marks out of order");
                marks.1 += 1;
            }
            Event::End { .. } | Event::Drained { .. } => {}
            other => panic!("seed {seed}: {other:?}"),
        }
    });
    assert_eq!(received, all, "seed {seed}");
}

#[test]
fn an_echo_returns_every_byte_in_order_under_any_seed() {
    (0..60).for_each(echo);
}
