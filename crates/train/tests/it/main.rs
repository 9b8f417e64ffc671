//! Training as other crates use it.

mod adam;
mod damage;
mod finetune;
mod precision;
