//! Devices that another process or machine serves (`burnformer serve`), through Burn's remote backend.

use std::fmt;
use std::str::FromStr;

use anyhow::{Result, ensure};
use burn::tensor::Device;

pub use server::serve;

/// Where both sides look for the word that a server asks of its clients.
pub const TOKEN_VARIABLE: &str = "BURNFORMER_TOKEN";

/// A device by the address of its server: `gpu-box:3000`, `gpu-box:3000:1` for the server's second.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteName {
    host: String,
    port: u16,
    /// Which of the server's devices, from 0.
    index: usize,
}

/// What `text`, the part after `remote:`, names: a server, and one of its devices or, with `all`, each.
///
/// # Errors
/// If there is no `HOST:PORT` in it, or something else after that.
pub fn parse(text: &str) -> Result<(RemoteName, bool), String> {
    let wrong = |what: &str| {
        format!(
            "`remote:{text}` {what}; a remote device is remote:HOST:PORT, remote:HOST:PORT:INDEX or, \
                 for training, remote:HOST:PORT:all"
        )
    };
    // An IPv6 address stands in brackets.
    let end =
        if text.starts_with('[') { text.find(']').map(|end| end + 1) } else { text.find(':') };
    let (host, rest) = text.split_at(end.ok_or_else(|| wrong("has no port"))?);
    let mut parts = rest.strip_prefix(':').ok_or_else(|| wrong("has no port"))?.split(':');
    let port = parts.next().unwrap_or_default();
    let port = port.parse().ok().filter(|port| *port != 0 && !host.is_empty());
    let port = port.ok_or_else(|| wrong("has no host and port"))?;
    let which = parts.next().unwrap_or("0");
    let index = if which == "all" { Some(0) } else { which.parse().ok() };
    match (index, parts.next()) {
        (Some(index), None) => Ok((RemoteName { host: host.into(), port, index }, which == "all")),
        _ => Err(wrong("has no device number after its port")),
    }
}

impl FromStr for RemoteName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match parse(text)? {
            (name, false) => Ok(name),
            (name, true) => Err(format!("this takes one device, such as {name}")),
        }
    }
}

impl fmt::Display for RemoteName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "remote:{}:{}:{}", self.host, self.port, self.index)
    }
}

impl RemoteName {
    /// The server's address.
    pub fn server(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    /// Connects.
    ///
    /// # Errors
    /// If this build has no remote devices or the server does not answer or refuses; the message says what to do.
    pub fn open(&self) -> Result<Device> {
        client::connect(self)
    }

    /// This and every other device of the same server.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn all(&self) -> Result<Vec<(Self, Device)>> {
        client::all(self)
    }
}

/// Whether this build can use and serve devices of other machines.
///
/// # Errors
/// If not, with what can.
pub fn is_built_in() -> Result<()> {
    ensure!(
        cfg!(feature = "remote"),
        "this build has no remote devices; `cargo xtask serve` and `cargo xtask COMMAND --device remote:HOST:PORT` \
         build them in, and `cargo install --path crates/cli --features remote` installs them"
    );
    Ok(())
}

#[cfg(not(feature = "remote"))]
mod client {
    use anyhow::Result;
    use burn::tensor::Device;

    use super::{RemoteName, is_built_in};

    pub(super) fn connect(_: &RemoteName) -> Result<Device> {
        Err(is_built_in().expect_err("it is not"))
    }

    pub(super) fn all(_: &RemoteName) -> Result<Vec<(RemoteName, Device)>> {
        Err(is_built_in().expect_err("it is not"))
    }
}

#[cfg(not(feature = "remote"))]
mod server {
    use std::net::TcpListener;

    use anyhow::Result;
    use burn::tensor::Device;

    pub fn serve(_: Vec<Device>, _: TcpListener, _: Option<String>) -> Result<()> {
        super::is_built_in()
    }
}

#[cfg(feature = "remote")]
mod client {
    use anyhow::{Result, anyhow};
    use burn::remote::{ConnectError, RemoteHost};
    use burn::tensor::Device;

    use super::{RemoteName, TOKEN_VARIABLE};

    pub(super) fn connect(name: &RemoteName) -> Result<Device> {
        let connected = Device::remote_options(&host(name)).device_index(name.index).init();
        connected.map_err(|cause| explain(name, &cause))
    }

