//! Connecting to the devices of a worker.

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
                "is `burnformer worker --listen {}` running there, and of the same version?",
                name.server()
            )
        }
        ConnectError::Unauthorized => {
            format!("set {TOKEN_VARIABLE} to what it was when the worker was started")
        }
        ConnectError::NoSuchDevice { .. } => "they are counted from 0".into(),
        _ => "use the same version of burnformer on both sides".into(),
    };
    anyhow!("{name}: {cause}; {remedy}")
}
