//! The layers and the model as other crates use them.

mod common;
mod conventions;
mod examples;
mod hear_words;
mod layers;
mod own_model;
mod packed;
mod paper;
mod precision;
mod reference;
mod window;
