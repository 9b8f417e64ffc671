use anyhow::{Result, ensure};
use burn::tensor::Device;
use burnformer_core::Precision;
use serde::Serialize;
use serde_json::json;

use crate::device::{Backend, DeviceNames, Found, Verdict, in_child};
use crate::output::print;

/// Arguments of `devices`.
#[derive(clap::Args)]
#[command(after_help = include_str!("devices.txt"))]
pub struct Args {
    /// List only these backends, each of which must have a device: cuda, or cpu,wgpu
    #[arg(long, default_value = "auto", value_name = "DEVICES")]
    device: DeviceNames,
    /// Compare products, an update and decoding with the CPU, and time matrix products; the
    /// exit code is 1 if a device fails or computes something else
    #[arg(long)]
    test: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A device as printed.
#[derive(Serialize)]
struct Line {
    name: String,
    part: String,
    driver: Option<String>,
    precision: Vec<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    test: Option<Result<Verdict, String>>,
}

/// Lists the devices of this build and this machine, and tells how to enable other backends.
///
/// # Errors
/// Returns an error if a chosen device is missing or computes wrong numbers, or the output cannot
/// be written.
pub fn run(args: Args) -> Result<()> {
    let backends: Vec<Backend> = Backend::all().filter(|it| args.device.names(*it)).collect();
    let mut lines = Vec::new();
    for backend in &backends {
        let found = if args.device.are_explicit() {
            backend.devices()?
        } else {
            backend.found()
        };
        lines.extend(found.into_iter().map(|found| line(found, &args)));
    }
    if args.json {
        print(serde_json::to_string_pretty(&json!(lines))?)?
    } else {
        lines.iter().try_for_each(|line| print(describe(line)))?;
        missing(&backends).iter().try_for_each(print)?;
    }
    let failed = lines
        .iter()
        .filter(|line| line.test.as_ref().is_some_and(|test| !passes(test)))
        .count();
    ensure!(failed == 0, "{failed} of {} devices failed", lines.len());
    Ok(())
}

fn line(found: Found, args: &Args) -> Line {
    // A device may crash when it is opened, and the list must survive.
    let test = args.test.then(|| in_child(&found.name));
    let fails = test.as_ref().is_some_and(|test| !passes(test));
    let precision = if fails {
        Vec::new()
    } else {
        precision(&found.device)
    };
    let Found {
        name, part, driver, ..
    } = found;
    Line {
        name: name.to_string(),
        part,
        driver,
        precision,
        test,
    }
}

/// The floating-point types that `device` supports.
fn precision(device: &Device) -> Vec<&'static str> {
    let names = crate::device::quietly(|| {
        let mut supported = Precision::ALL.to_vec();
        supported.retain(|precision| precision.is_supported_on(device));
        Ok(supported.into_iter().map(Precision::name).collect())
    });
    names.unwrap_or_default()
}

fn describe(line: &Line) -> String {
    let driver = line.driver.as_ref().map(|driver| format!(" ({driver})"));
    let test = line.test.as_ref().map(|test| match test {
        Ok(verdict) => table(verdict),
        Err(cause) => format!("\n    FAILS: {cause}"),
    });
    let [driver, test] = [driver, test].map(Option::unwrap_or_default);
    format!(
        "{:<10} {}{driver}, {}{test}",
        line.name,
        line.part,
        line.precision.join(" ")
    )
}

/// Returns whether a test found nothing wrong.
fn passes(test: &Result<Verdict, String>) -> bool {
    test.as_ref().is_ok_and(|verdict| verdict.wrong().is_none())
}

/// A line for each comparison of `verdict`, and one for the speed.
fn table(verdict: &Verdict) -> String {
    let mut lines = String::new();
    for check in &verdict.checks {
        let word = if check.passes() { "passes" } else { "WRONG" };
        lines.push_str(&format!(
            "\n    {word:<6}  {:<24} {}",
            check.name,
            check.result()
        ));
    }
    format!("{lines}\n    speed   {:.0} GFLOP/s", verdict.gflops)
}

/// The missing devices and their remedies.
fn missing(wanted: &[Backend]) -> Vec<String> {
    let system_backends = wanted
        .iter()
        .filter(|backend| backend.facts().is_of_this_system);
    let missing = system_backends.filter_map(|backend| match backend.facts().is_built_in {
        true if backend.found().is_empty() => {
            Some(format!("{backend:<10} none: {}", backend.facts().remedy))
        }
        true => None,
        false => Some(format!(
            "{backend:<10} not in this build: `cargo xtask devices --device {backend}` builds it in"
        )),
    });
    missing.collect()
}
