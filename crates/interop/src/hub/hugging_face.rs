//! Models of the Hugging Face hub, in its cache: `models--OWNER--NAME` with `blobs` by hash,
//! `snapshots` by commit with links to blobs, and `refs` with the commits of branches.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use burnformer_files::{FileKind, read_whole};
use serde::Deserialize;

use super::client::{Client, Hash, Remote};
use super::name::is_plain;
use super::{Download, HubError, Result, Settings, Watch};

/// The hub's answer about a revision.
#[derive(Deserialize)]
struct Info {
    sha: String,
    #[serde(default)]
    siblings: Vec<Sibling>,
    #[serde(default)]
    tags: Vec<String>,
}

/// A file of a revision.
#[derive(Deserialize)]
struct Sibling {
    #[serde(rename = "rfilename")]
    name: String,
    size: Option<u64>,
    #[serde(rename = "blobId")]
    blob: Option<String>,
    lfs: Option<Lfs>,
}

/// A large file.
#[derive(Deserialize)]
struct Lfs {
    sha256: String,
    size: u64,
}

/// The folder of all revisions of the model `name`.
pub fn folder(name: &str, settings: &Settings) -> PathBuf {
    settings
        .cache
        .join(format!("models--{}", name.replace('/', "--")))
}

/// Fetches the files of the model `name` at `revision`, or returns cached files if the server is
/// unreachable.
///
/// # Errors
/// Returns an error if there is no such model, access is denied, or a file can neither be fetched
/// nor found in the cache.
pub fn fetch(
    name: &str,
    revision: &str,
    settings: &Settings,
    watch: &mut Watch,
) -> Result<Download> {
    let folder = folder(name, settings);
    if settings.offline {
        let cache = settings.cache.clone();
        let name = format!("{name}@{revision}");
        return cached(&folder, revision).ok_or(HubError::Offline { name, cache });
    }
    let client = Client::new(settings)?;
    let token = settings.token.as_deref();
    let endpoint = &settings.endpoint;
    let escaped_revision = revision.replace('/', "%2F");
    let url = format!("{endpoint}/api/models/{name}/revision/{escaped_revision}?blobs=true");
    let info: Info = match client.json(&url, token) {
        Err(error @ HubError::Unreachable { .. }) => return cached(&folder, revision).ok_or(error),
        info => info?,
    };
    if !is_hash(&info.sha, 40) {
        return Err(HubError::answer(&url, "its `sha` is no commit"));
    }
    let snapshot = folder.join("snapshots").join(&info.sha);
    for file in wanted(name, &info.siblings)? {
        let link = snapshot.join(&file.name);
        if link.exists() {
            continue;
        }
        let (size, hash) = content(file).ok_or_else(|| {
            HubError::answer(&url, format_args!("{} has no size or no hash", file.name))
        })?;
        let path = folder.join("blobs").join(hash.text());
        let url = format!("{endpoint}/{name}/resolve/{}/{}", info.sha, file.name);
        let remote = Remote {
            url,
            token,
            name: &file.name,
            size,
            hash,
            path: &path,
        };
        client.download(&remote, watch)?;
        fs::create_dir_all(&snapshot)
            .and_then(|()| link_to(&path, &link))
            .map_err(|cause| HubError::io(&link, cause))?;
    }
    if revision != info.sha {
        let path = folder.join("refs").join(revision);
        if commit_in(&path).is_none_or(|commit| commit != info.sha) {
            fs::create_dir_all(burnformer_files::folder_of(&path))
                .and_then(|()| burnformer_files::write(&path, info.sha.as_bytes()))
                .map_err(|cause| HubError::io(&path, cause))?;
        }
    }
    let licence = info
        .tags
        .iter()
        .find_map(|tag| tag.strip_prefix("license:"));
    let licence = licence.map(str::to_owned);
    Ok(Download {
        folder: snapshot,
        revision: info.sha,
        licence,
        is_stale: false,
    })
}

/// The commit that the file `path` names.
fn commit_in(path: &Path) -> Option<String> {
    let bytes = read_whole(path, FileKind::NOTES).ok()?;
    Some(String::from_utf8(bytes).ok()?.trim().to_owned())
}

/// The files of a revision in the cache.
fn cached(folder: &Path, revision: &str) -> Option<Download> {
    let commit = if is_hash(revision, 40) {
        revision.to_owned()
    } else {
        commit_in(&folder.join("refs").join(revision))?
    };
    let snapshot = folder.join("snapshots").join(&commit);
    let is_there = is_hash(&commit, 40) && snapshot.is_dir();
    is_there.then_some(Download {
        folder: snapshot,
        revision: commit,
        licence: None,
        is_stale: true,
    })
}

/// The beginnings and the ends of the names of weights: the best format first.
const WEIGHTS: [(&str, &str); 6] = [
    ("", "model.safetensors"),
    ("model-", ".safetensors"),
    ("", "pytorch_model.bin"),
    ("pytorch_model-", ".bin"),
    ("", "model.bin"),
    ("", ".npz"),
];
/// The ends of the names of other files of a model.
const TEXTS: [&str; 6] = [
    ".json",
    ".txt",
    ".spm",
    ".model",
    ".yml",
    "shortlist.safetensors",
];

