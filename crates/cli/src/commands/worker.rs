use std::net::{SocketAddr, TcpListener};

use anyhow::{Context, Result, ensure};

use crate::device::{DeviceNames, TOKEN_VARIABLE, remote_is_built_in, serve};
use crate::output::print;

/// Arguments of `worker`.
#[derive(clap::Args)]
pub struct Args {
    /// The devices to offer, all of one kind, for example cuda:all
    #[arg(long, default_value = "auto", value_name = "DEVICES")]
    device: DeviceNames,
    /// Address to listen on; port 0 chooses a free port. The traffic is not encrypted: listen on a network that you
    /// trust, or only on this machine and connect to it through `ssh -L`
    #[arg(long, default_value = "127.0.0.1:3000", value_name = "ADDRESS:PORT")]
    listen: SocketAddr,
}

/// Computes for other processes and machines until it is stopped.
pub fn run(args: Args) -> Result<()> {
    remote_is_built_in()?;
    let token = std::env::var(TOKEN_VARIABLE).ok().filter(|token| !token.is_empty());
    ensure!(
        token.is_some() || args.listen.ip().is_loopback(),
        "{} is open to other machines: set {TOKEN_VARIABLE} here and where --device remote:HOST:PORT is used, so that \
         not everyone who reaches the port can compute and allocate here",
        args.listen,
    );
    let devices = args.device.open()?;
    let listener = TcpListener::bind(args.listen).with_context(|| {
        format!(
            "cannot listen at {}; is it taken? --listen {}:0 takes a free port",
            args.listen,
            args.listen.ip()
        )
    })?;
    let count = devices.len();
    print(format_args!(
        "serving {count} device{} at {}",
        if count == 1 { "" } else { "s" },
        listener.local_addr()?
    ))?;
    serve(devices, listener, token)
}
