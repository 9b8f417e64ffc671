//! A hub that lies, and servers that fetch their model from it while another one is besieged.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::spawn;

use serde_json::json;

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

/// The answers to requests for a file, each a different lie.
const LIES: [&str; 5] = [
    // It ends too early.
    "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 500\r\n\r\n{}",
    // It has another hash.
    "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n[]",
    // It is longer than the list says.
    "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{\"a\": \"a longer file than the list says\"}",
    "HTTP/1.1 206 Partial Content\r\nConnection: close\r\nContent-Range: bytes 7-6/2\r\nContent-Length: 0\r\n\r\n",
    "",
];

/// The address of a hub. Each of its connections tells the next lie.
pub fn start() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    spawn(move || {
        for (number, stream) in listener.incoming().enumerate() {
            // The client may have left.
            let _ = stream.and_then(|stream| lie(stream, number));
        }
    });
    address
}

fn lie(mut stream: TcpStream, number: usize) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let first = lines.next().transpose()?.unwrap_or_default();
    let is_head = |line: &std::io::Result<String>| line.as_ref().is_ok_and(|line| !line.is_empty());
    lines.take_while(is_head).for_each(drop);
    if !first.contains("/api/models/") {
        return stream.write_all(LIES[number % LIES.len()].as_bytes());
    }
    let weights = json!({"sha256": "0".repeat(64), "size": 2});
    let list = json!({"sha": COMMIT, "siblings": [
        {"rfilename": "config.json", "size": 2, "blobId": COMMIT},
        {"rfilename": "model.safetensors", "size": 2, "blobId": COMMIT, "lfs": weights},
    ]})
    .to_string();
    let length = list.len();
    write!(
        stream,
        "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{list}"
    )
}

/// Starts a server with a model of the hub at `address`. Returns what is wrong if it does not end
/// with a reason.
pub fn fault(address: &str, cache: &Path) -> Option<String> {
    let output = Command::new(env!("CARGO_BIN_EXE_burnformer"))
        .args(["serve", "--listen", "0", "--model", "de-en=hf:a/b"])
        .env("HF_ENDPOINT", address)
        .env("HF_HUB_CACHE", cache)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let has_reason = said.contains("error: ") && !said.contains("panicked");
    (output.status.code() != Some(1) || !has_reason)
        .then(|| format!("a lying hub: {} {said}", output.status))
}
