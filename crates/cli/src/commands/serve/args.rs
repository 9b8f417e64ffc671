//! The arguments of `serve`.

use std::error::Error;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use anyhow::Result;
use burnformer_server::{IpNet, LOOPBACK, LanguagePair, Limits, QueueSettings};

use crate::commands::{Computing, at_least};
use crate::files_in_use::{FilesInUse, UsesFiles};
use crate::values;

/// Arguments of `serve`.
#[derive(clap::Args)]
#[command(after_help = include_str!("examples.txt"))]
pub struct Args {
    /// A model directory and what it translates, such as `de-en=runs/mine/best` (`pt-BR:en=DIR`
    /// where a code has a `-`); one for each pair of languages. Without a pair, a model that was
    /// trained on several pairs translates all of them [default: the models inside the program,
    /// German to English and English to German]
    #[arg(long, short, value_name = "[PAIR=]DIR", value_parser = model)]
    pub(super) model: Vec<(Option<LanguagePair>, PathBuf)>,
    /// Also translate pairs of languages that the model was not trained on (zero-shot), if a
    /// --model names the pair
    #[arg(long)]
    pub(super) zero_shot: bool,
    /// A file of terms and their prescribed translations, such as `de-en=terms.tsv`, in the form of
    /// `translate --glossary`; one for each pair of languages. Requests may have others, which go
    /// first
    #[arg(long, value_name = "PAIR=FILE", value_parser = file_of_pair)]
    pub(super) glossary: Vec<(LanguagePair, PathBuf)>,
    /// Lexical shortlist of a pair, such as `de-en=FILE`, made by `shortlist`: restricts the output
    /// vocabulary per line; faster with large vocabularies; one for each pair of languages
    #[arg(long, value_name = "PAIR=FILE", value_parser = file_of_pair)]
    pub(super) shortlist: Vec<(LanguagePair, PathBuf)>,
    /// A translation memory, such as `de-en=memory.tmx`, in the forms of `translate --memory`; a
    /// pair may have several. Exact matches are reused
    #[arg(long, value_name = "PAIR=FILE", value_parser = file_of_pair)]
    pub(super) memory: Vec<(LanguagePair, PathBuf)>,
    /// The address on which to listen: an address and a port, or a port of this machine alone; port
    /// 0 takes a free one. A socket of systemd is used instead (LISTEN_FDS). Traffic is not
    /// encrypted: leave TLS to a proxy
    #[arg(long, default_value = "127.0.0.1:5000", value_name = "ADDRESS:PORT", value_parser = address)]
    pub(super) listen: SocketAddr,
    /// File of API keys, one per line (# starts a comment). Requests need one of them [default: no
    /// key needed]
    #[arg(long, value_name = "FILE")]
    pub(super) api_keys: Option<PathBuf>,
    /// The origin whose pages may ask from a browser, such as `https://example.org`, or `*` for all
    /// [default: the server's own page alone]
    #[arg(long, value_name = "ORIGIN")]
    pub(super) cors: Option<String>,
    /// The path under which a proxy shows the server, such as `/mt` [default: the root, or what the
    /// proxy's `X-Forwarded-Prefix` says]
    #[arg(
        long,
        default_value = "",
        hide_default_value = true,
        value_name = "PATH"
    )]
    pub(super) url_prefix: String,
    /// A proxy, or a network of proxies, that tells the address of a client by `X-Forwarded-For`;
    /// may be given several times
    #[arg(long, default_values = LOOPBACK, value_name = "ADDRESS", value_parser = network)]
    pub(super) trusted_proxy: Vec<IpNet>,
    /// The folder of pages that `/paper` shows, the paper live: `cargo xtask web --only paper`
    /// writes it to target/npm [default: none]
    #[arg(long, value_name = "DIR")]
    pub(super) paper: Option<PathBuf>,
    /// The largest number of characters of a request
    #[arg(long, default_value_t = Limits::default().characters, value_parser = at_least(1), value_name = "N")]
    pub(super) max_characters: usize,
    /// The longest time for a request's body, and then until its answer, in seconds
    #[arg(long, default_value_t = Limits::default().time.as_secs(), value_name = "SECONDS")]
    pub(super) timeout: u64,
    /// The largest number of sentences that wait; requests beyond it are answered 503
    #[arg(long, default_value_t = QueueSettings::default().waiting, value_parser = at_least(1), value_name = "N")]
    pub(super) max_waiting: usize,
    /// The largest number of sentences in a batch. A batch also has at most 128 times as many tokens
    /// × beam, so that long sentences and wide beams make smaller batches
    #[arg(long, default_value_t = QueueSettings::default().batch, value_parser = at_least(1), value_name = "N")]
    pub(super) batch: usize,
    /// The number of batches translated at the same time [default: the number of processors]
    #[arg(long, value_parser = at_least(1), value_name = "N")]
    pub(super) workers: Option<usize>,
    /// The megabytes of translations kept for sentences that come again; 0 keeps none
    #[arg(long, default_value_t = 64, value_name = "MB")]
    pub(super) cache: usize,
    /// The largest number of megabytes of model files loaded at the same time; beyond it, the
    /// models that were not used for longest are unloaded [default: no limit]
    #[arg(long, value_name = "MB")]
    pub(super) max_memory: Option<u64>,
    /// Load each model when it is first asked for, not before the first request
    #[arg(long)]
    pub(super) lazy: bool,
    /// The form of the log on standard error, which never holds what users translate
    #[arg(long, default_value = "text", value_name = "FORM")]
    pub(super) log: Log,
    #[command(flatten)]
    pub(super) computing: Computing,
}

