//! Training as other crates use it.

mod adam;
mod bpe_dropout;
mod damage;
mod finetune;
mod precision;
