//! `footbridge serve`: gathers the settings and hands them to the bridge.
//!
//! The disk is touched here only to find out what the settings mean: the settings file, a token
//! file, which folder a path leads to. Listening, lock file and all the rest are the bridge's.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::config::options::{ServeOptions, Surroundings};
use crate::config::source::{Env, Setting};

use super::{EXIT_USAGE, complain, logger};

/// Runs the bridge until it ends.
pub fn run(flags: BTreeMap<&'static str, Setting>, env: Env<'_>) -> ExitCode {
    let current_folder = match current_folder(env) {
        Ok(folder) => folder,
        Err(error) => {
            complain(&format!("the current folder is gone: {error}"));
            return ExitCode::FAILURE;
        }
    };
    let around = Surroundings {
        env,
        current_folder: &current_folder,
        read_file: &|path| std::fs::read(path),
        physical_folder: &physical_folder,
    };
    let options = match ServeOptions::resolve(flags, &around) {
        Ok(options) => options,
        Err(error) => {
            complain(&error.to_string());
            return match error.is_usage() {
                true => ExitCode::from(EXIT_USAGE),
                false => ExitCode::FAILURE,
            };
        }
    };
    logger::start(options.log_level);
    for warning in &options.warnings {
        log::warn!("{warning}");
    }
    start(options)
}

// CALL SITE OF THE BRIDGE: `crate::bridge::serve(options)` belongs here.
fn start(options: ServeOptions) -> ExitCode {
    log::error!("this build has no bridge to run for {}", options.workspaces[0].given.display());
    ExitCode::FAILURE
}

/// The current folder as the shell spells it (`PWD`) if that is true, else as the system does.
fn current_folder(env: Env<'_>) -> io::Result<PathBuf> {
    let current = std::env::current_dir()?;
    let spelled = env("PWD").map(PathBuf::from).filter(|path| path.is_absolute());
    let is_true =
        |path: &PathBuf| std::fs::canonicalize(path).ok() == std::fs::canonicalize(&current).ok();
    Ok(spelled.filter(is_true).unwrap_or(current))
}

fn physical_folder(path: &Path) -> io::Result<PathBuf> {
    let physical = std::fs::canonicalize(path)?;
    if !physical.is_dir() {
        return Err(io::Error::from(io::ErrorKind::NotADirectory));
    }
    Ok(plain(physical))
}

/// Windows canonicalises to `\\?\C:\…`, which no client compares equal to `C:\…`.
fn plain(path: PathBuf) -> PathBuf {
    let is_drive = |rest: &str| rest.as_bytes().get(1) == Some(&b':');
    let rest = path.to_str().and_then(|text| text.strip_prefix(r"\\?\"));
    match rest.filter(|rest| cfg!(windows) && is_drive(rest)) {
        Some(rest) => PathBuf::from(OsString::from(rest)),
        None => path,
    }
}