/// The files for an importer: text files in the top folder, and the weights in one format.
fn wanted<'a>(name: &str, files: &'a [Sibling]) -> Result<Vec<&'a Sibling>> {
    let plain = files.iter().filter(|file| is_plain(&file.name));
    let weights = WEIGHTS
        .into_iter()
        .find(|&names| plain.clone().any(|file| file.is_among(names)));
    let weights = weights.ok_or_else(|| HubError::NoWeights(name.into()))?;
    Ok(plain
        .filter(|file| file.is_among(weights) || TEXTS.iter().any(|end| file.name.ends_with(end)))
        .collect())
}

impl Sibling {
    /// Returns whether the name has this beginning and this end.
    fn is_among(&self, (beginning, end): (&str, &str)) -> bool {
        self.name.starts_with(beginning) && self.name.ends_with(end)
    }
}

/// The size and the hash of a file.
fn content(file: &Sibling) -> Option<(u64, Hash)> {
    if let Some(Lfs { sha256, size }) = &file.lfs {
        return is_hash(sha256, 64).then(|| (*size, Hash::Sha256(sha256.clone())));
    }
    let blob = file.blob.as_ref().filter(|blob| is_hash(blob, 40))?;
    Some((file.size?, Hash::Git(blob.clone())))
}

fn is_hash(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Links `link` to the file `blob` of the same model. Another process may do so at the same time.
fn link_to(blob: &Path, link: &Path) -> io::Result<()> {
    let mut result = make_link(blob, link);
    if is_taken(&result) && !link.exists() {
        // A dangling link.
        let _ = fs::remove_file(link);
        result = make_link(blob, link);
    }
    if is_taken(&result) && link.exists() {
        Ok(())
    } else {
        result
    }
}

fn is_taken(made: &io::Result<()>) -> bool {
    made.as_ref()
        .is_err_and(|cause| cause.kind() == io::ErrorKind::AlreadyExists)
}

fn make_link(blob: &Path, link: &Path) -> io::Result<()> {
    #[cfg(unix)]
    return std::os::unix::fs::symlink(
        Path::new("../../blobs").join(blob.file_name().unwrap_or_default()),
        link,
    );
    #[cfg(not(unix))]
    fs::hard_link(blob, link).or_else(|_| fs::copy(blob, link).map(|_| ()))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn sibling(name: &str) -> Sibling {
        Sibling {
            name: name.into(),
            size: None,
            blob: None,
            lfs: None,
        }
    }

    #[test]
    fn the_weights_of_one_format_are_fetched_whole_or_in_shards() {
        let shards = [
            "model-00001-of-00002.safetensors",
            "model-00002-of-00002.safetensors",
        ];
        let pickles = [
            "pytorch_model-00001-of-00001.bin",
            "pytorch_model.bin.index.json",
        ];
        let index = "model.safetensors.index.json";
        let [first, second] = shards;
        for (files, expected) in [
            (
                vec!["model.safetensors", first, "pytorch_model.bin"],
                vec!["model.safetensors"],
            ),
            (
                vec![second, "pytorch_model.bin", index, first],
                vec![second, index, first],
            ),
            (
                vec!["pytorch_model.bin", "model.bin"],
                vec!["pytorch_model.bin"],
            ),
            (pickles.to_vec(), pickles.to_vec()),
            (
                vec!["model.bin", "optimizer.bin", "shortlist.safetensors"],
                vec!["model.bin", "shortlist.safetensors"],
            ),
        ] {
            let siblings: Vec<Sibling> = files.into_iter().map(sibling).collect();
            let found = wanted("a/b", &siblings).unwrap();
            let names: Vec<&str> = found.into_iter().map(|file| &*file.name).collect();
            assert_eq!(names, expected);
        }
    }

    #[test]
    fn links_are_made_concurrently_and_dangling_ones_again() {
        let folder = tempfile::tempdir().unwrap();
        let blob = folder.path().join("blobs/new");
        let snapshot = folder.path().join("snapshots/commit");
        fs::create_dir_all(folder.path().join("blobs")).unwrap();
        fs::create_dir_all(&snapshot).unwrap();
        fs::write(&blob, "content").unwrap();
        let link = snapshot.join("file");
        std::thread::scope(|scope| {
            let threads = [(); 8].map(|()| scope.spawn(|| link_to(&blob, &link)));
            threads
                .into_iter()
                .for_each(|thread| thread.join().unwrap().unwrap());
        });
        assert_eq!(fs::read_to_string(&link).unwrap(), "content");
        fs::remove_file(&link).unwrap();
        make_link(&blob.with_file_name("gone"), &link).unwrap();
        link_to(&blob, &link).unwrap();
        assert_eq!(fs::read_to_string(&link).unwrap(), "content");
    }
}
