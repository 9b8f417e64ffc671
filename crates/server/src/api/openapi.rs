//! The OpenAPI document of a server.

use serde_json::{Value, json};
use utoipa::openapi::OpenApi;

use super::Service;

/// The document of `paths`.
pub(crate) fn document(service: &Service, paths: OpenApi) -> Value {
    let mut document = serde_json::to_value(paths).expect("a document is JSON");
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
