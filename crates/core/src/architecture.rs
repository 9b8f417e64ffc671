//! The architectures that model directories and training configurations may name.

use std::sync::{Arc, RwLock};

use serde_json::Value;

use crate::config::TransformerConfig;
use crate::seq2seq::ModelConfig;

/// An architecture beside the Transformer.
#[derive(Clone, Copy, Debug)]
pub struct Architecture {
    /// Its name in configurations and model directories.
    pub name: &'static str,
    /// Reads a configuration from its serialised fields.
    pub read: fn(Value) -> serde_json::Result<ModelConfig>,
}

static OTHERS: RwLock<Vec<Architecture>> = RwLock::new(Vec::new());

/// Makes `architecture` known to this process, for whatever it loads and trains from now on. A program calls this once, at its
/// start; the Transformer is always known.
pub fn register(architecture: Architecture) {
    let mut others = OTHERS.write().expect("no thread panics with the list");
    others.retain(|other| other.name != architecture.name);
    others.push(architecture);
}

/// Reads a configuration from its serialised `fields`. Returns `None` if this process does not know `architecture`.
pub fn read_config(architecture: &str, fields: Value) -> Option<serde_json::Result<ModelConfig>> {
    if architecture == TransformerConfig::ARCHITECTURE {
        return Some(
            serde_json::from_value(fields).map(|own: TransformerConfig| Arc::new(own) as _),
        );
    }
    let others = OTHERS.read().expect("no thread panics with the list");
    let found = others.iter().find(|other| other.name == architecture)?.read;
    drop(others);
    Some(found(fields))
}
