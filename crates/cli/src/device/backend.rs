use std::fmt;
use std::str::FromStr;

/// A backend of Burn. Each computes on one kind of device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// The CPU with Burn's flex backend, in every build.
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

/// The properties of a backend.
pub struct Facts {
    /// The name on the command line and of the cargo feature.
    pub name: &'static str,
    /// If true, this build contains it.
    pub is_built_in: bool,
    /// If true, this operating system can have a device of the backend.
    pub is_of_this_system: bool,
    /// The package to install if a build with the backend finds no device.
    pub remedy: &'static str,
}

const MAC: bool = cfg!(target_os = "macos");
const NO_ADAPTER: &str = "no graphics adapter answers: install your GPU's driver (on Debian and Ubuntu \
     mesa-vulkan-drivers for AMD, Intel and software, nvidia-driver for NVIDIA) and \
     libvulkan1; `vulkaninfo --summary` shows what the system has";
const NO_NVIDIA: &str = "no NVIDIA GPU answers: install NVIDIA's driver and the CUDA toolkit's libraries \
     (libcuda, libnvrtc); `nvidia-smi` shows what the system has";
const NO_AMD: &str = "no AMD GPU answers: install ROCm; `rocminfo` shows what the system has";

impl Backend {
    /// All backends, in the order of `devices`.
    pub fn all() -> impl Iterator<Item = Self> {
        use Backend::{Cpu, Cuda, Metal, NdArray, Rocm, Vulkan, Wgpu};
        [Cpu, NdArray, Wgpu, Vulkan, Metal, Cuda, Rocm].into_iter()
    }

    /// The properties of the backend.
    pub fn facts(self) -> Facts {
        let linux = cfg!(target_os = "linux");
        let (name, [is_built_in, is_of_this_system], remedy) = match self {
            Self::Cpu => ("cpu", [true, true], ""),
            Self::NdArray => ("ndarray", [cfg!(feature = "ndarray"), true], ""),
            Self::Wgpu => ("wgpu", [cfg!(feature = "wgpu"), true], NO_ADAPTER),
            Self::Vulkan => ("vulkan", [cfg!(feature = "vulkan"), !MAC], NO_ADAPTER),
            Self::Metal => (
                "metal",
                [cfg!(feature = "metal"), MAC],
                "no Metal device answers",
            ),
            Self::Cuda => ("cuda", [cfg!(feature = "cuda"), !MAC], NO_NVIDIA),
            Self::Rocm => ("rocm", [cfg!(feature = "rocm"), linux], NO_AMD),
        };
        Facts {
            name,
            is_built_in,
            is_of_this_system,
            remedy,
        }
    }

    /// Returns whether the backend computes on the CPU.
    pub fn is_cpu(self) -> bool {
        matches!(self, Self::Cpu | Self::NdArray)
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.facts().name)
    }
}

impl FromStr for Backend {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::all()
            .find(|backend| backend.facts().name == text)
            .ok_or_else(|| {
                let names = names_of(Self::all());
                format!(
                    "`{text}` is not a device; there are auto, {names} (the first) and NAME:INDEX"
                )
            })
    }
}

fn names_of(backends: impl Iterator<Item = Backend>) -> String {
    backends
        .map(|backend| backend.facts().name)
        .collect::<Vec<_>>()
        .join(", ")
}

/// The names of the backends in this build.
pub fn built_in() -> String {
    names_of(Backend::all().filter(|backend| backend.facts().is_built_in))
}
