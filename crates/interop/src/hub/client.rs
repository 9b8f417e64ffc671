//! Requests, and downloads that are complete or absent.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use burnformer_files::{FileKind, read_whole};
use serde::de::DeserializeOwned;
use sha1::Sha1;
use sha2::{Digest, Sha256};
use ureq::http::Response;
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::{Agent, Body};

use super::{HubError, Progress, Result, Settings, Watch};

/// The timeout of connections and reads.
const READ_TIMEOUT: Duration = Duration::from_secs(30);
/// The timeout of a list.
const LIST_TIMEOUT: Duration = Duration::from_secs(120);
/// The interval of polling a download by another process.
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// The largest numbers of requests for a file, and of consecutive failures.
const MAX_ATTEMPTS: usize = 20;
const MAX_FAILURES: u32 = 4;

/// A connection to servers.
pub struct Client {
    agent: Agent,
}

/// The hash of a file's content.
#[derive(Clone, Debug)]
pub enum Hash {
    Sha256(String),
    /// Git's SHA-1 over the length and the content.
    Git(String),
}

/// A file of a server, and its path in the cache.
pub struct Remote<'a> {
    pub url: String,
    pub token: Option<&'a str>,
    pub name: &'a str,
    pub size: u64,
    pub hash: Hash,
    pub path: &'a Path,
}

impl Client {
    /// A client with the certificates of `settings` and the proxy of the environment.
    ///
    /// # Errors
    /// Returns an error if the file of certificates cannot be read.
    pub fn new(settings: &Settings) -> Result<Self> {
        let mut config = Agent::config_builder()
            .http_status_as_error(false)
            .user_agent(concat!("burnformer/", env!("CARGO_PKG_VERSION")))
            .timeout_connect(Some(READ_TIMEOUT))
            .timeout_recv_response(Some(READ_TIMEOUT))
            .timeout_per_read(Some(READ_TIMEOUT));
        if let Some(path) = &settings.certificates {
            let text = read_whole(path, FileKind::KEYS)
                .map_err(|error| HubError::io(path, error.into_io()))?;
            let certificates = parse_pem(&text).filter_map(|item| match item {
                Ok(PemItem::Certificate(certificate)) => Some(certificate),
                _ => None,
            });
            let roots = RootCerts::new_with_certs(&certificates.collect::<Vec<_>>());
            config = config.tls_config(TlsConfig::builder().root_certs(roots).build());
        }
        Ok(Self {
            agent: config.build().into(),
        })
    }

    /// The response to a request of `url`, from byte `from` on if the server can, within `limit`.
    fn get(
        &self,
        url: &str,
        token: Option<&str>,
        from: u64,
        limit: Option<Duration>,
    ) -> Result<Response<Body>> {
        let mut request = self.agent.get(url).config().timeout_global(limit).build();
        if let Some(token) = token {
            request = request.header("Authorization", format!("Bearer {token}"));
        }
        if from > 0 {
            request = request.header("Range", format!("bytes={from}-"));
        }
        let response = request
            .call()
            .map_err(|cause| HubError::unreachable(url, cause))?;
        let url = url.to_owned();
        match response.status().as_u16() {
            200 | 206 | 416 => Ok(response),
            401 | 403 => Err(HubError::Denied(url)),
            404 => Err(HubError::NotFound(url)),
            status @ (429 | 500..) => Err(HubError::unreachable(
                &url,
                format_args!("the server answers {status}"),
            )),
            status => Err(HubError::Status { url, status }),
        }
    }

    /// The JSON at `url`.
    ///
    /// # Errors
    /// Returns an error if the server is unreachable or refuses, or the answer is not such JSON.
    pub fn json<T: DeserializeOwned>(&self, url: &str, token: Option<&str>) -> Result<T> {
        let mut response = self.get(url, token, 0, Some(LIST_TIMEOUT))?;
        let text = response.body_mut().read_to_vec();
        let text = text.map_err(|cause| HubError::unreachable(url, cause))?;
        serde_json::from_slice(&text).map_err(|cause| HubError::answer(url, cause))
    }

    /// Fetches a file unless it is in the cache. An interrupted download is resumed.
    ///
    /// # Errors
    /// Returns an error if the server is unreachable or refuses, the hash differs, the file cannot
    /// be written, or the caller stops the download.
    pub fn download(&self, remote: &Remote, watch: &mut Watch) -> Result<()> {
        // Nothing is written for a complete file, as the cache may be read-only.
        if remote.path.exists() {
            return Ok(());
        }
        fs::create_dir_all(burnformer_files::folder_of(remote.path))
            .map_err(|cause| HubError::io(remote.path, cause))?;
        let partial = remote.path.with_added_extension("incomplete");
        // Windows cannot truncate a file opened for appending.
        let mut file = burnformer_files::open_or_create(&partial)
            .map_err(|cause| HubError::io(remote.path, cause))?;
        lock(remote, &file, watch)?;
        // Another process may have fetched the file in the meantime.
        if remote.path.exists() {
            let _ = fs::remove_file(&partial);
            return Ok(());
        }
        self.complete(remote, &mut file, watch)?;
        let found = remote
            .hash
            .of(&mut file, remote.size)
            .map_err(|cause| HubError::io(remote.path, cause))?;
        if found != remote.hash.text() {
            // The file keeps its name, because another process may wait for its lock.
            file.set_len(0)
                .map_err(|cause| HubError::io(remote.path, cause))?;
            let url = remote.url.clone();
            let expected = remote.hash.text().to_owned();
            return Err(HubError::Hash {
                url,
                expected,
                found,
            });
        }
        file.sync_all()
            .and_then(|()| fs::rename(&partial, remote.path))
            .map_err(|cause| HubError::io(remote.path, cause))?;
        burnformer_files::sync_folder_of(remote.path)
            .map_err(|cause| HubError::io(remote.path, cause))
    }

