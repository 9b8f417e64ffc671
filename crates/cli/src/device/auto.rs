//! `--device auto`: the fastest device with the same results as the CPU.
//!
//! This module also opens devices by name.

use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use anyhow::{Result, bail, ensure};
use burn::tensor::Device;
use burnformer_core::ModelConfig;
use burnformer_core::model_dir::load_config;
use burnformer_files::{FileKind, read_whole};
use burnformer_kernels::is_fused_on;
use burnformer_text::counted;
use sha2::{Digest, Sha256};

use super::backend::Backend;
use super::found::Found;
use super::name::{DeviceName, DeviceNames, Selection};
use super::parity::{Check, check_decoding, check_training};
use super::self_test::{Verdict, in_child, in_process};
use crate::output::note;

/// What helps against a device that computes wrongly.
const REMEDY: &str = "use --device cpu, or build the program without its features `fusion` and \
     `autotune`, which `burnformer devices --test` shows";

/// Returns the device with the fastest matrix products: the CPU or one of the GPUs that pass a
/// self-test. Graphics drivers that compute on the CPU are not considered. Without a GPU, nothing
/// is tested.
///
/// # Errors
/// Returns an error if the chosen GPU cannot be opened.
pub fn choose() -> Result<Device> {
    let cpu = Device::flex();
    if !cfg!(feature = "gpu") || !has_gpu() {
        return Ok(cpu);
    }
    let gpus: Vec<Found> = Backend::all().flat_map(gpus_of).collect();
    if gpus.is_empty() {
        note(format_args!(
            "device: cpu (no GPU answers; `burnformer devices` says more)"
        ));
    }
    let rated = gpus
        .into_iter()
        .filter_map(|gpu| Some((tested(&gpu)?.gflops, gpu)));
    let Some((rate, gpu)) = rated.max_by(|a, b| a.0.total_cmp(&b.0)) else {
        return Ok(cpu);
    };
    let cpu_rate = in_process(&cpu).map_or(0.0, |verdict| verdict.gflops);
    if cpu_rate >= rate {
        note(format_args!(
            "device: cpu ({cpu_rate:.0} GFLOP/s; {} {} has {rate:.0})",
            gpu.name, gpu.part
        ));
        return Ok(cpu);
    }
    note(format_args!(
        "device: {} ({}, {rate:.0} GFLOP/s; the CPU has {cpu_rate:.0})",
        gpu.name, gpu.part
    ));
    gpu.open()
}

/// Opens `found`. Another device than the CPU must compute the same as the CPU.
fn open_tested(found: Found) -> Result<Device> {
    if !found.is_cpu()
        && let Err(cause) = verdict(&found)
    {
        bail!(
            "{} ({}) computes wrongly: {cause}; {REMEDY}",
            found.name,
            found.part
        );
    }
    found.open()
}

/// Checks that `device` decodes with the models in the directories `models` as the CPU does.
///
/// # Errors
/// Returns an error that names the first wrong computation, or a model that cannot be read.
pub fn check_models(device: &Device, models: &[impl AsRef<Path>]) -> Result<()> {
    if is_fused_on(device) {
        return Ok(());
    }
    for model in models {
        let config = load_config(model.as_ref())?;
        all_pass(device, &check_decoding(device, &config))?;
    }
    Ok(())
}

/// Checks that `devices` train the layers of `config` as the CPU does.
///
/// # Errors
/// Returns an error that names the first wrong computation.
pub fn check_trained_model(devices: &[Device], config: &ModelConfig) -> Result<()> {
    devices
        .iter()
        .filter(|device| !is_fused_on(device))
        .try_for_each(|device| all_pass(device, &check_training(device, config)))
}

fn all_pass(device: &Device, checks: &[Check]) -> Result<()> {
    match checks.iter().find(|check| !check.passes()) {
        None => Ok(()),
        Some(check) => bail!(
            "{device:?} computes wrongly: {} {}; {REMEDY}",
            check.name,
            check.result()
        ),
    }
}

/// Returns whether the system shows a GPU at all. Asking every driver for one would take half a
/// second.
fn has_gpu() -> bool {
    let nodes = ["/dev/dri", "/dev/nvidiactl", "/dev/dxg", "/dev/kfd"];
    !cfg!(target_os = "linux")
        || nodes
            .into_iter()
            .any(|node| std::path::Path::new(node).exists())
}

