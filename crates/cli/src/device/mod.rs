//! Compute devices: their names, the list of devices of this build and this machine, and a test
//! that they compute correctly.

mod auto;
mod backend;
mod found;
#[cfg(feature = "gpu")]
mod gpu;
mod guard;
mod list;
mod matmul;
mod name;
mod parity;
mod self_test;

pub use auto::{check_models, check_trained_model};
pub use backend::Backend;
pub use found::Found;
pub use guard::{guarded, panic_text, quietly};
pub use matmul::best_rate as best_matmul_rate;
pub use name::{DeviceName, DeviceNames};
pub use parity::Check;
pub use self_test::{Verdict, in_child, in_process};

/// Prepares the GPU runtimes. They store their tuning results in the user's cache folder. Must be
/// called before any device is used and any thread is started. If this process was started to test
/// one device, the test runs here and the process ends.
pub fn prepare() {
    #[cfg(feature = "gpu")]
    {
        gpu::keep_tuning();
        gpu::hush_drivers();
    }
    answer_parent();
}

/// Prepares the GPU runtimes in a process that is not this program, such as an interpreter.
/// `program` is the command that starts this program to test a device in a separate process.
pub fn prepare_within(program: Vec<std::ffi::OsString>) {
    #[cfg(feature = "gpu")]
    gpu::keep_tuning();
    self_test::set_program(program);
}

/// In a process that [`in_child`] started: tests the device, prints the verdict as JSON and ends
/// the process.
fn answer_parent() {
    let Some(name) = std::env::var(self_test::SELF_TEST).ok() else {
        return;
    };
    let opened = quietly(|| {
        let name: DeviceName = name.parse()?;
        name.open_untested().map_err(|cause| format!("{cause:#}"))
    });
    let verdict = opened.and_then(|device| in_process(&device));
    let printed = crate::output::print(serde_json::json!(verdict));
    std::process::exit(i32::from(printed.is_err()));
}
