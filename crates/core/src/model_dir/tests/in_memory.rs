//! Model directories in memory.

use super::*;

/// Returns the folder as files in memory, under the folder's name.
fn in_memory(folder: &Path) -> ModelFiles {
    let entries = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let file = |path: PathBuf| {
        (
            path.file_name().unwrap().to_str().unwrap().to_owned(),
            fs::read(&path).unwrap(),
        )
    };
    let contents = entries.map(file).collect();
    ModelFiles {
        name: folder.into(),
        contents,
        ..ModelFiles::default()
    }
}

#[test]
fn a_known_hash_must_match_the_manifest() {
    let folder = Folder::with_model();
    for name in [CONFIG, WEIGHTS] {
        let mut files = in_memory(folder.path());
        let hash = format!("{:x}", Sha256::digest(&files.contents[name]));
        files.hashes.insert(name.into(), hash.clone());
        assert_eq!(loaded(&files), loaded(folder.path()));
        files
            .hashes
            .insert(name.into(), hash.replace(&hash[..1], "x"));
        assert!(loaded(&files).unwrap_err().contains("hash"), "{name}");
    }
}

/// Returns the parameters, or the message of the error.
fn loaded<'a>(source: impl Into<Source<'a>>) -> Result<StateDict, String> {
    let (_, model) = load(source, &Device::default()).map_err(|error| error.to_string())?;
    Ok(named_parameters(&model))
}

#[test]
fn files_in_memory_load_and_fail_like_a_folder() {
    let damages: [Damage; 6] = [
        |_| {},
        Vec::clear,
        |bytes| bytes.truncate(bytes.len() / 2),
        |bytes| bytes.push(0),
        |bytes| bytes[0] ^= 1,
        |bytes| *bytes.last_mut().unwrap() ^= 1,
    ];
    for name in [CONFIG, WEIGHTS, "manifest.json"] {
        for (index, damage) in damages.iter().enumerate() {
            let folder = Folder::with_model();
            let mut bytes = fs::read(folder.file(name)).unwrap();
            damage(&mut bytes);
            fs::write(folder.file(name), bytes).unwrap();
            let files = in_memory(folder.path());
            let found = loaded(&files);
            assert_eq!(found, loaded(folder.path()), "{name} {index}");
            assert_eq!(found.is_ok(), index == 0, "{name} {index}");
        }
        let folder = Folder::with_model();
        let mut files = in_memory(folder.path());
        files.contents.remove(name);
        fs::remove_file(folder.file(name)).unwrap();
        assert_eq!(
            loaded(&files).unwrap_err(),
            loaded(folder.path()).unwrap_err(),
            "{name}"
        );
    }
}
