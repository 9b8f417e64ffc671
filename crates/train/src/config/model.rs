//! The section `[model]`: the configuration of a model without what the tokeniser determines.
//!
//! Its keys are the fields of [`TransformerConfig`] and, in a table of their own, the sizes that
//! only the recurrent baseline has. Keys, defaults and documentation are read from these structs,
//! so that a field that is added there is a key here. A field that serde leaves out of the default
//! configuration is no key.

use std::borrow::Cow;
use std::path::Path;

use burnformer_core::{ModelConfig, Positions, Seq2SeqConfig, TransformerConfig, read_config};
use burnformer_data::SpecialIds;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value as Json, json};
use toml::{Table, Value};

use super::ConfigFileError;

/// The fields of a configuration that the tokeniser decides: no keys of the section.
const OF_TOKENIZER: [&str; 5] = ["source_vocab", "target_vocab", "pad", "bos", "eos"];
/// The key that chooses the architecture.
const ARCHITECTURE: &str = "architecture";
/// The table of what only the recurrent baseline has.
const RNN: &str = "rnn";
/// The keys of the section that the recurrent baseline has too.
const SHARED_WITH_RNN: [&str; 3] = ["d_model", "dropout", "sharing"];
/// The keys that say nothing of the weights.
const RATES: [&str; 3] = ["dropout", "attention_dropout", "activation_dropout"];
/// The key whose 0 stands for none, since TOML has no null.
const WINDOW: &str = "attention_window";

/// The architecture of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Architecture {
    /// The encoder–decoder Transformer of *Attention Is All You Need*.
    Transformer,
    /// The recurrent baseline: a GRU encoder and decoder with additive attention.
    Rnn,
}

impl Architecture {
    /// The name in configurations and model directories.
    pub fn name(self) -> &'static str {
        match self {
            Self::Transformer => TransformerConfig::ARCHITECTURE,
            Self::Rnn => RNN,
        }
    }
}

/// The sizes that only the recurrent baseline has (Bahdanau et al., 2015).
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct RnnSizes {
    /// The width of the recurrent state of the decoder and of each direction of the encoder; from 1
    /// to 65,536.
    pub d_hidden: usize,
    /// The inner width of the additive attention; from 1 to 65,536.
    pub d_attention: usize,
}

/// The architecture of the model and its sizes, without what the tokeniser decides.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelSettings {
    /// The kind of model.
    pub architecture: Architecture,
    /// The keys of the section. A `d_k` or `d_v` of 0 stands for `d_model / heads`. The fields that
    /// the tokeniser decides have no meaning here.
    pub transformer: TransformerConfig,
    /// The keys of the table `rnn`.
    pub rnn: RnnSizes,
}

impl Default for ModelSettings {
    fn default() -> Self {
        Self {
            architecture: Architecture::Transformer,
            transformer: TransformerConfig { d_k: 0, d_v: 0, ..TransformerConfig::base(0) },
            rnn: RnnSizes { d_hidden: 176, d_attention: 128 },
        }
    }
}

impl ModelSettings {
    /// The largest number of positions per side, `</s>` included, if positions are learned; `None`
    /// if there is no limit.
    pub(crate) fn positions_known(&self) -> Option<usize> {
        let &TransformerConfig { positions, max_positions, .. } = &self.transformer;
        let learned =
            self.architecture == Architecture::Transformer && positions == Positions::Learned;
        learned.then_some(max_positions)
    }

