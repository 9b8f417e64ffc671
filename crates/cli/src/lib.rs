//! The program `burnformer` as a function, [`run`], and its parts that another program of this workspace needs too: devices
//! by their names, the texts and models inside the program, whole documents, values of options, and where results and messages go.
//!
//! A program that only translates or trains uses `burnformer-infer` or `burnformer-train`, which know no names of devices.

// `println!` and `eprintln!` panic where their stream fails; `output::print` and `output::say` do not.
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

mod commands;
pub mod device;
pub mod documents;
pub mod embedded;
mod line_warnings;
pub mod memory;
pub mod output;
mod program;
mod progress;
mod shards;
pub mod signals;
pub mod texts;
pub mod values;

pub use program::run;
