/// Tells the C library of Linux (glibc) to keep freed memory instead of returning it to the system after each tensor.
///
/// An update of a training allocates and frees the same large buffers again and again. By default each of them is mapped,
/// zeroed page by page and unmapped; kept, training is about 1.2 times as fast (measured in `docs/performance.md`, "Memory that
/// stays"). Call it once, first thing in `main`, before any other thread starts. The process then holds the most memory that
/// it ever needed until it ends. On other systems this does nothing.
pub fn keep_freed_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        const GIGABYTE: libc::c_int = 1 << 30;
        const MEGABYTE: libc::c_int = 1 << 20;
        // SAFETY: mallopt only sets parameters of the allocator, is called before any thread starts,
        // and a value it refuses changes nothing.
        unsafe {
            libc::mallopt(libc::M_MMAP_THRESHOLD, GIGABYTE);
            libc::mallopt(libc::M_TRIM_THRESHOLD, libc::c_int::MAX);
            libc::mallopt(libc::M_TOP_PAD, 64 * MEGABYTE);
        }
    }
}

/// Tells the C library of Linux (glibc) to take the memory of all threads from one place, that which [`keep_freed_memory`]
/// keeps.
///
/// By default other threads than the first have places of their own, from which freed memory does go back to the system. The
/// updates of a training are computed by such threads: without this call they are about a tenth slower at d_model 256
/// (`docs/performance.md`, "Memory that stays"). Where several threads allocate at the same time, as in translation, they would
/// wait for one another instead. Call it before training. On other systems this does nothing.
pub fn share_freed_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: mallopt only sets a parameter of the allocator, for places that threads have not got yet.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
}
