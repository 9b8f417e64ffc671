//! The layers and the model as other crates use them.

mod activation;
mod beside_burn;
mod common;
mod conventions;
mod embedder;
mod examples;
mod gradients;
mod hear_words;
#[allow(dead_code)] // its ten minutes
mod language_model;
mod layers;
mod many_logits;
mod own_model;
mod packed;
mod paper;
mod precision;
mod reference;
mod window;
