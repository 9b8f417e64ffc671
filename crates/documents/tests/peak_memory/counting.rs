//! An allocator that counts for each thread, because tests run beside each other.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

thread_local! {
    /// The bytes that the thread holds. It may free what another thread allocated.
    static HELD: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
    static ASKED: Cell<usize> = const { Cell::new(0) };
    static CALLS: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every call goes to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let held = HELD.get() + layout.size() as isize;
        HELD.set(held);
        PEAK.set(PEAK.get().max(held));
        ASKED.set(ASKED.get() + layout.size());
        CALLS.set(CALLS.get() + 1);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.set(HELD.get() - layout.size() as isize);
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What a piece of work takes on its thread.
#[derive(Clone, Copy, Debug)]
pub struct Counted {
    /// The largest number of bytes that it holds at one time.
    pub peak: usize,
    /// The bytes that it asks for, all calls together.
    pub asked: usize,
    /// The number of these calls.
    pub calls: usize,
}

/// Runs `work` and counts what it takes.
pub fn counted<T>(work: impl FnOnce() -> T) -> (Counted, T) {
    let held = HELD.get();
    let asked = ASKED.get();
    let calls = CALLS.get();
    PEAK.set(held);
    let result = work();
    let counted = Counted {
        peak: usize::try_from(PEAK.get() - held).unwrap_or_default(),
        asked: ASKED.get() - asked,
        calls: CALLS.get() - calls,
    };
    (counted, result)
}