    /// The configuration over vocabularies of these sizes, `[source, target]`, with these special
    /// ids.
    ///
    /// # Errors
    /// [`ConfigFileError::Value`] if this process does not know the architecture
    /// ([`register`](burnformer_core::register)).
    pub fn over(
        &self,
        [source_vocab, target_vocab]: [usize; 2],
        special: SpecialIds,
    ) -> Result<ModelConfig, ConfigFileError> {
        let SpecialIds { pad, bos, eos } = special;
        let &TransformerConfig { d_model, heads, d_k, d_v, dropout, sharing, .. } =
            &self.transformer;
        let or_head = |d: usize| if d == 0 { d_model / heads.max(1) } else { d };
        if self.architecture == Architecture::Transformer {
            return Ok(ModelConfig::from(TransformerConfig {
                source_vocab,
                target_vocab,
                pad,
                bos,
                eos,
                d_k: or_head(d_k),
                d_v: or_head(d_v),
                ..self.transformer.clone()
            }));
        }
        let RnnSizes { d_hidden, d_attention } = self.rnn;
        let fields = json!({
            "source_vocab": source_vocab, "target_vocab": target_vocab, "pad": pad, "bos": bos, "eos": eos,
            "d_model": d_model, "dropout": dropout, "sharing": sharing, "d_hidden": d_hidden, "d_attention": d_attention,
        });
        let value = self.architecture.name();
        let config = read_config(value, fields).ok_or_else(|| ConfigFileError::Value {
            key: "model.architecture",
            value: value.into(),
            remedy: "\"transformer\" in a program that does not register this architecture".into(),
        })?;
        Ok(config.expect("these are its fields"))
    }

    /// The settings of a model of the shape `shape`. What has no key here (special ids, conventions
    /// of other systems) is left out. `None` if its architecture has no settings.
    pub(super) fn of(shape: &dyn Seq2SeqConfig) -> Option<Self> {
        let mut table = Self::default().table();
        table.insert(ARCHITECTURE.into(), shape.architecture().into());
        let fields = shape.to_json();
        for (key, value) in fields.as_object().into_iter().flatten() {
            let mut own = table.get_mut(key);
            if own.is_none() {
                own = table.get_mut(RNN).and_then(|rnn| rnn.get_mut(key));
            }
            if let (Some(own), Ok(value)) = (own, Value::try_from(value)) {
                *own = value;
            }
        }
        Self::from_table(table).ok()
    }

    /// These settings, of the model in `dir`, with the rates of dropout that `given` names.
    ///
    /// # Errors
    /// [`ConfigFileError::OtherModel`] for another key that has another value than the model.
    pub(super) fn with(&self, given: &Table, dir: &Path) -> Result<Self, ConfigFileError> {
        let mut table = self.table();
        for (key, value) in given {
            let own = table.get_mut(key).expect("the keys of a configuration are known");
            if RATES.contains(&key.as_str()) {
                own.clone_from(value);
                continue;
            }
            if let Some((key, value, found)) = difference(&format!("model.{key}"), value, own) {
                return Err(ConfigFileError::OtherModel { key, value, dir: dir.into(), found });
            }
        }
        Ok(Self::from_table(table).expect("the types of a configuration are checked"))
    }

    /// The first key, dotted, that is set to something, and that something, though the architecture
    /// has no such part.
    pub(super) fn without_effect(&self) -> Option<(String, String)> {
        let (own, default) = (self.table(), Self::default().table());
        let idle = |key: &str| match self.architecture {
            Architecture::Transformer => key == RNN,
            Architecture::Rnn => {
                ![RNN, ARCHITECTURE].contains(&key) && !SHARED_WITH_RNN.contains(&key)
            }
        };
        let mut found = own.iter().filter(|(key, value)| idle(key) && default[*key] != **value);
        found.next().map(|(key, value)| (format!("model.{key}"), value.to_string()))
    }

    /// The section in the form in which a file has it.
    fn table(&self) -> Table {
        let mut transformer = fields(&self.transformer);
        transformer.retain(|key, _| !OF_TOKENIZER.contains(&key));
        transformer.entry(WINDOW).or_insert(Value::Integer(0));
        let mut table = Table::new();
        table.insert(ARCHITECTURE.into(), self.architecture.name().into());
        table.extend(transformer);
        table.insert(RNN.into(), Value::Table(fields(&self.rnn)));
        table
    }

