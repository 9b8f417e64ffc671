//! The recurrences, fused for the CPU, each with a reference in plain tensors.
//!
//! The fused code works on float32 tensors of Burn's `flex` backend. On other backends, and without the cargo feature
//! `fused-cpu`, each function runs its [`mod@reference`]. Work is divided by the number of rows only, so results do not
//! depend on the number of threads.

mod attentive_gru;
mod gru;

pub use attentive_gru::{AttentiveGru, attentive_gru};
pub use gru::{Direction, gru};

/// The operations in plain tensors. They run where the fused versions cannot, and the tests compare the fused
/// versions with them.
pub mod reference {
    pub use super::attentive_gru::reference::attentive_gru;
    pub use super::gru::reference::gru;
}
