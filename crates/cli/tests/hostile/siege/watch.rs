//! The memory of the besieged process, and the signals that it gets.

use std::process::Command;
use std::sync::Arc;
use std::thread::{JoinHandle, sleep, spawn};
use std::time::Duration;

use super::phase::{Clock, Phase};
use crate::client::SECOND;
use crate::server::memory;

/// Signals that change nothing. The process is also suspended for a moment.
const SIGNALS: [&str; 6] = ["WINCH", "URG", "CHLD", "PIPE", "STOP", "CONT"];

/// Samples the memory of `process` four times a second during the siege.
pub fn start(process: u32, clock: &Arc<Clock>) -> JoinHandle<Vec<u64>> {
    let clock = clock.clone();
    spawn(move || {
        let mut samples = Vec::new();
        while clock.phase() == Phase::Siege {
            samples.push(memory(process, "VmRSS:"));
            sleep(SECOND / 4);
        }
        samples
    })
}

/// Sends [`SIGNALS`] every ten seconds during the siege.
pub fn send_signals(process: u32, clock: &Arc<Clock>) -> JoinHandle<()> {
    let clock = clock.clone();
    spawn(move || {
        while clock.phase() == Phase::Siege {
            for signal in SIGNALS {
                let signal = format!("-{signal}");
                let status = Command::new("kill")
                    .args([signal, process.to_string()])
                    .status();
                assert!(status.unwrap().success());
                sleep(Duration::from_millis(20));
            }
            sleep(10 * SECOND);
        }
    })
}

/// The largest sample of each quarter, in megabytes.
pub fn quarters(samples: &[u64]) -> [u64; 4] {
    let size = samples.len().div_ceil(4).max(1);
    let mut quarters = samples.chunks(size);
    [(); 4].map(|()| {
        let quarter = quarters.next().unwrap_or_default();
        quarter.iter().max().copied().unwrap_or_default() >> 20
    })
}
