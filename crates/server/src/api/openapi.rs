//! The OpenAPI document of a server: its interfaces, with its own languages and limits.

use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};
use utoipa::OpenApi;

use super::error::ErrorBody;
use super::{AUTO, Service, Shared, attention, files, libretranslate, status, v1};

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Burnformer",
        description = "Translation over HTTP: LibreTranslate's interface and one of our own."
    ),
    paths(
        libretranslate::translate,
        libretranslate::detect,
        libretranslate::languages,
        libretranslate::settings,
        libretranslate::suggest,
        files::translate_file,
        files::download,
        v1::translate,
        v1::sentences,
        attention::attention,
        status::health,
        status::ready,
        status::metrics,
    ),
    components(schemas(ErrorBody))
)]
struct Description;

/// Gives the document.
pub(crate) async fn describe(State(service): State<Shared>) -> Json<Value> {
    Json(document(&service))
}

/// The document, in which the fields of requests have the values that this server takes.
fn document(service: &Service) -> Value {
    let mut document = serde_json::to_value(Description::openapi()).expect("a document is JSON");
    let requests = [
        "TranslateRequest",
        "TranslateForm",
        "DocumentsRequest",
        "SentencesRequest",
        "AttentionRequest",
        "DetectRequest",
        "FileRequest",
    ];
    for request in requests {
        let fields = document["components"]["schemas"][request]["properties"].as_object_mut();
        for (name, field) in fields.into_iter().flatten() {
            restrict(service, request, name, field);
        }
    }
    loosen(&mut document);
    secure(&mut document, service.keys.are_required());
    document
}

/// Says that requests with a body need a key, in a header or as their field `api_key`, if the server asks for one.
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
    let limits = &service.limits;
    let optional = field["type"].as_array().is_some_and(|types| types.contains(&json!("null")));
    let one_of = |mut codes: Vec<&str>| {
        let mut values: Vec<Value> = codes.drain(..).map(Value::from).collect();
        values.extend(optional.then_some(Value::Null));
        Value::Array(values)
    };
    match name {
        "source" => {
            let mut codes = service.codes(|pair| &pair.source);
            if !matches!(request, "SentencesRequest" | "AttentionRequest") {
                codes.insert(0, AUTO);
            }
            field["enum"] = one_of(codes);
        }
        // A text whose language is the target already stays as it is.
        "target" => {
            let mut codes = service.codes(|pair| &pair.source);
            codes.extend(service.codes(|pair| &pair.target));
            codes.sort_unstable();
            codes.dedup();
            field["enum"] = one_of(codes);
        }
        "format" => field["enum"] = one_of(vec!["text", "html", "markdown", "srt"]),
        "alternatives" => field["maximum"] = json!(limits.alternatives),
        "beam" => {
            field["minimum"] = json!(1);
            field["maximum"] = json!(limits.alternatives);
        }
        "length_penalty" => {
            field["minimum"] = json!(0);
            field["maximum"] = json!(10);
        }
        "glossary" => {
            field["maxItems"] = json!(limits.terms);
            field["items"]["items"]["minLength"] = json!(1);
        }
        "sentences" => field["maxItems"] = json!(limits.texts),
        _ => {}
    }
}
