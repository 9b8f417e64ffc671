//! `serve` with models of several languages, and detected languages.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};

use burnformer_documents::Format;

use crate::common::{burnformer, opus_mt, refused, run, run_with, stderr, stdout};
use crate::crossing::{CELLS, PREFIX};
use serde_json::{Value, json};

/// A running server.
pub struct Server {
    child: Child,
    address: String,
}

impl Server {
    pub fn start(options: &[&str]) -> Self {
        Self::logging(options, Stdio::null())
    }

    fn logging(options: &[&str], log: Stdio) -> Self {
        let mut command = burnformer(&[&["serve", "--listen", "0"], options].concat());
        let mut child = command.stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let address = line
            .trim()
            .strip_prefix("listening at http://")
            .expect(&line)
            .to_owned();
        Self { child, address }
    }

    pub fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        let (status, answer) = self.send("POST", path, "application/json", &body.to_string());
        (status, serde_json::from_str(&answer).unwrap())
    }

    fn send(&self, method: &str, path: &str, kind: &str, body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let length = body.len();
        let mut answer = String::new();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head[9..12].parse().unwrap(), body.to_owned())
    }

    /// The answer to a form with the file `name`.
    fn upload(&self, path: &str, fields: &[[&str; 2]], name: &str, text: &str) -> Value {
        let part = |head: &str, body: &str| {
            format!("--b\r\nContent-Disposition: form-data; {head}\r\n\r\n{body}\r\n")
        };
        let fields = fields
            .iter()
            .map(|[name, value]| part(&format!("name=\"{name}\""), value));
        let file = part(&format!("name=\"file\"; filename=\"{name}\""), text);
        let body = fields.collect::<String>() + &file + "--b--\r\n";
        let (status, answer) = self.send("POST", path, "multipart/form-data; boundary=b", &body);
        assert_eq!(status, 200, "{name}: {answer}");
        serde_json::from_str(&answer).unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_memory_reuses_exact_matches_for_its_pair() {
    let folder = tempfile::tempdir().unwrap();
    let memory = folder.path().join("a.tsv");
    std::fs::write(&memory, "Guten Morgen!\tTop of the morning!\n").unwrap();
    let memory = format!("de-en={}", memory.display());
    let server = Server::start(&["--memory", &memory]);
    let body = json!({"q": "Guten  Morgen!", "source": "de", "target": "en"});
    let (status, answer) = server.post("/translate", &body);
    assert_eq!(
        (status, &answer["translatedText"]),
        (200, &json!("Top of the morning!"))
    );
    let body = json!({"sentences": ["Guten Morgen!", "Ja."], "source": "de", "target": "en"});
    let (_, answer) = server.post("/v1/sentences", &body);
    let marks = [0, 1].map(|index| answer["sentences"][index][0]["memory"].as_bool());
    assert_eq!(marks, [Some(true), None], "{answer}");
    refused(
        &["serve", "--memory", "de-fr=a.tsv"],
        2,
        &["--memory de-fr: no --model"],
    );
}

#[test]
fn every_protection_holds_at_the_server_with_every_option() {
    let server = Server::start(&[]);
    let plain: Vec<Value> = CELLS.iter().map(|cell| json!(cell.line)).collect();
    let prefixed = |cell: &crate::crossing::Cell| json!({"text": cell.line, "prefix": PREFIX});
    let prefixed: Vec<Value> = CELLS.iter().map(prefixed).collect();
    let options = [
        ("none", json!({})),
        ("alternatives", json!({"alternatives": 2})),
        ("glossary", json!({"glossary": [["Haus", "building"]]})),
        ("greedy", json!({"beam": 1})),
        ("prefix", json!({"sentences": prefixed})),
    ];
    let mut wrong = Vec::new();
    for (option, more) in options {
        let mut body = json!({"sentences": plain, "source": "de", "target": "en"});
        for (key, value) in more.as_object().unwrap() {
            body[key] = value.clone();
        }
        let (status, answer) = server.post("/v1/sentences", &body);
        assert_eq!(status, 200, "{option}: {answer}");
        for (cell, found) in CELLS.iter().zip(answer["sentences"].as_array().unwrap()) {
            let texts = found.as_array().unwrap().iter();
            for text in texts.filter_map(|found| found["text"].as_str()) {
                if !(cell.holds)(text) {
                    wrong.push(format!("{option} × {}: {text}", cell.name));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The name of the format of each extension, and a file of it with the text "Guten Morgen!".
const FORMATS: &str = include_str!("formats.json");

#[test]
fn every_door_translates_a_file_of_each_format_alike() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(&[]);
    let formats: BTreeMap<String, [String; 2]> = serde_json::from_str(FORMATS).unwrap();
    for (extension, format) in Format::extensions() {
        let [name, text] = &formats[extension];
        assert_eq!(name, format.name());
        let [input, output] =
            ["in", "out"].map(|stem| folder.path().join(format!("{stem}.{extension}")));
        std::fs::write(&input, text).unwrap();
        let [from, to] = [&input, &output].map(|path| path.to_str().unwrap());
        let name = format!("a.{extension}");
        let args = ["translate", "--format", format.name()];
        stdout(&run(
            &[&args[..], &["--input", from, "--output", to]].concat()
        ));
        let expected = std::fs::read_to_string(&output).unwrap();
        // The extension names the format as well.
        stdout(&run(&["translate", "--input", from, "--output", to]));
        assert_eq!(std::fs::read_to_string(&output).unwrap(), expected);
        assert!(
            expected.contains("Good morning!"),
            "{extension}: {expected}"
        );
        let fields = [["source", "de"], ["target", "en"]];
        let made = server.upload("/translate_file", &fields, &name, text);
        let url = made["translatedFileUrl"].as_str().unwrap();
        let path = url.strip_prefix("http://a").unwrap();
        assert_eq!(
            server.send("GET", path, "", ""),
            (200, expected.clone()),
            "{extension}"
        );
        let fields = [["source_lang", "DE"], ["target_lang", "EN-GB"]];
        let made = server.upload("/v2/document", &fields, &name, text);
        let path = format!("/v2/document/{}", made["document_id"].as_str().unwrap());
        let key = json!({"document_key": made["document_key"]});
        while server.post(&path, &key).1["status"] == "translating" {
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        let path = format!("{path}/result");
        let result = server.send("POST", &path, "application/json", &key.to_string());
        assert_eq!(result, (200, expected), "{extension}");
    }
}

#[test]
fn an_unread_log_blocks_no_request() {
    // More than the 64 KiB of a pipe, and more lines than are buffered.
    let server = Server::logging(&["--lazy"], Stdio::piped());
    let started = std::time::Instant::now();
    for _ in 0..5000 {
        let (status, _) = server.post("/v1/sentences", &json!({}));
        assert_eq!(status, 400);
    }
    assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
}

#[test]
fn a_model_of_several_target_languages_is_told_that_of_the_pair() {
    let folder = tempfile::tempdir().unwrap();
    let opus = folder.path().join("opus");
    opus_mt(&opus, &["fra", "deu", "pob"]);
    let [opus, model] = [opus, folder.path().join("model")].map(|path| path.display().to_string());
    stdout(&run(&["import", &opus, "--out", &model]));
    let text = "the house is small";
    let told = |language: &str| {
        let options = [
            "translate",
            "--model",
            &model,
            "--target-language",
            language,
        ];
        let output = run_with(&options, text.as_bytes());
        assert!(
            !stderr(&output).contains("--target-language"),
            "{}",
            stderr(&output)
        );
        stdout(&output).trim_end().to_owned()
    };
    assert_ne!(
        told("fr"),
        told("de"),
        "the fixture tells its languages apart"
    );
    let pairs = ["en-fr", "en-de", "en-pob"].map(|pair| format!("{pair}={model}"));
    let [fr, de, pob] = &pairs;
    let server = Server::start(&["--model", fr, "--model", de, "--model", pob]);
    for language in ["fr", "de", "pob"] {
        let body = json!({"q": text, "source": "en", "target": language});
        let (status, answer) = server.post("/translate", &body);
        assert_eq!(
            (status, answer["translatedText"].as_str()),
            (200, Some(&*told(language)))
        );
    }
    let silent = run_with(&["translate", "--model", &model], text.as_bytes());
    let warned = stderr(&silent);
    assert!(
        warned.contains(">>fra<<") && warned.contains("--target-language"),
        "{warned}"
    );
    stdout(&silent);
    for language in ["es", "xx", "french"] {
        let pair = format!("en-{language}={model}");
        let output = run(&["serve", "--listen", "0", "--model", &pair]);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(
            said.contains("none of those that the model knows (fra, deu, pob)"),
            "{said}"
        );
        assert!(
            !said.contains("--target-language"),
            "serve has no such option: {said}"
        );
        refused(
            &[
                "translate",
                "--model",
                &model,
                "--target-language",
                language,
            ],
            2,
            &["fra, deu, pob", "--target-language"],
        );
    }
}

#[cfg(unix)]
#[test]
fn a_socket_that_cannot_be_served_is_refused() {
    use std::os::fd::OwnedFd;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let start = |count: usize, socket: OwnedFd| {
        let script = format!(
            "exec 3<&0 0</dev/null; export LISTEN_FDS={count} LISTEN_PID=$$; exec \"$0\" serve"
        );
        let mut command = std::process::Command::new("sh");
        command.args(["-c", &script, env!("CARGO_BIN_EXE_burnformer")]);
        let output = command.stdin(Stdio::from(socket)).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        stderr(&output)
    };
    let said = start(2, listener.try_clone().unwrap().into());
    assert!(said.contains("LISTEN_FDS has 2 sockets"), "{said}");
    let said = start(1, std::fs::File::open("/dev/null").unwrap().into());
    assert!(said.contains("hint: write ListenStream="), "{said}");
    let said = start(1, TcpStream::connect(address).unwrap().into());
    assert!(said.contains("hint: write Accept=no"), "{said}");
}

/// Each text in the language before it, German and English, of one to four words.
const SHORT: &str = "de Haus|de Guten Morgen|de Wo wohnst du, Tom?|de Ich bin Toms Gast.|de Tom lernt.|de Aktion:\
    |de Das ist Toms Auto.|de Ja|de Löschen|de Ich habe lange Haare.|en house|en Good morning|en Any date\
    |en Field|en change message|en Tom will decide.|en Somebody killed Tom.|en This is pointless.|en yes|en Delete";

#[test]
fn the_models_in_the_program_tell_short_texts_apart() {
    let server = Server::start(&[]);
    let texts: Vec<(&str, &str)> = SHORT
        .split('|')
        .filter_map(|line| line.split_once(' '))
        .collect();
    for (target, other) in [("en", "de"), ("de", "en")] {
        let list: Vec<&str> = texts.iter().map(|(_, text)| *text).collect();
        let body = json!({"q": list, "source": "auto", "target": target});
        let (status, answer) = server.post("/translate", &body);
        assert_eq!(status, 200, "{answer}");
        let found = answer["detectedLanguage"].as_array().unwrap().iter();
        let found: Vec<&str> = found.map(|one| one["language"].as_str().unwrap()).collect();
        let right = |code: &str| {
            let pairs = texts
                .iter()
                .zip(&found)
                .filter(|((language, _), _)| *language == code);
            pairs.filter(|(_, found)| **found == code).count()
        };
        assert!(
            right(other) == 10 && right(target) >= 8,
            "into {target}: {found:?}"
        );
    }
}

#[test]
fn a_network_that_fails_is_no_wrong_usage() {
    let cache = tempfile::tempdir().unwrap();
    for name in ["firefox:de-en", "hf:a/b"] {
        let pair = format!("de-en={name}");
        for arguments in [
            vec!["translate", "--model", name],
            vec!["inspect", name],
            vec!["import", name],
            vec!["serve", "--model", &pair],
        ] {
            let mut command = burnformer(&arguments);
            command
                .env("XDG_CACHE_HOME", cache.path())
                .stdin(Stdio::null());
            // Nothing listens at port 9 of this machine.
            command.env("FIREFOX_SETTINGS_ENDPOINT", "http://127.0.0.1:9");
            command.env("HF_ENDPOINT", "http://127.0.0.1:9");
            for name in ["HF_HOME", "HF_HUB_CACHE", "HF_TOKEN", "HF_HUB_OFFLINE"] {
                command.env_remove(name);
            }
            let output = command.output().unwrap();
            let said = stderr(&output);
            assert_eq!(output.status.code(), Some(1), "{arguments:?}: {said}");
            assert!(
                said.contains("cannot be reached") && !said.contains("Usage"),
                "{said}"
            );
        }
    }
    refused(&["inspect", "hf:opus-mt"], 2, &["OWNER/NAME"]);
    refused(&["inspect", "embedded:xx-yy"], 2, &["embedded"]);
}
