use std::fmt;

use anyhow::{Result, bail, ensure};
use burn::tensor::Device;

use super::DeviceName;
use super::guard::{note_foreign, quietly};

/// A part of Burn that computes on its own kind of device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// The CPU with Burn's flex backend, which is in every build.
    Cpu,
    /// The CPU with Burn's older ndarray backend.
    NdArray,
    /// Any GPU through wgpu: Vulkan, DirectX 12, Metal or OpenGL.
    Wgpu,
    /// GPUs through Vulkan, with SPIR-V.
    Vulkan,
    /// Apple's GPUs.
    Metal,
    /// NVIDIA's GPUs.
    Cuda,
    /// AMD's GPUs.
    Rocm,
}

/// A device that this build and this machine have.
#[derive(Debug)]
pub struct Found {
    /// The name on the command line.
    pub name: DeviceName,
    /// The name that the driver or the system gives the device.
    pub part: String,
    /// The driver.
    pub driver: Option<String>,
    /// The memory in bytes, if it is known.
    pub memory: Option<u64>,
    /// Whether this is a graphics driver that computes on the CPU.
    pub is_software: bool,
    pub(super) device: Device,
}

impl Found {
    /// The device, without a test.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The device, after it has added two numbers as a test.
    ///
    /// # Errors
    /// If the device does not work.
    pub fn open(self) -> Result<Device> {
        if !matches!(self.name, DeviceName::Of(Backend::Cpu | Backend::NdArray, _)) {
            note_foreign();
            let answers = quietly(|| super::self_test::adds(&self.device));
            if let Err(cause) = answers {
                bail!("{} ({}) does not compute: {cause}", self.name, self.part);
            }
        }
        Ok(self.device)
    }
}

impl Backend {
    /// All backends, in the order in which `devices` lists them.
    pub const ALL: [Self; 7] =
        [Self::Cpu, Self::NdArray, Self::Wgpu, Self::Vulkan, Self::Metal, Self::Cuda, Self::Rocm];

    /// The name of the backend on the command line, which is also the name of its cargo feature.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::NdArray => "ndarray",
            Self::Wgpu => "wgpu",
            Self::Vulkan => "vulkan",
            Self::Metal => "metal",
            Self::Cuda => "cuda",
            Self::Rocm => "rocm",
        }
    }

    /// Whether this build contains the backend.
    pub fn is_built_in(self) -> bool {
        match self {
            Self::Cpu => true,
            Self::NdArray => cfg!(feature = "ndarray"),
            Self::Wgpu => cfg!(feature = "wgpu"),
            Self::Vulkan => cfg!(feature = "vulkan"),
            Self::Metal => cfg!(feature = "metal"),
            Self::Cuda => cfg!(feature = "cuda"),
            Self::Rocm => cfg!(feature = "rocm"),
        }
    }

    /// Whether this operating system can have a device of the backend.
    pub fn is_of_this_system(self) -> bool {
        match self {
            Self::Metal => cfg!(target_os = "macos"),
            Self::Vulkan | Self::Cuda => !cfg!(target_os = "macos"),
            Self::Rocm => cfg!(target_os = "linux"),
            Self::Cpu | Self::NdArray | Self::Wgpu => true,
        }
    }

    /// What to install if a build with this backend finds no device.
    pub fn remedy(self) -> &'static str {
        match self {
            Self::Cpu | Self::NdArray => "",
            Self::Wgpu | Self::Vulkan => {
                "no graphics adapter answers: install your GPU's driver (on Debian and Ubuntu \
                 mesa-vulkan-drivers for AMD, Intel and software, nvidia-driver for NVIDIA) and \
                 libvulkan1; `vulkaninfo --summary` shows what the system has"
            }
            Self::Metal => "no Metal device answers",
            Self::Cuda => {
                "no NVIDIA GPU answers: install NVIDIA's driver and the CUDA toolkit's libraries \
                 (libcuda, libnvrtc); `nvidia-smi` shows what the system has"
            }
            Self::Rocm => "no AMD GPU answers: install ROCm; `rocminfo` shows what the system has",
        }
    }

    /// The devices of the backend on this machine, GPUs before software.
    ///
    /// # Errors
    /// If this build lacks the backend, or this machine has no device of it.
    pub fn devices(self) -> Result<Vec<Found>> {
        ensure!(
            self.is_built_in(),
            "this build has no {self} (it has {}); `cargo xtask COMMAND --device {self}` builds it in, and \
             `cargo install --path crates/cli --features {self}` installs it",
            built_in(),
        );
        let found = self.found();
        ensure!(!found.is_empty(), "there is no device {self}: {}", self.remedy());
        Ok(found)
    }

    /// The devices of the backend on this machine; none if the build lacks the backend.
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

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The names of the backends in this build.
pub fn built_in() -> String {
    let names = Backend::ALL.into_iter().filter(|backend| backend.is_built_in());
    names.map(Backend::name).collect::<Vec<_>>().join(", ")
}

fn cpu(backend: Backend, device: Device) -> Found {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let model = processor().unwrap_or_else(|| std::env::consts::ARCH.into());
    Found {
        name: DeviceName::Of(backend, 0),
        part: format!("{model}, {threads} thread{}", if threads == 1 { "" } else { "s" }),
        driver: None,
        memory: Some(system_memory()),
        is_software: false,
        device,
    }
}

/// The memory of this machine in bytes.
fn system_memory() -> u64 {
    let mut system = sysinfo::System::new();
    system.refresh_memory();
    system.total_memory()
}

/// The name of the processor, if the system reports it.
fn processor() -> Option<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}
