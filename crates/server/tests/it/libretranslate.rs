//! Clients of LibreTranslate, which work unchanged.

use std::io::Write as _;
use std::process::Command;
use std::sync::Arc;

use crate::common::{Running, Shouting, server};
use serde_json::{Value, json};

const FORM: &str = "application/x-www-form-urlencoded";

/// A form of `multipart/form-data` as `client` writes it: its boundary, and headers that it adds to
/// each part.
fn multipart(boundary: &str, headers: &str, fields: &[(&str, &str)]) -> (String, Vec<u8>) {
    let body = fields.iter().map(|(name, value): &(&str, &str)| {
        format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n{headers}\r\n{value}\r\n"
        )
    }).collect::<String>() + &format!("--{boundary}--\r\n");
    (
        format!("multipart/form-data; boundary={boundary}"),
        body.into_bytes(),
    )
}

#[test]
fn requests_as_real_clients_send_them_are_answered() {
    let server = server();
    let one = json!({"translatedText": "GUTEN MORGEN! GRÖSSE & 100%"});
    let query = "q=Guten+Morgen%21+Gr%C3%B6%C3%9Fe+%26+100%25&source=de&target=en";
    let text = "Guten Morgen! Größe & 100%";
    let fields = [
        ("q", text),
        ("source", "de"),
        ("target", "en"),
        ("format", ""),
    ];
    // libretranslatepy 2.1.4: a form by Python's urllib.
    assert_eq!(
        server.send("/translate", FORM, &[], query.as_bytes()),
        (200, one.clone())
    );
    // deep-translator 1.11.4: a query, without a body or content type.
    let path = format!("/translate?{query}&format=text&api_key=secret");
    assert_eq!(raw(&server, &path, "", b""), (200, one.clone()));
    // axios with `params` and an empty JSON body.
    assert_eq!(
        server.send(&path, "application/json", &[], b""),
        (200, one.clone())
    );
    // translate 3.1.0 from npm.
    let body = json!({"q": text, "source": "de", "target": "en"}).to_string();
    let json = "application/json; charset=utf-8";
    assert_eq!(
        server.send("/translate", json, &[], body.as_bytes()),
        (200, one.clone())
    );
    // FormData of browsers and of Node.js, curl -F, PHP's curl with an array, requests with
    // `files`.
    for (boundary, headers) in [
        ("----WebKitFormBoundary7MA4YWxkTrZu0gW", ""),
        ("----formdata-undici-018171940373", ""),
        ("------------------------9f3cbc3082ab9ecd", ""),
        ("e68638350126ecb711b955a39662ec46", ""),
        (
            "a",
            "Content-Type: text/plain; charset=UTF-8\r\nContent-Transfer-Encoding: 8bit\r\n",
        ),
    ] {
        let (kind, body) = multipart(boundary, headers, &fields);
        assert_eq!(
            server.send("/translate", &kind, &[], &body),
            (200, one.clone()),
            "{kind}"
        );
    }
    // libretranslatepy requests the languages by GET with the content type of a form.
    assert_eq!(server.get("/languages?api_key=secret").0, 200);
}

/// Sends a POST with the head `head` verbatim and returns the answer.
fn raw(server: &Running, path: &str, head: &str, body: &[u8]) -> (u16, Value) {
    use std::io::Read as _;
    let address = server.address.trim_start_matches("http://");
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    let length = body.len();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: {length}\r\n{head}\r\n"
    );
    stream.write_all(&[head.as_bytes(), body].concat()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let status = answer[9..12].parse().unwrap();
    let body = answer.split_once("\r\n\r\n").unwrap().1;
    (status, serde_json::from_str(body).unwrap_or(Value::Null))
}

#[test]
fn lists_and_alternatives_come_in_every_form() {
    let server = server();
    let json = json!({"q": ["eins", "zwei"], "source": "de", "target": "en", "alternatives": 1});
    let answer =
        json!({"translatedText": ["EINS", "ZWEI"], "alternatives": [["EINS!"], ["ZWEI!"]]});
    assert_eq!(server.post("/translate", json), (200, answer.clone()));
    let rest = "source=de&target=en&alternatives=1";
    for list in [
        "q=eins&q=zwei",
        "q[]=eins&q[]=zwei",
        "q%5B0%5D=eins&q%5B1%5D=zwei",
    ] {
        let form = format!("{list}&{rest}");
        assert_eq!(
            server.send("/translate", FORM, &[], form.as_bytes()),
            (200, answer.clone())
        );
        let path = format!("/translate?{list}");
        assert_eq!(
            server.send(&path, FORM, &[], rest.as_bytes()),
            (200, answer.clone())
        );
    }
    for name in ["q", "q[]"] {
        let rest = [("source", "de"), ("target", "en"), ("alternatives", "1")];
        let fields = [&[(name, "eins"), (name, "zwei")][..], &rest].concat();
        let (kind, body) = multipart("b", "", &fields);
        assert_eq!(
            server.send("/translate", &kind, &[], &body),
            (200, answer.clone())
        );
    }
    let (kind, body) = multipart("b", "", &[("q", "Der alte Mann wohnt am Meer und fischt.")]);
    let (status, answer) = server.send("/detect", &kind, &[], &body);
    assert_eq!((status, &answer[0]["language"]), (200, &json!("de")));
}

