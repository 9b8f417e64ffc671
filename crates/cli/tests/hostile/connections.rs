//! Connections that are kept open.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::client::{PATIENCE, SECOND, honest, hostile, join, visit};
use crate::searches::long_sentences;
use crate::server::Server;
use crate::witness::{HEALTH, during};

/// Half-sent requests, and many requests of one connection.
pub fn halves() -> [String; 4] {
    let whole = hostile().json("/v1/sentences", &long_sentences(5, 190));
    let page = hostile()
        .bytes("GET", "/docs.js", "", "")
        .replace("close", "keep-alive");
    [
        "GET /hea".into(),
        "GET /health HTTP/1.1\r\nhost: a\r\n".into(),
        whole[..whole.len() / 2].into(),
        page.repeat(500),
    ]
}

/// Half-sent requests, and unread answers.
pub fn check_halves(server: &Server) {
    let halves = halves();
    let mut open = Vec::new();
    during(server, "half requests", || {
        for number in 0..70 {
            let mut stream = TcpStream::connect(&server.address).unwrap();
            // Writing fails if the server closed the connection or does not read it.
            stream
                .set_write_timeout(Some(Duration::from_millis(20)))
                .unwrap();
            let _ = stream.write_all(halves[number % halves.len()].as_bytes());
            open.push(stream);
        }
        sleep(2 * SECOND);
    });
    assert!(server.has_logged("too many connections"));
}

/// A client at its limit of complete requests is told to retry. The state is still reported, and
/// other clients are answered.
pub fn check_whole(server: &Server) {
    let long = hostile().json("/v1/sentences", &long_sentences(6, 20));
    let clients: Vec<_> = (0..50)
        .map(|_| visit(&server.address, long.clone(), 4 * SECOND))
        .collect();
    sleep(SECOND);
    let body = json!({"q": "Das Haus", "source": "de", "target": "en"});
    for _ in 0..5 {
        let begun = Instant::now();
        let health = honest()
            .get(&server.address, "/health", PATIENCE)
            .expect("an answer")
            .0;
        assert!(
            health == 200 && begun.elapsed() < HEALTH,
            "{health} in {:?}",
            begun.elapsed()
        );
        let ask = |client: crate::client::Client| {
            client
                .post(&server.address, "/translate", &body, PATIENCE)
                .expect("an answer")
                .0
        };
        assert_eq!([ask(hostile()), ask(honest())], [503, 200]);
    }
    assert!(server.has_logged("too many requests"));
    join(clients);
    sleep(SECOND);
    let (status, text) = hostile()
        .post(&server.address, "/translate", &body, PATIENCE)
        .unwrap();
    assert_eq!(status, 200, "{text}");
}

/// A slow upload arrives during a flood of connections.
pub fn check_upload(server: &Server) {
    let body = json!({"q": "Das Haus. ".repeat(1_000)});
    let whole = honest().json("/detect", &body);
    let mut stream = TcpStream::connect(&server.address).unwrap();
    let mut flood = Vec::new();
    for part in whole.as_bytes().chunks(whole.len().div_ceil(20)) {
        stream.write_all(part).expect("the upload goes on");
        for _ in 0..40 {
            flood.extend(TcpStream::connect(&server.address));
        }
        sleep(SECOND / 5);
    }
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}
