//! The parts of the program `burnformer` that another program of this workspace needs too: devices by their names, the
//! texts and models inside the program, values of options, and where results and messages go.
//!
//! A program that only translates or trains uses `burnformer-infer` or `burnformer-train`, which know no names of devices.

#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

pub mod device;
pub mod embedded;
pub mod memory;
pub mod output;
pub mod signals;
pub mod texts;
pub mod values;
