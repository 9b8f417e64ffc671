//! Devices that another process or machine serves (`burnformer worker`), through Burn's remote backend.

#[cfg(not(feature = "remote"))]
mod absent;
#[cfg(feature = "remote")]
mod client;
#[cfg(feature = "remote")]
mod server;

use std::fmt;
use std::str::FromStr;

use anyhow::{Result, ensure};
use burn::tensor::Device;

#[cfg(not(feature = "remote"))]
use absent as client;
#[cfg(not(feature = "remote"))]
pub use absent::serve;
#[cfg(feature = "remote")]
pub use server::serve;

/// The environment variable with the token that a worker requires of its clients; both sides read it.
pub const TOKEN_VARIABLE: &str = "BURNFORMER_TOKEN";

/// A device by the address of its server: `gpu-box:3000`, or `gpu-box:3000:1` for the server's second device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteName {
    host: String,
    port: u16,
    /// The number of the server's device, from 0.
    index: usize,
}

/// Parses `text`, the part after `remote:`. It names a server and one of its devices, or with `all` every device.
///
/// # Errors
/// If `text` does not begin with `HOST:PORT`, or continues with anything else.
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
    /// The address of the server.
    pub fn server(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    /// Connects to the device.
    ///
    /// # Errors
    /// If this build has no remote devices, or the server does not answer or refuses. The message says what to do.
    pub fn open(&self) -> Result<Device> {
        client::connect(self)
    }

    /// Connects to all devices of the server.
    ///
    /// # Errors
    /// Those of [`open`](Self::open).
    pub fn all(&self) -> Result<Vec<(Self, Device)>> {
        client::all(self)
    }
}

/// Whether this build can use and offer devices of other machines.
///
/// # Errors
/// If it cannot; the message says which build can.
pub fn is_built_in() -> Result<()> {
    ensure!(
        cfg!(feature = "remote"),
        "this build has no remote devices; `cargo xtask worker` and `cargo xtask COMMAND --device remote:HOST:PORT` \
         build them in, and `cargo install --path crates/cli --features remote` installs them"
    );
    Ok(())
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
