//! The server behind nginx, under a path.
//!
//! Where no nginx is installed these tests say so and pass; `apt-get install nginx-light` runs
//! them.

use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::common::{Running, Shouting, agent};

/// The program of one of these names in `PATH` or where Debian has those of the system.
pub fn program(names: &[&str]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders: Vec<_> = std::env::split_paths(&path).chain(["/usr/sbin".into()]).collect();
    let mut all = folders.iter().flat_map(|folder| names.iter().map(|name| folder.join(name)));
    all.find(|path| path.is_file())
}

/// A running nginx.
pub struct Nginx {
    child: Child,
    pub address: String,
    _folder: tempfile::TempDir,
}

impl Nginx {
    /// A proxy with these locations; `None` where nginx is not installed.
    pub fn start(locations: &str) -> Option<Self> {
        let Some(nginx) = program(&["nginx"]) else {
            eprintln!("skipped: no nginx");
            return None;
        };
        let folder = tempfile::tempdir().unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
        let temporary = temporary.map(|name| format!("{name}_temp_path {name};")).concat();
        let settings = format!(
            "daemon off; master_process off; pid nginx.pid; error_log stderr; events {{}}
             http {{ access_log off; {temporary} client_max_body_size 4m; proxy_set_header Host $http_host;
             server {{ listen 127.0.0.1:{port}; {locations} }} }}"
        );
        let file = folder.path().join("nginx.conf");
        std::fs::write(&file, settings).unwrap();
        let mut command = Command::new(nginx);
        command.arg("-p").arg(folder.path()).arg("-c").arg(file);
        let child = command.stderr(Stdio::null()).spawn().unwrap();
        let started = Self { child, address: format!("http://127.0.0.1:{port}"), _folder: folder };
        let tries = (0..200).find(|_| {
            std::thread::sleep(Duration::from_millis(50));
            TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        tries.expect("nginx listens");
        Some(started)
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The status and the text of a request to `url`.
fn get(url: &str) -> (u16, String) {
    let mut response = agent().get(url).call().unwrap();
    (response.status().as_u16(), response.body_mut().read_to_string().unwrap())
}

fn post(url: &str, kind: &str, body: &str) -> Value {
    let request = agent().post(url).header("content-type", kind);
    request.send(body).unwrap().body_mut().read_json().unwrap()
}

#[test]
fn under_a_path_of_nginx_everything_is_found() {
    let server = |prefix: &str| {
        Running::start(Arc::new(Shouting::default()), |settings| settings.prefix = prefix.into())
    };
    // One is told its path by nginx, one by its own setting, and from one nginx takes it not away.
    let (told, set, kept) = (server(""), server("/set"), server("/kept"));
    let locations = format!(
        "location /told/ {{ proxy_pass {}/; proxy_set_header X-Forwarded-Prefix /told; proxy_set_header Host $http_host; }}
         location /set/ {{ proxy_pass {}/; }}
         location /kept/ {{ proxy_pass {}; }}",
        told.address, set.address, kept.address
    );
    let Some(nginx) = Nginx::start(&locations) else { return };
    for prefix in ["/told", "/set", "/kept"] {
        let at = |path: &str| format!("{}{prefix}{path}", nginx.address);
        for (path, needle) in [
            ("", "<textarea"),
            ("/", "<textarea"),
            ("/page.js", "use strict"),
            ("/docs", "docs.js"),
            ("/attention.js", "map-title"),
            ("/languages", "German"),
            ("/health", "ok"),
        ] {
            let (status, text) = get(&at(path));
            assert!(status == 200 && text.contains(needle), "{prefix}{path}: {status} {text}");
        }
        let document: Value = serde_json::from_str(&get(&at("/openapi.json")).1).unwrap();
        assert_eq!(document["servers"][0]["url"], prefix);
        let body = r#"{"q": "hallo", "source": "de", "target": "en"}"#;
        let answer = post(&at("/translate"), "application/json", body);
        assert_eq!(answer["translatedText"], "HALLO", "{prefix}");
        let kind = "multipart/form-data; boundary=b";
        let answer = post(&at("/translate_file"), kind, crate::prefix::FILE);
        let url = answer["translatedFileUrl"].as_str().expect("an address");
        assert!(url.starts_with(&at("/download_file/")), "{url}");
        assert_eq!(get(url), (200, "HALLO".into()));
    }
}
