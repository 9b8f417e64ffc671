//! Random numbers as a function of a key and a place: nothing is drawn from hidden state.

mod key;
pub(crate) mod philox;

pub use key::RandomKey;
pub(crate) use key::drop_threshold;
