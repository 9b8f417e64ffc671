//! Another process takes over the socket of a server under load.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::Duration;

use serde_json::json;

use crate::ONE_AT_A_TIME;
use crate::client::{SECOND, honest};
use crate::server::{Server, Surroundings};

/// The longest wait for an answer.
const LONGEST: Duration = Duration::from_secs(60);

#[test]
fn another_process_takes_over_and_no_answer_is_lost() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let surroundings = Surroundings {
        files: 1024,
        socket: Some(&socket),
        is_disk_full: false,
    };
    let first = Server::start_in(surroundings, "--cache 0");
    assert_eq!(first.address, socket.local_addr().unwrap().to_string());
    let done = Arc::new(AtomicBool::new(false));
    let clients: Vec<_> = (0..6)
        .map(|number| client(&first.address, number, &done))
        .collect();
    sleep(SECOND / 2);
    let second = Server::start_in(surroundings, "--cache 0");
    first.end();
    sleep(SECOND / 2);
    // Nobody accepts connections for a while.
    second.end();
    sleep(SECOND / 2);
    let third = Server::start_in(surroundings, "--cache 0");
    sleep(SECOND / 2);
    done.store(true, Ordering::SeqCst);
    let clients = clients.into_iter();
    let answers: Vec<usize> = clients.map(|client| client.join().unwrap()).collect();
    println!("answers of each client: {answers:?}");
    third.end();
}

/// A client that asks until all is `done`, on one connection if its number is odd. Returns the
/// number of answers, of which each must be right.
fn client(address: &str, number: usize, done: &Arc<AtomicBool>) -> JoinHandle<usize> {
    let (address, done) = (address.to_owned(), done.clone());
    let body = json!({"q": "Guten Morgen!", "source": "de", "target": "en"});
    let mut request = honest().json("/translate", &body);
    if number % 2 == 1 {
        request = request.replace("connection: close\r\n", "");
    }
    spawn(move || {
        let mut connection = None;
        let mut answers = 0;
        while !done.load(Ordering::SeqCst) {
            let mut stream = connection.take().unwrap_or_else(|| connect(&address));
            let (text, stays) = ask(&mut stream, &request)
                .unwrap_or_else(|error| panic!("client {number} lost an answer: {error}"));
            assert!(text.contains("Good morning!"), "{text}");
            connection = stays.then_some(stream);
            answers += 1;
            sleep(Duration::from_millis(20));
        }
        answers
    })
}

fn connect(address: &str) -> BufReader<TcpStream> {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(LONGEST)).unwrap();
    BufReader::new(stream)
}

/// The body of the answer, and whether the connection stays open.
fn ask(stream: &mut BufReader<TcpStream>, request: &str) -> std::io::Result<(String, bool)> {
    stream.get_mut().write_all(request.as_bytes())?;
    let mut length = None;
    let mut stays = true;
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line)? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        let line = line.trim().to_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("content-length: ") {
            length = value.parse().ok();
        }
        stays &= line != "connection: close";
    }
    let length: usize = length.ok_or(std::io::ErrorKind::InvalidData)?;
    let mut body = vec![0; length];
    stream.read_exact(&mut body)?;
    Ok((String::from_utf8_lossy(&body).into_owned(), stays))
}
