//! The real binary, real sockets, real lock files in a HOME of its own for every test.
//!
//! Nothing sleeps: whatever must happen is waited for with a deadline, by blocking reads with a
//! timeout or by polling a file. No port is fixed.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![expect(clippy::disallowed_methods, reason = "deadlines and helper threads of the test itself")]

mod attach;
mod bounds;
mod control;
#[cfg(unix)]
mod doctor;
mod doors;
mod harness;
mod leaving;
mod lifecycle;
mod load;
mod review;
mod surroundings;
mod verbs;
