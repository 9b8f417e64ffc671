//! Devices to compile in, as named by the command line.

use std::ffi::OsString;
use std::process::ExitCode;

use crate::acceleration;
use crate::shell::{cargo, exit_code};

/// Devices that need the cargo feature of the same name. Every other device is in the default
/// build.
pub const FEATURES: [&str; 6] = ["wgpu", "vulkan", "cuda", "metal", "rocm", "ndarray"];

/// The cargo features for the devices named in `args`: `--device cuda:1` needs `cuda`.
pub fn devices_of(args: &[OsString]) -> Vec<String> {
    let args = args.iter().map(|arg| arg.to_str().unwrap_or_default());
    let options: Vec<&str> = args.take_while(|arg| *arg != "--").collect();
    let joined = options
        .iter()
        .filter_map(|arg| arg.strip_prefix("--device="));
    let separate = options
        .windows(2)
        .filter(|pair| pair[0] == "--device")
        .map(|pair| pair[1]);
    let devices = joined.chain(separate).flat_map(|list| list.split(','));
    let kinds: Vec<&str> = devices
        .filter_map(|device| device.split(':').next())
        .collect();
    let known = FEATURES
        .into_iter()
        .filter(|feature| kinds.contains(feature));
    known.map(String::from).collect()
}

/// The cargo options for a program that other machines run on the devices named in `args`.
pub fn features_of(args: &[OsString]) -> Vec<String> {
    let mut features = devices_of(args);
    features.extend(acceleration::cautious(&features).map(String::from));
    features
        .into_iter()
        .flat_map(|feature| ["--features".into(), feature])
        .collect()
}

/// The devices and features that `test` and `check` compile and run.
pub struct Plan {
    /// Devices besides the CPU.
    pub devices: Vec<String>,
    /// If true, the command line names the devices, and no others are tested.
    named: bool,
    /// If true, training over MPI is compiled in.
    mpi: bool,
    /// The other arguments.
    pub rest: Vec<OsString>,
}

impl Plan {
    pub fn of(args: &[OsString]) -> Self {
        let mut rest = args.to_vec();
        rest.retain(|arg| arg != "--mpi");
        let others = rest.len();
        rest.retain(|arg| !arg.to_string_lossy().starts_with("--device="));
        if let Some(index) = rest.iter().position(|arg| arg == "--device") {
            rest.drain(index..(index + 2).min(rest.len()));
        }
        let named = rest.len() < others;
        Self {
            devices: devices_of(args),
            named,
            mpi: args.iter().any(|arg| arg == "--mpi"),
            rest,
        }
    }

    /// `--features …` for the whole workspace; empty if the default build has all.
    pub fn features(&self) -> Vec<String> {
        let mpi = self.mpi.then(|| "mpi".to_owned());
        let accelerations = acceleration::features(&self.devices);
        let features = self
            .devices
            .iter()
            .chain(&accelerations)
            .chain(&mpi)
            .map(|device| format!("burnformer/{device}"));
        let features = features.collect::<Vec<_>>().join(",");
        if features.is_empty() {
            Vec::new()
        } else {
            vec!["--features".into(), features]
        }
    }

    /// Runs `cargo test` for the workspace with the features of this plan and `variables` in its
    /// environment.
    pub fn cargo_test(&self, args: &[OsString], variables: &[(&str, &str)]) -> ExitCode {
        let mut command = cargo("test");
        command
            .args(["--release", "--workspace"])
            .args(self.features())
            .args(args);
        if self.named {
            command.env("BURNFORMER_TEST_DEVICES", self.devices.join(","));
        }
        exit_code(command.envs(variables.iter().copied()).status())
    }

    /// Returns whether `device` computes the same as the CPU, by the test in the binary.
    pub fn is_here(&self, device: &str) -> bool {
        let test = [
            "--quiet",
            "--test",
            "it",
            "--",
            "--exact",
            "devices::the_named_devices_compute",
        ];
        let test = test.map(OsString::from);
        self.cargo_test(&test, &[("BURNFORMER_TEST_DEVICES", device)]) == ExitCode::SUCCESS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn a_gpu_device_asks_for_the_feature_of_its_name() {
        for device in FEATURES {
            assert_eq!(
                devices_of(&words(&format!("--out run --device {device}"))),
                [device]
            );
            assert_eq!(
                devices_of(&words(&format!("--device={device} --seed 1"))),
                [device]
            );
        }
    }

    #[test]
    fn an_index_or_a_list_does_not_hide_the_device() {
        assert_eq!(devices_of(&words("--device cuda:1")), ["cuda"]);
        assert_eq!(devices_of(&words("--device=cuda:all")), ["cuda"]);
        assert_eq!(
            devices_of(&words("--device=vulkan:0,cuda:1")),
            ["vulkan", "cuda"]
        );
    }

    #[test]
    fn devices_of_the_default_build_ask_for_nothing() {
        for line in [
            "",
            "--device cpu",
            "--device=flex",
            "--device auto",
            "--device",
        ] {
            assert!(devices_of(&words(line)).is_empty(), "{line}");
        }
    }

    #[test]
    fn only_the_device_option_is_read() {
        for line in [
            "--source cuda",
            "--devices cuda",
            "-- --device cuda",
            "cuda",
        ] {
            assert!(devices_of(&words(line)).is_empty(), "{line}");
        }
    }

    #[test]
    fn the_plan_of_a_test_takes_its_devices_and_leaves_the_rest() {
        let plan = Plan::of(&words(
            "--device wgpu,ndarray --mpi reference -- --nocapture",
        ));
        assert!(plan.named);
        let features = plan.features()[1].clone();
        assert!(features.starts_with("burnformer/wgpu,burnformer/ndarray,"));
        assert!(features.ends_with(",burnformer/mpi"), "{features}");
        assert_eq!(plan.rest, words("reference -- --nocapture"));
        let plan = Plan::of(&words("--device=cpu reference"));
        assert!(plan.named && plan.devices.is_empty());
        // Without either option, the tests use the same build as `cargo xtask train`.
        let plan = Plan::of(&words("reference"));
        assert!(!plan.named && plan.features().is_empty());
    }
}
