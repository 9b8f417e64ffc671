//! A local server that speaks as much of the hub's protocol, and of Firefox's list, as the client
//! uses.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// The behaviour of the server at one address.
#[derive(Clone, Default)]
pub struct Page {
    pub body: Vec<u8>,
    /// Instead of 200.
    pub status: Option<u16>,
    /// The address of a redirect.
    pub location: Option<String>,
    /// Without this token, the answer is 401.
    pub token: Option<&'static str>,
    /// The connection is cut after so many bytes of each answer.
    pub cut: Option<usize>,
    /// If true, the server answers requests for a part of a file.
    pub ranges: bool,
}

impl Page {
    pub fn of(body: impl Into<Vec<u8>>) -> Self {
        Self {
            body: body.into(),
            ranges: true,
            ..Self::default()
        }
    }
}

/// A request: its address, its range and whether it had a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub path: String,
    pub range: Option<String>,
    pub had_token: bool,
}

#[derive(Clone)]
pub struct Server {
    pub address: String,
    pub pages: Arc<Mutex<HashMap<String, Page>>>,
    pub asked: Arc<Mutex<Vec<Request>>>,
}

impl Server {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let server = Self {
            address,
            pages: Arc::default(),
            asked: Arc::default(),
        };
        let handler = server.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let handler = handler.clone();
                thread::spawn(move || handler.answer(stream.unwrap()));
            }
        });
        server
    }

    pub fn put(&self, path: impl Into<String>, page: Page) {
        self.pages.lock().unwrap().insert(path.into(), page);
    }

    /// The requests of addresses that end with `end`.
    pub fn asked(&self, end: &str) -> Vec<Request> {
        let asked = self.asked.lock().unwrap();
        asked
            .iter()
            .filter(|asked| asked.path.ends_with(end))
            .cloned()
            .collect()
    }

    /// Answers one request and closes the connection.
    fn answer(&self, mut stream: TcpStream) {
        let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
        let Some(Ok(first)) = lines.next() else {
            return;
        };
        let path = first.split(' ').nth(1).unwrap().to_owned();
        let headers: HashMap<String, String> = lines
            .map_while(Result::ok)
            .take_while(|line| !line.is_empty())
            .filter_map(|line| {
                line.split_once(": ")
                    .map(|(a, b)| (a.to_lowercase(), b.to_owned()))
            })
            .collect();
        let range = headers.get("range").cloned();
        let token = headers.get("authorization");
        let asked = Request {
            path: path.clone(),
            range: range.clone(),
            had_token: token.is_some(),
        };
        self.asked.lock().unwrap().push(asked);
        let page = self.pages.lock().unwrap().get(&path).cloned();
        let page = page.unwrap_or(Page {
            status: Some(404),
            ..Page::default()
        });
        let is_denied = page
            .token
            .is_some_and(|wanted| token != Some(&format!("Bearer {wanted}")));
        let from = range.filter(|_| page.ranges).map(|range| {
            let from = range
                .strip_prefix("bytes=")
                .unwrap()
                .strip_suffix('-')
                .unwrap();
            from.parse::<usize>().unwrap()
        });
        let (status, body) = match (is_denied, page.status, from) {
            (true, ..) => (401, &[][..]),
            (_, Some(status), _) => (status, &[][..]),
            (_, _, Some(from)) if from >= page.body.len() => (416, &[][..]),
            (_, _, Some(from)) => (206, &page.body[from..]),
            _ => (200, &page.body[..]),
        };
        let mut head = format!(
            "HTTP/1.1 {status} x\r\nConnection: close\r\nContent-Length: {}\r\n",
            body.len()
        );
        if let Some(location) = &page.location {
            head += &format!("Location: {location}\r\n");
        }
        if status == 206 {
            let from = from.unwrap();
            let size = page.body.len();
            head += &format!("Content-Range: bytes {from}-{}/{size}\r\n", size - 1);
        }
        let sent = page.cut.unwrap_or(body.len()).min(body.len());
        let _ = stream.write_all(format!("{head}\r\n").as_bytes());
        let _ = stream.write_all(&body[..sent]);
    }
}
