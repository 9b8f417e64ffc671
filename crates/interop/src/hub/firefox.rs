//! Firefox's translation models, from the list in Mozilla's Remote Settings.

use std::cmp::Ordering;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use super::client::{Client, Hash, Remote};
use super::name::is_plain;
use super::{Download, HubError, Result, Settings, Watch};

#[derive(Deserialize)]
struct Records {
    data: Vec<Record>,
}

/// A file of a model.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Record {
    name: String,
    from_lang: String,
    to_lang: String,
    version: String,
    file_type: String,
    attachment: Attachment,
}

#[derive(Deserialize)]
struct Attachment {
    hash: String,
    size: u64,
    location: String,
}

/// The file that marks the folder of a complete version.
const COMPLETE: &str = ".complete";

/// The folder of all versions of the model of a pair.
pub fn folder(source: &str, target: &str, settings: &Settings) -> PathBuf {
    settings.cache.join(format!("firefox--{source}-{target}"))
}

/// Fetches the newest model from `source` to `target`, or returns the newest cached one if the
/// server is unreachable.
///
/// # Errors
/// Returns an error if the list has no such pair, or a file can neither be fetched nor found in the
/// cache.
pub fn fetch(
    source: &str,
    target: &str,
    settings: &Settings,
    watch: &mut Watch,
) -> Result<Download> {
    let folder = folder(source, target, settings);
    if settings.offline {
        let name = format!("firefox:{source}-{target}");
        let cache = settings.cache.clone();
        return newest(&folder).ok_or(HubError::Offline { name, cache });
    }
    let client = Client::new(settings)?;
    let root = format!("{}/v1/", settings.firefox);
    let url = format!("{root}buckets/main/collections/translations-models/records");
    let records: Records = match client.json(&url, None) {
        Err(error @ HubError::Unreachable { .. }) => return newest(&folder).ok_or(error),
        records => records?,
    };
    let files = files(source, target, &records.data)?;
    let revision = files[0].version.clone();
    let is_hash = |hash: &str| hash.len() == 64 && is_plain(hash);
    if !is_plain(&revision)
        || !files
            .iter()
            .all(|file| is_plain(&file.name) && is_hash(&file.attachment.hash))
    {
        return Err(HubError::answer(
            &url,
            "a name, a version or a hash has a wrong form",
        ));
    }
    let server: Value = client.json(&root, None)?;
    let base_url = server["capabilities"]["attachments"]["base_url"].as_str();
    let base_url = base_url.ok_or_else(|| HubError::answer(&root, "it has no base_url"))?;
    let folder = folder.join(&revision);
    for file in files {
        let Attachment {
            hash,
            size,
            location,
        } = &file.attachment;
        let url = format!("{}/{location}", base_url.trim_end_matches('/'));
        let path = folder.join(&file.name);
        let hash = Hash::Sha256(hash.clone());
        let remote = Remote {
            url,
            token: None,
            name: &file.name,
            size: *size,
            hash,
            path: &path,
        };
        client.download(&remote, watch)?;
    }
    let mark = folder.join(COMPLETE);
    if !mark.exists() {
        std::fs::write(&mark, "").map_err(|cause| HubError::io(&mark, cause))?;
    }
    Ok(Download {
        folder,
        revision,
        licence: None,
        is_stale: false,
    })
}

/// The newest complete version in `folder`, the folder of a pair.
fn newest(folder: &Path) -> Option<Download> {
    let entries = std::fs::read_dir(folder).ok()?.flatten();
    let whole = entries.filter(|entry| entry.path().join(COMPLETE).exists());
    let versions = whole.filter_map(|entry| entry.file_name().into_string().ok());
    let revision = versions.max_by(|a, b| compare(a, b))?;
    Some(Download {
        folder: folder.join(&revision),
        revision,
        licence: None,
        is_stale: true,
    })
}

/// The files of the newest model of a pair.
fn files<'a>(source: &str, target: &str, records: &'a [Record]) -> Result<Vec<&'a Record>> {
    // The whole pair is compared, because the name of a language may have a hyphen.
    let pair = format!("{source}-{target}");
    let models = records.iter().filter(|file| file.file_type == "model");
    let newest = models
        .clone()
        .filter(|file| file.pair() == pair)
        .max_by(|a, b| compare(&a.version, &b.version));
    let Some(newest) = newest else {
        let mut known: Vec<String> = models.map(Record::pair).collect();
        known.sort();
        known.dedup();
        let from = source.into();
        let to = target.into();
        let known = known.join(", ");
        return Err(HubError::NoPair { from, to, known });
    };
    let newest_files = records
        .iter()
        .filter(|file| file.pair() == pair && file.version == newest.version);
    Ok(newest_files.collect())
}

impl Record {
    /// The pair of languages, such as `de-en`.
    fn pair(&self) -> String {
        format!("{}-{}", self.from_lang, self.to_lang)
    }
}

/// Compares versions such as `1.0`. Pre-releases with letters, such as `2.0a1`, come first.
fn compare(a: &str, b: &str) -> Ordering {
    version_key(a).cmp(&version_key(b))
}

/// Whether `version` is a release, and its numbers.
fn version_key(version: &str) -> (bool, Vec<u64>) {
    let is_release = !version.chars().any(char::is_alphabetic);
    let numbers = version.split(|c: char| !c.is_ascii_digit());
    let numbers = numbers.filter_map(|number| number.parse().ok());
    (is_release, numbers.collect())
}
