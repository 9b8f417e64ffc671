//! Metrics beside those of sacreBLEU.

mod common;
mod properties;
mod sacrebleu;
mod shared_cases;
mod writing;
