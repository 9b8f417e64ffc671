//! What the sources of a package show without being read: whether a build script changed, and
//! whether code names sockets.
//!
//! It helps a reader and stops nobody who hides: code can also build a name from parts, or call the
//! system in assembly.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

/// Names without which Rust code opens no connection: the sockets of the standard library and, for
/// calls of the system, the functions that create one and the addresses that they need.
const SOCKETS: [&str; 10] = [
    "TcpStream",
    "TcpListener",
    "UdpSocket",
    "ToSocketAddrs",
    "getaddrinfo",
    "sockaddr_in",
    "sockaddr_in6",
    "SYS_socket",
    "__NR_socket",
    "WSASocketW",
];

/// Folders of a package that no build of another package compiles.
const OWN_TARGETS: [&str; 3] = ["tests", "benches", "examples"];

/// The first half of the SHA-256 of a build script, of the Rust files in its folder, and of those
/// that it names in quotation marks (`include!`, `#[path]`).
pub fn fingerprint(script: &Path) -> String {
    let folder = script.parent().unwrap_or(Path::new(""));
    let text = fs::read_to_string(script).unwrap_or_default();
    let named = text.split('"').filter(|part| part.ends_with(".rs"));
    let mut files: BTreeSet<PathBuf> = named.map(|name| folder.join(name)).collect();
    files.extend(entries(folder).into_iter().filter(|path| is_rust(path)));
    let mut hash = Sha256::new();
    for file in files {
        hash.update(fs::read(file).unwrap_or_default());
    }
    let bytes = hash.finalize();
    bytes
        .iter()
        .take(16)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

fn is_rust(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "rs")
}

/// The first file of the package in `folder` that names sockets.
pub fn names_sockets(folder: &Path) -> Option<PathBuf> {
    let mut entries = entries(folder);
    entries.retain(|path| !OWN_TARGETS.iter().any(|name| path.ends_with(name)));
    entries.into_iter().find_map(|path| socket_file(&path))
}

fn socket_file(path: &Path) -> Option<PathBuf> {
    if path.is_dir() {
        return entries(path)
            .into_iter()
            .find_map(|path| socket_file(&path));
    }
    let text = is_rust(path).then(|| fs::read(path).ok()).flatten()?;
    has_socket(&String::from_utf8_lossy(&text)).then(|| path.to_owned())
}

/// The files and folders in `folder`, in order.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// Returns whether Rust code outside of comments has one of [`SOCKETS`] as a whole name.
fn has_socket(code: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    // Most files are not divided into names.
    if !SOCKETS.iter().any(|name| code.contains(name)) {
        return false;
    }
    let lines = code.lines().filter_map(|line| line.split("//").next());
    let mut names = lines.flat_map(|line| line.split(|c| !is_part(c)));
    names.any(|name| SOCKETS.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_are_named_by_code_and_not_by_comments_or_parts_of_names() {
        assert!(has_socket("use std::net::TcpStream;"));
        assert!(has_socket("let fd = syscall(libc::SYS_socket, 2, 1, 0);"));
        assert!(!has_socket("/// Like a TcpStream.\nfn f() {} // TcpStream"));
        assert!(!has_socket("struct MyTcpStreams; fn sockaddr_in_use() {}"));
    }

    #[test]
    fn a_script_is_read_again_once_it_or_a_file_of_it_changes() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::create_dir(path("src")).unwrap();
        fs::write(path("build.rs"), "include!(\"src/part.rs\"); fn main() {}").unwrap();
        fs::write(path("src/part.rs"), "// one").unwrap();
        let print = || fingerprint(&path("build.rs"));
        let first = print();
        assert_eq!(first.len(), 32);
        fs::write(path("src/other.rs"), "").unwrap();
        assert_eq!(print(), first);
        fs::write(path("src/part.rs"), "// two").unwrap();
        let second = print();
        assert_ne!(second, first);
        fs::write(path("module.rs"), "").unwrap();
        fs::write(path("module.rs"), "mod a;").unwrap();
        assert_ne!(print(), second);
    }
}
