//! Kernel launches and bytes of the parts of an update on a GPU, as plain-tensor reference and as what this crate runs:
//!
//! ```sh
//! BURN_DEVICE=wgpu cargo run --release --features burnformer/wgpu --example launches
//! ```
//!
//! It counts and times nothing, so that any adapter will do, one in software too. Launches are those that CubeCL
//! issues, bytes follow from the plans of Burn's fusion (see [`plans`]). Both are of a run after others of the same
//! shapes, when the plans are made. Every count is a process of its own, which logs to the one that prints.

mod parts;
mod plans;

use std::process::Command;
use std::sync::{Arc, Mutex};

use burn::tensor::Device;
use cubecl::logging::{LaunchObservation, LaunchObserver};
use parts::PARTS;

fn main() {
    match std::env::args().skip(1).collect::<Vec<_>>().as_slice() {
        [] => report(),
        [part, ours] => count(PARTS[part.parse::<usize>().expect("a part")].1, ours == "ours"),
        _ => eprintln!("usage: launches"),
    }
}

fn report() {
    println!("{:<60} {:>16} {:>16}", "launches, MB read and written", "reference", "ours");
    for (index, (name, _)) in PARTS.iter().enumerate() {
        let [reference, ours] = ["reference", "ours"].map(|which| {
            let (launches, bytes) = counted(index, which);
            format!("{launches}, {:.1}", bytes as f64 / 1e6)
        });
        println!("{name:<60} {reference:>16} {ours:>16}");
    }
}

/// Launches and bytes of a part, by a process that logs.
fn counted(part: usize, which: &str) -> (usize, usize) {
    let program = std::env::current_exe().expect("the path of this program");
    let output = Command::new(program)
        .args([&part.to_string(), which])
        .env("BURN_FUSION_LOG", "full")
        .output()
        .expect("this program runs");
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    if let Ok(folder) = std::env::var("LAUNCHES_LOGS") {
        let path = format!("{folder}/{part}-{which}.log");
        std::fs::write(path, &log).expect("the folder of the logs");
    }
    assert!(output.status.success(), "{log}");
    let measured = log.split_once(BEGIN).expect("the beginning").1;
    let launches = measured.lines().filter(|line| line.starts_with(LAUNCH)).count();
    (launches, plans::bytes(measured, END))
}

const BEGIN: &str = "=== measured";
const END: &str = "=== until here";
const LAUNCH: &str = "launched ";

#[derive(Default)]
struct Names(Mutex<Vec<&'static str>>);

impl LaunchObserver for Names {
    fn launched(&self, kernel: &'static str) {
        self.0.lock().expect("no panic before").push(kernel);
    }
}

/// Set for the run that counts.
static COUNTING: Mutex<Option<Arc<Names>>> = Mutex::new(None);

/// Runs `part` until its plans are made, then once more under observation.
fn count(part: fn(bool), ours: bool) {
    for _ in 0..4 {
        part(ours);
    }
    COUNTING.lock().expect("no panic before").replace(Arc::default());
    part(ours);
}

/// Runs `work`, which is what counts: not the making of its inputs.
fn measured<T>(work: impl FnOnce() -> T) {
    let sync = || Device::default().sync().expect("the device computes");
    sync();
    let names = COUNTING.lock().expect("no panic before").clone();
    let watching = names.clone().map(|names| {
        eprintln!("{BEGIN}");
        LaunchObservation::new(names)
    });
    let result = work();
    sync();
    drop(watching);
    let Some(names) = names else { return };
    eprintln!("{END}");
    // The log tells what lived until here.
    drop(result);
    sync();
    let names = names.0.lock().expect("no panic before");
    names.iter().for_each(|name| eprintln!("{LAUNCH}{name}"));
}
