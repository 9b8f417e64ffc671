//! Stand-ins for builds without remote devices. They return errors.

use std::net::TcpListener;

use anyhow::Result;
use burn::tensor::Device;

use super::{RemoteName, is_built_in};

pub(super) fn connect(_: &RemoteName) -> Result<Device> {
    Err(is_built_in().expect_err("it is not"))
}

pub(super) fn all(_: &RemoteName) -> Result<Vec<(RemoteName, Device)>> {
    Err(is_built_in().expect_err("it is not"))
}

/// Takes the place of the server's `serve`.
///
/// # Errors
/// Always: this build has no remote devices.
pub fn serve(_: Vec<Device>, _: TcpListener, _: Option<String>) -> Result<()> {
    is_built_in()
}