impl UsesFiles for Args {
    fn files_in_use(&self) -> Result<FilesInUse> {
        let pair_files = [&self.glossary, &self.shortlist, &self.memory];
        let files = pair_files.into_iter().flatten().map(|(_, file)| file);
        let models = self.model.iter().map(|(_, folder)| folder);
        Ok(FilesInUse::default()
            .reads(files)
            .reads(&self.api_keys)
            .reads(&self.paper)
            .reads_models(models))
    }
}

/// The form of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Log {
    Text,
    Json,
    Off,
}

/// Reads an address and a port, or a port of this machine.
fn address(text: &str) -> Result<SocketAddr, String> {
    let port = text
        .strip_prefix("localhost:")
        .or(text.strip_prefix(':'))
        .unwrap_or(text);
    let port = port.parse().map(|port: u16| ([127, 0, 0, 1], port).into());
    port.or_else(|_| text.parse()).map_err(|_| {
        format!("{text:?} is no address with a port: write 127.0.0.1:5000, 0.0.0.0:5000 for all addresses, or 5000")
    })
}

/// Reads an address or a network.
fn network(text: &str) -> Result<IpNet, String> {
    text.parse()
        .or_else(|_| {
            text.parse()
                .map(|address: IpAddr| address.to_canonical().into())
        })
        .map_err(|_| {
            format!("{text:?} is no address and no network: write 172.30.0.2 or 172.30.0.0/24")
        })
}

/// Reads `de-en=DIR`, or `DIR` of a model that knows what it translates.
fn model(text: &str) -> Result<(Option<LanguagePair>, PathBuf), Box<dyn Error + Send + Sync>> {
    let unnamed = Path::new(text);
    if !text.contains('=') && unnamed.is_dir() {
        return Ok((None, values::named_model(unnamed)?));
    }
    let (pair, dir) = file_of_pair(text)?;
    Ok((Some(pair), values::named_model(&dir)?))
}

/// Reads `de-en=FILE`.
fn file_of_pair(text: &str) -> Result<(LanguagePair, PathBuf), String> {
    let (pair, file) = text
        .split_once('=')
        .ok_or_else(|| format!("{text:?} names no pair of languages: write de-en={text}"))?;
    Ok((pair.parse()?, file.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_is_an_address_or_a_network() {
        for (text, read) in [
            ("10.0.0.0/8", "10.0.0.0/8"),
            ("172.30.0.2", "172.30.0.2/32"),
            ("fd00::1", "fd00::1/128"),
            ("::ffff:10.0.0.1", "10.0.0.1/32"),
        ] {
            assert_eq!(network(text).unwrap().to_string(), read);
        }
        for text in [
            "",
            "/8",
            "proxy",
            "10.0.0.0/33",
            "10.0.0.0/",
            "::/129",
            "10.0.0.1:80",
        ] {
            assert!(
                network(text).unwrap_err().contains("172.30.0.0/24"),
                "{text}"
            );
        }
    }

    #[test]
    fn a_bare_port_is_local() {
        for text in ["5501", ":5501", "localhost:5501", "127.0.0.1:5501"] {
            assert_eq!(
                address(text).unwrap().to_string(),
                "127.0.0.1:5501",
                "{text}"
            );
        }
        assert_eq!(address("0.0.0.0:80").unwrap().to_string(), "0.0.0.0:80");
        assert_eq!(address("[::1]:80").unwrap().to_string(), "[::1]:80");
        for text in ["", "127.0.0.1", "99999", "a:1"] {
            assert!(
                address(text).unwrap_err().contains("127.0.0.1:5000"),
                "{text}"
            );
        }
    }
}
