//! A socket that a service manager has opened before it starts the program. It stays open when the
//! program ends, so connections wait in it for the next process.

use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;

use anyhow::{Result, anyhow, ensure};
use listenfd::ListenFd;

/// The socket of systemd, or of another program with its protocol (`LISTEN_FDS`), if there is one.
///
/// # Errors
/// Returns an error if there are several sockets, or if the socket does not listen for TCP.
pub(super) fn inherited() -> Result<Option<TcpListener>> {
    let mut sockets = ListenFd::from_env();
    let count = sockets.len();
    ensure!(
        count < 2,
        "LISTEN_FDS has {count} sockets, but a server listens at one; leave one ListenStream= in the socket unit"
    );
    let listener = sockets.take_tcp_listener(0).map_err(|error| {
        anyhow!("LISTEN_FDS: {error}; write ListenStream=127.0.0.1:5000 into the socket unit")
    })?;
    if let Some(listener) = &listener {
        ensure!(
            !is_connected(listener)?,
            "LISTEN_FDS has a connection instead of a socket that listens; write Accept=no into the socket unit"
        );
    }
    Ok(listener)
}

/// Returns whether `socket` is connected to a client, as systemd passes it with `Accept=yes`.
fn is_connected(socket: &TcpListener) -> Result<bool> {
    let socket = TcpStream::from(OwnedFd::from(socket.try_clone()?));
    Ok(socket.peer_addr().is_ok())
}