/// The messages are from LibreTranslate 1.9.6, and its tests compare them.
#[test]
fn errors_match_libretranslate() {
    let server = server();
    let full = [("q", "a"), ("source", "de"), ("target", "en")];
    for (field, _) in full {
        let error = json!(format!("Invalid request: missing {field} parameter"));
        for empty in [false, true] {
            let mut body = json!({});
            let mut form = String::new();
            for (name, value) in full.iter().filter(|(name, _)| empty || *name != field) {
                let value = if *name == field { "" } else { value };
                body[name] = json!(value);
                form += &format!("{name}={value}&");
            }
            let (status, answer) = server.post("/translate", body);
            assert_eq!((status, &answer["error"]), (400, &error));
            let (status, answer) = server.send("/translate", FORM, &[], form.as_bytes());
            assert_eq!((status, &answer["error"]), (400, &error));
        }
    }
    for path in ["/translate", "/detect"] {
        let (status, answer) = raw(&server, path, "", b"");
        assert_eq!(status, 400, "{answer}");
        assert_eq!(answer["error"], "Invalid request: missing q parameter");
    }
    let ask = |fields: &str| {
        let (status, answer) = server.send("/translate", FORM, &[], fields.as_bytes());
        (
            status,
            answer["error"].as_str().unwrap_or_default().to_owned(),
        )
    };
    for source in ["de", "auto"] {
        let asked = ask(&format!("q=a&source={source}&target=zz"));
        assert_eq!(asked, (400, "zz is not supported".into()), "{source}");
    }
    assert_eq!(
        ask("q=a&source=zz&target=en"),
        (400, "zz is not supported".into())
    );
    let pdf = ask("q=a&source=de&target=en&format=pdf");
    assert_eq!(pdf, (400, "pdf format is not supported".into()));
    assert_eq!(server.get("/spec").0, 200);
    for path in ["/spec", "/languages", "/health"] {
        assert_eq!(server.post(path, json!({})).0, 405, "{path}");
    }
    for path in ["/translate", "/detect"] {
        assert_eq!(server.get(path).0, 405, "{path}");
    }
}

#[test]
fn a_key_is_accepted_wherever_libretranslate_accepts_it() {
    let server = Running::start(Arc::new(Shouting::default()), |settings| {
        settings.keys = vec!["secret".into()]
    });
    let fields = "q=a&source=de&target=en";
    let key = "api_key=secret";
    let form = format!("{fields}&{key}");
    let parts = [
        ("q", "a"),
        ("source", "de"),
        ("target", "en"),
        ("api_key", "secret"),
    ];
    let (kind, body) = multipart("b", "", &parts);
    assert_eq!(server.send("/translate", FORM, &[], form.as_bytes()).0, 200);
    assert_eq!(server.send("/translate", &kind, &[], &body).0, 200);
    assert_eq!(
        server
            .send(&format!("/translate?{key}"), FORM, &[], fields.as_bytes())
            .0,
        200
    );
    assert_eq!(raw(&server, &format!("/translate?{form}"), "", b"").0, 200);
    let file = "--b\r\ncontent-disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\r\nhallo\r\n\
        --b\r\ncontent-disposition: form-data; name=\"source\"\r\n\r\nde\r\n\
        --b\r\ncontent-disposition: form-data; name=\"target\"\r\n\r\nen\r\n--b--\r\n";
    let kind = "multipart/form-data; boundary=b";
    let path = format!("/translate_file?{key}");
    assert_eq!(server.send(&path, kind, &[], file.as_bytes()).0, 200);
    assert_eq!(
        server.send("/translate", FORM, &[], fields.as_bytes()).0,
        403
    );
}

/// Runs `libretranslatepy`, `deep-translator` and npm's `translate` if they are installed.
/// `BURNFORMER_CLIENT_PYTHON` is a Python that has the first two, `BURNFORMER_CLIENT_NODE` the file
/// of the third (`node_modules/translate/index.min.js`).
#[test]
fn installed_clients_work_unchanged() {
    let server = server();
    if let Some(python) = std::env::var_os("BURNFORMER_CLIENT_PYTHON") {
        let script = "import sys\n\
            from libretranslatepy import LibreTranslateAPI\n\
            from deep_translator import LibreTranslator\n\
            api = LibreTranslateAPI(sys.argv[1], 'key')\n\
            assert api.translate('Größe & 100%', 'de', 'en') == 'GRÖSSE & 100%'\n\
            assert api.detect('Der alte Mann wohnt am Meer.')[0]['language'] == 'de'\n\
            assert [one['code'] for one in api.languages()] == ['de', 'en']\n\
            deep = LibreTranslator(source='de', target='en', api_key='key', custom_url=sys.argv[1] + '/')\n\
            assert deep.translate('Größe & 100%') == 'GRÖSSE & 100%'\n\
            assert deep.translate_batch(['eins', 'zwei']) == ['EINS', 'ZWEI']\n";
        let mut command = Command::new(python);
        let status = command
            .args(["-c", script, &server.address])
            .status()
            .unwrap();
        assert!(status.success());
    }
    if let Some(package) = std::env::var_os("BURNFORMER_CLIENT_NODE") {
        let script = "const [, file, address] = process.argv;\n\
            const { default: translate } = await import(file);\n\
            Object.assign(translate, { engine: 'libre', url: `${address}/translate` });\n\
            const text = await translate('Größe & 100%', { from: 'de', to: 'en' });\n\
            if (text !== 'GRÖSSE & 100%') throw new Error(text);\n\
            const body = new FormData();\n\
            for (const [name, value] of [['q', 'eins'], ['source', 'de'], ['target', 'en']]) body.append(name, value);\n\
            const answer = await fetch(`${address}/translate`, { method: 'POST', body });\n\
            if ((await answer.json()).translatedText !== 'EINS') throw new Error('FormData');\n";
        let mut command = Command::new("node");
        command
            .args(["--input-type=module", "-e", script])
            .arg(package)
            .arg(&server.address);
        assert!(command.status().unwrap().success());
    }
}
