//! The threads that compute an update.

use burn::tensor::Device;
use burnformer_kernels::is_fused_on;

/// Runs `work`, on a CPU by one of the threads that compute. An update is a chain of hundreds of
/// operations of a fraction of a millisecond each. A thread that is not one of them would have to
/// hand over each, and be woken again.
pub(crate) fn among_workers<R: Send>(device: &Device, work: impl FnOnce() -> R + Send) -> R {
    match is_fused_on(device) {
        true => rayon::scope(|_| work()),
        false => work(),
    }
}
