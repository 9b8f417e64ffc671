//! The allocator of the program.

#[cfg(not(target_env = "musl"))]
use std::alloc::System;
use std::alloc::{GlobalAlloc, Layout};
use std::io::{Cursor, Write};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

// musl's allocator maps each large tensor anew, at 50 % more processor time.
#[cfg(target_env = "musl")]
use mimalloc::MiMalloc as System;

/// The system's allocator. If memory runs out, it prints one sentence and ends the program with
/// exit code 1. Rust's default is to abort, which looks like a bug, and replacing it needs a
/// nightly compiler.
///
/// Only [`burnformer_files::try_reserve`] may fail: its callers report the file that does not fit.
pub struct Allocator;

// SAFETY: every call is forwarded to `System`, and its result is returned unless the process ends.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `alloc`.
        granted(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `alloc_zeroed`.
        granted(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `realloc`.
        granted(unsafe { System.realloc(pointer, layout, size) }, size)
    }
}

/// Returns `pointer`, which is null only if the caller handles that.
fn granted(pointer: *mut u8, bytes: usize) -> *mut u8 {
    if pointer.is_null() && !burnformer_files::is_refusable() {
        end(bytes);
    }
    pointer
}

/// What the user can reduce when memory runs out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Remedy {
    /// Nothing that an option could change.
    Nothing,
    /// The batches of `--batch`.
    Batch,
    /// The batches of `train`.
    Budget,
}

/// The current [`Remedy`] as a number. The allocator cannot take a lock.
static REMEDY: AtomicU8 = AtomicU8::new(Remedy::Nothing as u8);

/// Runs `work`. Reducing what `remedy` names frees most of its memory.
pub fn with_remedy<T>(remedy: Remedy, work: impl FnOnce() -> T) -> T {
    let before = REMEDY.swap(remedy as u8, Ordering::Relaxed);
    let done = work();
    REMEDY.store(before, Ordering::Relaxed);
    done
}

/// The current remedy in words.
fn advice() -> &'static str {
    const BATCH: u8 = Remedy::Batch as u8;
    const BUDGET: u8 = Remedy::Budget as u8;
    match REMEDY.load(Ordering::Relaxed) {
        BATCH => "free some, or take a smaller --batch",
        BUDGET => "free some, or lower training.budget (--set training.budget=N)",
        _ => "free some, or run the command on a machine with more",
    }
}

/// Says that `bytes` could not be allocated and ends the process, without allocating. If several
/// threads run out of memory, the first one says so.
#[cold]
fn end(bytes: usize) -> ! {
    static IS_ENDING: AtomicBool = AtomicBool::new(false);
    while IS_ENDING.swap(true, Ordering::Relaxed) {
        std::thread::yield_now();
    }
    let mut text = Cursor::new([0; 200]);
    let _ = writeln!(
        text,
        "error: out of memory ({bytes} bytes)\nhint: {}",
        advice()
    );
    // SAFETY: the pointer and the length describe the written bytes. Neither call allocates or runs
    // anything at exit. The message is short, and Windows counts in 32 bits; standard error is file
    // 2 there too.
    unsafe {
        libc::write(2, text.get_ref().as_ptr().cast(), text.position() as _);
        libc::_exit(1)
    }
}
