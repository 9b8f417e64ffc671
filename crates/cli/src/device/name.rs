use std::str::FromStr;

use derive_more::Display;

use super::backend::Backend;

/// The name of one device on the command line: `auto`, or a backend with the number of a device.
#[derive(Clone, Debug, Default, Display, PartialEq, Eq)]
pub enum DeviceName {
    /// The fastest device of this build and this machine with the same results as the CPU.
    #[default]
    #[display("auto")]
    Auto,
    /// The device with number `index` of a backend.
    #[display("{_0}:{_1}")]
    Of(Backend, usize),
}

impl FromStr for DeviceName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "auto" {
            return Ok(Self::Auto);
        }
        let (backend, index) = text.split_once(':').unwrap_or((text, "0"));
        let backend = backend.parse()?;
        let index = index
            .parse()
            .map_err(|_| format!("`{index}` in `{text}` is not a device number, such as 0"))?;
        Ok(Self::Of(backend, index))
    }
}

/// The names of several devices, separated by commas; `BACKEND:all` names every device of a
/// backend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceNames(pub(super) Vec<Selection>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Selection {
    One(DeviceName),
    All(Backend),
}

impl DeviceNames {
    /// Returns whether `backend` is one of the named backends, or may be chosen by `auto`.
    pub fn names(&self, backend: Backend) -> bool {
        self.0.iter().any(|name| match name {
            Selection::One(DeviceName::Auto) => true,
            Selection::One(DeviceName::Of(named, _)) | Selection::All(named) => *named == backend,
        })
    }

    /// Returns whether a backend is named.
    pub fn are_explicit(&self) -> bool {
        !self.0.contains(&Selection::One(DeviceName::Auto))
    }
}

impl FromStr for DeviceNames {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.split(',')
            .map(|text: &str| match text.split_once(':') {
                Some((backend, "all")) => Ok(Selection::All(backend.parse()?)),
                _ => Ok(Selection::One(text.parse()?)),
            })
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_a_backend_and_an_index() {
        assert_eq!("auto".parse(), Ok(DeviceName::Auto));
        assert_eq!("cpu".parse(), Ok(DeviceName::Of(Backend::Cpu, 0)));
        assert_eq!("cuda:3".parse(), Ok(DeviceName::Of(Backend::Cuda, 3)));
        for wrong in ["", "gpu", "cuda:", "cuda:x", "cuda:-1", "cpu:all"] {
            assert!(wrong.parse::<DeviceName>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_unknown_device_lists_the_known_ones() {
        let message = "gpu".parse::<DeviceName>().unwrap_err();
        for backend in Backend::all() {
            assert!(message.contains(backend.facts().name), "{message}");
        }
    }

    #[test]
    fn several_devices_stand_between_commas() {
        let names: DeviceNames = "cpu,cuda:all,cpu:0".parse().unwrap();
        let cpu = || Selection::One(DeviceName::Of(Backend::Cpu, 0));
        assert_eq!(names.0, [cpu(), Selection::All(Backend::Cuda), cpu()]);
        assert!(names.names(Backend::Cuda) && !names.names(Backend::Wgpu));
        assert!("cpu,,cpu".parse::<DeviceNames>().is_err());
    }
}
