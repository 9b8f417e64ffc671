//! The sections and keys of a struct's JSON schema.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value};

/// A table of settings.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    /// The path of the table, such as `tokenizer.train`; empty for settings that are not in a
    /// table.
    pub path: String,
    /// The meaning of the table.
    pub description: String,
    /// The keys of the table, in the order of the struct.
    pub keys: Vec<Key>,
}

/// One setting.
#[derive(Clone, Debug, PartialEq)]
pub struct Key {
    /// The path of the key, such as `tokenizer.train.vocab_size`.
    pub path: String,
    /// The type in words: integer, number, boolean, string, list of strings.
    pub kind: String,
    /// The value if the file has no such key, in the notation of the file.
    pub default: Option<Value>,
    /// The meaning of the key, in paragraphs.
    pub description: String,
    /// The possible values, if there are only a few.
    pub choices: Vec<Choice>,
    /// The presets whose value differs from the default, with their values.
    pub presets: Vec<(&'static str, Value)>,
    /// If true, a resumed run must keep the value.
    pub fixed: bool,
}

impl Key {
    /// The default value in the notation of the file.
    pub fn default_text(&self) -> String {
        self.default
            .as_ref()
            .map_or_else(|| "none".into(), Value::to_string)
    }
}

/// One of the possible values of a setting.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The value in the notation of the file.
    pub value: String,
    /// The meaning of the value.
    pub description: String,
}

/// The JSON schema of `T`, without references.
pub(in crate::config) fn of<T: JsonSchema>() -> Schema {
    let settings = SchemaSettings::default().with(|settings| settings.inline_subschemas = true);
    settings.into_generator().into_root_schema_for::<T>()
}

/// The tables and keys of `T`, in the order of its fields.
pub(super) fn sections<T: JsonSchema>() -> Vec<Section> {
    let mut sections = Vec::new();
    collect("", of::<T>().as_value(), &mut sections);
    sections.retain(|section| !section.keys.is_empty());
    sections
}

/// Adds the table `schema` at `path`, then those below it.
fn collect(path: &str, schema: &Value, sections: &mut Vec<Section>) {
    let section = sections.len();
    let description = description(schema);
    sections.push(Section {
        path: path.into(),
        description,
        keys: vec![],
    });
    for (name, property) in properties(schema).into_iter().flatten() {
        let path = if path.is_empty() {
            name.clone()
        } else {
            format!("{path}.{name}")
        };
        match table(property) {
            // A table that may be missing is a key too: its default says so.
            Some((inner, optional)) => {
                if optional {
                    sections[section]
                        .keys
                        .push(key(&path, property, "table or null".into()));
                }
                collect(&path, inner, sections);
            }
            None => sections[section]
                .keys
                .push(key(&path, property, kind(property))),
        }
    }
}

/// The table schema in `schema`, and whether null is allowed instead.
fn table(schema: &Value) -> Option<(&Value, bool)> {
    if properties(schema).is_some() {
        let nullable = schema["type"]
            .as_array()
            .is_some_and(|names| names.contains(&"null".into()));
        return Some((schema, nullable));
    }
    let inner =
        alternatives(schema).find(|one| properties(one).is_some() && constant(one).is_none());
    let optional = alternatives(schema).any(|one| one["type"] == "null");
    inner.filter(|_| optional).map(|inner| (inner, true))
}

fn properties(schema: &Value) -> Option<&Map<String, Value>> {
    schema["properties"].as_object()
}

fn alternatives(schema: &Value) -> impl Iterator<Item = &Value> {
    ["oneOf", "anyOf"]
        .into_iter()
        .filter_map(|name| schema[name].as_array())
        .flatten()
}

fn key(path: &str, schema: &Value, kind: String) -> Key {
    Key {
        path: path.into(),
        kind,
        default: schema.get("default").cloned(),
        description: description(schema),
        choices: choices(schema),
        presets: vec![],
        fixed: false,
    }
}

/// A doc comment as paragraphs.
fn description(schema: &Value) -> String {
    let text = schema["description"].as_str().unwrap_or_default();
    let paragraphs = text.split("\n\n");
    paragraphs
        .map(|lines| lines.replace('\n', " "))
        .collect::<Vec<_>>()
        .join("\n\n")
}

/// A type in words.
fn kind(schema: &Value) -> String {
    match &schema["type"] {
        Value::String(name) => type_in_words(name, schema),
        Value::Array(names) => names
            .iter()
            .filter_map(Value::as_str)
            .map(|name| type_in_words(name, schema))
            .collect::<Vec<_>>()
            .join(" or "),
        _ => "one of the values below".into(),
    }
}

/// The type `name` of `schema` in words.
fn type_in_words(name: &str, schema: &Value) -> String {
    match name {
        "array" => format!("list of {}s", kind(&schema["items"])),
        "object" => "table".into(),
        name => name.to_string(),
    }
}

/// The values of an enum: names, or tables of one key that carry a value.
fn choices(schema: &Value) -> Vec<Choice> {
    let described = alternatives(schema).filter_map(|one| {
        Some(Choice {
            value: constant(one)?,
            description: description(one),
        })
    });
    let plain = schema["enum"].as_array().into_iter().flatten();
    let plain = plain.map(|value| Choice {
        value: value.to_string(),
        description: String::new(),
    });
    described.chain(plain).collect()
}

/// The value that an alternative of an enum stands for.
fn constant(schema: &Value) -> Option<String> {
    if let Some(value) = schema.get("const") {
        return Some(value.to_string());
    }
    let required = schema["required"].as_array()?;
    let (name, inner) = properties(schema)?
        .iter()
        .next()
        .filter(|_| required.len() == 1)?;
    Some(format!("{{\"{name}\": {}}}", kind(inner)))
}
