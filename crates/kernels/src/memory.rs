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
