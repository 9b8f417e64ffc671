//! `serve`: a server that translates over HTTP.

#[cfg(unix)]
mod activation;
mod args;
mod keys;
mod log;
mod models;

use std::time::Duration;

use anyhow::Result;
use burnformer_server::{Limits, QueueSettings, Server, ServerSettings};

pub use self::args::Args;
use self::keys::read_keys;
use self::models::{ABOUT_EMBEDDED, sources};
use crate::output::print;
use crate::signals::on_signal;

/// Serves until Ctrl-C or SIGTERM, then answers the requests already accepted, up to a time limit.
///
/// # Errors
/// Returns an error if a model or a file cannot be read, or the address cannot be used.
pub fn run(args: Args) -> Result<()> {
    let form = args.log;
    let server = listening(settings(args)?)?;
    log::start(form);
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

/// A server at the socket that a service manager has opened, or else at the address in `settings`.
fn listening(settings: ServerSettings) -> Result<Server> {
    #[cfg(unix)]
    if let Some(listener) = activation::inherited()? {
        return Ok(Server::with_listener(settings, listener)?);
    }
    Ok(Server::new(settings)?)
}

/// The settings of the server. Reads the files of the models and of the keys.
fn settings(args: Args) -> Result<ServerSettings> {
    let models = sources(&args)?;
    let about = if args.model.is_empty() {
        ABOUT_EMBEDDED
    } else {
        ""
    };
    let keys = match &args.api_keys {
        Some(path) => read_keys(path)?,
        None => Vec::new(),
    };
    Ok(ServerSettings {
        queue: queue(&args),
        limits: limits(&args),
        cache: args.cache << 20,
        memory: args
            .max_memory
            .map_or(u64::MAX, |megabytes| megabytes << 20),
        preload: !args.lazy,
        keys,
        cors: args.cors,
        prefix: args.url_prefix,
        proxies: args.trusted_proxy,
        about: about.into(),
        pages: args.paper,
        ..ServerSettings::new(args.listen, models)
    })
}

fn queue(args: &Args) -> QueueSettings {
    QueueSettings {
        batch: args.batch,
        waiting: args.max_waiting,
        workers: args.workers.unwrap_or(QueueSettings::default().workers),
    }
}

fn limits(args: &Args) -> Limits {
    let characters = args.max_characters;
    Limits {
        characters,
        time: Duration::from_secs(args.timeout),
        // A character takes up to six bytes, some twelve, as an escape in JSON or a form.
        body: characters.saturating_mul(12).saturating_add(1 << 16),
        ..Limits::default()
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
