use burn::tensor::Device;

/// Where to compute, as named on the command line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum DeviceName {
    /// The fastest that this build and this machine have.
    #[default]
    Auto,
    /// The CPU, by Burn's flex backend.
    Cpu,
}

impl DeviceName {
    /// The device itself.
    pub fn open(self) -> Device {
        match self {
            Self::Auto | Self::Cpu => Device::flex(),
        }
    }
}
