//! What std could have had; no domain word in it.

pub mod chunks;
pub mod one_line;
pub mod slots;

/// Milliseconds on the reactor's monotonic clock; only differences mean anything.
pub type Millis = u64;
