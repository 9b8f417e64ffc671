//! Files that unpack to much more than their size.

use std::io::{Cursor, Write};
use std::sync::Arc;
use std::thread::JoinHandle;

use serde_json::Value;
use zip::CompressionMethod;
use zip::write::SimpleFileOptions;

use crate::common::{Running, Shouting};

/// Sends `file` to be translated, as a client of this address.
fn send(server: &Arc<Running>, address: &str, file: &[u8]) -> JoinHandle<(u16, Value)> {
    let part = |name: &str, value: &str| {
        format!("--b\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
    };
    let name = part("file", "").replace("\"file\"", "\"file\"; filename=\"a.docx\"");
    let head = [part("source", "de"), part("target", "en"), name].concat();
    let head = head.trim_end_matches("\r\n").as_bytes();
    let body = [head, b"\r\n\r\n", file, b"\r\n--b--\r\n"].concat();
    let server = server.clone();
    let address = address.to_owned();
    std::thread::spawn(move || {
        let kind = "multipart/form-data; boundary=b";
        let headers = [("x-forwarded-for", &*address)];
        server.send("/translate_file", kind, &headers, &body)
    })
}

#[test]
fn a_file_that_unpacks_too_large_is_refused_before_unpacking() {
    let server = Arc::new(Running::start(Arc::new(Shouting::default()), |_| {}));
    // The file unpacks from 40 kB to 40 MB of spaces.
    let file = include_bytes!("../fixtures/large.docx");
    for _ in 0..3 {
        let (status, answer) = send(&server, "10.0.0.1", file).join().unwrap();
        let error = answer["error"].as_str().unwrap();
        assert!(
            status == 413 && answer["field"] == "file" && error.contains("MiB of memory"),
            "{status} {answer}"
        );
    }
}

/// A document with this many bytes of XML and little text.
fn document(bytes: usize) -> Vec<u8> {
    let paragraph = "<w:p><w:r><w:t>Das Haus.</w:t></w:r></w:p>";
    let filling = format!("<w:p>{}</w:p>", "<w:r/>".repeat(bytes / 6));
    let xml = format!("<w:document>{paragraph}{filling}</w:document>");
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    zip.start_file("word/document.xml", options).unwrap();
    zip.write_all(xml.as_bytes()).unwrap();
    zip.finish().unwrap().into_inner()
}

#[test]
fn files_that_unpack_large_wait_for_each_other() {
    let server = Arc::new(Running::start(Arc::new(Shouting::default()), |_| {}));
    let file = document(1 << 20);
    assert!(file.len() < 15 << 10, "{}", file.len());
    let sent: Vec<_> = (0..20)
        .map(|number| send(&server, &format!("10.0.0.{}", number % 4), &file))
        .collect();
    for sent in sent {
        let (status, answer) = sent.join().unwrap();
        assert_eq!(status, 200, "{answer}");
    }
}

#[test]
fn sixty_files_that_unpack_large_do_not_crash_the_server() {
    let server = Arc::new(Running::start(Arc::new(Shouting::default()), |_| {}));
    let file = document(5 << 20);
    let sent: Vec<_> = (0..60).map(|_| send(&server, "10.0.0.1", &file)).collect();
    for sent in sent {
        let (status, answer) = sent.join().unwrap();
        assert!([200, 413, 503].contains(&status), "{status} {answer}");
    }
    assert_eq!(server.get("/ready").0, 200);
}
