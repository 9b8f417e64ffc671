//! Commands that are interrupted or refused at a file-system call, and then repeated.
//!
//! strace records the calls of every command that writes files. `crash` builds each state in which
//! a kill or a power failure may leave the folder, repeats the command there, and compares the end
//! with the end of a command that was not interrupted. `fault` makes each call fail once.
//!
//! The suite tries a sample. `cargo xtask crashes` and `cargo xtask faults` try everything. All
//! tests pass where strace is missing.
#![cfg(target_os = "linux")]

mod case;
mod cases;
#[path = "../it/common/mod.rs"]
mod common;
#[path = "../kills/compare.rs"]
#[allow(dead_code, reason = "each test program uses its share")]
mod compare;
mod crash;
mod disk;
mod fault;
mod record;
mod report;
mod states;
mod steps;
mod trace;