fn gpus_of(backend: Backend) -> Vec<Found> {
    let found = if backend.is_cpu() {
        Vec::new()
    } else {
        backend.found()
    };
    found
        .into_iter()
        .filter(|found| !found.is_software)
        .collect()
}

/// The verdict on `gpu`, if it computes the same as the CPU. A failure is reported.
fn tested(gpu: &Found) -> Option<Verdict> {
    match verdict(gpu) {
        Ok(verdict) => Some(verdict),
        Err(cause) => {
            note(format_args!(
                "device: {} ({}) is left out: {cause}",
                gpu.name, gpu.part
            ));
            None
        }
    }
}

/// The result of the self-test of `found`, run now or at an earlier start of this program.
///
/// # Errors
/// Returns a message if the device fails or computes something else than the CPU.
fn verdict(found: &Found) -> Result<Verdict, String> {
    let memo = memo(found);
    let known = memo
        .as_ref()
        .and_then(|path| read_whole(path, FileKind::NOTES).ok())
        .and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let verdict: Verdict = match known {
        Some(verdict) => verdict,
        None => {
            let verdict = in_child(&found.name)?;
            if let Some(path) = memo {
                // A result that cannot be stored is tested again at the next start.
                let _ = path.parent().map(std::fs::create_dir_all);
                let verdict = serde_json::to_vec(&verdict).unwrap_or_default();
                let _ = burnformer_files::write(&path, &verdict);
            }
            verdict
        }
    };
    match verdict.wrong() {
        None => Ok(verdict),
        Some(check) => Err(format!("{} {}", check.name, check.result())),
    }
}

/// The file that holds the result of the self-test of `gpu`. Its name depends on this build of the
/// program, the device and its driver.
fn memo(gpu: &Found) -> Option<PathBuf> {
    let exe = std::env::current_exe().ok()?.metadata().ok()?;
    let built = exe
        .modified()
        .ok()?
        .duration_since(UNIX_EPOCH)
        .ok()?
        .as_nanos();
    let what = format!(
        "{built} {} {} {} {:?}",
        exe.len(),
        gpu.name,
        gpu.part,
        gpu.driver
    );
    let hash = Sha256::digest(what);
    Some(burnformer_files::user_cache().join(format!("device-{hash:.16x}.json")))
}

impl DeviceName {
    /// Opens the device.
    ///
    /// # Errors
    /// Returns an error if this build or this machine has no such device. The message has a remedy.
    pub fn open(&self) -> Result<Device> {
        match self {
            Self::Auto => choose(),
            Self::Of(backend, index) => open_tested(find(*backend, *index)?),
        }
    }

    /// Opens the device without a test of its results.
    ///
    /// # Errors
    /// Returns the errors of [`open`](Self::open), except for wrong results.
    pub(super) fn open_untested(&self) -> Result<Device> {
        match self {
            Self::Auto => choose(),
            Self::Of(backend, index) => find(*backend, *index)?.open(),
        }
    }
}

impl DeviceNames {
    /// Opens the devices, at least one, in the given order.
    ///
    /// # Errors
    /// Returns the errors of [`DeviceName::open`].
    pub fn open(&self) -> Result<Vec<Device>> {
        let mut devices = Vec::new();
        for name in &self.0 {
            match name {
                Selection::One(name) => devices.push(name.open()?),
                Selection::All(backend) => {
                    let all = backend.devices()?.into_iter().map(open_tested);
                    devices.extend(all.collect::<Result<Vec<_>>>()?);
                }
            }
        }
        Ok(devices)
    }
}

/// The device with number `index` of `backend`.
fn find(backend: Backend, index: usize) -> Result<Found> {
    let mut devices = backend.devices()?;
    let count = devices.len();
    ensure!(
        index < count,
        "there is no device {backend}:{index}: {backend} has {} here, counted from 0; `burnformer devices` lists them",
        counted(count, "device")
    );
    Ok(devices.swap_remove(index))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_device_number_reports_the_number_of_devices() {
        let error = DeviceName::Of(Backend::Cpu, 1)
            .open()
            .unwrap_err()
            .to_string();
        assert!(error.contains("cpu has 1 device here"), "{error}");
    }

    #[test]
    fn the_cpu_may_be_named_twice() {
        assert_eq!(
            "cpu,cpu"
                .parse::<DeviceNames>()
                .unwrap()
                .open()
                .unwrap()
                .len(),
            2
        );
    }
}
