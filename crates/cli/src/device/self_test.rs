//! Tests whether a device gives the results of the CPU, and how fast it is.

use std::ffi::OsString;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use burn::tensor::Device;
use burnformer_core::Precision;
use serde::{Deserialize, Serialize};

use super::guard::quietly;
use super::matmul;
use super::name::DeviceName;
use super::parity::{Check, check_device};

/// The number of rows and columns of the timed product.
const SIZE: usize = 1024;

/// The environment variable with the name of the device that this process tests before it ends.
pub(super) const SELF_TEST: &str = "BURNFORMER_SELF_TEST";

/// The result of a self-test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The comparisons with the CPU.
    pub checks: Vec<Check>,
    /// The speed of products of 1,024 × 1,024 float32 matrices, in billions of operations per
    /// second (GFLOP/s).
    pub gflops: f64,
}

impl Verdict {
    /// The first comparison that does not pass.
    pub fn wrong(&self) -> Option<&Check> {
        self.checks.iter().find(|check| !check.passes())
    }
}

/// Compares `device` with the CPU and times it.
///
/// # Errors
/// Returns a message if the timed product fails. A wrong result is part of the verdict.
pub fn in_process(device: &Device) -> Result<Verdict, String> {
    let checks = check_device(device);
    let gflops = quietly(|| Ok(matmul::rate(device, Precision::Float32, SIZE)))?;
    Ok(Verdict { checks, gflops })
}

/// The command that starts this program, if it is not the executable of the process.
static PROGRAM: OnceLock<Vec<OsString>> = OnceLock::new();

/// Sets the `command` that starts this program, for use within another process such as an
/// interpreter.
pub(super) fn set_program(command: Vec<OsString>) {
    // The first caller started the process.
    let _ = PROGRAM.set(command);
}

/// The command of a new process of this program.
fn program() -> Result<Command, String> {
    let Some([exe, args @ ..]) = PROGRAM.get().map(Vec::as_slice) else {
        return Ok(Command::new(
            std::env::current_exe().map_err(|e| e.to_string())?,
        ));
    };
    let mut command = Command::new(exe);
    command.args(args);
    Ok(command)
}

/// Runs the self-test of the device `name` in a separate process, because a driver may crash the
/// process.
///
/// # Errors
/// Returns a message with the failure.
pub fn in_child(name: &DeviceName) -> Result<Verdict, String> {
    let output = program()?
        .env(SELF_TEST, name.to_string())
        .stdin(Stdio::null())
        .output();
    let output = output.map_err(|e| e.to_string())?;
    serde_json::from_slice(&output.stdout).map_err(|_| format!("it crashes ({})", output.status))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_passes() {
        let verdict = in_process(&Device::flex()).unwrap();
        assert_eq!(verdict.wrong(), None);
        assert!(verdict.gflops > 0.1, "{verdict:?}");
    }
}
