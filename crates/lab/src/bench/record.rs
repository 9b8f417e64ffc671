//! The resource use of a process.

/// The framework of our records.
pub const FRAMEWORK: &str = concat!("burnformer ", env!("CARGO_PKG_VERSION"));

/// The peak memory of this process in bytes; 0 if the system does not report it.
pub fn peak_memory_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse().ok());
    1024 * kilobytes.unwrap_or(0_u64)
}

/// The processor time of this process so far, in seconds; 0 if the system does not report it.
pub fn processor_seconds() -> f64 {
    // Linux counts hundredths of a second, in user and in system code.
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split_whitespace();
    fields
        .skip(11)
        .take(2)
        .filter_map(|ticks| ticks.parse::<f64>().ok())
        .sum::<f64>()
        / 100.0
}
