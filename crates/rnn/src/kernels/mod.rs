//! The recurrences, fused for the CPU, each with a reference in plain tensors.
//!
//! The fused code works on 32-bit floats of Burn's `flex` backend; elsewhere, and without the cargo feature `fused-cpu`,
//! each function runs its [`mod@reference`]. Work is divided by the number of rows alone, so that results do not depend
//! on the number of threads.

mod attentive_gru;
mod gru;

pub use attentive_gru::{AttentiveGru, attentive_gru};
pub use gru::{Direction, gru};

/// The operations in ordinary tensor arithmetic: what the fused versions are tested against, and what runs wherever
/// they do not.
pub mod reference {
    pub use super::attentive_gru::reference::attentive_gru;
    pub use super::gru::reference::gru;
}
