//! Models that Firefox translates with, from the list that it reads itself (Mozilla's Remote
//! Settings).

use std::cmp::Ordering;
use std::path::PathBuf;

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

/// The file that marks the folder of a version whose files have all arrived.
const COMPLETE: &str = ".complete";

/// The folder of all versions of the model of a pair.
pub fn folder(source: &str, target: &str, settings: &Settings) -> PathBuf {
    settings.cache.join(format!("firefox--{source}-{target}"))
}

/// Fetches the newest model from `source` to `target`; without the server, the one that was fetched
/// last.
pub fn fetch(
    source: &str,
    target: &str,
    settings: &Settings,
    watch: &mut Watch,
) -> Result<Download> {
    let folder = folder(source, target, settings);
    let newest = || {
        let entries = std::fs::read_dir(&folder).ok()?.flatten();
        let whole = entries.filter(|entry| entry.path().join(COMPLETE).exists());
        let versions = whole.filter_map(|entry| entry.file_name().into_string().ok());
        let revision = versions.max_by(|a, b| compare(a, b))?;
        let folder = folder.join(&revision);
        Some(Download {
            folder,
            revision,
            licence: None,
            is_stale: true,
        })
    };
    if settings.offline {
        let (name, cache) = (format!("firefox:{source}-{target}"), settings.cache.clone());
        return newest().ok_or(HubError::Offline { name, cache });
    }
    let client = Client::new(settings)?;
    let root = format!("{}/v1/", settings.firefox);
    let url = format!("{root}buckets/main/collections/translations-models/records");
    let records: Records = match client.json(&url, None) {
        Err(error @ HubError::Unreachable { .. }) => return newest().ok_or(error),
        records => records?,
    };
    let files = files(source, target, &records.data)?;
    let revision = files[0].version.clone();
    let is_hash = |hash: &str| hash.len() == 64 && is_plain(hash);
    let is_sound = |file: &&Record| is_plain(&file.name) && is_hash(&file.attachment.hash);
    if !is_plain(&revision) || !files.iter().all(is_sound) {
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
        let (path, hash) = (folder.join(&file.name), Hash::Sha256(hash.clone()));
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

/// The files of the newest model of a pair.
fn files<'a>(source: &str, target: &str, records: &'a [Record]) -> Result<Vec<&'a Record>> {
    // The whole pair is compared, because the name of a language may have a hyphen.
    let pair = format!("{source}-{target}");
    let is_own = |file: &&Record| format!("{}-{}", file.from_lang, file.to_lang) == pair;
    let models = records.iter().filter(|file| file.file_type == "model");
    let newest = models
        .clone()
        .filter(is_own)
        .max_by(|a, b| compare(&a.version, &b.version));
    let Some(newest) = newest else {
        let mut known: Vec<String> = models
            .map(|file| format!("{}-{}", file.from_lang, file.to_lang))
            .collect();
        known.sort();
        known.dedup();
        let (from, to, known) = (source.into(), target.into(), known.join(", "));
        return Err(HubError::NoPair { from, to, known });
    };
    let newest_files = records
        .iter()
        .filter(is_own)
        .filter(|file| file.version == newest.version);
    Ok(newest_files.collect())
}

/// Compares versions such as `1.0`; one with letters, such as `2.0a1`, precedes all others, since
/// it is only tried out.
fn compare(a: &str, b: &str) -> Ordering {
    let key = |version: &str| {
        let is_release = !version.chars().any(char::is_alphabetic);
        let numbers = version.split(|c: char| !c.is_ascii_digit());
        (
            is_release,
            numbers
                .filter_map(|number| number.parse().ok())
                .collect::<Vec<u64>>(),
        )
    };
    key(a).cmp(&key(b))
}
