//! The reactor over two kernels, the real one and a simulated one, and the whole bridge over the
//! simulated one.
//!
//! A scenario is written once, over a [`world::World`], and runs on both where both can show it.
//! What needs a virtual clock, a full buffer of known size or a fault runs on the simulated one
//! alone; what needs a child, a signal or a file system runs on the real one alone.

// Scenarios are tests in all but the attribute, which stands on what the macro makes of them.
#![allow(clippy::unwrap_used)]

mod bridge;
mod disk;
mod kernel;
mod loop_clock;
mod order;
mod real_things;
mod streams;
mod traffic;
mod world;
