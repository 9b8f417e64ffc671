use std::error::Error;
use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::Duration;

use anyhow::{Context, Result};
use burn::tensor::Device;
use burnformer_core::model_dir;
use burnformer_files::{FileKind, read_whole};
use burnformer_infer::{Glossary, InferError, Shortlist, Translator};
use burnformer_server::{
    Engine, IpNet, LOOPBACK, LanguagePair, Limits, MemorySource, ModelSource, QueueSettings,
    Server, ServerSettings, TranslatorEngine,
};
use burnformer_translation::memory_files;

use super::{Computing, at_least};
use crate::device::check_models;
use crate::embedded;
use crate::files_in_use::{FilesInUse, UsesFiles};
use crate::output::say;
use crate::output::{is_quiet, print, wrong_usage};
use crate::signals::on_signal;
use crate::values;

/// Arguments of `serve`.
#[derive(clap::Args)]
#[command(after_help = include_str!("serve.txt"))]
pub struct Args {
    /// A model directory and what it translates, such as `de-en=runs/mine/best` (`pt-BR:en=DIR`
    /// where a code has a `-`); one for each pair of languages [default: the models inside the
    /// program, German to English and English to German]
    #[arg(long, short, value_name = "PAIR=DIR", value_parser = model)]
    model: Vec<(LanguagePair, PathBuf)>,
    /// A file of terms and their prescribed translations, such as `de-en=terms.tsv`, in the form of
    /// `translate --glossary`; one for each pair of languages. Requests may have others, which go
    /// first
    #[arg(long, value_name = "PAIR=FILE", value_parser = file_of_pair)]
    glossary: Vec<(LanguagePair, PathBuf)>,
    /// A file of likely translations, such as `de-en=FILE`, which `shortlist` makes for the model
    /// of the pair and with which a large vocabulary is faster; one for each pair of languages
    #[arg(long, value_name = "PAIR=FILE", value_parser = file_of_pair)]
    shortlist: Vec<(LanguagePair, PathBuf)>,
    /// A translation memory, such as `de-en=memory.tmx`, in the forms of `translate --memory`; a
    /// pair may have several. Exact matches are reused
    #[arg(long, value_name = "PAIR=FILE", value_parser = file_of_pair)]
    memory: Vec<(LanguagePair, PathBuf)>,
    /// The address on which to listen: an address and a port, or a port of this machine alone; port
    /// 0 takes a free one. Traffic is not encrypted: leave TLS to a proxy
    #[arg(long, default_value = "127.0.0.1:5000", value_name = "ADDRESS:PORT", value_parser = address)]
    listen: SocketAddr,
    /// A file of keys, one per line, of which each request has to name one; lines that begin with #
    /// are left out [default: everybody may ask]
    #[arg(long, value_name = "FILE")]
    api_keys: Option<PathBuf>,
    /// The origin whose pages may ask from a browser, such as `https://example.org`, or `*` for all
    /// [default: the server's own page alone]
    #[arg(long, value_name = "ORIGIN")]
    cors: Option<String>,
    /// The path under which a proxy shows the server, such as `/mt` [default: the root, or what the
    /// proxy's `X-Forwarded-Prefix` says]
    #[arg(
        long,
        default_value = "",
        hide_default_value = true,
        value_name = "PATH"
    )]
    url_prefix: String,
    /// A proxy, or a network of proxies, that tells the address of a client by `X-Forwarded-For`;
    /// may be given several times
    #[arg(long, default_values = LOOPBACK, value_name = "ADDRESS", value_parser = network)]
    trusted_proxy: Vec<IpNet>,
    /// The largest number of characters of a request
    #[arg(long, default_value_t = Limits::default().characters, value_parser = at_least(1), value_name = "N")]
    max_characters: usize,
    /// The longest time for a request's body, and then until its answer, in seconds
    #[arg(long, default_value_t = Limits::default().time.as_secs(), value_name = "SECONDS")]
    timeout: u64,
    /// The largest number of sentences that wait; requests beyond it are answered 503
    #[arg(long, default_value_t = QueueSettings::default().waiting, value_parser = at_least(1), value_name = "N")]
    max_waiting: usize,
    /// The largest number of sentences translated together; long ones and wide searches are fewer,
    /// since together they cost at most 128 times as many tokens × beam
    #[arg(long, default_value_t = QueueSettings::default().batch, value_parser = at_least(1), value_name = "N")]
    batch: usize,
    /// The number of batches translated at the same time [default: the number of processors]
    #[arg(long, value_parser = at_least(1), value_name = "N")]
    workers: Option<usize>,
    /// The megabytes of translations kept for sentences that come again; 0 keeps none
    #[arg(long, default_value_t = 64, value_name = "MB")]
    cache: usize,
    /// The largest number of megabytes of model files loaded at the same time; beyond it, the
    /// models that were not used for longest are unloaded [default: no limit]
    #[arg(long, value_name = "MB")]
    max_memory: Option<u64>,
    /// Load each model when it is first asked for, not before the first request
    #[arg(long)]
    lazy: bool,
    /// The form of the log on standard error, which never holds what users translate
    #[arg(long, default_value = "text", value_name = "FORM")]
    log: Log,
    #[command(flatten)]
    computing: Computing,
}

