//! A device that was found, and whether it computes.

use anyhow::{Result, bail};
use burn::tensor::{Device, Tensor};

use super::guard::{note_foreign, quietly};
use super::name::DeviceName;

/// A device that this build and this machine have.
#[derive(Debug)]
pub struct Found {
    /// The name on the command line.
    pub name: DeviceName,
    /// The name of the device according to the driver or the system.
    pub part: String,
    /// The driver.
    pub driver: Option<String>,
    /// If true, this is a graphics driver that computes on the CPU.
    pub is_software: bool,
    /// The device, without a test.
    pub device: Device,
}

impl Found {
    /// Returns whether this is the CPU itself, without a driver.
    pub fn is_cpu(&self) -> bool {
        matches!(self.name, DeviceName::Of(backend, _) if backend.is_cpu())
    }

    /// The device, tested by adding two numbers.
    ///
    /// # Errors
    /// Returns an error if the device does not work.
    pub fn open(self) -> Result<Device> {
        if !self.is_cpu() {
            note_foreign();
            if let Err(cause) = quietly(|| adds(&self.device)) {
                bail!("{} ({}) does not compute: {cause}", self.name, self.part);
            }
        }
        Ok(self.device)
    }
}

/// Returns whether `device` computes anything at all.
fn adds(device: &Device) -> Result<(), String> {
    let sum = (Tensor::<1>::ones([2], device) + 1.0).into_data();
    let sum: Vec<f32> = sum.iter().collect();
    if sum == [2.0, 2.0] {
        Ok(())
    } else {
        Err(format!("it says that 1 + 1 = {sum:?}"))
    }
}
