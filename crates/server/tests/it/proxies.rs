//! The server behind nginx and behind Caddy, under a URL prefix.
//!
//! If one is not installed, these tests say so and skip it. `apt-get install nginx-light caddy`
//! installs both.

use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::common::{Running, Shouting, agent};

/// The path of a program with one of these names in `PATH` or in Debian's `sbin` folders.
pub fn program(names: &[&str]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders: Vec<_> = std::env::split_paths(&path)
        .chain(["/usr/sbin".into()])
        .collect();
    let mut all = folders
        .iter()
        .flat_map(|folder| names.iter().map(|name| folder.join(name)));
    all.find(|path| path.is_file())
}

/// A path of a proxy, and the address of the server behind it.
#[derive(Clone, Copy)]
pub enum Location<'a> {
    /// The proxy strips the path and sends it in a header.
    Told(&'a str, &'a str),
    /// The proxy strips the path.
    Stripped(&'a str, &'a str),
    /// The proxy keeps the path.
    Kept(&'a str, &'a str),
}

impl Location<'_> {
    /// The rule in the language of nginx.
    fn nginx(self) -> String {
        match self {
            Self::Told(path, server) => format!(
                "location {path}/ {{ proxy_pass {server}/; proxy_set_header X-Forwarded-Prefix {path}; \
                 proxy_set_header Host $http_host; }}\n"
            ),
            Self::Stripped(path, server) => {
                format!("location {path}/ {{ proxy_pass {server}/; }}\n")
            }
            Self::Kept(path, server) => format!("location {path}/ {{ proxy_pass {server}; }}\n"),
        }
    }

    /// The rule in the language of Caddy.
    fn caddy(self) -> String {
        let (path, handle, told) = match self {
            Self::Told(path, _) => (
                path,
                "handle_path",
                format!("header_up X-Forwarded-Prefix {path}"),
            ),
            Self::Stripped(path, _) => (path, "handle_path", String::new()),
            Self::Kept(path, _) => (path, "handle", String::new()),
        };
        let (Self::Told(_, server) | Self::Stripped(_, server) | Self::Kept(_, server)) = self;
        format!(
            "redir {path} {path}/\n{handle} {path}/* {{\nreverse_proxy {server} {{\n{told}\n}}\n}}\n"
        )
    }
}

/// A running proxy.
pub struct Proxy {
    child: Child,
    pub address: String,
    _folder: tempfile::TempDir,
}

impl Proxy {
    /// Starts nginx with these locations; `None` if it is not installed.
    pub fn nginx(locations: &[Location]) -> Option<Self> {
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
        let temporary = temporary
            .map(|name| format!("{name}_temp_path {name};"))
            .concat();
        let locations: String = locations.iter().map(|location| location.nginx()).collect();
        Self::start(
            "nginx",
            |port| {
                format!(
                "daemon off; master_process off; pid nginx.pid; error_log stderr; events {{}}
                 http {{ access_log off; {temporary} client_max_body_size 4m; proxy_set_header Host $http_host;
                 server {{ listen 127.0.0.1:{port}; {locations} }} }}"
            )
            },
            |command, folder, file| {
                command.arg("-p").arg(folder).arg("-c").arg(file);
            },
        )
    }

    /// Starts Caddy with these locations; `None` if it is not installed.
    pub fn caddy(locations: &[Location]) -> Option<Self> {
        let locations: String = locations.iter().map(|location| location.caddy()).collect();
        Self::start(
            "caddy",
            |port| {
                format!(
                    "{{\nadmin off\nauto_https off\n}}\n:{port} {{\nbind 127.0.0.1\n{locations}}}\n"
                )
            },
            |command, folder, file| {
                command
                    .args(["run", "--adapter", "caddyfile", "--config"])
                    .arg(file);
                command.env("HOME", folder).env("XDG_DATA_HOME", folder);
            },
        )
    }

    fn start(
        name: &str,
        settings: impl Fn(u16) -> String,
        arguments: impl Fn(&mut Command, &Path, &Path),
    ) -> Option<Self> {
        let Some(program) = program(&[name]) else {
            eprintln!("skipped: no {name}");
            return None;
        };
        let folder = tempfile::tempdir().unwrap();
        let port = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let file = folder.path().join("settings");
        std::fs::write(&file, settings(port)).unwrap();
        let mut command = Command::new(program);
        arguments(&mut command, folder.path(), &file);
        let child = command.stderr(Stdio::null()).spawn().unwrap();
        let started = Self {
            child,
            address: format!("http://127.0.0.1:{port}"),
            _folder: folder,
        };
        let tries = (0..200).find(|_| {
            std::thread::sleep(Duration::from_millis(50));
            TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        tries.unwrap_or_else(|| panic!("{name} does not listen"));
        Some(started)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The status and the text of a request to `url`.
fn get(url: &str) -> (u16, String) {
    let mut response = agent().get(url).call().unwrap();
    (
        response.status().as_u16(),
        response.body_mut().read_to_string().unwrap(),
    )
}

fn post(url: &str, kind: &str, body: &str) -> Value {
    let request = agent().post(url).header("content-type", kind);
    request.send(body).unwrap().body_mut().read_json().unwrap()
}

#[test]
fn everything_is_found_under_the_prefix_of_a_proxy() {
    let server = |prefix: &str| {
        Running::start(Arc::new(Shouting::default()), |settings| {
            settings.prefix = prefix.into()
        })
    };
    // The first server learns its path from the proxy, the second from its own setting. The proxy
    // keeps the path for the last one.
    let told = server("");
    let set = server("/set");
    let kept = server("/kept");
    let locations = [
        Location::Told("/told", &told.address),
        Location::Stripped("/set", &set.address),
        Location::Kept("/kept", &kept.address),
    ];
    let proxies = [Proxy::nginx(&locations), Proxy::caddy(&locations)];
    proxies
        .into_iter()
        .flatten()
        .for_each(|proxy| check(&proxy));
}

fn check(proxy: &Proxy) {
    for prefix in ["/told", "/set", "/kept"] {
        let at = |path: &str| format!("{}{prefix}{path}", proxy.address);
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
            assert!(
                status == 200 && text.contains(needle),
                "{prefix}{path}: {status} {text}"
            );
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
