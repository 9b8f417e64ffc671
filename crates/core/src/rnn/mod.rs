//! The recurrent baseline that the paper's readers know: a bidirectional GRU encoder, additive attention
//! and a GRU decoder (Bahdanau et al., 2015), with this crate's embeddings, dropout and loss.

mod attention;
mod config;
mod decoder;
mod encoder;
mod gru;
mod network;

pub use attention::AdditiveAttention;
pub use config::RnnConfig;
pub use decoder::{RnnCache, RnnDecoder};
pub use encoder::RnnEncoder;
pub use gru::Gru;
pub use network::{Rnn, RnnMemory};