    /// Requests the rest of `file` until it has its full size.
    fn complete(&self, remote: &Remote, file: &mut File, watch: &mut Watch) -> Result<()> {
        let mut failures = 0;
        for attempt in 1.. {
            let before = remote.length(file)?;
            if before == remote.size {
                break;
            }
            let answer = self.append(remote, before, file, watch);
            failures = if remote.length(file)? > before {
                0
            } else {
                failures + 1
            };
            match answer {
                Err(HubError::Unreachable { .. })
                    if failures < MAX_FAILURES && attempt < MAX_ATTEMPTS =>
                {
                    sleep(Duration::from_millis(250 << failures));
                }
                answer => answer?,
            }
        }
        Ok(())
    }

    /// Appends the bytes after the first `before` to `file`, which has these.
    fn append(
        &self,
        remote: &Remote,
        before: u64,
        file: &mut File,
        watch: &mut Watch,
    ) -> Result<()> {
        let Remote {
            url, size, name, ..
        } = remote;
        let response = self.get(url, remote.token, before, None)?;
        let mut done = before;
        if response.status() != 206 {
            // The server sends the whole file, or has no bytes from there on.
            file.set_len(0)
                .map_err(|cause| HubError::io(remote.path, cause))?;
            done = 0;
        } else if !begins_at(&response, before) {
            return Err(HubError::answer(url, "it is another part of the file"));
        }
        if response.status() == 416 {
            return Err(HubError::unreachable(
                url,
                "the server has less of the file",
            ));
        }
        file.seek(SeekFrom::Start(done))
            .map_err(|cause| HubError::io(remote.path, cause))?;
        let mut body = response.into_body().into_reader();
        let mut buffer = vec![0; 1 << 16];
        loop {
            if !watch(Progress {
                file: name,
                done,
                size: *size,
            }) {
                return Err(HubError::Interrupted);
            }
            match body.read(&mut buffer) {
                Ok(0) if done < *size => {
                    return Err(HubError::unreachable(url, "the connection was cut"));
                }
                Ok(0) => return Ok(()),
                Ok(read) if done + read as u64 > *size => {
                    file.set_len(0)
                        .map_err(|cause| HubError::io(remote.path, cause))?;
                    let cause = format!("the file is longer than the {size} bytes of the list");
                    return Err(HubError::answer(url, cause));
                }
                Ok(read) => {
                    file.write_all(&buffer[..read])
                        .map_err(|cause| HubError::io(remote.path, cause))?;
                    done += read as u64;
                }
                Err(cause) => return Err(HubError::unreachable(url, cause)),
            }
        }
    }
}

/// Locks `file`, the downloaded part. While another process holds the lock, `watch` gets the
/// progress of that process.
fn lock(remote: &Remote, file: &File, watch: &mut Watch) -> Result<()> {
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::Error(cause)) => return Err(HubError::io(remote.path, cause)),
            Err(TryLockError::WouldBlock) => {}
        }
        let done = file
            .metadata()
            .map_err(|cause| HubError::io(remote.path, cause))?
            .len();
        if !watch(Progress {
            file: remote.name,
            done,
            size: remote.size,
        }) {
            return Err(HubError::Interrupted);
        }
        sleep(POLL_INTERVAL);
    }
}

impl Remote<'_> {
    /// The current length of `file`, the downloaded part.
    fn length(&self, file: &File) -> Result<u64> {
        file.metadata()
            .map(|found| found.len())
            .map_err(|e| HubError::io(self.path, e))
    }
}

/// Returns whether the part of a file in `response` begins at byte `at`.
fn begins_at(response: &Response<Body>, at: u64) -> bool {
    let range = response
        .headers()
        .get("Content-Range")
        .and_then(|value| value.to_str().ok());
    range.is_some_and(|range| range.starts_with(&format!("bytes {at}-")))
}

impl Hash {
    /// The digits of the expected hash.
    pub fn text(&self) -> &str {
        match self {
            Self::Sha256(text) | Self::Git(text) => text,
        }
    }

    /// The hash of this kind of `file`, of `size` bytes.
    fn of(&self, file: &mut File, size: u64) -> io::Result<String> {
        file.rewind()?;
        match self {
            Self::Sha256(_) => {
                let mut hash = Sha256::new();
                io::copy(file, &mut hash)?;
                Ok(format!("{:x}", hash.finalize()))
            }
            Self::Git(_) => {
                let mut hash = Sha1::new_with_prefix(format!("blob {size}\0"));
                io::copy(file, &mut hash)?;
                Ok(format!("{:x}", hash.finalize()))
            }
        }
    }
}