impl UsesFiles for Args {
    fn files_in_use(&self) -> Result<FilesInUse> {
        let of_pairs = [&self.glossary, &self.shortlist, &self.memory];
        let files = of_pairs.into_iter().flatten().map(|(_, file)| file);
        let models = self.model.iter().map(|(_, folder)| folder);
        Ok(FilesInUse::default()
            .reads(files)
            .reads(&self.api_keys)
            .reads_models(models))
    }
}

/// The form of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Log {
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

/// Reads `de-en=DIR`.
fn model(text: &str) -> Result<(LanguagePair, PathBuf), Box<dyn Error + Send + Sync>> {
    let (pair, dir) = file_of_pair(text)?;
    Ok((pair, values::named_model(&dir)?))
}

/// Reads `de-en=FILE`.
fn file_of_pair(text: &str) -> Result<(LanguagePair, PathBuf), String> {
    let (pair, file) = text
        .split_once('=')
        .ok_or_else(|| format!("{text:?} names no pair of languages: write de-en={text}"))?;
    Ok((pair.parse()?, file.into()))
}

/// Checks that the `files` of the option `name` are for `pairs`, and that no pair has two files
/// unless they are memories.
fn check_files(
    name: &str,
    files: &[(LanguagePair, PathBuf)],
    pairs: &[&LanguagePair],
) -> Result<()> {
    for (index, (pair, _)) in files.iter().enumerate() {
        let fault = match files[..index].iter().any(|(other, _)| other == pair) {
            _ if !pairs.contains(&pair) => format!(": no --model translates {pair}; name one"),
            true if name != "--memory" => " is given twice; give one file for each pair".into(),
            _ => continue,
        };
        return Err(wrong_usage(format!("{name} {pair}{fault}")));
    }
    Ok(())
}

/// The text of the page about the models inside the program.
const ABOUT_EMBEDDED: &str = "The two small models inside this program have learnt from short everyday \
     sentences, those of Tatoeba. They translate such sentences well, and long, technical or literary ones badly.";

/// The models inside the program.
fn embedded_models() -> Result<Vec<(LanguagePair, PathBuf)>> {
    embedded::PAIRS
        .into_iter()
        .map(|pair: &str| {
            let dir = embedded::model_dir(Path::new(&format!("embedded:{pair}")))?;
            Ok((pair.parse().map_err(anyhow::Error::msg)?, dir))
        })
        .collect()
}

/// Serves until Ctrl-C or SIGTERM, then answers the requests already accepted, up to a time limit.
pub fn run(args: Args) -> Result<()> {
    let log = args.log;
    let server = Server::new(settings(args)?)?;
    start_log(log);
    print(format_args!("listening at http://{}", server.address()?))?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let result = runtime.block_on(server.run(stopped()));
    // Do not wait for threads that still compute.
    runtime.shutdown_timeout(Duration::from_secs(1));
    // Let the log thread write the last lines.
    std::thread::sleep(Duration::from_millis(50));
    Ok(result?)
}

fn settings(mut args: Args) -> Result<ServerSettings> {
    let device = args.computing.device.open()?;
    let (models, about) = if args.model.is_empty() {
        (embedded_models()?, ABOUT_EMBEDDED.to_owned())
    } else {
        (std::mem::take(&mut args.model), String::new())
    };
    let pairs: Vec<&LanguagePair> = models.iter().map(|(pair, _)| pair).collect();
    check_files("--glossary", &args.glossary, &pairs)?;
    check_files("--shortlist", &args.shortlist, &pairs)?;
    check_files("--memory", &args.memory, &pairs)?;
    let models = models
        .into_iter()
        .map(|(pair, dir)| model_source(&args, &device, pair, dir))
        .collect::<Result<_>>()?;
    let queue = QueueSettings::default();
    Ok(ServerSettings {
        queue: QueueSettings {
            batch: args.batch,
            waiting: args.max_waiting,
            workers: args.workers.unwrap_or(queue.workers),
        },
        limits: Limits {
            characters: args.max_characters,
            time: Duration::from_secs(args.timeout),
            // A character takes up to six bytes, some twelve, as an escape in JSON or a form.
            body: args
                .max_characters
                .saturating_mul(12)
                .saturating_add(1 << 16),
            ..Limits::default()
        },
        cache: args.cache << 20,
        memory: args
            .max_memory
            .map_or(u64::MAX, |megabytes| megabytes << 20),
        preload: !args.lazy,
        keys: args
            .api_keys
            .as_deref()
            .map(read_keys)
            .transpose()?
            .unwrap_or_default(),
        cors: args.cors,
        prefix: args.url_prefix,
        proxies: args.trusted_proxy,
        about,
        ..ServerSettings::new(args.listen, models)
    })
}

