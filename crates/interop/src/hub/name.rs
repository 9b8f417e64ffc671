use std::fmt;
use std::path::PathBuf;

use super::{HubError, Result};

/// The name of a model to fetch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelName {
    /// `hf:OWNER/NAME` or `hf:OWNER/NAME@REVISION`: a model of the Hugging Face hub.
    Hub {
        /// The owner and the name.
        name: String,
        /// A branch, a tag or a commit.
        revision: String,
    },
    /// `firefox:de-en`: a model of Firefox.
    Firefox {
        /// The source language, up to its first hyphen.
        source: String,
        /// The rest of the pair: the target language, after the rest of a source such as `zh-Hans`.
        target: String,
    },
}

impl ModelName {
    /// Parses `text`; `None` if it does not begin with `hf:` or `firefox:`.
    ///
    /// # Errors
    /// Returns [`HubError::Name`] if the text after the prefix is not `OWNER/NAME`,
    /// `OWNER/NAME@REVISION`, or a pair of languages for `firefox:`.
    pub fn parse(text: &str) -> Option<Result<Self>> {
        let hub = text.strip_prefix("hf:").map(Self::of_hub);
        hub.or_else(|| text.strip_prefix("firefox:").map(Self::of_firefox))
    }

    /// The model `OWNER/NAME` or `OWNER/NAME@REVISION` of the hub.
    ///
    /// # Errors
    /// Returns [`HubError::Name`] if `text` has another form.
    pub fn of_hub(text: &str) -> Result<Self> {
        let (name, revision) = text.split_once('@').unwrap_or((text, "main"));
        let parts: Vec<&str> = name.split('/').collect();
        if parts.len() == 2
            && parts
                .iter()
                .copied()
                .chain(revision.split('/'))
                .all(is_plain)
        {
            Ok(Self::Hub {
                name: name.into(),
                revision: revision.into(),
            })
        } else {
            let form = "the hub has OWNER/NAME or OWNER/NAME@REVISION";
            Err(HubError::Name {
                given: text.into(),
                form,
            })
        }
    }

    fn of_firefox(text: &str) -> Result<Self> {
        let pair = text
            .split_once('-')
            .filter(|(a, b)| is_plain(a) && is_plain(b));
        let (source, target) = pair.ok_or_else(|| {
            let form = "write the languages, such as firefox:de-en";
            HubError::Name {
                given: text.into(),
                form,
            }
        })?;
        Ok(Self::Firefox {
            source: source.into(),
            target: target.into(),
        })
    }
}

impl fmt::Display for ModelName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hub { name, revision } if revision == "main" => write!(out, "hf:{name}"),
            Self::Hub { name, revision } => write!(out, "hf:{name}@{revision}"),
            Self::Firefox { source, target } => write!(out, "firefox:{source}-{target}"),
        }
    }
}

/// Returns whether `part` can be a file name and a part of an address without escapes.
pub(crate) fn is_plain(part: &str) -> bool {
    !part.is_empty()
        && part
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
        && !part.chars().all(|c| c == '.')
}

/// A fetched model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Download {
    /// The folder with its files, in the cache: only for reading.
    pub folder: PathBuf,
    /// The resolved revision: a commit of the hub, or a version of Firefox's model.
    pub revision: String,
    /// The licence in the list.
    pub licence: Option<String>,
    /// If true, the server was unreachable, and the revision is from the cache.
    pub is_stale: bool,
}

/// The progress of a download.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// The name of the file.
    pub file: &'a str,
    /// The number of downloaded bytes.
    pub done: u64,
    /// The number of bytes of the whole file.
    pub size: u64,
}

/// A callback for the progress, called several times a second. It returns whether to continue.
pub type Watch<'a> = dyn FnMut(Progress) -> bool + 'a;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_a_prefix_and_a_form() {
        let name = |text| ModelName::parse(text).unwrap().unwrap().to_string();
        assert_eq!(name("hf:a-b/c.d"), "hf:a-b/c.d");
        assert_eq!(name("hf:a/b@refs/pr/1"), "hf:a/b@refs/pr/1");
        assert_eq!(name("hf:a/b@main"), "hf:a/b");
        assert_eq!(name("firefox:de-en"), "firefox:de-en");
        assert_eq!(name("firefox:zh-Hans-en"), "firefox:zh-Hans-en");
        assert!(ModelName::parse("models/mine").is_none());
    }

    #[test]
    fn a_name_that_could_leave_the_cache_is_refused() {
        for text in [
            "hf:a",
            "hf:a/b/c",
            "hf:../b",
            "hf:a/b@../c",
            "hf:a/b?c",
            "hf:a/",
            "firefox:de",
            "firefox:-en",
        ] {
            assert!(ModelName::parse(text).unwrap().is_err(), "{text}");
        }
    }
}
