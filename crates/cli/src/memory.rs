//! The allocator of the program.

#[cfg(not(target_env = "musl"))]
use std::alloc::System;
use std::alloc::{GlobalAlloc, Layout};
use std::io::{Cursor, Write};

// musl's own allocator asks the system for each large tensor anew, which takes half as much
// processor time again.
#[cfg(target_env = "musl")]
use mimalloc::MiMalloc as System;

/// The system's allocator. If memory runs out, it prints one sentence and ends the program with
/// exit code 1. Rust's default is to abort, which looks like a defect of the program; replacing
/// that default needs a nightly compiler.
///
/// Only [`burnformer_files::try_reserve`] may be refused: its callers report the file that does not
/// fit.
pub struct Allocator;

// SAFETY: every call goes to `System` as it is, and what that returns is returned unless the
// process ends.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `alloc`.
        granted(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `alloc_zeroed`.
        granted(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `realloc`.
        granted(unsafe { System.realloc(memory, layout, size) }, size)
    }
}

/// `memory`, which is null only if the caller handles that.
fn granted(memory: *mut u8, bytes: usize) -> *mut u8 {
    if memory.is_null() && !burnformer_files::is_refusable() {
        end(bytes);
    }
    memory
}

/// Says that `bytes` could not be allocated and ends the process, without allocating.
#[cold]
fn end(bytes: usize) -> ! {
    let mut text = Cursor::new([0; 200]);
    let _ = writeln!(
        text,
        "error: the memory is full: {bytes} bytes more could not be had; free some, or take a smaller batch \
         (training.budget in `train`, --batch in `translate` and `serve`)"
    );
    // SAFETY: the pointer and the length are those of what was written; neither call allocates or
    // runs anything at exit. The message is short, and Windows counts in 32 bits; standard error is
    // file 2 there too.
    unsafe {
        libc::write(2, text.get_ref().as_ptr().cast(), text.position() as _);
        libc::_exit(1)
    }
}
