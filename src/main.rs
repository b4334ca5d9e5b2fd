//! The `footbridge` program: reads the command line and leaves with its exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    footbridge::cli::run(std::env::args_os(), &|name| std::env::var_os(name))
}