    pub(super) fn all(name: &RemoteName) -> Result<Vec<(RemoteName, Device)>> {
        let devices = host(name).devices().map_err(|cause| explain(name, &cause))?;
        let named = |(index, device)| (RemoteName { index, ..name.clone() }, device);
        Ok(devices.into_vec().into_iter().enumerate().map(named).collect())
    }

    fn host(name: &RemoteName) -> RemoteHost {
        let host = RemoteHost::websocket(&format!("ws://{}", name.server()));
        match std::env::var(TOKEN_VARIABLE) {
            Ok(token) => host.with_credential(token),
            Err(_) => host,
        }
    }

    fn explain(name: &RemoteName, cause: &ConnectError) -> anyhow::Error {
        let remedy = match cause {
            ConnectError::Unreachable { .. } | ConnectError::Handshake { .. } => {
                format!(
                    "is `burnformer serve --listen {}` running there, and of the same version?",
                    name.server()
                )
            }
            ConnectError::Unauthorized => {
                format!("set {TOKEN_VARIABLE} to what it was when the server was started")
            }
            ConnectError::NoSuchDevice { .. } => "they are counted from 0".into(),
            _ => "use the same version of burnformer on both sides".into(),
        };
        anyhow!("{name}: {cause}; {remedy}")
    }
}

#[cfg(feature = "remote")]
mod server {
    use std::net::TcpListener;

    use anyhow::{Context, Result};
    use burn::server::{
        AuthorizationRequest, PeerAuthorizer, RemoteServer, TokenAuthorizer, WebSocketTransport,
    };
    use burn::tensor::Device;

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

    /// Lets in whoever has the token, where there is one, and says who asks.
    struct Reporter {
        token: Option<TokenAuthorizer>,
    }

    impl PeerAuthorizer for Reporter {
        fn authorize(&self, request: AuthorizationRequest<'_>) -> Result<(), String> {
            let who = format!("{}, device {}", request.client, request.device_index);
            let answer = self.token.as_ref().map_or(Ok(()), |token| token.authorize(request));
            eprintln!("{}: {who}", if answer.is_ok() { "serving" } else { "refused, wrong token" });
            answer
        }
    }

    /// Burn would log to standard output, clients that end among the errors, and print a failed session's whole stack.
    fn log_to_stderr() {
        use tracing_subscriber::EnvFilter;
        let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("error"));
        let logger = tracing_subscriber::fmt().with_env_filter(filter).with_ansi(false);
        // An error says that there is a logger already.
        let _ = logger.with_writer(std::io::stderr).try_init();
        std::panic::set_hook(Box::new(|panic| {
            let text = panic.payload_as_str().unwrap_or("it panicked");
            eprintln!("a session failed: {}", text.lines().next().unwrap_or_default());
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(host: &str, port: u16, index: usize) -> RemoteName {
        RemoteName { host: host.into(), port, index }
    }

    #[test]
    fn a_server_has_a_host_a_port_and_devices() {
        assert_eq!(parse("gpu-box:3000"), Ok((name("gpu-box", 3000, 0), false)));
        assert_eq!(parse("10.0.0.7:3000:2"), Ok((name("10.0.0.7", 3000, 2), false)));
        assert_eq!(parse("[::1]:3000:all"), Ok((name("[::1]", 3000, 0), true)));
        for wrong in [
            "",
            "host",
            "host:",
            ":3000",
            "host:0",
            "host:70000",
            "h:1:x",
            "h:1:2:3",
            "[::1",
            "[::1]",
        ] {
            let message = parse(wrong).unwrap_err();
            assert!(message.contains("remote:HOST:PORT:INDEX"), "{wrong}: {message}");
        }
    }

    #[test]
    fn a_name_is_written_as_it_is_read() {
        for text in ["remote:gpu-box:3000:0", "remote:[fe80::1]:1:7"] {
            let (_, after) = text.split_once(':').unwrap();
            assert_eq!(after.parse::<RemoteName>().unwrap().to_string(), text);
        }
        assert!("gpu-box:3000:all".parse::<RemoteName>().unwrap_err().contains("one device"));
    }
}
