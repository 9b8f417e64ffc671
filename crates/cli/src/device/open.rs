//! Opens devices by their names.

use anyhow::{Result, ensure};
use burn::tensor::Device;

use super::auto;
use super::backend::Backend;
use super::found::Found;
use super::name::{DeviceName, DeviceNames, Several};

impl DeviceName {
    /// The device itself, ready to compute.
    ///
    /// # Errors
    /// If this build or this machine has no such device. The message says what to do.
    pub fn open(&self) -> Result<Device> {
        match self {
            Self::Auto => auto::choose(),
            Self::Of(backend, index) => Ok(find(*backend, *index)?.open()?),
        }
    }
}

impl DeviceNames {
    /// The devices in the given order; at least one.
    ///
    /// # Errors
    /// The errors of [`DeviceName::open`].
    pub fn open(&self) -> Result<Vec<Device>> {
        let mut devices = Vec::new();
        for name in &self.0 {
            match name {
                Several::One(name) => devices.push(name.open()?),
                Several::All(backend) => {
                    let all = backend.devices()?.into_iter().map(Found::open);
                    devices.extend(all.collect::<Result<Vec<_>>>()?);
                }
            }
        }
        Ok(devices)
    }
}

/// The device with number `index` of `backend`.
fn find(backend: Backend, index: usize) -> Result<Found> {
    let mut found = backend.devices()?;
    let count = found.len();
    ensure!(
        index < count,
        "there is no device {backend}:{index}: {backend} has {count} device{} here, counted from 0; \
         `burnformer devices` lists them",
        if count == 1 { "" } else { "s" },
    );
    Ok(found.swap_remove(index))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_number_that_is_not_there_says_how_many_there_are() {
        let error = DeviceName::Of(Backend::Cpu, 1).open().unwrap_err().to_string();
        assert!(error.contains("cpu has 1 device here"), "{error}");
    }

    #[test]
    fn the_cpu_may_be_named_twice() {
        assert_eq!("cpu,cpu".parse::<DeviceNames>().unwrap().open().unwrap().len(), 2);
    }
}
