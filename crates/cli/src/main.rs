//! `burnformer`: train, score and run translation models from one binary.
//!
//! Commands that compute take `--device`, and this crate chooses the backend for it; the libraries
//! take a device. Results go to standard output, and everything else to standard error. If standard
//! output was closed by its reader, the command ends without a message; if it cannot be written,
//! the command fails; a failing standard error is ignored. Exit codes: 0 done, 1 failed, 2 wrong
//! usage, 130 and 143 stopped by Ctrl-C and SIGTERM; `serve` ends with 0 after either, since it has
//! answered what it accepted.

use std::env;
use std::process::ExitCode;

use burnformer::allocator;

#[global_allocator]
static ALLOCATOR: allocator::Allocator = allocator::Allocator;

fn main() -> ExitCode {
    burnformer::run(env::args_os()).into()
}
