//! Where to compute: the devices by name, what this build and this machine have of them, and whether they
//! compute what they should.

mod auto;
mod backend;
#[cfg(feature = "gpu")]
mod gpu;
mod name;
mod self_test;

pub use backend::{Backend, Found};
pub use name::{DeviceName, DeviceNames};
pub use self_test::{Verdict, guarded, in_child, in_process, quietly};

/// Prepares GPU runtimes: what they tune is kept in the user's cache. To be called before any device is touched
/// and any thread is started.
pub fn prepare() {
    #[cfg(feature = "gpu")]
    {
        gpu::keep_tuning();
        gpu::hush_drivers();
    }
}
