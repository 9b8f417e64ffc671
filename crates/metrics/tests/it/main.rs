//! Metrics beside sacreBLEU's.

mod common;
mod properties;
mod sacrebleu;
mod shared_cases;
mod writing;
