//! The same request at two doors, the program and the server: the same translations.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::common::{assert_refused, run_with, stdout};
use crate::serve::Server;

const LINES: [&str; 6] = [
    "Das Haus ist klein.",
    "Ich habe 12.345,60 Euro für {name}.",
    "ICH MÖCHTE EINEN KAFFEE.",
    "Wo wohnst du?",
    "2026 - 2025 = 1",
    "Das Haus (das alte) ist klein.",
];

/// Texts with their formats.
const DOCUMENTS: [(&str, &str); 2] = [
    (
        "html",
        "<p>Das <b>Haus</b> ist klein. Ich habe 12.345,60 Euro für {name}.</p>\n\
         <p title=\"Guten Morgen!\">Wo wohnst du?</p>\n",
    ),
    (
        "po",
        "msgid \"\"\nmsgstr \"\"\n\"Content-Type: text/plain; charset=UTF-8\\n\"\n\n\
         msgid \"Wo wohnst du?\"\nmsgstr \"\"\n\n\
         msgid \"Das Haus ist <b>klein</b>.\"\nmsgstr \"\"\n",
    ),
];

/// The models of the program, and the target language of the server: one model, and two in a row. A
/// pair of the server has two languages, so that the way back from English leads to Austria.
const WAYS: [(&[&str], &str); 2] = [
    (&["--model", "embedded:de-en"], "en"),
    (
        &["--model", "embedded:de-en", "--then", "embedded:en-de"],
        "de-AT",
    ),
];

/// What is asked for: its name, the options of the program and the fields of the server.
type Wish<'a> = (&'static str, Vec<&'a str>, Value);

/// Wishes for lines and documents. `glossary` is the path of a file with the terms.
fn wishes(glossary: &str) -> Vec<Wish<'_>> {
    vec![
        ("the best", vec![], json!({})),
        ("greedy", vec!["--beam", "1"], json!({"beam": 1})),
        (
            "short",
            vec!["--alpha", "0.2"],
            json!({"length_penalty": 0.2}),
        ),
        (
            "terms",
            vec!["--glossary", glossary],
            json!({"glossary": [["Haus", "Bauwerk"]]}),
        ),
    ]
}

/// Wishes for lines alone.
fn wishes_for_lines() -> Vec<Wish<'static>> {
    vec![
        ("several", vec!["--nbest", "5"], json!({"alternatives": 4})),
        (
            "a wide beam",
            vec!["--nbest", "3", "--beam", "6"],
            json!({"alternatives": 2, "beam": 6}),
        ),
    ]
}

/// Returns `fields` with those of `more`.
fn with(mut fields: Value, more: &Value) -> Value {
    for (key, value) in more.as_object().unwrap() {
        fields[key] = value.clone();
    }
    fields
}

/// The translations of a line, the best first, and whether a second search was needed.
type Line = (Vec<String>, bool);

/// The translations of each line by the program.
fn lines_of_program(models: &[&str], options: &[&str]) -> Vec<Line> {
    let translate = ["translate", "--quiet", "--json"];
    let arguments = [&translate[..], models, options].concat();
    let records = stdout(&run_with(&arguments, LINES.join("\n").as_bytes()));
    let translations = |record: &str| {
        let record: Value = serde_json::from_str(record).unwrap();
        let best = json!([{"translation": record["translation"]}]);
        let all = record["n_best"].as_array().or(best.as_array()).unwrap();
        let texts = all.iter().map(|one| one["translation"].as_str().unwrap());
        let mut texts: Vec<String> = texts.map(String::from).collect();
        // The program repeats the last one if there are fewer.
        texts.dedup();
        (texts, record["second_search"].as_bool().unwrap())
    };
    records.lines().map(translations).collect()
}

/// The translations of `sentences` by the server.
fn lines_of_server(server: &Server, target: &str, sentences: &[Value], more: &Value) -> Vec<Line> {
    let body = json!({"sentences": sentences, "source": "de", "target": target});
    let (status, answer) = server.post("/v1/sentences", &with(body, more));
    assert_eq!(status, 200, "{answer}");
    let line = |candidates: &Value| -> Line {
        let all = candidates.as_array().unwrap().iter();
        let texts = all.map(|one| one["text"].as_str().unwrap().to_owned());
        // The server leaves the field out where it is false.
        let is_second = candidates[0]["second_search"].as_bool().unwrap_or(false);
        (texts.collect(), is_second)
    };
    let sentences = answer["sentences"].as_array().unwrap();
    sentences.iter().map(line).collect()
}

