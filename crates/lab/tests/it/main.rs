//! The recurrent baseline; search, training and configurations with it.

#[path = "../../../core/tests/it/common/mod.rs"]
mod of_core;
#[path = "../../../infer/tests/it/common/mod.rs"]
mod of_infer;

/// The model for the tests of search: the baseline's reference model instead of the Transformers'.
mod common {
    pub use crate::of_infer::{Reference as Any, ids};

    pub const NAMES: [&str; 1] = ["rnn"];

    pub struct Reference;

    impl Reference {
        pub fn load(name: &'static str) -> Any {
            Any::load(name)
        }
    }
}

mod architectures;
#[path = "../../../infer/tests/it/grouping.rs"]
mod grouping;
mod initial_weights;
#[path = "../../../infer/tests/it/model.rs"]
mod model;
mod precision;
#[path = "../../../infer/tests/it/reference.rs"]
mod reference;
mod rnn;
mod training;
