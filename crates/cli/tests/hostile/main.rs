//! Hostile clients of the program's server. Whatever they do, no other client waits for more than
//! five seconds, `/health` and `/ready` answer within one second, the server takes less than a
//! gigabyte of memory, and it ends within fifteen seconds of the signal.
#![cfg(all(target_os = "linux", feature = "serve"))]

mod client;
mod connections;
mod documents;
mod searches;
mod server;
mod siege;
mod takeover;
mod witness;

use std::io::Write;
use std::net::TcpStream;
use std::sync::{Mutex, PoisonError};
use std::thread::{sleep, spawn};
use std::time::Instant;

use client::{SECOND, hostile, visit};
use searches::long_sentences;
use serde_json::json;
use server::Server;
use witness::during;

/// Some tests measure how long others wait, so they run one after another.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

#[test]
fn slow_clients_do_not_block_others() {
    let alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let server = Server::start(1024, "");
    during(&server, "searches", || searches::attack(&server));
    searches::check_left(&server);
    searches::check_bad_terms(&server);
    during(&server, "documents", || documents::attack(&server));
    server.check_memory();
    drop(alone);

    let long = |seed| hostile().json("/v1/sentences", &long_sentences(seed, 190));
    let clients = [3, 4].map(|seed| visit(&server.address, long(seed), 20 * SECOND));
    let mut half = TcpStream::connect(&server.address).unwrap();
    half.write_all(b"GET /health HT").unwrap();
    sleep(SECOND);
    server.end();
    drop(clients);
}

#[test]
fn clients_that_stop_midway_do_not_block_others() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let server = Server::start(64, "");
    connections::check_halves(&server);
    connections::check_whole(&server);
    connections::check_upload(&server);
    server.check_memory();
    server.end();
}

#[test]
fn a_long_request_does_not_keep_other_models_out() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let server = Server::start(1024, "--lazy --max-memory 1");
    let address = server.address.clone();
    let body = long_sentences(7, 12);
    let long = spawn(move || {
        hostile()
            .post(&address, "/v1/sentences", &body, 100 * SECOND)
            .expect("an answer")
    });
    sleep(SECOND);
    let begun = Instant::now();
    let body = json!({"q": "house", "source": "en", "target": "de"});
    let (status, text) = server.post("/translate", &body);
    println!("another model: {:.2?}", begun.elapsed());
    assert!(status == 200, "{status} {text}");
    let (status, text) = long.join().unwrap();
    assert_eq!(status, 200, "{text}");
}