/// Compares `wishes` for documents, translated by `models` and by the server into `target`.
fn compare_documents(server: &Server, models: &[&str], target: &str, wishes: &[Wish]) {
    for (format, text) in DOCUMENTS {
        for (wish, options, fields) in wishes {
            let translate = ["translate", "--quiet", "--format", format];
            let arguments = [&translate[..], models, &options[..]].concat();
            let expected = stdout(&run_with(&arguments, text.as_bytes()));
            let body = json!({"texts": text, "source": "de", "target": target, "format": format});
            let (status, answer) = server.post("/v1/translate", &with(body, fields));
            assert_eq!(status, 200, "{answer}");
            let found = answer["translations"][0].as_str().unwrap();
            // A catalogue names its language, and the program leads back to German.
            let found = found.replace("Language: de_AT", "Language: de");
            assert_eq!(found, expected, "{format} into {target}: {wish}");
        }
    }
}

/// Writes `content` to `folder/name` and returns the path.
fn file(folder: &Path, name: &str, content: &str) -> String {
    let path = folder.join(name);
    fs::write(&path, content).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn the_program_and_the_server_translate_alike() {
    let folder = tempfile::tempdir().unwrap();
    let glossary = file(folder.path(), "terms.tsv", "Haus\tBauwerk\n");
    let prefixes = file(folder.path(), "prefixes", &"Na ja,\n".repeat(LINES.len()));
    let server = Server::start(&[
        "--model",
        "de-en=embedded:de-en",
        "--model",
        "en-de-AT=embedded:en-de",
    ]);
    let plain = LINES.map(|line| json!(line));
    let prefixed = LINES.map(|line| json!({"text": line, "prefix": "Na ja,"}));
    for (models, target) in WAYS {
        for (wish, options, fields) in wishes(&glossary).into_iter().chain(wishes_for_lines()) {
            let found = lines_of_server(&server, target, &plain, &fields);
            let expected = lines_of_program(models, &options);
            assert_eq!(found, expected, "into {target}: {wish}");
        }
        let found = lines_of_server(&server, target, &prefixed, &json!({}));
        let expected = lines_of_program(models, &["--prefix", &prefixes]);
        assert_eq!(found, expected, "into {target}: a prefix");
        compare_documents(&server, models, target, &wishes(&glossary));
    }
}

#[test]
fn the_program_and_the_server_use_a_memory_alike() {
    let folder = tempfile::tempdir().unwrap();
    let glossary = file(folder.path(), "terms.tsv", "Haus\tBauwerk\n");
    let memory = file(
        folder.path(),
        "memory.tsv",
        "Wo wohnst du?\tWhere do you dwell?\nDas Haus ist klein.\tThe house is tiny.\n",
    );
    let of_pair = format!("de-en={memory}");
    let server = Server::start(&["--model", "de-en=embedded:de-en", "--memory", &of_pair]);
    let models = ["--model", "embedded:de-en", "--memory", &memory];
    let plain = LINES.map(|line| json!(line));
    for (wish, options, fields) in wishes(&glossary).into_iter().chain(wishes_for_lines()) {
        let found = lines_of_server(&server, "en", &plain, &fields);
        assert_eq!(found[3].0[0], "Where do you dwell?", "{wish}");
        assert_eq!(found, lines_of_program(&models, &options), "{wish}");
    }
    compare_documents(&server, &models, "en", &wishes(&glossary));
}

#[test]
fn a_beam_narrower_than_the_translations_is_refused_alike() {
    let server = Server::start(&[]);
    let options = ["translate", "--nbest", "5", "--beam", "2"];
    let rule = "= 5: it cannot exceed";
    let needles = [rule, "--beam = 2", "raise --beam"];
    assert_refused(&run_with(&options, b"eins\n"), 2, &needles);
    let body = json!({
        "sentences": ["eins"], "source": "de", "target": "en", "alternatives": 4, "beam": 2,
    });
    let (status, answer) = server.post("/v1/sentences", &body);
    assert_eq!((status, &answer["field"]), (400, &json!("beam")));
    let error = answer["error"].as_str().unwrap();
    for needle in [rule, "beam = 2", "raise beam"] {
        assert!(error.contains(needle), "{error}");
    }
}
