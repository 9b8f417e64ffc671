//! An allocator that counts.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);
static ASKED: AtomicUsize = AtomicUsize::new(0);
static CALLS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let size = layout.size();
        let held = HELD.fetch_add(size, Relaxed) + size;
        PEAK.fetch_max(held, Relaxed);
        ASKED.fetch_add(size, Relaxed);
        CALLS.fetch_add(1, Relaxed);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What a piece of work takes.
#[derive(Clone, Copy, Debug)]
pub struct Counted {
    /// The largest number of bytes that it holds at one time.
    pub peak: usize,
    /// The bytes that it asks for, all calls together.
    pub asked: usize,
    /// The number of these calls.
    pub calls: usize,
}

/// Runs `work` alone, and counts what it takes.
pub fn counted<T>(work: impl FnOnce() -> T) -> (Counted, T) {
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let before = [&HELD, &ASKED, &CALLS].map(|it| it.load(Relaxed));
    PEAK.store(before[0], Relaxed);
    let result = work();
    let after = [&PEAK, &ASKED, &CALLS].map(|it| it.load(Relaxed));
    let [peak, asked, calls] = [0, 1, 2].map(|index| after[index].saturating_sub(before[index]));
    let counted = Counted { peak, asked, calls };
    (counted, result)
}
