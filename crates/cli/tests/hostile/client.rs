//! Clients of the server, honest or hostile, each with a separate address.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread::{JoinHandle, sleep, spawn};
use std::time::Duration;

use serde_json::Value;

pub const SECOND: Duration = Duration::from_secs(1);
/// The longest allowed wait for a short text.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// A client at an address, as reported by a proxy on the server's machine.
#[derive(Clone, Copy)]
pub struct Client(pub &'static str);

/// The client that attacks must not block.
pub fn honest() -> Client {
    Client("10.0.0.1")
}

/// A client that attacks.
pub fn hostile() -> Client {
    Client("10.0.0.2")
}

impl Client {
    /// The bytes of a request that closes its connection.
    pub fn bytes(self, method: &str, path: &str, kind: &str, body: &str) -> String {
        let address = self.0;
        let length = body.len();
        format!(
            "{method} {path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\nx-forwarded-for: {address}\r\n\
             content-type: {kind}\r\ncontent-length: {length}\r\n\r\n{body}"
        )
    }

    pub fn json(self, path: &str, body: &Value) -> String {
        self.bytes("POST", path, "application/json", &body.to_string())
    }

    pub fn get(self, address: &str, path: &str, limit: Duration) -> std::io::Result<(u16, String)> {
        exchange(
            address,
            &self.bytes("GET", path, "application/json", ""),
            limit,
        )
    }

    pub fn post(
        self,
        address: &str,
        path: &str,
        body: &Value,
        limit: Duration,
    ) -> std::io::Result<(u16, String)> {
        exchange(address, &self.json(path, body), limit)
    }
}

/// The status and the text of the answer to `request`, or why there is none within `limit`.
pub fn exchange(address: &str, request: &str, limit: Duration) -> std::io::Result<(u16, String)> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(limit))?;
    stream.write_all(request.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (head, text) = answer
        .split_once("\r\n\r\n")
        .ok_or(std::io::ErrorKind::InvalidData)?;
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok());
    Ok((
        status.ok_or(std::io::ErrorKind::InvalidData)?,
        text.to_owned(),
    ))
}

/// Sends a request, reads no answer and leaves after `stay`.
pub fn visit(address: &str, request: String, stay: Duration) -> JoinHandle<()> {
    let address = address.to_owned();
    spawn(move || {
        let mut stream = TcpStream::connect(address).unwrap();
        // The server may refuse before it has read everything.
        let _ = stream.write_all(request.as_bytes());
        sleep(stay);
    })
}

/// Waits for all of `visits`.
pub fn join(visits: impl IntoIterator<Item = JoinHandle<()>>) {
    let all: Vec<_> = visits.into_iter().collect();
    all.into_iter().for_each(|visit| visit.join().unwrap());
}
