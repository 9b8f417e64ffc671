//! The umask decides who may read written files. It belongs to the whole process, hence the
//! separate processes.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use burnformer_files::{Readers, Temporary, write};

/// Names the folder where the child process writes.
const FOLDER: &str = "BURNFORMER_UMASK_FOLDER";

#[test]
fn the_umask_decides_who_may_read() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        return make_files(Path::new(&folder));
    }
    for (umask, expected) in [
        ("077", 0o600),
        ("027", 0o640),
        ("022", 0o644),
        ("002", 0o664),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let line = format!("umask {umask}; exec \"$0\" --exact the_umask_decides_who_may_read");
        let mut child = Command::new("sh");
        child
            .arg("-c")
            .arg(line)
            .arg(std::env::current_exe().unwrap());
        assert!(
            child
                .env(FOLDER, folder.path())
                .output()
                .unwrap()
                .status
                .success()
        );
        for (name, expected) in [
            ("written", expected),
            ("published", expected),
            ("own", 0o600),
        ] {
            let mode = fs::metadata(folder.path().join(name))
                .unwrap()
                .permissions()
                .mode();
            assert_eq!(mode & 0o777, expected, "{name} under umask {umask}");
        }
    }
}

fn make_files(folder: &Path) {
    write(&folder.join("written"), b"text").unwrap();
    for (name, readers) in [("published", Readers::Umask), ("own", Readers::Owner)] {
        Temporary::new(folder, readers)
            .unwrap()
            .publish(&folder.join(name))
            .unwrap();
    }
}
