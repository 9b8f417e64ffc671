//! Counts the steps of a program: the branches that it takes, and the bytes that it copies.
//!
//! The compiler calls a function at each branch if `cargo xtask growth` builds the program. In
//! Rust, such a function would call itself at its own branches. The standard library is not built
//! anew: its branches are counted only where a crate instantiates them. Its copies are counted,
//! because `memcpy` and `memmove` are replaced: 16 bytes are a step.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

static ARE_COUNTED: AtomicBool = AtomicBool::new(false);
static COUNT: AtomicU64 = AtomicU64::new(0);

#[cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]
std::arch::global_asm!(
    ".globl __sanitizer_cov_trace_pc_guard",
    "__sanitizer_cov_trace_pc_guard:",
    "inc qword ptr [rip + {count}]",
    "ret",
    ".globl __sanitizer_cov_trace_pc_guard_init",
    "__sanitizer_cov_trace_pc_guard_init:",
    "mov byte ptr [rip + {counted}], 1",
    "ret",
    // The checked functions of glibc copy as these do, if the size of the target is unlimited.
    ".globl memcpy",
    "memcpy:",
    ".globl memmove",
    "memmove:",
    "mov rax, rdx",
    "shr rax, 4",
    "add qword ptr [rip + {count}], rax",
    "mov rcx, -1",
    "jmp qword ptr [rip + __memmove_chk@GOTPCREL]",
    count = sym COUNT,
    counted = sym ARE_COUNTED,
);

/// Returns whether the compiler counts branches in this program.
pub fn are_counted() -> bool {
    ARE_COUNTED.load(Relaxed)
}

/// Returns the number of steps so far, of all threads.
pub fn count() -> u64 {
    COUNT.load(Relaxed)
}

/// Returns the nanoseconds of this thread's processor time.
pub fn nanoseconds() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the clock exists, and `time` is written.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
