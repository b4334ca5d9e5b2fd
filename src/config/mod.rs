//! Settings: flags, environment and file become plain options.
//!
//! Each flag stands once in [`flag::FLAGS`]; help, the README's table, the environment names and
//! the keys of the file all come from there. `source` picks for each flag the layer that wins,
//! `options` turns the texts into types and refuses what makes no sense together. Nothing here
//! touches the disk: files are read by whoever calls, and no value is global.

pub mod flag;
pub mod nearest;
pub mod open_command;
pub mod options;
pub mod source;
pub mod state;
