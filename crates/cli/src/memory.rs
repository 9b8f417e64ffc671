//! The allocator of the program.

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Write;

/// The system's allocator. Where the system has no more memory, it ends the program with one
/// sentence and exit code 1; Rust's own way is to abort, which looks like a fault of the program.
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

/// `memory`, unless the system did not grant it.
fn granted(memory: *mut u8, bytes: usize) -> *mut u8 {
    if memory.is_null() {
        end(bytes);
    }
    memory
}

/// Says that `bytes` could not be allocated and ends the process, without allocating.
#[cold]
fn end(bytes: usize) -> ! {
    let mut text = [0; 200];
    let mut rest = &mut text[..];
    let _ = writeln!(
        rest,
        "error: the memory is full: {bytes} bytes more could not be had; free some, or take a smaller batch \
         (training.budget in `train`, --batch in `translate` and `serve`)"
    );
    let unused = rest.len();
    leave(&text[..text.len() - unused])
}

fn leave(message: &[u8]) -> ! {
    // Standard error is file 2 on Windows too.
    const STANDARD_ERROR: libc::c_int = 2;
    // SAFETY: the pointer and the length are those of a slice; neither call allocates or runs
    // anything at exit. The message is short, and Windows counts in 32 bits.
    unsafe {
        libc::write(STANDARD_ERROR, message.as_ptr().cast(), message.len() as _);
        libc::_exit(1)
    }
}
