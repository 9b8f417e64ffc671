use std::fs;
use std::process::Command;

use crate::shell::workspace;

/// The program computes what it draws and checks itself: paths by search, sums in two ways.
#[test]
fn pictures_of_the_paper_match_their_program() {
    let images = workspace().join("docs/images");
    let folder = std::env::temp_dir().join(format!("burnformer-pictures-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let python = if cfg!(windows) { "python" } else { "python3" };
    let output = Command::new(python)
        .arg(images.join("draw.py"))
        .arg(&folder)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let drawn: Vec<_> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert_eq!(drawn.len(), 6);
    for path in drawn {
        let kept = images.join(path.file_name().unwrap());
        let [new, old] = [&path, &kept].map(|path| fs::read_to_string(path).unwrap());
        assert!(
            new.lines().eq(old.lines()),
            "python3 docs/images/draw.py: {}",
            kept.display()
        );
    }
    fs::remove_dir_all(folder).unwrap();
}
