//! Devices of the GPU backends, as their systems list them.

use burn::cubecl::config::cache::CacheConfig;
use burn::cubecl::config::{CubeClRuntimeConfig, RuntimeConfig};
use burn::tensor::{Device, DeviceType};

use super::backend::Backend;
use super::found::Found;
use super::name::DeviceName;
use crate::output::say;

/// Stores tuning results and compiled kernels in the user's cache folder, unless the user's
/// `cubecl.toml` names another place.
pub fn keep_tuning() {
    let mut config = CubeClRuntimeConfig::from_current_dir().override_from_env();
    // By default, the library writes a `target` folder beside the program.
    if matches!(config.environment.path, CacheConfig::Target) {
        config.environment.path = CacheConfig::Global;
    }
    CubeClRuntimeConfig::try_set(config);
}

/// Sets `XDG_RUNTIME_DIR` on Linux if it is missing, because OpenGL drivers would otherwise print
/// an error for each adapter.
pub fn hush_drivers() {
    const VARIABLE: &str = "XDG_RUNTIME_DIR";
    if cfg!(target_os = "linux") && std::env::var_os(VARIABLE).is_none() {
        // SAFETY: no other thread runs yet (`main` calls this first), so none reads the
        // environment.
        unsafe { std::env::set_var(VARIABLE, std::env::temp_dir()) };
    }
}

/// The devices of `backend` on this machine.
pub fn found(backend: Backend) -> Vec<Found> {
    match backend {
        #[cfg(feature = "wgpu")]
        Backend::Wgpu => adapters::found(backend),
        #[cfg(feature = "vulkan")]
        Backend::Vulkan => adapters::found(backend),
        #[cfg(feature = "metal")]
        Backend::Metal => adapters::found(backend),
        #[cfg(feature = "cuda")]
        Backend::Cuda => cards(backend, DeviceType::Cuda),
        #[cfg(feature = "rocm")]
        Backend::Rocm => cards(backend, DeviceType::Rocm),
        _ => Vec::new(),
    }
}

/// The GPUs that the vendor's runtime lists.
#[cfg_attr(not(any(feature = "cuda", feature = "rocm")), allow(dead_code))] // checked in every GPU build
fn cards(backend: Backend, kind: DeviceType) -> Vec<Found> {
    // With a half-installed driver, the bindings panic.
    let listed = super::guard::quietly(|| {
        let devices = Device::enumerate(kind).into_vec();
        Ok(devices
            .into_iter()
            .map(|device| (device.identity(), device))
            .collect::<Vec<_>>())
    })
    .unwrap_or_else(|cause| {
        say(format_args!("{backend} does not answer: {cause}"));
        Vec::new()
    });
    let found = listed
        .into_iter()
        .enumerate()
        .map(|(index, (identity, device))| Found {
            name: DeviceName::Of(backend, index),
            part: identity.map_or_else(|| backend.to_string(), |identity| identity.name),
            driver: None,
            is_software: false,
            device,
        });
    found.collect()
}

#[cfg(feature = "wgpu")]
mod adapters {
    //! Adapters of wgpu, as wgpu itself numbers them.

    use burn::tensor::wgpu::wgpu;
    use burn::tensor::{Device, DeviceKind};
    use wgpu::{AdapterInfo, DeviceType};

    use super::{Backend, DeviceName, Found};

    /// The graphics interfaces that Burn tries for `backend`, the best first.
    fn interfaces(backend: Backend) -> &'static [wgpu::Backend] {
        use wgpu::Backend::{Dx12, Gl, Metal, Vulkan};
        match (backend, cfg!(target_os = "macos")) {
            (Backend::Vulkan, _) => &[Vulkan],
            (Backend::Metal, _) | (Backend::Wgpu, true) => &[Metal],
            _ => &[Vulkan, Dx12, Gl],
        }
    }

    pub(super) fn found(backend: Backend) -> Vec<Found> {
        let lists = interfaces(backend).iter().map(|&interface| list(interface));
        let mut lists: Vec<Vec<AdapterInfo>> = lists.filter(|list| !list.is_empty()).collect();
        // Burn takes the first interface with a GPU, otherwise the first with any adapter.
        let best = lists
            .iter()
            .position(|list| list.iter().any(|info| !is_software(info)));
        if lists.is_empty() {
            return Vec::new();
        }
        let mut infos = lists.swap_remove(best.unwrap_or(0));
        infos.sort_by_key(|info| rank(info.device_type));
        (0..infos.len())
            .map(|index| describe(backend, &infos, index))
            .collect()
    }

    fn list(interface: wgpu::Backend) -> Vec<AdapterInfo> {
        let instance = wgpu::Instance::new(wgpu::InstanceDescriptor {
            backends: interface.into(),
            ..wgpu::InstanceDescriptor::new_without_display_handle()
        });
        let adapters = pollster::block_on(instance.enumerate_adapters(interface.into()));
        adapters.iter().map(wgpu::Adapter::get_info).collect()
    }

    fn is_software(info: &AdapterInfo) -> bool {
        info.device_type == DeviceType::Cpu
    }

    /// The order of the adapters: dedicated GPUs first, software last.
    fn rank(kind: DeviceType) -> u8 {
        match kind {
            DeviceType::DiscreteGpu => 0,
            DeviceType::IntegratedGpu => 1,
            DeviceType::VirtualGpu => 2,
            DeviceType::Other => 3,
            DeviceType::Cpu => 4,
        }
    }

    /// How Burn selects `infos[index]`: by its kind, and its number within the kind.
    fn selector(infos: &[AdapterInfo], index: usize) -> DeviceKind {
        let kind = infos[index].device_type;
        let nth = infos[..index]
            .iter()
            .filter(|info| info.device_type == kind)
            .count();
        match kind {
            DeviceType::DiscreteGpu => DeviceKind::DiscreteGpu(nth),
            DeviceType::IntegratedGpu => DeviceKind::IntegratedGpu(nth),
            DeviceType::VirtualGpu => DeviceKind::VirtualGpu(nth),
            DeviceType::Cpu => DeviceKind::Cpu,
            DeviceType::Other => DeviceKind::DefaultDevice,
        }
    }

    fn describe(backend: Backend, infos: &[AdapterInfo], index: usize) -> Found {
        let info = &infos[index];
        let driver = format!("{} {}, {}", info.driver, info.driver_info, info.backend);
        Found {
            name: DeviceName::Of(backend, index),
            part: info.name.clone(),
            driver: Some(driver.trim().to_owned()),
            is_software: is_software(info),
            device: open(backend, selector(infos, index)),
        }
    }

    fn open(backend: Backend, kind: DeviceKind) -> Device {
        match backend {
            #[cfg(feature = "vulkan")]
            Backend::Vulkan => Device::vulkan(kind),
            #[cfg(feature = "metal")]
            Backend::Metal => Device::metal(kind),
            _ => Device::wgpu(kind),
        }
    }
}
