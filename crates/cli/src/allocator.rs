//! How the process keeps its memory.

/// Tells glibc to keep freed memory instead of returning it to the system after each tensor.
///
/// An update allocates and frees the same large buffers again and again; by default each is mapped,
/// zeroed page by page and unmapped (measured in `docs/performance.md`). Elsewhere this does nothing.
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