/// The model of `pair` in `dir`, with the other files of the pair.
fn model_source(
    args: &Args,
    device: &Device,
    pair: LanguagePair,
    dir: PathBuf,
) -> Result<ModelSource> {
    check_models(device, &[&dir])?;
    let files_of_pair = |files: &[(LanguagePair, PathBuf)]| -> Vec<PathBuf> {
        let files = files.iter().filter(|(known, _)| *known == pair);
        files.map(|(_, file)| file.clone()).collect()
    };
    let [glossary, shortlist, memory] =
        [&args.glossary, &args.shortlist, &args.memory].map(|files| files_of_pair(files));
    let glossary = glossary
        .first()
        .map(|file| Glossary::load(file))
        .transpose()?
        .map(Arc::new);
    let shortlist = shortlist
        .first()
        .map(|file| Shortlist::load(file))
        .transpose()?
        .map(Arc::new);
    let languages = [Some(&*pair.source), Some(&*pair.target)];
    let load = || memory_files::load(&memory, languages, &mut |note| say(note)).map(Arc::new);
    let names: Vec<String> = memory.iter().map(|file| file_name(file)).collect();
    let memory = (!memory.is_empty()).then(load).transpose()?;
    let of_model = memory.as_ref().map(|memory| MemorySource {
        name: names.join(", "),
        segments: memory.len(),
    });
    model_dir::load_config(&dir)?;
    let weights = dir.join("model.safetensors");
    let bytes = std::fs::metadata(&weights)
        .with_context(|| weights.display().to_string())?
        .len();
    let name = dir.clone();
    let of = pair.clone();
    let device = device.clone();
    let compute = args.computing.compute;
    let terms = glossary.clone();
    let engine = move || -> Result<TranslatorEngine, InferError> {
        let translator = Translator::load_as(&[&dir], &device, compute)?;
        terms
            .iter()
            .try_for_each(|glossary| translator.check_glossary(glossary))?;
        let engine = TranslatorEngine::new(translator, &of)?.with_memory(memory.clone());
        engine.with_shortlist(shortlist.clone())
    };
    Ok(ModelSource {
        pair,
        name,
        bytes,
        glossary,
        memory: of_model,
        load: Arc::new(move || -> Result<Arc<dyn Engine>, String> {
            Ok(Arc::new(engine().map_err(|error| error.to_string())?))
        }),
    })
}

/// The last part of the path of a file. Clients learn no folder of the server.
fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// The API keys in a file.
fn read_keys(path: &Path) -> Result<Vec<String>> {
    let name = path.display();
    let advice = || {
        format!(
            "--api-keys {name}: write one key per line in UTF-8, such as that of `openssl rand -hex 16`"
        )
    };
    let bytes = read_whole(path, FileKind::KEYS);
    let bytes = bytes.map_err(|error| error.problem).with_context(advice)?;
    let text = String::from_utf8(bytes).with_context(advice)?;
    let lines = text.trim_start_matches('\u{feff}').lines().map(str::trim);
    let keys = lines
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(str::to_owned);
    let keys: Vec<String> = keys.collect();
    anyhow::ensure!(
        !keys.is_empty(),
        "{} has no key: with an empty file nobody could ask; write one key per line",
        path.display()
    );
    Ok(keys)
}

/// The largest number of buffered log lines. Further lines are dropped, so that no request waits
/// for a reader of the log.
const MAX_LINES: usize = 4096;

/// A log writer that never blocks.
struct Lines(SyncSender<Vec<u8>>);

impl Lines {
    fn start() -> Self {
        let (sender, lines) = sync_channel::<Vec<u8>>(MAX_LINES);
        std::thread::spawn(move || {
            for line in lines {
                // A closed log is not an error of the server.
                let _ = std::io::stderr().write_all(&line);
            }
        });
        Self(sender)
    }
}

impl Write for &Lines {
    fn write(&mut self, line: &[u8]) -> std::io::Result<usize> {
        let _ = self.0.try_send(line.to_vec());
        Ok(line.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn start_log(log: Log) {
    if is_quiet() {
        return;
    }
    let lines = tracing_subscriber::fmt().with_writer(Arc::new(Lines::start()));
    let lines = lines.with_target(false);
    let lines = lines.with_max_level(tracing_subscriber::filter::LevelFilter::INFO);
    match log {
        Log::Text => lines.with_ansi(false).init(),
        Log::Json => lines.json().init(),
        Log::Off => {}
    }
}

/// Completes at the first signal to stop. The second one ends the process at once.
async fn stopped() {
    let (asked, ending) = tokio::sync::oneshot::channel();
    let mut first = Some(asked);
    let watched = on_signal(move |signal| match first.take() {
        Some(asked) => drop(asked.send(())),
        None => std::process::exit(128 + signal),
    });
    if watched.is_err() || ending.await.is_err() {
        std::future::pending().await
    }
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
