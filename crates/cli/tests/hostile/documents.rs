//! Documents, terms and forms that are expensive to read.

use serde_json::{Value, json};

use crate::client::{SECOND, hostile, join, visit};
use crate::server::Server;

fn document(text: String, format: &str) -> Value {
    json!({"q": text, "source": "de", "target": "en", "format": format})
}

/// 499 terms that begin alike, and a text of their first word.
pub fn glossary() -> Value {
    let terms: Vec<[String; 2]> = (0..499)
        .map(|number: usize| [format!("{}x{number}", "a ".repeat(96)), "b".to_owned()])
        .collect();
    json!({"sentences": ["a ".repeat(40_000)], "source": "de", "target": "en", "glossary": terms})
}

/// A form with as many fields as its length allows.
pub fn many_fields() -> String {
    let kind = "application/x-www-form-urlencoded";
    hostile().bytes("POST", "/translate", kind, &"q=&".repeat(699_000))
}

/// Sixty large documents, as many with alternatives, others with much markup, glossaries, and sixty
/// forms of two megabytes, of clients that stay for five seconds, read nothing and leave.
pub fn attack(server: &Server) {
    let html = document("<b>.</b>".repeat(24_000), "html");
    let hyphens = document("1-".repeat(16_000), "text");
    let backslashes = document("\\".repeat(60_000), "markdown");
    // Its sentences are translated once, and then ten alternatives of each are kept.
    let several = json!({"q": "Das Haus. ".repeat(18_000), "source": "de", "target": "en", "alternatives": 10});
    let documents = [
        vec![html; 60],
        vec![hyphens; 3],
        vec![backslashes; 3],
        vec![several; 60],
    ]
    .concat();
    let documents = documents
        .iter()
        .map(|body| hostile().json("/translate", body));
    let terms = (0..3).map(|_| hostile().json("/v1/sentences", &glossary()));
    let forms = (0..60).map(|_| many_fields());
    let all = documents.chain(terms).chain(forms);
    join(all.map(|request| visit(&server.address, request, 5 * SECOND)));
}
