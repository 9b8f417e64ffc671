//! The devices of this build and this machine.

use anyhow::{Result, bail, ensure};
use burn::tensor::{Device, Tensor};

use super::backend::{Backend, built_in};
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
    /// The device, tested by adding two numbers.
    ///
    /// # Errors
    /// Returns an error if the device does not work.
    pub fn open(self) -> Result<Device> {
        if !matches!(self.name, DeviceName::Of(backend, _) if backend.is_cpu()) {
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

impl Backend {
    /// The devices of the backend on this machine, GPUs before their emulation on the CPU.
    ///
    /// # Errors
    /// Returns an error if this build lacks the backend, or this machine has no device of it.
    pub fn devices(self) -> Result<Vec<Found>> {
        ensure!(
            self.facts().is_built_in,
            "this build has no {self} (it has {}); `cargo xtask COMMAND --device {self}` builds it in, and \
             `cargo install --path crates/cli --features {self}` installs it",
            built_in(),
        );
        let found = self.found();
        ensure!(
            !found.is_empty(),
            "there is no device {self}: {}",
            self.facts().remedy
        );
        Ok(found)
    }

    /// The devices of the backend on this machine; empty if the build lacks the backend.
    pub fn found(self) -> Vec<Found> {
        match self {
            Self::Cpu => vec![cpu(self, Device::flex())],
            #[cfg(feature = "ndarray")]
            #[expect(deprecated, reason = "kept for those who compare")]
            Self::NdArray => vec![cpu(self, Device::ndarray())],
            #[cfg(feature = "gpu")]
            gpu => super::gpu::found(gpu),
            #[allow(unreachable_patterns, reason = "which are left depends on the build")]
            _ => Vec::new(),
        }
    }
}

fn cpu(backend: Backend, device: Device) -> Found {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let model = processor().unwrap_or_else(|| std::env::consts::ARCH.into());
    Found {
        name: DeviceName::Of(backend, 0),
        part: format!(
            "{model}, {threads} thread{}",
            if threads == 1 { "" } else { "s" }
        ),
        driver: None,
        is_software: false,
        device,
    }
}

/// The name of the processor, if the system reports it.
fn processor() -> Option<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}
