//! Every field of every path has a limit.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::common::{Running, Shouting};

/// A path, its method and the schema of its request.
struct Operation {
    path: String,
    method: String,
    fields: Map<String, Value>,
    is_form: bool,
}

/// The operations in the OpenAPI document of the server.
fn operations(document: &Value) -> Vec<Operation> {
    let mut all = Vec::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            let contents = operation["requestBody"]["content"].as_object();
            let mut fields = Map::new();
            for content in contents.into_iter().flat_map(Map::values) {
                fields.extend(properties(document, &content["schema"]));
            }
            for parameter in operation["parameters"].as_array().into_iter().flatten() {
                if parameter["in"] == "query" {
                    let name = parameter["name"].as_str().unwrap();
                    fields.insert(name.into(), parameter["schema"].clone());
                }
            }
            all.push(Operation {
                path: path.clone(),
                method: method.clone(),
                fields,
                is_form: contents.is_some_and(|it| it.len() > 1),
            });
        }
    }
    all
}

/// The fields of a schema, which may be a reference or a combination of others.
fn properties(document: &Value, schema: &Value) -> Map<String, Value> {
    if let Some(reference) = schema["$ref"].as_str() {
        let name = reference.rsplit('/').next().unwrap();
        return properties(document, &document["components"]["schemas"][name]);
    }
    let mut all = schema["properties"]
        .as_object()
        .cloned()
        .unwrap_or_default();
    for part in schema["allOf"].as_array().into_iter().flatten() {
        all.extend(properties(document, part));
    }
    all
}

/// Values longer than any limit: a text, and a list of texts.
fn long_values() -> [Value; 2] {
    let text = "x".repeat(1_100_000);
    [json!(text), json!(vec!["x"; 100_000])]
}

fn quoted_in(text: &str, name: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
        .any(|word| word == name)
}

/// Checks that `answer` refuses the field `name` with a message that contains its name and a limit.
fn check(answer: &(u16, Value), name: &str, context: &str) {
    let (status, body) = answer;
    let text = body["error"].as_str().or(body["message"].as_str());
    let text = text.unwrap_or_else(|| panic!("{context}: {status} {body}"));
    let has_limit = text.contains(" more ") && text.contains(" allowed");
    assert!(
        *status == 400 && quoted_in(text, name) && has_limit && text.len() < 300,
        "{context}: {status} {text}"
    );
}

#[test]
fn a_long_value_of_any_field_of_any_path_is_refused_by_its_limit() {
    let server = Running::start(Arc::new(Shouting::default()), |settings| {
        // The program derives this limit from 200,000 characters.
        settings.limits.body = 12 * settings.limits.characters + (1 << 16);
    });
    let document: Value = serde_json::from_str(&server.get("/openapi.json").1).unwrap();
    let mut checked = BTreeMap::new();
    for operation in operations(&document) {
        let path = operation.path.replace(['{', '}'], "");
        for name in operation.fields.keys().filter(|name| *name != "file") {
            let context = format!("{} {path} {name}", operation.method);
            if operation.method == "post" && !path.contains("file") && !path.ends_with("document") {
                for value in long_values() {
                    let mut body = Map::new();
                    body.insert(name.clone(), value);
                    check(&server.post(&path, body.into()), name, &context);
                }
            }
            if operation.method == "post" && operation.is_form {
                let kind = "application/x-www-form-urlencoded";
                let body = format!("file=&{name}={}", "x".repeat(1_100_000));
                if !path.contains("file") && !path.ends_with("document") {
                    check(
                        &server.send(&path, kind, &[], body.as_bytes()),
                        name,
                        &context,
                    );
                }
            }
            let query = format!("{path}?{name}={}", "x".repeat(20_000));
            // Glossary terms may be longer than any query.
            if operation.method == "get" && name != "entries" {
                let (status, text) = server.get(&query);
                let body = serde_json::from_str(&text).unwrap_or_default();
                check(&(status, body), name, &context);
            }
            *checked.entry(name.clone()).or_insert(0) += 1;
        }
    }
    assert!(checked.len() > 25, "{checked:?}");
}

#[test]
fn a_long_field_beside_a_file_is_refused_by_its_limit() {
    let server = Running::start(Arc::new(Shouting::default()), |_| {});
    let document: Value = serde_json::from_str(&server.get("/openapi.json").1).unwrap();
    let mut count = 0;
    let all = operations(&document);
    let uploads = all
        .iter()
        .filter(|operation| operation.fields.contains_key("file"));
    for Operation { path, fields, .. } in uploads {
        for name in fields.keys().filter(|name| *name != "file") {
            let body = format!(
                "--b\r\ncontent-disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\r\na\r\n\
                 --b\r\ncontent-disposition: form-data; name=\"{name}\"\r\n\r\n{}\r\n--b--\r\n",
                "x".repeat(600_000)
            );
            let kind = "multipart/form-data; boundary=b";
            check(&server.send(path, kind, &[], body.as_bytes()), name, path);
            count += 1;
        }
    }
    assert!(count > 7, "{count}");
}

#[test]
fn a_long_path_is_refused_by_its_limit() {
    let server = Running::start(Arc::new(Shouting::default()), |_| {});
    let document: Value = serde_json::from_str(&server.get("/openapi.json").1).unwrap();
    let mut count = 0;
    for path in document["paths"].as_object().unwrap().keys() {
        let Some((before, after)) = path.split_once('{') else {
            continue;
        };
        let after = after.split_once('}').unwrap().1;
        let (status, text) = server.get(&format!("{before}{}{after}", "x".repeat(5_000)));
        assert!(
            status == 414 && text.contains("the path has"),
            "{path}: {status} {text}"
        );
        count += 1;
    }
    assert!(count > 5, "{count}");
}

#[test]
fn nested_fields_have_limits_too() {
    let server = Running::start(Arc::new(Shouting::default()), |_| {});
    let long = "x".repeat(300_000);
    let pair =
        |source: &str| json!({"source_lang": source, "target_lang": "en", "entries": "a\tb"});
    let sentences =
        |sentence: Value| json!({"sentences": [sentence], "source": "de", "target": "en"});
    for (path, body, name) in [
        (
            "/v1/sentences",
            sentences(json!({"text": "a", "prefix": long})),
            "prefix",
        ),
        ("/v1/sentences", sentences(json!({"text": long})), "text"),
        (
            "/v3/glossaries",
            json!({"name": "a", "dictionaries": [pair(&long)]}),
            "source_lang",
        ),
        (
            "/v3/glossaries",
            json!({"name": "a", "dictionaries": vec![pair("de"); 1_000]}),
            "dictionaries",
        ),
        (
            "/v1/translate",
            json!({"texts": "a", "source": "de", "target": "en", "glossary": [[long, "b"]]}),
            "glossary",
        ),
        // An object in each place of a list is refused before it is kept in memory.
        (
            "/translate",
            json!({"q": vec![json!({"a": 0}); 100_000], "source": "de", "target": "en"}),
            "q",
        ),
        (
            "/v2/translate",
            json!({"text": "a", "target_lang": "EN", "style_id": vec![json!({"a": 0}); 100_000]}),
            "style_id",
        ),
    ] {
        check(&server.post(path, body), name, path);
    }
    // Unknown fields are not read, whatever their length.
    let ignored = json!({"text": "a", "target_lang": "EN", "source_lang": "DE", "note": long});
    assert_eq!(server.post("/v2/translate", ignored).0, 200);
}
