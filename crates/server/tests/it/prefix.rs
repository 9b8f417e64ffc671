//! A server under a URL prefix.

use std::sync::Arc;

use crate::common::{Running, Shouting, agent};
use serde_json::Value;

pub const FILE: &str = "--b\r\ncontent-disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\r\nhallo\r\n\
    --b\r\ncontent-disposition: form-data; name=\"source\"\r\n\r\nde\r\n\
    --b\r\ncontent-disposition: form-data; name=\"target\"\r\n\r\nen\r\n--b--\r\n";

fn server(prefix: &str) -> Running {
    Running::start(Arc::new(Shouting::default()), |settings| {
        settings.prefix = prefix.into()
    })
}

/// The URL of a translated file, as returned by `path` to a client with `headers`.
fn file(server: &Running, path: &str, headers: &[(&str, &str)]) -> String {
    let kind = "multipart/form-data; boundary=b";
    let (status, answer) = server.send(path, kind, headers, FILE.as_bytes());
    assert_eq!(status, 200, "{answer}");
    answer["translatedFileUrl"].as_str().unwrap().to_owned()
}

/// Paths without the prefix simulate a proxy that strips it (`location /mt/ { proxy_pass
/// http://127.0.0.1:5000/; }`).
#[test]
fn addresses_have_the_prefix_of_the_proxy() {
    let server = server("");
    let origin = [
        ("x-forwarded-proto", "https"),
        ("x-forwarded-host", "a.example"),
    ];
    for (told, prefix) in [
        ("/mt", "/mt"),
        ("/mt/", "/mt"),
        ("/a/b-c_d.e~f", "/a/b-c_d.e~f"),
        ("/", ""),
        ("", ""),
        ("mt", ""),
        ("//b.example", ""),
        ("/../a", ""),
        ("/a?b", ""),
        ("/a#b", ""),
        ("/<script>", ""),
        ("/a, /b", ""),
    ] {
        let headers = [origin[0], origin[1], ("x-forwarded-prefix", told)];
        let url = file(&server, "/translate_file", &headers);
        let rest = url.strip_prefix(&format!("https://a.example{prefix}/download_file/"));
        let name = rest.unwrap_or_else(|| panic!("{told}: {url}"));
        assert_eq!(
            server.get(&format!("/download_file/{name}")),
            (200, "HALLO".into())
        );
        let request = agent().get(format!("{}/openapi.json", server.address));
        let mut response = request.header("x-forwarded-prefix", told).call().unwrap();
        let document: Value = response.body_mut().read_json().unwrap();
        match prefix {
            "" => assert!(document["servers"].is_null(), "{told}"),
            prefix => assert_eq!(document["servers"][0]["url"], prefix),
        }
    }
}

/// Paths with the prefix simulate a proxy that keeps it (`proxy_pass http://127.0.0.1:5000;`).
#[test]
fn a_server_with_a_prefix_accepts_paths_with_and_without_it() {
    for told in ["/mt", "/mt/", "/a/b"] {
        let server = server(told);
        let prefix = told.trim_end_matches('/');
        let pages = [
            "/",
            "/page.js",
            "/docs",
            "/languages",
            "/health",
            "/languages?a=b",
            "/spec",
        ];
        for path in pages {
            assert_eq!(server.get(path).0, 200, "{path}");
            assert_eq!(
                server.get(&format!("{prefix}{path}")),
                server.get(path),
                "{path}"
            );
        }
        assert_eq!(
            server.get(prefix),
            server.get("/"),
            "redirected to the page"
        );
        assert_eq!(server.get(&format!("{prefix}x/languages")).0, 404);
        for path in ["/translate_file".into(), format!("{prefix}/translate_file")] {
            let url = file(&server, &path, &[]);
            let path = url.strip_prefix(&*server.address).unwrap();
            assert!(
                path.starts_with(&format!("{prefix}/download_file/")),
                "{url}"
            );
            assert_eq!(server.get(path), (200, "HALLO".into()));
        }
        let (_, metrics) = server.get("/metrics");
        assert!(
            metrics.contains(r#"path="/languages",status="200""#),
            "{metrics}"
        );
        let other = file(
            &server,
            "/translate_file",
            &[("x-forwarded-prefix", "/other")],
        );
        assert!(other.contains("/other/download_file/"), "{other}");
    }
    let settings = |prefix: &str| {
        let settings = crate::common::settings(Arc::new(Shouting::default()));
        burnformer_server::ServerSettings {
            prefix: prefix.into(),
            ..settings
        }
    };
    for wrong in ["mt", "//a", "/a b", "/../a", "/ä", "https://a.example/mt"] {
        let error = burnformer_server::Server::new(settings(wrong))
            .err()
            .unwrap();
        assert!(error.to_string().contains("not a URL prefix"), "{error}");
    }
}

#[test]
fn the_page_asks_for_nothing_above_its_folder() {
    let server = server("");
    for path in ["/", "/docs", "/page.js", "/docs.js", "/attention.js"] {
        let (_, text) = server.get(path);
        for quote in ['"', '\'', '`'] {
            for call in ["fetch(", "href=", "src=", "action=", "ask("] {
                let absolute = format!("{call}{quote}/");
                assert!(!text.contains(&absolute), "{path}: {absolute}");
            }
        }
    }
}
