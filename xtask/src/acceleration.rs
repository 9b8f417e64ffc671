//! The cargo features with which Burn computes faster on a GPU.
//!
//! With some drivers they give wrong results. Burn chooses them when it is compiled, so this
//! program builds another time if a device does not compute what the CPU computes.

use std::fs;
use std::path::{Path, PathBuf};

use crate::shell::{cargo, say, target_dir, write};

/// The features, the fastest choice first.
const CHOICES: [&[&str]; 4] = [&["fusion", "autotune"], &["fusion"], &["autotune"], &[]];

/// The features for `devices`: the fastest of [`CHOICES`] that passed, or that nobody tried.
/// Software drivers fail while kernels are timed, so `autotune` needs a GPU.
pub fn features(devices: &[String]) -> Vec<String> {
    if kinds_with_drivers(devices).next().is_none() {
        return Vec::new();
    }
    let known = known(devices);
    let choice = known.unwrap_or_else(|| first_choice(devices));
    CHOICES[choice].iter().map(|name| (*name).into()).collect()
}

/// The feature for a program that other machines run on `devices`. Burn gave wrong results with
/// both together on some cards, so it is one: tuning, or fusion for `wgpu` alone, which also has to
/// run on software drivers.
pub fn cautious(devices: &[String]) -> Option<&'static str> {
    let mut kinds = kinds_with_drivers(devices).peekable();
    kinds.peek()?;
    if kinds.all(|kind| kind == "wgpu") {
        Some("fusion")
    } else {
        Some("autotune")
    }
}

/// Builds the program with each of [`CHOICES`] until all of `devices` compute as the CPU does.
/// Remembers the choice in the target folder. Does nothing if it is known, or if no device needs a
/// driver.
pub fn settle(devices: &[String]) {
    if kinds_with_drivers(devices).next().is_none() || known(devices).is_some() {
        return;
    }
    let choice = first_right(first_choice(devices), |choice| {
        let is_right = is_right(devices, CHOICES[choice]);
        if !is_right {
            say(format_args!(
                "xtask: {} computes wrongly if the program is built with {}",
                devices.join(", "),
                named(CHOICES[choice])
            ));
        }
        is_right
    });
    say(format_args!(
        "xtask: {} is used with {}",
        devices.join(", "),
        named(CHOICES[choice])
    ));
    // A choice that cannot be stored is made again.
    let _ = write(&memo(devices), choice.to_string().as_bytes());
}

/// The first choice from `start` on that `is_right`; the last one if none is.
fn first_right(start: usize, mut is_right: impl FnMut(usize) -> bool) -> usize {
    let last = CHOICES.len() - 1;
    (start..last)
        .find(|&choice| is_right(choice))
        .unwrap_or(last)
}

fn first_choice(devices: &[String]) -> usize {
    let is_wgpu_alone = kinds_with_drivers(devices).all(|kind| kind == "wgpu");
    usize::from(is_wgpu_alone && !has_gpu())
}

/// Returns whether the program, built with `features`, finds nothing wrong with `devices`. A device
/// that is not there cannot be wrong.
fn is_right(devices: &[String], features: &[&str]) -> bool {
    let features = devices
        .iter()
        .map(String::as_str)
        .chain(features.iter().copied());
    let features: Vec<&str> = features.collect();
    let named: Vec<&str> = kinds_with_drivers(devices).collect();
    let output = cargo("run")
        .args(["--release", "--package", "burnformer", "--features"])
        .arg(features.join(","))
        .args(["--", "devices", "--test", "--device", &named.join(",")])
        .stderr(std::process::Stdio::inherit())
        .output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    text.is_ok_and(|text| !text.contains("WRONG") && !text.contains("FAILS"))
}

/// The devices among `devices` that compute by a driver.
fn kinds_with_drivers(devices: &[String]) -> impl Iterator<Item = &str> {
    devices
        .iter()
        .map(String::as_str)
        .filter(|device| *device != "ndarray")
}

/// Returns whether this machine has a GPU.
fn has_gpu() -> bool {
    let files = ["/dev/dri/renderD128", "/proc/driver/nvidia/version"];
    !cfg!(target_os = "linux") || files.into_iter().any(|file| Path::new(file).exists())
}

fn known(devices: &[String]) -> Option<usize> {
    let text = fs::read_to_string(memo(devices)).ok()?;
    text.parse().ok().filter(|choice| *choice < CHOICES.len())
}

fn memo(devices: &[String]) -> PathBuf {
    target_dir().join(format!("acceleration-{}", devices.join("-")))
}

fn named(features: &[&str]) -> String {
    if features.is_empty() {
        "neither fusion nor autotune".into()
    } else {
        features.join(" and ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_tried_in_turn_until_one_is_right() {
        let mut tried = Vec::new();
        let right_without_fusion = |choice: usize| {
            tried.push(choice);
            !CHOICES[choice].contains(&"fusion")
        };
        assert_eq!(first_right(0, right_without_fusion), 2);
        assert_eq!(tried, [0, 1, 2]);
        assert_eq!(first_right(0, |_| true), 0);
        assert_eq!(first_right(1, |_| false), 3);
    }

    #[test]
    fn the_cpu_needs_no_acceleration() {
        for devices in [vec![], vec!["ndarray".to_owned()]] {
            assert!(features(&devices).is_empty());
            assert_eq!(cautious(&devices), None);
        }
    }

    #[test]
    fn a_program_for_other_machines_has_one_acceleration() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).into()).collect::<Vec<_>>();
        assert_eq!(cautious(&names(&["wgpu", "ndarray"])), Some("fusion"));
        assert_eq!(cautious(&names(&["wgpu", "cuda"])), Some("autotune"));
    }
}
