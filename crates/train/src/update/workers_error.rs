use burnformer_core::Precision;

/// The reasons why devices or processes cannot train together.
#[derive(Debug, thiserror::Error)]
pub enum WorkersError {
    /// A device does not support the configured number type.
    #[error(
        "training.precision is \"{precision}\", in which {device} does not compute; set it to \"float32\", or \
         choose another --device"
    )]
    Precision {
        /// The type.
        precision: Precision,
        /// The name of the device in its backend.
        device: String,
    },
    /// All processes together have more devices than a resumed run's updates have batches.
    #[error(
        "{devices} devices, but an update of this run is {batches} of its batches (training.accumulate), which its \
         result depends on; name at most {batches} with --device (over MPI: start at most {batches} processes), or start \
         a new run with another --out"
    )]
    TooManyDevices {
        /// The number of devices.
        devices: usize,
        /// The number of batches per update.
        batches: usize,
    },
    /// A process has other texts or tokenisers than process 0.
    #[error(
        "process {0}: its texts or tokenisers are not those of process 0; give all processes the same command and the \
         same files"
    )]
    OtherTexts(usize),
    /// A process runs another version of the program than process 0.
    #[error(
        "process {0}: its program is another version than that of process 0; install the same version on all hosts"
    )]
    OtherProgram(usize),
}
