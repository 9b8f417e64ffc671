//! Random numbers as a function of a key and an index. Nothing is drawn from hidden state.

mod key;
pub(crate) mod philox;

pub use key::{PhiloxRng, RandomKey};
