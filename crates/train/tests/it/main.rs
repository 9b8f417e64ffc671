//! Training as other crates use it.

mod adam;
mod convolution;
mod damage;
mod finetune;
mod precision;
mod processes;
mod updates;