    /// The settings that a section describes: the default ones where it has no key.
    fn from_table(mut table: Table) -> Result<Self, toml::de::Error> {
        let default = Self::default();
        let architecture = table.remove(ARCHITECTURE).map(Value::try_into).transpose()?;
        let rnn = table.remove(RNN).map(Value::try_into).transpose()?;
        if table.get(WINDOW) == Some(&Value::Integer(0)) {
            table.remove(WINDOW);
        }
        Ok(Self {
            architecture: architecture.unwrap_or(default.architecture),
            transformer: overlaid(&default.transformer, table)?,
            rnn: overlaid(&default.rnn, rnn.unwrap_or_default())?,
        })
    }
}

/// The first key at or below `key` where `given` is not what the model has: the key, and both
/// values. A `d_k` or `d_v` of 0 leaves it to the model.
fn difference(key: &str, given: &Value, own: &Value) -> Option<(String, String, String)> {
    match (given, own) {
        (Value::Table(given), Value::Table(own)) => given
            .iter()
            .find_map(|(name, value)| difference(&format!("{key}.{name}"), value, own.get(name)?)),
        (Value::Integer(0), _) if ["model.d_k", "model.d_v"].contains(&key) => None,
        (Value::Integer(whole), Value::Float(own)) if *whole as f64 == *own => None,
        _ if given == own => None,
        _ => Some((key.into(), given.to_string(), own.to_string())),
    }
}

/// The fields of `config`, in their order.
fn fields(config: &impl Serialize) -> Table {
    Table::try_from(config).expect("a configuration is plain data")
}

/// `config` with the fields of `keys`.
fn overlaid<C: Serialize + DeserializeOwned>(
    config: &C,
    keys: Table,
) -> Result<C, toml::de::Error> {
    let mut fields = fields(config);
    fields.extend(keys);
    fields.try_into()
}

impl Serialize for ModelSettings {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.table().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ModelSettings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::from_table(Table::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl JsonSchema for ModelSettings {
    fn schema_name() -> Cow<'static, str> {
        "ModelSettings".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let default = serde_json::to_value(Self::default()).expect("settings are plain data");
        let mut keys = Map::new();
        let architecture = generator.subschema_for::<Architecture>().to_value();
        keys.insert(ARCHITECTURE.into(), architecture);
        keys[ARCHITECTURE]["description"] = ARCHITECTURE_MEANS.into();
        keys[ARCHITECTURE]["default"] = default[ARCHITECTURE].clone();
        keys.extend(properties::<TransformerConfig>(generator, &default));
        keys[WINDOW]["type"] = "integer".into();
        let rnn = properties::<RnnSizes>(generator, &default[RNN]);
        let rnn = json_schema!({
            "type": "object",
            "description": "The sizes that only the recurrent baseline has (Bahdanau et al., 2015).",
            "properties": rnn,
        });
        keys.insert(RNN.into(), rnn.to_value());
        json_schema!({
            "type": "object",
            "description": "The shape of the model.",
            "properties": keys,
        })
    }
}

/// What the documentation says of the key that chooses the architecture.
const ARCHITECTURE_MEANS: &str = "The kind of model. The recurrent baseline uses `model.d_model`, `model.dropout`, \
    `model.sharing` and the section `model.rnn`, and refuses the other keys of `model`, which it has no part for; \
    `--preset rnn` starts from one.";

/// The schemas of those fields of `C` that have a value in `defaults`, with that value.
fn properties<C: JsonSchema>(
    generator: &mut SchemaGenerator,
    defaults: &Json,
) -> Map<String, Json> {
    let schema = C::json_schema(generator).to_value();
    let fields = schema["properties"].as_object().cloned().unwrap_or_default();
    let with_default = |(key, mut schema): (String, Json)| {
        schema["default"] = defaults.get(&key)?.clone();
        Some((key, schema))
    };
    fields.into_iter().filter_map(with_default).collect()
}
