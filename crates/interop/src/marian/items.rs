//! The content of a model's file.

use std::collections::BTreeMap;

use crate::tensors::Tensors;

/// The name of the options within the file of a model.
pub(super) const OPTIONS: &str = "special:model.yml";

/// The content of a file.
#[derive(Default)]
pub(super) struct Items {
    pub tensors: Tensors,
    /// The options as text. Their names begin with `special:`.
    pub texts: BTreeMap<String, String>,
}
