//! The architectures that model directories and training configurations may name.

use std::collections::BTreeMap;
use std::sync::{Arc, RwLock};

use serde_json::Value;

use crate::config::TransformerConfig;
use crate::seq2seq_config::ModelConfig;

/// Reads a configuration from its serialised fields.
type Read = fn(Value) -> serde_json::Result<ModelConfig>;

/// Those beside the Transformer, by name.
static OTHERS: RwLock<BTreeMap<&str, Read>> = RwLock::new(BTreeMap::new());

/// Makes the architecture `name` known to this process, for whatever it loads and trains from now
/// on; `read` reads a configuration from its serialised fields. A program calls this once, at its
/// start. The Transformer is always known.
pub fn register(name: &'static str, read: fn(Value) -> serde_json::Result<ModelConfig>) {
    OTHERS.write().expect("no thread panics with the list").insert(name, read);
}

/// Reads a configuration from its serialised `fields`. Returns `None` if this process does not know
/// `architecture`.
pub fn read_config(architecture: &str, fields: Value) -> Option<serde_json::Result<ModelConfig>> {
    if architecture == TransformerConfig::ARCHITECTURE {
        return Some(
            serde_json::from_value(fields).map(|own: TransformerConfig| Arc::new(own) as _),
        );
    }
    let read = *OTHERS.read().expect("no thread panics with the list").get(architecture)?;
    Some(read(fields))
}
