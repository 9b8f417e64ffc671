use anyhow::Result;
use serde_json::{Map, Value};

use burnformer::output;

/// The result of a benchmark: names and numbers, which are printed as one JSON line or as text.
pub struct Record(Map<String, Value>);

impl Record {
    /// A record of the fields of `value`, which is a JSON object.
    pub fn new(value: Value) -> Self {
        match value {
            Value::Object(fields) => Self(fields),
            other => Self(Map::from_iter([("value".to_string(), other)])),
        }
    }

    /// Prints to standard output.
    pub fn print(&self, json: bool) -> Result<()> {
        if json {
            return output::print(Value::Object(self.0.clone()));
        }
        self.0.iter().try_for_each(|(name, value)| match value.as_f64() {
            Some(number) if value.is_f64() => output::print(format_args!("{name:<22} {number:.4}")),
            _ => {
                let text = value.as_str().map_or(value.to_string(), Into::into);
                output::print(format_args!("{name:<22} {text}"))
            }
        })
    }
}

/// The peak memory of this process in bytes; 0 if the system does not report it.
pub fn peak_memory_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse().ok());
    1024 * kilobytes.unwrap_or(0_u64)
}

/// The processor time of this process so far, in seconds; 0 if the system does not report it.
#[cfg(unix)]
pub fn processor_seconds() -> f64 {
    // SAFETY: rusage is plain numbers, for which zeros are valid, and the pointer is to a live local variable.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

#[cfg(not(unix))]
pub fn processor_seconds() -> f64 {
    0.0
}
