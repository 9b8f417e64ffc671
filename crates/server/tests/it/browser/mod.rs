//! Clicks through the page in headless Chromium, as wide as a phone, a tablet and a screen.
//!
//! If Chromium is not installed, these tests say so and pass. `apt-get install chromium` installs
//! it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use crate::common::{Running, Shouting};
use crate::proxies::{Location, Proxy, program};

const STEPS: &str = include_str!("steps.js");
const FRAME: &str = "<!doctype html><meta charset=utf-8><body><script src=\"/steps.js\"></script>";

/// Answers one request: the steps, their page and their log here, everything else by `server`.
/// Removes the headers that forbid frames.
fn forward(mut stream: TcpStream, server: &str, told: &Sender<String>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut head = String::new();
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let lower = line.to_lowercase();
        if let Some(value) = lower.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line.trim().is_empty() {
            break;
        } else if !lower.starts_with("connection:") {
            head += &line;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let respond_with = |kind: &str, text: &str| {
        format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\nconnection: close\r\n\r\n{text}")
    };
    let path = head.split(' ').nth(1).unwrap_or_default();
    let answer = match path {
        path if path.starts_with("/frame") => respond_with("text/html", FRAME),
        "/steps.js" => respond_with("text/javascript", STEPS),
        "/log" => {
            let _ = told.send(String::from_utf8(body).unwrap());
            respond_with("text/plain", "")
        }
        _ => {
            let mut server = TcpStream::connect(server)?;
            write!(server, "{head}connection: close\r\n\r\n")?;
            server.write_all(&body)?;
            let mut answer = String::new();
            server.read_to_string(&mut answer)?;
            // Proxies change the case of header names.
            let is_frame = |line: &&str| line.to_lowercase().starts_with("x-frame-options");
            let answer: String = answer
                .split_inclusive('\n')
                .filter(|it| !is_frame(it))
                .collect();
            answer.replace("frame-ancestors 'none'", "")
        }
    };
    stream.write_all(answer.as_bytes())
}

/// Runs the steps on the page of the server at this address and returns their log. `choice` has the
/// path behind `?` and the steps behind `#`. `None` if there is no browser.
fn told(server: &str, choice: &str) -> Option<Vec<String>> {
    let Some(browser) = program(&["chromium", "chromium-browser", "google-chrome"]) else {
        eprintln!("skipped: no Chromium in PATH");
        return None;
    };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (send, told) = channel();
    let server = server.trim_start_matches("http://").to_owned();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let server = server.clone();
            let send = send.clone();
            std::thread::spawn(move || drop(forward(stream, &server, &send)));
        }
    });
    let folder = tempfile::tempdir().unwrap();
    let mut child = Command::new(browser)
        .args([
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
        ])
        .args([
            "--disable-background-networking",
            "--disable-sync",
            "--remote-debugging-port=0",
        ])
        .arg(format!("--user-data-dir={}", folder.path().display()))
        .arg(format!("http://{address}/frame{choice}"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let text = told.recv_timeout(Duration::from_secs(180));
    child.kill().unwrap();
    child.wait().unwrap();
    Some(
        text.expect("the steps come to their end")
            .lines()
            .map(str::to_owned)
            .collect(),
    )
}

const ABOUT: &str = "They know little.";

#[test]
fn the_page_works_on_every_screen_size() {
    let server = Running::start(Arc::new(Shouting::default()), |settings| {
        settings.about = ABOUT.into();
    });
    let Some(told) = told(&server.address, "") else {
        return;
    };
    assert_eq!(told, [390, 768, 1440].map(expected).concat());
}

/// The expected log of the steps.
fn expected(width: u32) -> [String; 18] {
    [
        format!("width {width}"),
        "translated: GUTEN TAG. WIE GEHT ES?//ICH WOHNE HIER.".into(),
        "panel: ICH WOHNE HIER. / ICH WOHNE HIER.! | ICH WOHNE HIER.!! | ICH WOHNE HIER.!!!".into(),
        "chosen: ICH WOHNE HIER.! / ICH WOHNE HIER.! / ICH WOHNE HIER.!".into(),
        "offered: ICH WOHNE HIER. (the first translation) | ICH WOHNE HIER.!! | ICH WOHNE HIER.!!!"
            .into(),
        "back: ICH WOHNE HIER. / ICH WOHNE HIER. / ICH WOHNE HIER.".into(),
        "from a word on: ICHICH WOHNE HIER.! as in the panel".into(),
        "a long sentence begins behind the one before it".into(),
        "attention: Cross-attention, layer 1, mean of heads fits".into(),
        "map: fits".into(),
        "lines: fits".into(),
        "file: <p>DER <b>ALTE</b> MANN.</p>".into(),
        "without a label: ".into(),
        "light too faint: ".into(),
        "dark too faint: ".into(),
        format!("about: {ABOUT}"),
        "page: fits".into(),
        "docs: fits".into(),
    ]
}

#[test]
fn the_page_works_under_the_prefix_of_a_proxy() {
    let server = Running::start(Arc::new(Shouting::default()), |settings| {
        settings.about = ABOUT.into();
    });
    let locations = [Location::Stripped("/mt", &server.address)];
    let proxies = [Proxy::nginx(&locations), Proxy::caddy(&locations)];
    for proxy in proxies.into_iter().flatten() {
        let Some(told) = told(&proxy.address, "?/mt") else {
            return;
        };
        assert_eq!(told, expected(800));
    }
}

#[test]
fn the_page_asks_for_a_key_in_plain_words() {
    let server = Running::start(Arc::new(Shouting::default()), |settings| {
        settings.keys = vec!["secret".into()];
    });
    let Some(told) = told(&server.address, "#keys") else {
        return;
    };
    let [note, none, wrong, right] = &told[..] else {
        panic!("{told:?}")
    };
    assert!(note.contains("needs an access key"), "{note}");
    assert!(none.contains("asks for an access key"), "{none}");
    assert!(wrong.contains("does not know your access key"), "{wrong}");
    assert_eq!(right, "secret: ");
    assert!(
        told.iter()
            .all(|line| !line.contains("api_key") && !line.contains("Bearer"))
    );
}
