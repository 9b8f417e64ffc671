//! Tests whether a device gives the results of the CPU, and how fast it is.

use std::ffi::OsString;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use burn::tensor::{Device, Int, Tensor, TensorData};
use burnformer_core::{Mode, Precision, Seq2Seq, TransformerConfig, label_smoothed_cross_entropy};
use serde::{Deserialize, Serialize};

use super::guard::quietly;
use super::matmul;
use super::name::DeviceName;

/// The largest difference from the CPU that passes, relative to values above one.
const TOLERANCE: f64 = 1e-3;
/// The number of rows and columns of the timed product.
const SIZE: usize = 1024;

/// The environment variable with the name of the device that this process tests before it ends.
pub(super) const SELF_TEST: &str = "BURNFORMER_SELF_TEST";

/// The result of a self-test.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The largest difference between the loss and gradients on the device and on the CPU.
    pub difference: f64,
    /// The speed of products of 1,024 × 1,024 float32 matrices, in billions of operations per
    /// second (GFLOP/s).
    pub gflops: f64,
}

/// Trains one step of a small Transformer on `device` and on the CPU, and compares loss and
/// gradients.
///
/// # Errors
/// Returns a message with the failure, also for a panic.
pub fn in_process(device: &Device) -> Result<Verdict, String> {
    quietly(|| {
        let expected = loss_and_gradients(&Device::flex());
        let found = loss_and_gradients(device);
        let difference = found.iter().zip(&expected).map(|(found, expected)| {
            (f64::from(*found) - f64::from(*expected)).abs() / f64::from(expected.abs()).max(1.0)
        });
        let difference = difference.fold(0.0, nan_max);
        if difference <= TOLERANCE {
            Ok(Verdict {
                difference,
                gflops: matmul::rate(device, Precision::Float32, SIZE),
            })
        } else {
            Err(format!("it differs from the CPU by {difference:.1e}"))
        }
    })
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

/// The loss and then the gradients of every parameter, of one batch with padding in a small
/// Transformer.
fn loss_and_gradients(device: &Device) -> Vec<f32> {
    let device = device.clone().autodiff();
    let config = TransformerConfig {
        dropout: 0.1,
        ..TransformerConfig::tiny(40).with_width(32, 2)
    };
    let model = config.init(1, &device).expect("a valid configuration");
    let source = ids([[5, 9, 12, 33, 2], [7, 30, 2, 0, 0]], &device);
    let input = ids([[1, 8, 11, 20, 6], [1, 17, 4, 0, 0]], &device);
    let output = ids([[8, 11, 20, 6, 2], [17, 4, 2, 0, 0]], &device);
    let logits = model.forward(source, input, Mode::training(1, 1));
    let loss = label_smoothed_cross_entropy(logits, output, 0, 0.1).smoothed;
    let mut values: Vec<f32> = loss.to_data().iter().collect();
    let gradients = loss.backward();
    for (_, gradient) in burnformer_core::named_gradients(&model, &gradients) {
        values.extend(gradient.iter::<f32>());
    }
    values
}

fn ids<const L: usize>(rows: [[i32; L]; 2], device: &Device) -> Tensor<2, Int> {
    Tensor::from_data(TensorData::new(rows.concat(), [2, L]), device)
}

/// The larger of two numbers; NaN if one of them is NaN.
fn nan_max(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() {
        f64::NAN
    } else {
        a.max(b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_agrees_with_itself() {
        let verdict = in_process(&Device::flex()).unwrap();
        assert_eq!(verdict.difference, 0.0);
        assert!(verdict.gflops > 0.1, "{verdict:?}");
    }

    #[test]
    fn a_nan_difference_is_reported() {
        assert!([1.0, f64::NAN, 2.0].into_iter().fold(0.0, nan_max).is_nan());
    }
}
