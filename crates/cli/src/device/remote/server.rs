//! Offers the devices of this machine to others.

use std::net::TcpListener;

use anyhow::{Context, Result};
use burn::server::{
    AuthorizationRequest, PeerAuthorizer, RemoteServer, TokenAuthorizer, WebSocketTransport,
};
use burn::tensor::Device;

use crate::output::say;

/// Serves `devices`, all of one kind, on `listener` until SIGINT or SIGTERM.
///
/// # Errors
/// If the devices cannot be served together or the listener fails.
pub fn serve(devices: Vec<Device>, listener: TcpListener, token: Option<String>) -> Result<()> {
    let kind = devices.first().context("there is no device to serve")?.clone();
    let server = burnformer_kernels::with_operations(RemoteServer::new(devices), &kind);
    let server = server.context("ndarray's devices cannot be served; cpu is faster")?;
    log_to_stderr();
    let token = token.map(TokenAuthorizer::new).transpose()?;
    let server = server.with_authorizer(Reporter { token });
    Ok(server.serve(WebSocketTransport::from_listener(listener))?)
}

/// Accepts every client that has the token, if there is one, and prints who connects.
struct Reporter {
    token: Option<TokenAuthorizer>,
}

impl PeerAuthorizer for Reporter {
    fn authorize(&self, request: AuthorizationRequest<'_>) -> Result<(), String> {
        let who = format!("{}, device {}", request.client, request.device_index);
        let answer = self.token.as_ref().map_or(Ok(()), |token| token.authorize(request));
        say(format_args!(
            "{}: {who}",
            if answer.is_ok() { "serving" } else { "refused, wrong token" }
        ));
        answer
    }
}

/// Silences Burn's log: it would go to standard output, report clients that disconnect as errors, and print the whole
/// stack of a failed session.
fn log_to_stderr() {
    use tracing_subscriber::EnvFilter;
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("error"));
    let logger = tracing_subscriber::fmt().with_env_filter(filter).with_ansi(false);
    // It would report a standard error that fails on standard error, and panic.
    let logger = logger.log_internal_errors(false);
    // An error says that there is a logger already.
    let _ = logger.with_writer(std::io::stderr).try_init();
    std::panic::set_hook(Box::new(|panic| {
        let text = panic.payload_as_str().unwrap_or("it panicked");
        say(format_args!("a session failed: {}", text.lines().next().unwrap_or_default()));
    }));
}
