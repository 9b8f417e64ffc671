//! The layers and the model as other crates use them.

mod common;
mod conventions;
mod examples;
mod layers;
mod packed;
mod paper;
mod precision;
mod reference;
mod window;
