//! The OpenAPI document of a server: its interfaces, with its own languages and limits.

use burnformer_documents::Format;
use serde_json::{Value, json};
use utoipa::openapi::OpenApi;

use super::{AUTO, Service};

/// The document of `paths`, in which the fields of requests have the values that this server takes.
pub(crate) fn document(service: &Service, paths: OpenApi) -> Value {
    let mut document = serde_json::to_value(paths).expect("a document is JSON");
    let schemas = document["components"]["schemas"].as_object_mut().into_iter().flatten();
    for (request, schema) in schemas.filter(|(name, _)| name.ends_with("Request")) {
        let fields = schema.get_mut("properties").and_then(Value::as_object_mut);
        for (name, field) in fields.into_iter().flatten() {
            restrict(service, request, name, field);
        }
    }
    loosen(&mut document);
    secure(&mut document, service.keys.are_required());
    document
}

/// Says that requests with a body need a key, in a header or as their field `api_key`, if the
/// server asks for one.
fn secure(document: &mut Value, required: bool) {
    document["components"]["securitySchemes"] = json!({"key": {
        "type": "http", "scheme": "bearer", "description": "A key of the server; the field api_key does as well."
    }});
    let paths = document["paths"].as_object_mut().into_iter().flatten();
    for (_, path) in paths.filter(|_| required) {
        // The empty object stands for the field.
        let posts = path.get_mut("post").filter(|post| post["requestBody"].is_object());
        posts.into_iter().for_each(|post| post["security"] = json!([{"key": []}, {}]));
    }
}

/// Makes `anyOf` of every `oneOf`: an empty list is one text's and many texts'.
fn loosen(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            if let Some(schemas) = fields.remove("oneOf") {
                fields.insert("anyOf".into(), schemas);
            }
            fields.values_mut().for_each(loosen);
        }
        Value::Array(values) => values.iter_mut().for_each(loosen),
        _ => {}
    }
}

/// Adds to `field`, called `name`, which values are taken.
fn restrict(service: &Service, request: &str, name: &str, field: &mut Value) {
    let optional = field["type"].as_array().is_some_and(|types| types.contains(&json!("null")));
    let one_of = |values: Vec<&str>| {
        let null = optional.then_some(Value::Null);
        values.into_iter().map(Value::from).chain(null).collect::<Value>()
    };
    match name {
        "source" => {
            let guessed = !matches!(request, "SentencesRequest" | "AttentionRequest");
            let codes = service.codes(|pair| &pair.source);
            field["enum"] = one_of(guessed.then_some(AUTO).into_iter().chain(codes).collect());
        }
        // A text whose language is the target already stays as it is.
        "target" => field["enum"] = one_of(service.all_codes().into_iter().collect()),
        "format" => field["enum"] = one_of(Format::ALL.map(Format::name).to_vec()),
        "glossary" => field["maxItems"] = json!(service.limits.terms),
        _ => {}
    }
}
