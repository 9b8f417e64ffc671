//! Models of other programs, in and out.

mod common;
mod ctranslate2;
mod firefox;
mod hostile_packages;
mod hugging_face;
mod m2m100;
mod marian;
mod marian_trained;
mod packages;
mod round_trip;
mod transformers5;
