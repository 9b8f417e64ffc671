//! The devices of each backend in this build and on this machine.

use anyhow::{Result, ensure};
use burn::tensor::Device;

use super::backend::{Backend, built_in};
use super::found::Found;
use super::name::DeviceName;

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
